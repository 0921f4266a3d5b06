/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_ACPI_INTERNAL_H
#define BOOT_ACPI_INTERNAL_H

#include "boot/acpi.h"

/*
 * Between boot/acpi.c (finding tables) and boot/acpi_platform.c (what they say). Nobody else
 * includes this.
 */

#define ACPI_HEADER_BYTES 36u

/* An integer of 1 to 8 bytes, low byte first, at an offset; 0 where the table ends before it. */
uint64_t acpi_field(const struct acpi_table *table, uint32_t offset, unsigned int bytes);

/* Reads, and checks, the table at a physical address, whatever its signature. */
MUST_CHECK bool acpi_table_at(const struct acpi_reader *reader, uint64_t address,
                              struct acpi_table *out);

/* Whether a table carries the signature. */
bool acpi_table_is(const struct acpi_table *table, const char *signature);

#endif
