/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/port_watch.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "vmx/port_watch.h"

#define PM1A  0x604u
#define PM1B  0x804u
#define SLEEP 0x900u
#define RESET 0xB00u

/* SLP_EN with a type, as the high byte of PM1 control. */
#define EN         0x20u
#define TYPE(type) (EN | ((type) << 2))
#define S5         TYPE(5u)
#define S3         TYPE(1u)
#define S1         TYPE(2u)

static const struct boot_acpi acpi = {
    .is_present = true,
    .has_s3 = true,
    .has_s5 = true,
    .s3_type_a = 1,
    .s3_type_b = 3,
    .s5_type_a = 5,
    .s5_type_b = 7,
    .pm1a_control = {PM1A, GAS_IO, 16},
    .pm1b_control = {PM1B, GAS_IO, 16},
    .sleep_control = {SLEEP, GAS_IO, 8},
    .reset = {RESET, GAS_IO, 8},
    .reset_value = 0xA5,
};

struct row {
    uint16_t port;
    uint8_t bytes;
    uint64_t value;
    enum port_sleep sleep;
    uint64_t sleep_enable;
};

static void expect_sleep(const struct row *row)
{
    struct port_access access = {GAS_IO, row->port, row->bytes, row->value};
    struct port_meaning meaning;

    port_watch_decode(&acpi, &access, &meaning);
    if (meaning.sleep != row->sleep || meaning.sleep_enable != row->sleep_enable ||
        meaning.is_reset || meaning.has_system_control_b) {
        fail_msg("port %x, %u bytes, value %llx: sleep %d, bits %llx", row->port, row->bytes,
                 (unsigned long long)row->value, meaning.sleep,
                 (unsigned long long)meaning.sleep_enable);
    }
}

static void test_sleep(void **context)
{
    static const struct row rows[] = {
        /* The register itself, and each of its bytes. */
        {PM1A, 2, S5 << 8, PORT_SLEEP_S5, EN << 8},
        {PM1A, 2, S3 << 8 | 0xFF, PORT_SLEEP_S3, EN << 8},
        {PM1A, 2, S1 << 8, PORT_SLEEP_OTHER, EN << 8},
        {PM1A, 2, (S3 & ~EN) << 8 | 0xFF, PORT_SLEEP_NONE, 0},
        {PM1A, 1, 0xFF, PORT_SLEEP_NONE, 0},
        {PM1A + 1, 1, S3, PORT_SLEEP_S3, EN},
        {PM1A + 2, 1, S3, PORT_SLEEP_NONE, 0},
        {PM1A, 4, S3 << 8, PORT_SLEEP_S3, EN << 8},
        {PM1A, 4, (uint64_t)S3 << 24 | S3 << 16, PORT_SLEEP_NONE, 0},
        /* Wide writes that begin beside it. */
        {PM1A + 1, 2, S3, PORT_SLEEP_S3, EN},
        {PM1A + 1, 2, S3 << 8, PORT_SLEEP_NONE, 0},
        {PM1A + 1, 4, S5, PORT_SLEEP_S5, EN},
        {PM1A - 1, 2, 0xFFFF, PORT_SLEEP_NONE, 0},
        {PM1A - 1, 4, S3 << 16, PORT_SLEEP_S3, EN << 16},
        {PM1A - 2, 4, (uint64_t)S3 << 24, PORT_SLEEP_S3, (uint64_t)EN << 24},
        {PM1A - 3, 4, 0xFFFFFFFF, PORT_SLEEP_NONE, 0},
        /* PM1b has types of its own. */
        {PM1B, 2, TYPE(7u) << 8, PORT_SLEEP_S5, EN << 8},
        {PM1B + 1, 1, TYPE(3u), PORT_SLEEP_S3, EN},
        {PM1B, 2, S5 << 8, PORT_SLEEP_OTHER, EN << 8},
        /* The sleep control register takes those of PM1a. */
        {SLEEP, 1, S5, PORT_SLEEP_S5, EN},
        {SLEEP, 1, S3, PORT_SLEEP_S3, EN},
        {SLEEP - 1, 2, S3 << 8, PORT_SLEEP_S3, EN << 8},
        {SLEEP + 1, 1, S3, PORT_SLEEP_NONE, 0},
        {0x1234, 4, 0xFFFFFFFF, PORT_SLEEP_NONE, 0},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        expect_sleep(&rows[i]);
    }
}

static bool is_reset(uint16_t port, uint8_t bytes, uint32_t value)
{
    struct port_access access = {GAS_IO, port, bytes, value};
    struct port_meaning meaning;

    port_watch_decode(&acpi, &access, &meaning);
    assert_int_equal(meaning.sleep, PORT_SLEEP_NONE);
    return meaning.is_reset;
}

static void test_reset(void **context)
{
    (void)context;
    assert_true(is_reset(0xCF9, 1, 0x06));
    assert_true(is_reset(0xCF9, 1, 0x0E));
    assert_false(is_reset(0xCF9, 1, 0x0A));
    assert_true(is_reset(0xCF8, 2, 0x0600));
    assert_false(is_reset(0xCF8, 2, 0x0006));
    assert_true(is_reset(0xCF7, 4, 0x060000));
    assert_true(is_reset(0xCF9, 4, 0x06));
    assert_false(is_reset(0xCF8, 4, 0x80000600)); /* an address of PCI configuration space */
    assert_false(is_reset(0xCF8, 1, 0x06));
    assert_true(is_reset(0x64, 1, 0xFE));
    assert_true(is_reset(0x64, 1, 0xF0));
    assert_false(is_reset(0x64, 1, 0xFF));
    assert_false(is_reset(0x64, 1, 0xD4));
    assert_true(is_reset(0x63, 2, 0xFE00));
    assert_false(is_reset(0x64, 2, 0xFE00));
    assert_true(is_reset(0x92, 1, 0x03));
    assert_false(is_reset(0x92, 1, 0x02));
    assert_true(is_reset(0x90, 4, 0x010000));
    assert_true(is_reset(RESET, 1, 0xA5));
    assert_false(is_reset(RESET, 1, 0xA4));
    assert_true(is_reset(RESET - 1, 2, 0xA500));
    assert_false(is_reset(RESET - 1, 1, 0xA5));
    assert_true(is_reset(RESET, 4, 0x112233A5));
}

static void test_reset_register_at_cf9(void **context)
{
    struct boot_acpi other = {.reset = {0xCF9, GAS_IO, 8}, .reset_value = 0x02};
    struct port_access access = {GAS_IO, 0xCF8, 4, 0x0200};
    struct port_meaning meaning;

    (void)context;
    port_watch_decode(&other, &access, &meaning);
    assert_false(meaning.is_reset);
    access.bytes = 2;
    port_watch_decode(&other, &access, &meaning);
    assert_true(meaning.is_reset);
}

/* The ports wrap. */
static void test_wrap(void **context)
{
    struct boot_acpi other = {.reset = {1, GAS_IO, 8}, .reset_value = 0x5A};
    struct port_access access = {GAS_IO, 0xFFFE, 4, 0x5A000000};
    struct port_meaning meaning;

    (void)context;
    port_watch_decode(&other, &access, &meaning);
    assert_true(meaning.is_reset);
    access.bytes = 2;
    port_watch_decode(&other, &access, &meaning);
    assert_false(meaning.is_reset);
}

static void test_system_control_b(void **context)
{
    struct port_access access = {GAS_IO, 0x61, 1, 0x0C};
    struct port_meaning meaning;

    (void)context;
    port_watch_decode(&acpi, &access, &meaning);
    assert_true(meaning.has_system_control_b);
    assert_int_equal(meaning.system_control_b, 0x0C);
    access = (struct port_access){GAS_IO, 0x60, 2, 0x3411};
    port_watch_decode(&acpi, &access, &meaning);
    assert_true(meaning.has_system_control_b);
    assert_int_equal(meaning.system_control_b, 0x34);
    access = (struct port_access){GAS_IO, 0x62, 4, 0x0C};
    port_watch_decode(&acpi, &access, &meaning);
    assert_false(meaning.has_system_control_b);
}

/* A register in memory is none in I/O space, and the other way round. */
static void test_spaces(void **context)
{
    struct boot_acpi other = acpi;
    struct port_access access = {GAS_MEMORY, 0xFED00000, 8, (uint64_t)S3 << 40};
    struct port_meaning meaning;

    (void)context;
    other.sleep_control = (struct boot_register){0xFED00005, GAS_MEMORY, 8};
    port_watch_decode(&other, &access, &meaning);
    assert_int_equal(meaning.sleep, PORT_SLEEP_S3);
    assert_true(meaning.sleep_enable == (uint64_t)EN << 40);
    access = (struct port_access){GAS_IO, 0x0005, 1, S3};
    port_watch_decode(&other, &access, &meaning);
    assert_int_equal(meaning.sleep, PORT_SLEEP_NONE);
    access = (struct port_access){GAS_MEMORY, PM1A, 2, S3 << 8};
    port_watch_decode(&other, &access, &meaning);
    assert_int_equal(meaning.sleep, PORT_SLEEP_NONE);
    access = (struct port_access){GAS_MEMORY, PORT_RESET_CONTROL, 1, 6};
    port_watch_decode(&other, &access, &meaning);
    assert_false(meaning.is_reset);
}

static void test_nothing_known(void **context)
{
    const struct boot_acpi none = {0};
    struct port_meaning meaning;

    (void)context;
    for (uint32_t port = 0xFFF0; port < 0x10010; port++) {
        struct port_access access = {GAS_IO, (uint16_t)port, 4, 0xFFFFFFFF};

        port_watch_decode(&none, &access, &meaning);
        assert_int_equal(meaning.sleep, PORT_SLEEP_NONE);
        assert_false(meaning.is_reset);
    }
}

static void test_overlap(void **context)
{
    static const struct {
        uint16_t port;
        uint8_t bytes;
        uint8_t mask;
    } rows[] = {
        {0x2F8, 1, 0x1}, {0x2FF, 1, 0x1}, {0x2F7, 1, 0},   {0x300, 1, 0},
        {0x2F7, 2, 0x2}, {0x2F8, 2, 0x3}, {0x2FF, 2, 0x1}, {0x2F5, 4, 0x8},
        {0x2F6, 4, 0xC}, {0x2F7, 4, 0xE}, {0x2F4, 4, 0},   {0x2FC, 4, 0xF},
        {0x2FD, 4, 0x7}, {0x2FF, 4, 0x1}, {0x300, 4, 0},   {0xFFFF, 4, 0},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_int_equal(port_watch_overlap(0x2F8, 8, rows[i].port, rows[i].bytes), rows[i].mask);
    }
}

static bool is_watched(const uint8_t *bitmaps, uint32_t port)
{
    return (bitmaps[port / 8] >> (port % 8) & 1) != 0;
}

static void test_bitmaps(void **context)
{
    static const uint16_t watched[] = {0x61, 0x64,     0x92,  0xCF9, PM1A,  PM1A + 1,
                                       PM1B, PM1B + 1, SLEEP, RESET, 0xFFFF};
    static uint8_t bitmaps[8192 + 1];
    uint32_t count = 0;

    (void)context;
    port_watch_build(&acpi, bitmaps);
    port_watch_add(bitmaps, 0xFFFF, 8);
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        assert_true(is_watched(bitmaps, watched[i]));
    }
    for (uint32_t port = 0; port < sizeof(bitmaps) * 8; port++) {
        count += is_watched(bitmaps, port);
    }
    assert_int_equal(count, ARRAY_LEN(watched));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_reset_register_at_cf9),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_system_control_b),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_bitmaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
