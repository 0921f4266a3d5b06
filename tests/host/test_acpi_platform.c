/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: boot/acpi.c boot/acpi_platform.c boot/acpi_aml.c */
#include "core/bits.h"
#include "core/compiler.h"
#include "tests/host/acpi_image.h"

/* What the tables say about the platform: FADT, sleep packages, HPET; and hostile tables. */

static struct acpi_image image;

/* What iasl makes of Scope(\_SB){...} Name(_S3, Package(4){1, 1, 0, 0})
 * Name(\_S4, Package(4){6, 6, 0, 0}) Name(_S5, Package(4){7, 5, 0, 0}). */
static const uint8_t dsdt_aml[] = {
    0x10, 0x16, 0x5f, 0x53, 0x42, 0x5f, 0x5b, 0x82, 0x0f, 0x50, 0x43, 0x49, 0x30, 0x08, 0x5f, 0x48,
    0x49, 0x44, 0x0c, 0x41, 0xd0, 0x0a, 0x03, 0x08, 0x5f, 0x53, 0x33, 0x5f, 0x12, 0x06, 0x04, 0x01,
    0x01, 0x00, 0x00, 0x08, 0x5f, 0x53, 0x34, 0x5f, 0x12, 0x08, 0x04, 0x0a, 0x06, 0x0a, 0x06, 0x00,
    0x00, 0x08, 0x5f, 0x53, 0x35, 0x5f, 0x12, 0x08, 0x04, 0x0a, 0x07, 0x0a, 0x05, 0x00, 0x00};

static void put_gas(uint8_t *at, unsigned int space, unsigned int bits, uint64_t address)
{
    at[0] = (uint8_t)space;
    at[1] = (uint8_t)bits;
    put_value(at + 4, address, 8);
}

/* An FADT of ACPI 6 with old and new fields that differ; offsets are the table's. */
static void fill_fadt(uint8_t fadt[276], uint64_t dsdt, uint32_t flags)
{
    memset(fadt, 0, 276);
    put_value(fadt + 40, dsdt, 4);
    put_value(fadt + 64, 0xB004, 4);
    put_value(fadt + 76, 0xB008, 4);
    fadt[89] = 2;
    fadt[91] = 4;
    put_value(fadt + 112, flags, 4);
    put_gas(fadt + 116, GAS_IO, 8, 0xCF9);
    fadt[128] = 0x0E;
}

static uint64_t add_fadt(const uint8_t *fadt, uint32_t length)
{
    return add_table(&image, "FACP", fadt + 36, length - 36);
}

static struct boot_acpi read_tables(const uint64_t *tables, size_t count)
{
    struct acpi_reader reader = image_reader(&image);
    struct acpi_root root;
    struct boot_acpi out;

    assert_int_equal(acpi_open(&root, &reader, add_root(&image, tables, count, 8)), STATUS_OK);
    acpi_read_platform(&root, &out);
    return out;
}

static void expect_register(const struct boot_register *found, unsigned int space,
                            unsigned int bits, uint64_t address)
{
    assert_int_equal(found->space, space);
    assert_int_equal(found->bit_width, bits);
    assert_int_equal(found->address, address);
}

static void test_old_fadt(void **context)
{
    uint8_t fadt[276];
    uint64_t table;
    struct boot_acpi out;

    (void)context;
    image_reset(&image);
    fill_fadt(fadt, add_table(&image, "DSDT", dsdt_aml, sizeof(dsdt_aml)), 0);
    put_value(fadt + 68, 0xB044, 4);
    table = add_fadt(fadt, 116); /* ACPI 1.0 */
    out = read_tables(&table, 1);
    assert_true(out.is_present);
    assert_false(out.is_hardware_reduced);
    assert_false(out.pm_timer_is_32_bit);
    assert_false(out.has_mcfg);
    assert_int_equal(out.hpet_address, 0);
    expect_register(&out.pm1a_control, GAS_IO, 16, 0xB004);
    expect_register(&out.pm1b_control, GAS_IO, 16, 0xB044);
    expect_register(&out.pm_timer, GAS_IO, 32, 0xB008);
    expect_register(&out.reset, 0, 0, 0);
    expect_register(&out.sleep_control, 0, 0, 0);
    assert_true(out.has_s3);
    assert_int_equal(out.s3_type_a, 1);
    assert_int_equal(out.s3_type_b, 1);
    assert_true(out.has_s5);
    assert_int_equal(out.s5_type_a, 7);
    assert_int_equal(out.s5_type_b, 5);
}

static void test_new_fields_rule(void **context)
{
    uint8_t fadt[276];
    uint64_t table;
    struct boot_acpi out;

    (void)context;
    image_reset(&image);
    fill_fadt(fadt, 0x12345, BIT32(8) | BIT32(10));
    put_gas(fadt + 172, GAS_IO, 16, 0x1804);
    put_gas(fadt + 208, GAS_MEMORY, 32, 0xFED00000000);
    put_gas(fadt + 244, GAS_MEMORY, 8, 0xFE000000);
    put_value(fadt + 140, add_table(&image, "DSDT", dsdt_aml, sizeof(dsdt_aml)), 8);
    table = add_fadt(fadt, 276);
    out = read_tables(&table, 1);
    expect_register(&out.pm1a_control, GAS_IO, 16, 0x1804);
    expect_register(&out.pm1b_control, 0, 0, 0);
    expect_register(&out.pm_timer, GAS_MEMORY, 32, 0xFED00000000);
    expect_register(&out.sleep_control, GAS_MEMORY, 8, 0xFE000000);
    expect_register(&out.reset, GAS_IO, 8, 0xCF9);
    assert_int_equal(out.reset_value, 0x0E);
    assert_true(out.pm_timer_is_32_bit);
    assert_true(out.has_s5);
    /* Cut in the middle of a field: the field is missing. */
    image_reset(&image);
    table = add_fadt(fadt, 183);
    out = read_tables(&table, 1);
    expect_register(&out.pm1a_control, GAS_IO, 16, 0xB004);
    expect_register(&out.sleep_control, 0, 0, 0);
}

static void test_hardware_reduced(void **context)
{
    uint8_t fadt[276];
    uint64_t tables[2];
    struct boot_acpi out;

    (void)context;
    image_reset(&image);
    fill_fadt(fadt, 0, BIT32(20));
    put_gas(fadt + 244, GAS_IO, 8, 0x600);
    tables[0] = add_fadt(fadt, 276);
    tables[1] = add_table(&image, "SSDT", dsdt_aml, sizeof(dsdt_aml)); /* packages may be here */
    out = read_tables(tables, 2);
    assert_true(out.is_hardware_reduced);
    expect_register(&out.pm1a_control, 0, 0, 0);
    expect_register(&out.pm_timer, 0, 0, 0);
    expect_register(&out.sleep_control, GAS_IO, 8, 0x600);
    assert_true(out.has_s5);
}

static void test_other_tables(void **context)
{
    uint8_t hpet[20] = {0};
    struct boot_acpi out;
    uint64_t tables[2];

    (void)context;
    image_reset(&image);
    put_gas(hpet + 4, GAS_MEMORY, 64, 0xFED00000);
    tables[0] = add_table(&image, "HPET", hpet, sizeof(hpet));
    tables[1] = add_table(&image, "MCFG", "", 0);
    out = read_tables(tables, 2);
    assert_false(out.is_present); /* no FADT */
    assert_true(out.has_mcfg);
    assert_int_equal(out.hpet_address, 0xFED00000);
    hpet[4] = GAS_IO;
    image_reset(&image);
    tables[0] = add_table(&image, "HPET", hpet, sizeof(hpet));
    assert_int_equal(read_tables(tables, 1).hpet_address, 0);
}

/* Bytes and their count, without the NUL. */
#define AML(text) text, sizeof(text) - 1

static void test_sleep_packages(void **context)
{
    static const struct {
        uint8_t aml[32];
        uint32_t bytes;
        bool is_found;
        uint8_t a, b;
    } cases[] = {
        {AML("\x08_S5_\x12\x06\x04\0\0\0\0"), true, 0, 0},
        {AML("\x08\\_S5_\x12\x06\x04\x01\0\0\0"), true, 1, 0},
        {AML("\x08_S5_\x12\x07\x02\x0B\x02\0\x01\0"), true, 2, 1},
        {AML("\x08_S5_\x12\x0B\x02\x0C\x03\0\0\0\x0A\x04\0\0"), true, 3, 4},
        {AML("\x08_S5_\x12\x0C\x02\x0E\x05\0\0\0\0\0\0\0\x01"), true, 5, 1},
        {AML("\x08_S5_\x12\x05\x01\x0B\x05\x03"), true, 5, 3},      /* both in one word */
        {AML("\x08_S5_\x12\x45\x00\x02\x01\0"), true, 1, 0},        /* PkgLength of two bytes */
        {AML("\x08_S5_\x12\x86\0\0\x02\x01\0\0"), true, 1, 0},      /* three */
        {AML("\x08_S5_\x12\xC7\0\0\0\x02\x01\0\0"), true, 1, 0},    /* four */
        {AML("\x08_S5_\x08_S5_\x12\x04\x02\x06\x07"), false, 0, 0}, /* 6 is no integer op */
        {AML("\x08_S5_\x08_S5_\x12\x04\x02\x01\x01"), true, 1, 1},
        {AML("\x08_S5_\x12\x06\x04\x0A\x08\0\0"), false, 0, 0}, /* wider than SLP_TYP */
        {AML("\x08_S5_\x12\x06\x04\0\x0A\x08\0"), false, 0, 0},
        {AML("\x08_S5_\x12\x06\x04_S1_"), false, 0, 0},     /* a name */
        {AML("\x08_S5_\x12\x03\x02\x01\x01"), false, 0, 0}, /* ends after one element */
        {AML("\x08_S5_\x12\x02\x00\x01\x01"), false, 0, 0}, /* no elements */
        {AML("\x08_S5_\x12\x00\x02\x01\x01"), false, 0, 0}, /* length below its own size */
        {AML("\x08_S5_\x12\x41\x00\x02\x01\x01"), false, 0, 0},
        {AML("\x08_S5_\x12\x04\x00\x01\x01"), false, 0, 0},
        {AML("\x08_S5_\x12\x45\x01\x02\x0E\x01\0\0\0\0\0\0\0\x0E\x02\0\0\0\0\0\0\0"), true, 1, 2},
        {AML("\x08_S5_\x12\x05\x02\x01\x01"), false, 0, 0}, /* longer than the table */
        {AML("\x08_S5_\x12\xC5\x01\0\0\x02\x01\x01"), false, 0, 0},
        {AML("\x08_S5_\x11\x04\x02\x01\x01"), false, 0, 0},
        {AML("\x08_S4_\x12\x04\x02\x01\x01"), false, 0, 0},
        {AML("_S5_\x12\x04\x02\x01\x01"), false, 0, 0},
        {AML(""), false, 0, 0},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (uint32_t bytes = 0; bytes <= cases[i].bytes; bytes++) {
            uint8_t *aml = malloc(bytes > 0 ? bytes : 1);
            uint8_t a = 0;
            uint8_t b = 0;
            bool is_found;

            assert_non_null(aml);
            memcpy(aml, cases[i].aml, bytes);
            is_found = acpi_aml_find_sleep_type(aml, bytes, '5', &a, &b);
            free(aml);
            if (bytes == cases[i].bytes &&
                (is_found != cases[i].is_found || a != cases[i].a || b != cases[i].b)) {
                fail_msg("case %zu: %d %u %u", i, is_found, a, b);
            }
        }
    }
}

static uint64_t make_everything(void)
{
    static const uint8_t madt[] = {0, 0, 0xE0, 0xFE, 1, 0, 0, 0, 0, 8, 0, 0,  1, 0,
                                   0, 0, 0,    8,    1, 1, 1, 0, 0, 0, 9, 16, 0, 0,
                                   2, 1, 0,    0,    1, 0, 0, 0, 2, 0, 0, 0};
    uint8_t fadt[276];
    uint64_t tables[5];

    image_reset(&image);
    fill_fadt(fadt, add_table(&image, "DSDT", dsdt_aml, sizeof(dsdt_aml)), BIT32(10));
    tables[0] = add_fadt(fadt, 276);
    tables[1] = add_table(&image, "APIC", madt, sizeof(madt));
    tables[2] = add_table(&image, "SSDT", dsdt_aml, sizeof(dsdt_aml));
    tables[3] = add_table(&image, "HPET", fadt, 20);
    tables[4] = add_table(&image, "SPCR", fadt, 44);
    return add_root(&image, tables, 5, 8);
}

static void read_everything(uint64_t rsdp, unsigned int round)
{
    struct acpi_reader reader = image_reader(&image);
    struct boot_acpi out;
    struct acpi_root root;
    struct acpi_lp lps[4];
    size_t count;

    if (acpi_open(&root, &reader, rsdp) == STATUS_OK) {
        enum status status = acpi_madt_lps(&root, lps, ARRAY_LEN(lps), &count);

        assert_true(count <= ARRAY_LEN(lps) && status < STATUS_COUNT);
        acpi_read_platform(&root, &out);
        assert_true(out.s5_type_a <= 7 && out.s3_type_b <= 7);
        assert_true(out.is_present || round != 0); /* nothing is changed in round 0 */
    }
    image_release(&image);
}

/*
 * Mutated tables: bytes changed anywhere, with checksums mended as often as not so that the damage
 * gets past them. The oracle is the sanitizer and image_map's bounds.
 */
static void test_hostile_tables(void **context)
{
    static struct acpi_image clean;
    uint64_t rsdp = make_everything();
    uint64_t seed = 0x2545F4914F6CDD1D;

    (void)context;
    memcpy(&clean, &image, sizeof(clean));
    for (unsigned int round = 0; round < 20000; round++) {
        memcpy(&image, &clean, sizeof(image));
        for (unsigned int i = 0; i < round % 4; i++) {
            uint32_t where;

            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            where = (uint32_t)(seed >> 20) % image.used;
            image.memory[where] = (uint8_t)((seed & 0x300) == 0 ? 0xFF : seed);
        }
        if (round % 2 == 0) {
            for (uint32_t at = 0; at + 36 <= image.used; at += 16) {
                uint32_t length = image.memory[at + 4] | (uint32_t)image.memory[at + 5] << 8;

                if (length >= 36 && length <= image.used - at && image.memory[at] >= 'A') {
                    fix_checksum(image.memory + at, length, 9);
                }
            }
        }
        read_everything(rsdp, round);
    }
}

/* Readable memory ends anywhere in the tables, or they start anywhere. */
static void test_truncated_memory(void **context)
{
    uint64_t rsdp = make_everything();

    (void)context;
    for (uint32_t end = 0; end <= image.used; end++) {
        image.end = end;
        read_everything(rsdp, 1);
    }
    for (uint32_t offset = 0; offset < image.used; offset++) {
        read_everything(IMAGE_BASE + offset, 1);
    }
}

static int release(void **context)
{
    (void)context;
    image_release(&image);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_fadt),         cmocka_unit_test(test_new_fields_rule),
        cmocka_unit_test(test_hardware_reduced), cmocka_unit_test(test_other_tables),
        cmocka_unit_test(test_sleep_packages),   cmocka_unit_test(test_hostile_tables),
        cmocka_unit_test(test_truncated_memory),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
