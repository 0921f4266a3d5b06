/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_ACPI_LAYOUT_H
#define LAUNCHER_ACPI_LAYOUT_H

/* Table layouts, named as in the ACPI specification 6.x, chapter "ACPI Software Programming". */

#include <stdint.h>

#include "tests/launcher/lps.h"

struct acpi_header {
    char signature[4];
    uint32_t length;
    uint8_t revision;
    uint8_t checksum;
    char oem_id[6];
    char oem_table_id[8];
    uint32_t oem_revision;
    char creator_id[4];
    uint32_t creator_revision;
} __attribute__((packed));

struct acpi_gas {
    uint8_t address_space;
    uint8_t bit_width;
    uint8_t bit_offset;
    uint8_t access_size;
    uint64_t address;
} __attribute__((packed));

struct acpi_rsdp {
    char signature[8];
    uint8_t checksum;
    char oem_id[6];
    uint8_t revision;
    uint32_t rsdt;
    uint32_t length;
    uint64_t xsdt;
    uint8_t extended_checksum;
    uint8_t reserved[3];
} __attribute__((packed));

struct acpi_xsdt {
    struct acpi_header header;
    uint64_t entry[3];
} __attribute__((packed));

struct acpi_facs {
    char signature[4];
    uint32_t length;
    uint32_t fields[6];
    uint8_t version;
    uint8_t reserved[31];
} __attribute__((packed));

struct acpi_fadt {
    struct acpi_header header;
    uint32_t firmware_ctrl;
    uint32_t dsdt;
    uint8_t reserved1;
    uint8_t preferred_pm_profile;
    uint16_t sci_int;
    uint32_t smi_cmd;
    uint8_t acpi_enable;
    uint8_t acpi_disable;
    uint8_t s4bios_req;
    uint8_t pstate_cnt;
    uint32_t pm1a_evt_blk;
    uint32_t pm1b_evt_blk;
    uint32_t pm1a_cnt_blk;
    uint32_t pm1b_cnt_blk;
    uint32_t pm2_cnt_blk;
    uint32_t pm_tmr_blk;
    uint32_t gpe0_blk;
    uint32_t gpe1_blk;
    uint8_t pm1_evt_len;
    uint8_t pm1_cnt_len;
    uint8_t pm2_cnt_len;
    uint8_t pm_tmr_len;
    uint8_t gpe0_blk_len;
    uint8_t gpe1_blk_len;
    uint8_t gpe1_base;
    uint8_t cst_cnt;
    uint16_t p_lvl2_lat;
    uint16_t p_lvl3_lat;
    uint16_t flush_size;
    uint16_t flush_stride;
    uint8_t duty_offset;
    uint8_t duty_width;
    uint8_t day_alrm;
    uint8_t mon_alrm;
    uint8_t century;
    uint16_t iapc_boot_arch;
    uint8_t reserved2;
    uint32_t flags;
    struct acpi_gas reset_reg;
    uint8_t reset_value;
    uint16_t arm_boot_arch;
    uint8_t minor_version;
    uint64_t x_firmware_ctrl;
    uint64_t x_dsdt;
    struct acpi_gas x_pm1a_evt_blk;
    struct acpi_gas x_pm1b_evt_blk;
    struct acpi_gas x_pm1a_cnt_blk;
    struct acpi_gas x_pm1b_cnt_blk;
    struct acpi_gas x_pm2_cnt_blk;
    struct acpi_gas x_pm_tmr_blk;
    struct acpi_gas x_gpe0_blk;
    struct acpi_gas x_gpe1_blk;
    struct acpi_gas sleep_control_reg;
    struct acpi_gas sleep_status_reg;
    uint64_t hypervisor_vendor;
} __attribute__((packed));

struct acpi_hpet {
    struct acpi_header header;
    uint32_t event_timer_block_id;
    struct acpi_gas base_address;
    uint8_t hpet_number;
    uint16_t minimum_tick;
    uint8_t page_protection;
} __attribute__((packed));

struct acpi_madt_lapic {
    uint8_t type;
    uint8_t length;
    uint8_t processor_uid;
    uint8_t apic_id;
    uint32_t flags;
} __attribute__((packed));

struct acpi_madt_ioapic {
    uint8_t type;
    uint8_t length;
    uint8_t ioapic_id;
    uint8_t reserved;
    uint32_t address;
    uint32_t gsi_base;
} __attribute__((packed));

struct acpi_madt_override {
    uint8_t type;
    uint8_t length;
    uint8_t bus;
    uint8_t source;
    uint32_t gsi;
    uint16_t flags;
} __attribute__((packed));

struct acpi_madt_lapic_nmi {
    uint8_t type;
    uint8_t length;
    uint8_t processor_uid;
    uint16_t flags;
    uint8_t lint;
} __attribute__((packed));

struct acpi_madt {
    struct acpi_header header;
    uint32_t lapic_address;
    uint32_t flags;
    struct acpi_madt_ioapic ioapic;
    struct acpi_madt_override override[2];
    struct acpi_madt_lapic_nmi nmi;
    struct acpi_madt_lapic lapic[LPS_MAX];
} __attribute__((packed));

_Static_assert(sizeof(struct acpi_header) == 36, "ACPI header");
_Static_assert(sizeof(struct acpi_rsdp) == 36, "RSDP revision 2");
_Static_assert(sizeof(struct acpi_facs) == 64, "FACS");
_Static_assert(sizeof(struct acpi_fadt) == 276, "FADT revision 6");
_Static_assert(sizeof(struct acpi_hpet) == 56, "HPET");

#endif
