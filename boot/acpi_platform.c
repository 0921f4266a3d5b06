/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/acpi_internal.h"

/* Offsets in the FADT (ACPI specification, "Fixed ACPI Description Table (FADT)"). */
#define FADT_DSDT            40u
#define FADT_PM1A_CNT        64u
#define FADT_PM1B_CNT        68u
#define FADT_PM_TMR          76u
#define FADT_PM1_CNT_LEN     89u
#define FADT_PM_TMR_LEN      91u
#define FADT_FLAGS           112u
#define FADT_RESET_REG       116u
#define FADT_RESET_VALUE     128u
#define FADT_X_DSDT          140u
#define FADT_X_PM1A_CNT      172u
#define FADT_X_PM1B_CNT      184u
#define FADT_X_PM_TMR        208u
#define FADT_SLEEP_CONTROL   244u
#define FADT_BYTES_MIN       116u /* of ACPI 1.0 */
#define FADT_FLAG_TMR_32_BIT (1u << 8)
#define FADT_FLAG_RESET_REG  (1u << 10)
#define FADT_FLAG_REDUCED    (1u << 20)

/* Generic Address Structure. */
#define GAS_SPACE     0u
#define GAS_BIT_WIDTH 1u
#define GAS_ADDRESS   4u

#define HPET_BASE 40u /* a GAS */

#define SSDTS_MAX 256u

static struct boot_register read_gas(const struct acpi_table *table, uint32_t offset)
{
    return (struct boot_register){
        .address = acpi_field(table, offset + GAS_ADDRESS, 8),
        .space = (uint8_t)acpi_field(table, offset + GAS_SPACE, 1),
        .bit_width = (uint8_t)acpi_field(table, offset + GAS_BIT_WIDTH, 1),
    };
}

/* Where an FADT field stands in its old and in its new form. */
struct fadt_register {
    uint32_t port_offset; /* 32-bit I/O port */
    uint32_t length_offset;
    uint32_t gas_offset; /* the X_ field, which rules unless its address is zero */
};

static struct boot_register read_register(const struct acpi_table *fadt,
                                          const struct fadt_register *where)
{
    struct boot_register found = read_gas(fadt, where->gas_offset);

    if (found.address == 0) {
        uint64_t bytes = acpi_field(fadt, where->length_offset, 1);

        found.address = acpi_field(fadt, where->port_offset, 4);
        found.space = GAS_IO;
        found.bit_width = (uint8_t)(bytes < 32 ? bytes * 8 : 0);
    }
    if (found.address == 0) {
        found = (struct boot_register){0};
    }
    return found;
}

static void read_fadt(const struct acpi_table *fadt, struct boot_acpi *out)
{
    static const struct fadt_register pm1a = {FADT_PM1A_CNT, FADT_PM1_CNT_LEN, FADT_X_PM1A_CNT};
    static const struct fadt_register pm1b = {FADT_PM1B_CNT, FADT_PM1_CNT_LEN, FADT_X_PM1B_CNT};
    static const struct fadt_register timer = {FADT_PM_TMR, FADT_PM_TMR_LEN, FADT_X_PM_TMR};
    uint64_t flags = acpi_field(fadt, FADT_FLAGS, 4);

    out->is_present = true;
    out->is_hardware_reduced = (flags & FADT_FLAG_REDUCED) != 0;
    out->pm_timer_is_32_bit = (flags & FADT_FLAG_TMR_32_BIT) != 0;
    if (!out->is_hardware_reduced) {
        out->pm1a_control = read_register(fadt, &pm1a);
        out->pm1b_control = read_register(fadt, &pm1b);
        out->pm_timer = read_register(fadt, &timer);
    }
    out->sleep_control = read_gas(fadt, FADT_SLEEP_CONTROL);
    if ((flags & FADT_FLAG_RESET_REG) != 0) {
        out->reset = read_gas(fadt, FADT_RESET_REG);
        out->reset_value = (uint8_t)acpi_field(fadt, FADT_RESET_VALUE, 1);
    }
}

/* Searches one definition block for both sleep states that are not known yet. */
static void read_sleep_types(const struct acpi_table *table, struct boot_acpi *out)
{
    const uint8_t *aml = table->bytes + ACPI_HEADER_BYTES;
    size_t bytes = table->length - ACPI_HEADER_BYTES;

    if (!out->has_s3) {
        out->has_s3 = acpi_aml_find_sleep_type(aml, bytes, '3', &out->s3_type_a, &out->s3_type_b);
    }
    if (!out->has_s5) {
        out->has_s5 = acpi_aml_find_sleep_type(aml, bytes, '5', &out->s5_type_a, &out->s5_type_b);
    }
}

static void read_definition_blocks(const struct acpi_root *root, const struct acpi_table *fadt,
                                   struct boot_acpi *out)
{
    uint64_t address = acpi_field(fadt, FADT_X_DSDT, 8);
    struct acpi_table table;

    if (address == 0) {
        address = acpi_field(fadt, FADT_DSDT, 4);
    }
    if (acpi_table_at(&root->reader, address, &table) && acpi_table_is(&table, "DSDT")) {
        read_sleep_types(&table, out);
    }
    for (unsigned int i = 0; i < SSDTS_MAX && acpi_find(root, "SSDT", i, &table); i++) {
        read_sleep_types(&table, out);
    }
}

void acpi_read_platform(const struct acpi_root *root, struct boot_acpi *out)
{
    struct acpi_table table;

    *out = (struct boot_acpi){0};
    out->has_mcfg = acpi_find(root, "MCFG", 0, &table);
    if (acpi_find(root, "HPET", 0, &table)) {
        struct boot_register base = read_gas(&table, HPET_BASE);

        out->hpet_address = base.space == GAS_MEMORY ? base.address : 0;
    }
    if (acpi_find(root, "FACP", 0, &table) && table.length >= FADT_BYTES_MIN) {
        read_fadt(&table, out);
        read_definition_blocks(root, &table, out);
    }
}
