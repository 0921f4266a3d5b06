/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BOOT_INFO_H
#define CORE_BOOT_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/boot_config.h"

/*
 * What boot/ found out from the firmware and hands to the resident hypervisor: plain data without
 * pointers into the firmware's or the loaded image's memory.
 */

#define BOOT_MAX_LPS 1024u

/* A processor as the firmware named it. */
struct boot_lp {
    uint32_t apic_id;
    uint32_t mp_number; /* the number that MP Services uses */
};

enum gas_space { GAS_MEMORY = 0, GAS_IO = 1, GAS_PCI_CONFIG = 2 };

/* A register by its ACPI Generic Address Structure; address 0: there is none. */
struct boot_register {
    uint64_t address; /* for GAS_PCI_CONFIG: device 47:32, function 31:16, offset 15:0 (bus 0) */
    uint8_t space;    /* enum gas_space, or a value that we do not handle */
    uint8_t bit_width;
};

/* What the ACPI tables say about sleep, reset and time. */
struct boot_acpi {
    bool is_present; /* a valid RSDP and FADT were found */
    bool is_hardware_reduced;
    bool has_mcfg;
    bool has_s3, has_s5; /* the packages \_S3_ and \_S5_ were found */
    uint8_t s3_type_a, s3_type_b;
    uint8_t s5_type_a, s5_type_b;
    struct boot_register pm1a_control, pm1b_control;
    struct boot_register sleep_control; /* hardware-reduced platforms */
    struct boot_register reset;
    uint8_t reset_value;
    struct boot_register pm_timer;
    bool pm_timer_is_32_bit;
    uint64_t hpet_address; /* 0: no HPET table */
};

#endif
