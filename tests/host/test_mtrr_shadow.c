/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/mtrr_shadow.c mm/memtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/msr.h"
#include "vmx/mtrr_shadow.h"

#define PHYS_BITS 39u

static struct mtrr_shadow make_shadow(uint64_t cap)
{
    struct mtrr_state hardware = {0};
    struct mtrr_shadow shadow;

    hardware.cap = cap;
    hardware.def_type = IA32_MTRR_DEF_TYPE_E | IA32_MTRR_DEF_TYPE_FE | MEM_TYPE_WB;
    hardware.phys_bits = PHYS_BITS;
    hardware.fixed[0] = 0x0606060606060606;
    hardware.fixed[10] = 0x0505050505050505;
    hardware.variable[7].base = 0xC0000000;
    hardware.variable[7].mask = 0x7FC0000800;
    mtrr_shadow_init(&shadow, &hardware);
    return shadow;
}

static uint64_t read_ok(const struct mtrr_shadow *shadow, uint32_t msr)
{
    uint64_t value = 0;

    assert_true(mtrr_shadow_read(shadow, msr, &value));
    return value;
}

static void test_takes_over_hardware(void **context)
{
    struct mtrr_shadow shadow = make_shadow(0x508);

    (void)context;
    assert_int_equal(read_ok(&shadow, 0xFE), 0x508);
    assert_int_equal(read_ok(&shadow, 0x2FF), 0xC06);
    assert_int_equal(read_ok(&shadow, 0x250), 0x0606060606060606);
    assert_int_equal(read_ok(&shadow, 0x26F), 0x0505050505050505);
    assert_int_equal(read_ok(&shadow, 0x20E), 0xC0000000);
    assert_int_equal(read_ok(&shadow, 0x20F), 0x7FC0000800);
}

static void test_hides_capabilities(void **context)
{
    struct mtrr_shadow shadow = make_shadow(0xFFFFFFFFFFFFFF0Aull);

    (void)context;
    assert_int_equal(read_ok(&shadow, 0xFE), 0x50A); /* no SMRR, no PRMRR, nothing unknown */
    shadow = make_shadow(0xFF);
    assert_int_equal(read_ok(&shadow, 0xFE), MTRR_VARIABLE_MAX);
}

static void test_missing_registers(void **context)
{
    struct mtrr_shadow shadow = make_shadow(0x408); /* 8 pairs, no fixed ranges */
    static const uint32_t missing[] = {0x210, 0x211, 0x23F, 0x240, 0x250, 0x258,
                                       0x26F, 0x277, 0x1F2, 0x1FF, 0x300, 0};

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        uint64_t value = 1;
        bool rebuild = true;

        assert_false(mtrr_shadow_read(&shadow, missing[i], &value));
        assert_int_equal(value, 0);
        assert_false(mtrr_shadow_write(&shadow, missing[i], 0, &rebuild));
        assert_false(rebuild);
    }
}

static void test_writes(void **context)
{
    static const struct {
        uint32_t msr;
        uint64_t value;
        bool is_allowed;
    } cases[] = {
        {0x0FE, 0x508, false}, /* read-only */
        {0x2FF, 0, true},
        {0x2FF, 0xC06, true},
        {0x2FF, 0x800, true},
        {0x2FF, 0x400, true},
        {0x2FF, 0xC02, false}, /* type */
        {0x2FF, 0xC03, false},
        {0x2FF, 0xC07, false},
        {0x2FF, 0xC16, false},
        {0x2FF, 0x1C06, false}, /* reserved */
        {0x2FF, 0x206, false},
        {0x2FF, 1ull << 32, false},
        {0x200, 0x0000000006, true},
        {0x200, 0x7FFFFFF001, true},
        {0x200, 0x7FFFFFF002, false},
        {0x200, 0x7FFFFFF106, false},
        {0x200, 0x7FFFFFF806, false},
        {0x200, 0x8000000006, false}, /* beyond 39 bits */
        {0x20E, 0x0000001004, true},
        {0x201, 0x7FFFFFF800, true},
        {0x201, 0x7FFFFFF000, true},
        {0x201, 0x0000000800, true},
        {0x201, 0x7FFFFFF801, false},
        {0x201, 0x7FFFFFFC00, false},
        {0x201, 0xFFFFFFF800, false},
        {0x250, 0x0606060606060606, true},
        {0x250, 0x0001040506000106, true},
        {0x250, 0x0606060606060607, false},
        {0x250, 0x0206060606060606, false},
        {0x26F, 0x0606060306060606, false},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mtrr_shadow shadow = make_shadow(0x508);
        uint64_t before = read_ok(&shadow, cases[i].msr);
        bool rebuild;

        assert_int_equal(mtrr_shadow_write(&shadow, cases[i].msr, cases[i].value, &rebuild),
                         cases[i].is_allowed);
        assert_int_equal(read_ok(&shadow, cases[i].msr),
                         cases[i].is_allowed ? cases[i].value : before);
        if (!cases[i].is_allowed) {
            assert_false(rebuild);
        }
    }
}

static void test_wc_and_fixed_need_capability(void **context)
{
    struct mtrr_shadow shadow = make_shadow(0x108); /* no WC */
    bool rebuild;

    (void)context;
    assert_false(mtrr_shadow_write(&shadow, 0x200, MEM_TYPE_WC, &rebuild));
    assert_false(mtrr_shadow_write(&shadow, 0x2FF, 0x800 | MEM_TYPE_WC, &rebuild));
    assert_false(mtrr_shadow_write(&shadow, 0x250, 0x0101010101010101, &rebuild));
    assert_true(mtrr_shadow_write(&shadow, 0x200, MEM_TYPE_WT, &rebuild));
    shadow = make_shadow(0x408); /* no fixed ranges */
    assert_false(mtrr_shadow_write(&shadow, 0x2FF, 0xC06, &rebuild));
    assert_true(mtrr_shadow_write(&shadow, 0x2FF, 0x806, &rebuild));
}

static void write_expect(struct mtrr_shadow *shadow, uint32_t msr, uint64_t value, bool expected)
{
    bool rebuild = !expected;

    assert_true(mtrr_shadow_write(shadow, msr, value, &rebuild));
    assert_int_equal(rebuild, expected);
}

/* The sequence of the SDM, "MemTypeSet() Function": off, change, on. */
static void test_tells_when_to_rebuild(void **context)
{
    struct mtrr_shadow shadow = make_shadow(0x508);
    struct mtrr_state before = shadow.state;

    (void)context;
    write_expect(&shadow, 0x2FF, 0x006, false); /* off: nothing yet */
    write_expect(&shadow, 0x200, 0xD0000001, false);
    write_expect(&shadow, 0x201, 0x7FF0000800, false);
    write_expect(&shadow, 0x2FF, 0xC06, true); /* on again */
    assert_false(mtrr_state_equal(&before, &shadow.state));

    write_expect(&shadow, 0x2FF, 0xC06, false); /* the same value while on */
    write_expect(&shadow, 0x2FF, 0xC00, true);  /* default type while on */
    write_expect(&shadow, 0x250, 0, true);      /* a range while on */
    write_expect(&shadow, 0x250, 0, false);

    shadow = make_shadow(0x508);
    write_expect(&shadow, 0x2FF, 0, false);
    write_expect(&shadow, 0x2FF, 0xC06, true); /* told, but the map is the same */
    assert_true(mtrr_state_equal(&before, &shadow.state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_over_hardware),
        cmocka_unit_test(test_hides_capabilities),
        cmocka_unit_test(test_missing_registers),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_wc_and_fixed_need_capability),
        cmocka_unit_test(test_tells_when_to_rebuild),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
