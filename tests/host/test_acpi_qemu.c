/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: boot/acpi.c boot/acpi_platform.c boot/acpi_aml.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot/acpi.h"
#include "core/compiler.h"

/*
 * The tables that OVMF gives a guest of QEMU, as tests/tools/dump_acpi wrote them: for each table
 * its address (8 bytes), length (4) and bytes; the RSDP comes first. Four processors.
 */

#define TABLES_MAX 16u
#define FILE_BYTES 65536u
#define PROCESSORS 4u

struct dump {
    unsigned int count;
    uint64_t address[TABLES_MAX];
    uint32_t length[TABLES_MAX];
    uint8_t *bytes[TABLES_MAX]; /* heap blocks of exactly that length */
};

static const void *dump_map(void *context, uint64_t address, uint64_t bytes)
{
    struct dump *dump = context;

    for (unsigned int i = 0; i < dump->count; i++) {
        if (address >= dump->address[i] && address - dump->address[i] < dump->length[i] &&
            bytes <= dump->length[i] - (address - dump->address[i])) {
            return dump->bytes[i] + (address - dump->address[i]);
        }
    }
    return NULL;
}

static void load(struct dump *dump, const char *path)
{
    static uint8_t data[FILE_BYTES];
    FILE *file = fopen(path, "rb");
    size_t size;
    size_t at = 0;

    assert_non_null(file);
    size = fread(data, 1, sizeof(data), file);
    assert_in_range(size, 1000, sizeof(data) - 1);
    assert_int_equal(fclose(file), 0);
    dump->count = 0;
    while (at + 12 <= size) {
        unsigned int i = dump->count++;

        assert_in_range(i, 0, TABLES_MAX - 1);
        memcpy(&dump->address[i], data + at, 8);
        memcpy(&dump->length[i], data + at + 8, 4);
        at += 12;
        assert_in_range(dump->length[i], 36, size - at);
        dump->bytes[i] = malloc(dump->length[i]);
        assert_non_null(dump->bytes[i]);
        memcpy(dump->bytes[i], data + at, dump->length[i]);
        at += dump->length[i];
    }
    assert_int_equal(at, size);
}

static void unload(struct dump *dump)
{
    while (dump->count > 0) {
        free(dump->bytes[--dump->count]);
    }
}

static void open_root(struct dump *dump, const char *path, struct acpi_root *root)
{
    struct acpi_reader reader = {dump_map, dump};

    load(dump, path);
    assert_int_equal(acpi_open(root, &reader, dump->address[0]), STATUS_OK);
    assert_int_equal(root->pointer_bytes, 8);
}

static void expect_processors(const struct acpi_root *root)
{
    struct acpi_lp lps[PROCESSORS];
    size_t count = 0;

    assert_int_equal(acpi_madt_lps(root, lps, PROCESSORS, &count), STATUS_OK);
    assert_int_equal(count, PROCESSORS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lps[i].apic_id, i);
        assert_true(lps[i].is_enabled);
    }
    assert_int_equal(acpi_madt_lps(root, lps, PROCESSORS - 1, &count), STATUS_OUT_OF_RANGE);
}

static void expect_register(const struct boot_register *actual, uint64_t address)
{
    assert_int_equal(actual->address, address);
    if (address != 0) {
        assert_int_equal(actual->space, GAS_IO);
    }
}

/* What both machines have in common. */
static void expect_platform(const struct boot_acpi *acpi, uint64_t power_base)
{
    assert_true(acpi->is_present);
    assert_false(acpi->is_hardware_reduced);
    assert_true(acpi->has_s3);
    assert_true(acpi->has_s5);
    assert_int_equal(acpi->s3_type_a, 1);
    assert_int_equal(acpi->s3_type_b, 1);
    assert_int_equal(acpi->s5_type_a, 0);
    assert_int_equal(acpi->s5_type_b, 0);
    expect_register(&acpi->pm1a_control, power_base + 4);
    expect_register(&acpi->pm1b_control, 0);
    expect_register(&acpi->pm_timer, power_base + 8);
    assert_false(acpi->pm_timer_is_32_bit);
    expect_register(&acpi->sleep_control, 0);
    assert_int_equal(acpi->hpet_address, 0xFED00000);
}

static void test_q35(void **context)
{
    struct dump dump;
    struct acpi_root root;
    struct boot_acpi acpi;

    (void)context;
    open_root(&dump, "tests/host/data/qemu-q35.acpi", &root);
    expect_processors(&root);
    acpi_read_platform(&root, &acpi);
    expect_platform(&acpi, 0x600);
    assert_true(acpi.has_mcfg);
    expect_register(&acpi.reset, 0xCF9);
    assert_int_equal(acpi.reset_value, 0x0F);
    unload(&dump);
}

/* A FADT of revision 1: no reset register, no 64-bit addresses. */
static void test_pc(void **context)
{
    struct dump dump;
    struct acpi_root root;
    struct boot_acpi acpi;

    (void)context;
    open_root(&dump, "tests/host/data/qemu-pc.acpi", &root);
    expect_processors(&root);
    acpi_read_platform(&root, &acpi);
    expect_platform(&acpi, 0xB000);
    assert_false(acpi.has_mcfg);
    expect_register(&acpi.reset, 0);
    unload(&dump);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q35),
        cmocka_unit_test(test_pc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
