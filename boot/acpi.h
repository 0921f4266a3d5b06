/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_ACPI_H
#define BOOT_ACPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/boot_info.h"
#include "core/compiler.h"
#include "core/status.h"

/*
 * Reading ACPI tables (ACPI specification, "ACPI Software Programming Model"). Pure: memory comes
 * from a callback, no table's word is believed without a check of its length and checksum.
 */

struct acpi_reader {
    /* A pointer to bytes many bytes at a physical address, valid as long as the reader is used, or
     * NULL when they cannot be read. */
    const void *(*map)(void *context, uint64_t address, uint64_t bytes);
    void *context;
};

/* A table that was found: header included, length as checked. */
struct acpi_table {
    const uint8_t *bytes;
    uint32_t length;
    uint64_t address;
};

/* The root of all tables. */
struct acpi_root {
    struct acpi_reader reader;
    struct acpi_table list;     /* the XSDT or RSDT */
    unsigned int pointer_bytes; /* 8 or 4: of its entries */
};

/* A processor by the MADT. */
struct acpi_lp {
    uint32_t apic_id;
    bool is_enabled;
    bool is_online_capable; /* not enabled, but may be switched on later */
};

/*
 * Checks the RSDP at address and opens the XSDT, or the RSDT where there is no valid XSDT.
 * STATUS_MALFORMED: bad signature, length or checksum. STATUS_NOT_FOUND: unreadable memory.
 */
MUST_CHECK enum status acpi_open(struct acpi_root *root, const struct acpi_reader *reader,
                                 uint64_t address);

/* Finds the table number instance (from 0) that carries the signature; tables with a bad length or
 * checksum do not count. False: there is none. */
MUST_CHECK bool acpi_find(const struct acpi_root *root, const char *signature,
                          unsigned int instance, struct acpi_table *out);

/*
 * The processors of the MADT, without those that are neither enabled nor online-capable. An APIC id
 * that comes twice (as local APIC and as x2APIC) is listed once. STATUS_NOT_FOUND: no MADT.
 * STATUS_MALFORMED: an entry of impossible length. STATUS_OUT_OF_RANGE: more than capacity.
 */
MUST_CHECK enum status acpi_madt_lps(const struct acpi_root *root, struct acpi_lp *lps,
                                     size_t capacity, size_t *count);

/*
 * Fills in what FADT, DSDT, SSDTs, MCFG and HPET say. is_present is false, and the rest zero but
 * for has_mcfg and hpet_address, when there is no usable FADT.
 */
void acpi_read_platform(const struct acpi_root *root, struct boot_acpi *out);

/*
 * Searches AML for Name (\_Sx_, Package ...), x being '0' to '5', and takes the first two elements:
 * SLP_TYP for PM1a and PM1b (one element: both in one word, as old firmware has it). False: there
 * is none that makes sense. acpi_aml.c; for acpi_read_platform and tests.
 */
MUST_CHECK bool acpi_aml_find_sleep_type(const uint8_t *aml, size_t bytes, char state,
                                         uint8_t *type_a, uint8_t *type_b);

#endif
