/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: boot/acpi.c boot/acpi_platform.c boot/acpi_aml.c */
#include "core/compiler.h"
#include "tests/host/acpi_image.h"

/* Finding tables and processors. */

static struct acpi_image image;

static enum status open_root(struct acpi_root *root, uint64_t rsdp)
{
    struct acpi_reader reader = image_reader(&image);

    return acpi_open(root, &reader, rsdp);
}

static void test_xsdt_and_rsdt(void **context)
{
    (void)context;
    for (unsigned int pointer_bytes = 4; pointer_bytes <= 8; pointer_bytes += 4) {
        struct acpi_root root;
        struct acpi_table table;
        uint64_t tables[4];

        image_reset(&image);
        tables[0] = add_table(&image, "AAAA", "x", 1);
        tables[1] = add_table(&image, "SSDT", "first", 5);
        tables[2] = 0;
        tables[3] = add_table(&image, "SSDT", "second", 6);
        assert_int_equal(open_root(&root, add_root(&image, tables, 4, pointer_bytes)), STATUS_OK);
        assert_int_equal(root.pointer_bytes, pointer_bytes);
        assert_true(acpi_find(&root, "AAAA", 0, &table));
        assert_int_equal(table.length, 37);
        assert_int_equal(table.address, tables[0]);
        assert_false(acpi_find(&root, "AAAA", 1, &table));
        assert_true(acpi_find(&root, "SSDT", 1, &table));
        assert_memory_equal(table.bytes + 36, "second", 6);
        assert_false(acpi_find(&root, "SSDT", 2, &table));
        assert_false(acpi_find(&root, "DSDT", 0, &table));
    }
}

static void test_bad_tables_do_not_count(void **context)
{
    struct acpi_root root;
    struct acpi_table table;
    uint64_t tables[5];

    (void)context;
    image_reset(&image);
    for (size_t i = 0; i < 4; i++) {
        tables[i] = add_table(&image, "TEST", "body", 4);
    }
    tables[4] = IMAGE_BASE + IMAGE_BYTES - 35;                 /* not even a header can be read */
    image_at(&image, tables[0])[37] ^= 1;                      /* checksum */
    put_value(image_at(&image, tables[1]) + 4, 35, 4);         /* too short */
    put_value(image_at(&image, tables[2]) + 4, 0xFFFFFFFF, 4); /* too long */
    assert_int_equal(open_root(&root, add_root(&image, tables, 5, 8)), STATUS_OK);
    assert_true(acpi_find(&root, "TEST", 0, &table));
    assert_int_equal(table.address, tables[3]);
    assert_false(acpi_find(&root, "TEST", 1, &table));
}

static void test_root_pointer_checks(void **context)
{
    struct acpi_root root;
    uint64_t table;
    uint64_t rsdp;
    uint8_t *bytes;

    (void)context;
    image_reset(&image);
    table = add_table(&image, "TEST", "body", 4);
    rsdp = add_root(&image, &table, 1, 8);
    bytes = image_at(&image, rsdp);
    assert_int_equal(open_root(&root, rsdp), STATUS_OK);
    assert_int_equal(open_root(&root, rsdp + 1), STATUS_MALFORMED);
    assert_int_equal(open_root(&root, 0x10), STATUS_NOT_FOUND);
    assert_int_equal(open_root(&root, IMAGE_BASE + IMAGE_BYTES - 19), STATUS_NOT_FOUND);
    bytes[9] ^= 1; /* first checksum */
    assert_int_equal(open_root(&root, rsdp), STATUS_MALFORMED);
    bytes[9] ^= 1;
    bytes[33] ^= 1; /* second checksum */
    assert_int_equal(open_root(&root, rsdp), STATUS_MALFORMED);
    bytes[33] ^= 1;
    put_value(bytes + 20, 35, 4);
    fix_checksum(bytes, 36, 32);
    assert_int_equal(open_root(&root, rsdp), STATUS_MALFORMED);
    put_value(bytes + 20, 5000, 4);
    assert_int_equal(open_root(&root, rsdp), STATUS_MALFORMED);
    put_value(bytes + 20, 36, 4);
    put_value(bytes + 24, table, 8); /* a table that is no XSDT, and no RSDT to fall back to */
    fix_checksum(bytes, 36, 32);
    assert_int_equal(open_root(&root, rsdp), STATUS_MALFORMED);
}

static void test_falls_back_to_rsdt(void **context)
{
    struct acpi_root root;
    uint64_t table;
    uint64_t old;
    uint64_t rsdp;

    (void)context;
    image_reset(&image);
    table = add_table(&image, "TEST", "body", 4);
    old = add_root(&image, &table, 1, 4);
    rsdp = add_root(&image, &table, 1, 8);
    memcpy(image_at(&image, rsdp) + 16, image_at(&image, old) + 16, 4);
    put_value(image_at(&image, rsdp) + 24, 0, 8);
    fix_checksum(image_at(&image, rsdp), 20, 8);
    fix_checksum(image_at(&image, rsdp), 36, 32);
    assert_int_equal(open_root(&root, rsdp), STATUS_OK);
    assert_int_equal(root.pointer_bytes, 4);
}

#define LOCAL_APIC(id, flags) 0, 8, 1, (id), (flags), 0, 0, 0
#define LOCAL_X2APIC(a, flags) \
    9, 16, 0, 0, (a)&0xFF, (a) >> 8 & 0xFF, 0, 0, (flags), 0, 0, 0, 1, 0, 0, 0
#define MADT_HEAD 0, 0, 0xE0, 0xFE, 1, 0, 0, 0

static enum status read_madt(const uint8_t *body, uint32_t bytes, struct acpi_lp *lps,
                             size_t capacity, size_t *count)
{
    struct acpi_root root;
    uint64_t table;

    image_reset(&image);
    table = add_table(&image, "APIC", body, bytes);
    assert_int_equal(open_root(&root, add_root(&image, &table, 1, 8)), STATUS_OK);
    return acpi_madt_lps(&root, lps, capacity, count);
}

static void test_madt(void **context)
{
    static const uint8_t body[] = {
        MADT_HEAD,
        LOCAL_APIC(0, 1),
        LOCAL_APIC(4, 1),
        1,
        12,
        2,
        0,
        0,
        0,
        0xC0,
        0xFE,
        0,
        0,
        0,
        0,                   /* an I/O APIC */
        LOCAL_APIC(6, 0),    /* neither enabled nor capable */
        LOCAL_APIC(7, 2),    /* online-capable */
        LOCAL_APIC(0xFF, 1), /* no id */
        LOCAL_X2APIC(0x123, 1),
        LOCAL_X2APIC(4, 1), /* listed already */
        LOCAL_X2APIC(7, 1), /* enabled here */
        LOCAL_X2APIC(0xFF, 2),
        LOCAL_X2APIC(0x200, 0),
        9,
        16,
        0,
        0,
        0xFF,
        0xFF,
        0xFF,
        0xFF,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0, /* no id */
        0x80,
        2, /* of a vendor */
    };
    static const struct acpi_lp expected[] = {
        {0, true, false},     {4, true, false},    {7, true, false},
        {0x123, true, false}, {0xFF, false, true},
    };
    struct acpi_lp lps[8];
    size_t count;

    (void)context;
    assert_int_equal(read_madt(body, sizeof(body), lps, 8, &count), STATUS_OK);
    assert_int_equal(count, ARRAY_LEN(expected));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(lps[i].apic_id, expected[i].apic_id);
        assert_int_equal(lps[i].is_enabled, expected[i].is_enabled);
        assert_int_equal(lps[i].is_online_capable, expected[i].is_online_capable);
    }
    assert_int_equal(read_madt(body, sizeof(body), lps, 5, &count), STATUS_OK);
    assert_int_equal(read_madt(body, sizeof(body), lps, 4, &count), STATUS_OUT_OF_RANGE);
    /* Every truncation ends cleanly: at an entry's border, or as malformed. */
    for (uint32_t bytes = 0; bytes < sizeof(body); bytes++) {
        enum status status = read_madt(body, bytes, lps, 8, &count);

        assert_true(status == STATUS_OK || status == STATUS_MALFORMED);
    }
}

static void test_madt_malformed(void **context)
{
    static const uint8_t zero[] = {MADT_HEAD, LOCAL_APIC(0, 1), 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t one[] = {MADT_HEAD, 5, 1};
    static const uint8_t beyond[] = {MADT_HEAD, 0, 8, 0, 0, 1, 0, 0};
    static const uint8_t half[] = {MADT_HEAD, 0};
    static const uint8_t stunted[] = {MADT_HEAD, 0, 6, 0, 3, 1, 0, LOCAL_APIC(1, 1)};
    struct acpi_root root;
    struct acpi_lp lps[8];
    uint64_t table;
    size_t count = 7;

    (void)context;
    assert_int_equal(read_madt(zero, sizeof(zero), lps, 8, &count), STATUS_MALFORMED);
    assert_int_equal(read_madt(one, sizeof(one), lps, 8, &count), STATUS_MALFORMED);
    assert_int_equal(read_madt(beyond, sizeof(beyond), lps, 8, &count), STATUS_MALFORMED);
    assert_int_equal(read_madt(half, sizeof(half), lps, 8, &count), STATUS_MALFORMED);
    assert_int_equal(read_madt(stunted, sizeof(stunted), lps, 8, &count), STATUS_OK);
    assert_int_equal(count, 1); /* an entry too short to be read is no processor */
    assert_int_equal(lps[0].apic_id, 1);
    image_reset(&image);
    table = add_table(&image, "TEST", "", 0);
    assert_int_equal(open_root(&root, add_root(&image, &table, 1, 8)), STATUS_OK);
    assert_int_equal(acpi_madt_lps(&root, lps, 8, &count), STATUS_NOT_FOUND);
    assert_int_equal(count, 0);
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
        cmocka_unit_test(test_xsdt_and_rsdt),
        cmocka_unit_test(test_bad_tables_do_not_count),
        cmocka_unit_test(test_root_pointer_checks),
        cmocka_unit_test(test_falls_back_to_rsdt),
        cmocka_unit_test(test_madt),
        cmocka_unit_test(test_madt_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
