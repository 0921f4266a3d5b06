/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/memtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/compiler.h"
#include "core/msr.h"
#include "mm/memtype.h"

#define ON               IA32_MTRR_DEF_TYPE_E
#define FIXED_ON         IA32_MTRR_DEF_TYPE_FE
#define PHYS_BITS        36u
#define SIZE_MASK(bytes) ((MASK64(PHYS_BITS - 1, 12) & ~((uint64_t)(bytes)-1)) | BIT64(11))

static struct mtrr_state make_state(uint64_t def_type)
{
    struct mtrr_state state = {0};

    state.cap = 10 | IA32_MTRRCAP_FIX | IA32_MTRRCAP_WC;
    state.def_type = def_type;
    state.phys_bits = PHYS_BITS;
    return state;
}

static void add_range(struct mtrr_state *state, unsigned int index, uint64_t base, uint64_t bytes,
                      enum mem_type type)
{
    state->variable[index].base = base | (uint64_t)type;
    state->variable[index].mask = SIZE_MASK(bytes);
}

static enum mem_type type_of(const struct mtrr_state *state, uint64_t address)
{
    uint64_t end = 0;
    enum mem_type type = memtype_at(state, address, &end);

    assert_true(end > address);
    return type;
}

static void test_off_is_uncached(void **context)
{
    struct mtrr_state state = make_state(MEM_TYPE_WB | FIXED_ON);
    enum mem_type type;

    (void)context;
    add_range(&state, 0, 0, 1ull << 30, MEM_TYPE_WB);
    state.fixed[0] = 0x0606060606060606;
    assert_int_equal(type_of(&state, 0), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0x1234567), MEM_TYPE_UC);
    assert_true(memtype_is_uniform(&state, 0, 1ull << PHYS_BITS, &type));
    assert_int_equal(type, MEM_TYPE_UC);
}

static void test_default_type(void **context)
{
    static const enum mem_type types[] = {MEM_TYPE_UC, MEM_TYPE_WC, MEM_TYPE_WT, MEM_TYPE_WP,
                                          MEM_TYPE_WB};
    enum mem_type type;

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct mtrr_state state = make_state(ON | (uint64_t)types[i]);

        assert_true(memtype_is_uniform(&state, 0, 1ull << PHYS_BITS, &type));
        assert_int_equal(type, types[i]);
    }
}

static void test_precedence(void **context)
{
    static const struct {
        enum mem_type a, b, c, result;
    } cases[] = {
        {MEM_TYPE_WB, MEM_TYPE_WB, MEM_TYPE_WB, MEM_TYPE_WB},
        {MEM_TYPE_WB, MEM_TYPE_WT, MEM_TYPE_WB, MEM_TYPE_WT},
        {MEM_TYPE_WT, MEM_TYPE_WB, MEM_TYPE_WT, MEM_TYPE_WT},
        {MEM_TYPE_UC, MEM_TYPE_WB, MEM_TYPE_WT, MEM_TYPE_UC},
        {MEM_TYPE_WB, MEM_TYPE_UC, MEM_TYPE_WB, MEM_TYPE_UC},
        {MEM_TYPE_WB, MEM_TYPE_WT, MEM_TYPE_UC, MEM_TYPE_UC},
        {MEM_TYPE_WC, MEM_TYPE_WC, MEM_TYPE_WC, MEM_TYPE_WC},
        {MEM_TYPE_WC, MEM_TYPE_WB, MEM_TYPE_WB, MEM_TYPE_UC}, /* undefined by the SDM */
        {MEM_TYPE_WP, MEM_TYPE_WB, MEM_TYPE_WP, MEM_TYPE_UC}, /* undefined by the SDM */
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mtrr_state state = make_state(ON | MEM_TYPE_WP);

        add_range(&state, 0, 0x40000000, 0x40000000, cases[i].a);
        add_range(&state, 3, 0x40000000, 0x10000000, cases[i].b);
        add_range(&state, 9, 0x40000000, 0x00100000, cases[i].c);
        assert_int_equal(type_of(&state, 0x40000000), cases[i].result);
        assert_int_equal(type_of(&state, 0x400FFFFF), cases[i].result);
        assert_int_equal(type_of(&state, 0x7FFFFFFF), cases[i].a);
        assert_int_equal(type_of(&state, 0x3FFFFFFF), MEM_TYPE_WP);
        assert_int_equal(type_of(&state, 0x80000000), MEM_TYPE_WP);
    }
}

static void test_default_is_no_party_to_overlap(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_UC);

    (void)context;
    add_range(&state, 0, 0, 0x80000000, MEM_TYPE_WB);
    assert_int_equal(type_of(&state, 0x1000), MEM_TYPE_WB);
    assert_int_equal(type_of(&state, 0x80000000), MEM_TYPE_UC);
}

static void test_range_edges_and_validity(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_WB);

    (void)context;
    add_range(&state, 1, 0xFEE00000, 0x1000, MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0xFEDFFFFF), MEM_TYPE_WB);
    assert_int_equal(type_of(&state, 0xFEE00000), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0xFEE00FFF), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0xFEE01000), MEM_TYPE_WB);
    state.variable[1].mask &= ~BIT64(11);
    assert_int_equal(type_of(&state, 0xFEE00000), MEM_TYPE_WB);
    /* Beyond VCNT nothing counts. */
    state.variable[1].mask |= BIT64(11);
    state.cap = 1;
    assert_int_equal(type_of(&state, 0xFEE00000), MEM_TYPE_WB);
    state.cap = 0xFF; /* more than we keep: limited, not overrun */
    assert_int_equal(mtrr_variable_count(&state), MTRR_VARIABLE_MAX);
    assert_int_equal(type_of(&state, 0xFEE00000), MEM_TYPE_UC);
}

static void test_mask_bits_beyond_phys_bits_ignored(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_WB);

    (void)context;
    add_range(&state, 0, 0x80000000, 0x80000000, MEM_TYPE_UC);
    state.variable[0].mask |= MASK64(63, PHYS_BITS);
    state.variable[0].base |= BIT64(45);
    assert_int_equal(type_of(&state, 0x80000000), MEM_TYPE_UC);
    /* A mask of zero covers everything. */
    state.variable[0].mask = BIT64(11);
    assert_int_equal(type_of(&state, 0), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, (1ull << PHYS_BITS) - 1), MEM_TYPE_UC);
}

static void test_mask_with_holes(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_WB);
    enum mem_type type;

    (void)context;
    state.variable[0].base = MEM_TYPE_UC;
    state.variable[0].mask = BIT64(12) | BIT64(11); /* every second page */
    assert_int_equal(type_of(&state, 0x0000), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0x1FFF), MEM_TYPE_WB);
    assert_int_equal(type_of(&state, 0x2000), MEM_TYPE_UC);
    assert_int_equal(type_of(&state, 0xFFFFFE000), MEM_TYPE_UC);
    assert_false(memtype_is_uniform(&state, 0, 0x2000, &type));
    assert_true(memtype_is_uniform(&state, 0x1000, 0x1000, &type));
    assert_int_equal(type, MEM_TYPE_WB);
}

static void test_fixed_ranges(void **context)
{
    static const struct {
        uint64_t address;
        unsigned int index, byte;
    } cases[] = {
        {0x00000, 0, 0}, {0x0FFFF, 0, 0}, {0x10000, 0, 1},  {0x7FFFF, 0, 7},  {0x80000, 1, 0},
        {0x83FFF, 1, 0}, {0x84000, 1, 1}, {0x9FFFF, 1, 7},  {0xA0000, 2, 0},  {0xBFFFF, 2, 7},
        {0xC0000, 3, 0}, {0xC0FFF, 3, 0}, {0xC1000, 3, 1},  {0xC7FFF, 3, 7},  {0xC8000, 4, 0},
        {0xE0000, 7, 0}, {0xF7FFF, 9, 7}, {0xF8000, 10, 0}, {0xFFFFF, 10, 7},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mtrr_state state = make_state(ON | FIXED_ON | MEM_TYPE_UC);

        add_range(&state, 0, 0, 0x100000, MEM_TYPE_UC); /* loses against the fixed ranges */
        state.fixed[cases[i].index] = (uint64_t)MEM_TYPE_WP << (8 * cases[i].byte);
        assert_int_equal(type_of(&state, cases[i].address), MEM_TYPE_WP);
        state.def_type &= ~FIXED_ON;
        assert_int_equal(type_of(&state, cases[i].address), MEM_TYPE_UC);
    }
}

static void test_fixed_ranges_end_at_1_mib(void **context)
{
    struct mtrr_state state = make_state(ON | FIXED_ON | MEM_TYPE_WB);
    enum mem_type type;

    (void)context;
    for (size_t i = 0; i < MTRR_FIXED_COUNT; i++) {
        state.fixed[i] = 0x0606060606060606;
    }
    assert_true(memtype_is_uniform(&state, 0, 2u << 20, &type));
    assert_int_equal(type, MEM_TYPE_WB);
    state.fixed[10] = 0x0506060606060606; /* the last 4 KiB */
    assert_false(memtype_is_uniform(&state, 0, 2u << 20, &type));
    assert_true(memtype_is_uniform(&state, 0, 0xFF000, &type));
    assert_true(memtype_is_uniform(&state, 0xFF000, 0x1000, &type));
    assert_int_equal(type, MEM_TYPE_WP);
    assert_true(memtype_is_uniform(&state, 0x100000, 0x100000, &type));
    assert_int_equal(type, MEM_TYPE_WB);
}

static void test_uniform_blocks(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_WB);
    enum mem_type type;

    (void)context;
    add_range(&state, 0, 0xC0000000, 0x40000000, MEM_TYPE_UC);
    add_range(&state, 1, 0x7F800000, 0x00800000, MEM_TYPE_UC);
    assert_true(memtype_is_uniform(&state, 0, 1u << 30, &type));
    assert_int_equal(type, MEM_TYPE_WB);
    assert_false(memtype_is_uniform(&state, 0x40000000, 1u << 30, &type));
    assert_true(memtype_is_uniform(&state, 0x80000000, 1u << 30, &type));
    assert_true(memtype_is_uniform(&state, 0xC0000000, 1u << 30, &type));
    assert_int_equal(type, MEM_TYPE_UC);
    assert_true(memtype_is_uniform(&state, 0x100000000, 1u << 30, &type));
    assert_int_equal(type, MEM_TYPE_WB);
    assert_true(memtype_is_uniform(&state, 0x7F600000, 0x200000, &type));
    assert_int_equal(type, MEM_TYPE_WB);
    assert_true(memtype_is_uniform(&state, 0x7F800000, 0x200000, &type));
    assert_int_equal(type, MEM_TYPE_UC);
    /* Two adjacent ranges of the same type are one block. */
    add_range(&state, 2, 0x7F000000, 0x00800000, MEM_TYPE_UC);
    assert_true(memtype_is_uniform(&state, 0x7F000000, 0x1000000, &type));
    assert_int_equal(type, MEM_TYPE_UC);
}

/* Against a search page by page, over pseudo-random registers. */
static void test_uniform_agrees_with_pages(void **context)
{
    uint64_t seed = 88172645463325252ull;

    (void)context;
    for (unsigned int round = 0; round < 400; round++) {
        struct mtrr_state state = make_state(ON | MEM_TYPE_WB | (round % 2 ? FIXED_ON : 0));
        static const uint8_t types[] = {0, 1, 4, 5, 6, 6, 4, 0};

        for (unsigned int i = 0; i < 6; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            state.variable[i].base = (seed & 0xFFF000) | types[seed >> 61];
            state.variable[i].mask = ~MASK64(12 + (seed >> 40) % 10, 0) | BIT64(11);
            state.variable[i].mask &= ~(i == 5 ? seed & 0x3FF000 : 0);
            state.fixed[i] = 0x0606060606060606;
        }
        for (uint64_t block = 0; block < 0x1000000; block += 0x200000) {
            enum mem_type type;
            bool is_uniform = memtype_is_uniform(&state, block, 0x200000, &type);
            bool expected = true;

            for (uint64_t page = block; page < block + 0x200000; page += 0x1000) {
                if (type_of(&state, page) != type) {
                    expected = false;
                }
            }
            assert_int_equal(is_uniform, expected);
        }
    }
}

static void test_bad_encodings_are_uncached(void **context)
{
    struct mtrr_state state = make_state(ON | 7);

    (void)context;
    assert_int_equal(type_of(&state, 0), MEM_TYPE_UC);
    add_range(&state, 0, 0, 0x1000, (enum mem_type)2);
    assert_int_equal(type_of(&state, 0), MEM_TYPE_UC);
    for (uint64_t value = 0; value < 256; value++) {
        bool expected = value == 0 || value == 1 || (value >= 4 && value <= 6);

        assert_int_equal(memtype_is_valid(value), expected);
    }
    assert_string_equal(memtype_name(MEM_TYPE_WP), "WP");
    assert_string_equal(memtype_name((enum mem_type)3), "??");
}

static void test_widest_address_space(void **context)
{
    struct mtrr_state state = make_state(ON | MEM_TYPE_WB);
    uint64_t end;

    (void)context;
    state.phys_bits = 52;
    add_range(&state, 0, 0, 0x1000, MEM_TYPE_UC);
    state.variable[0].mask = MASK64(51, 12) | BIT64(11);
    assert_int_equal(memtype_at(&state, BIT64(51), &end), MEM_TYPE_WB);
    assert_true(end >= BIT64(52));
    assert_int_equal(memtype_at(&state, 0, &end), MEM_TYPE_UC);
    assert_int_equal(end, 0x1000);
}

static void test_equality(void **context)
{
    struct mtrr_state a = make_state(ON | MEM_TYPE_WB);
    struct mtrr_state b = a;

    (void)context;
    b.cap = 9;
    assert_true(mtrr_state_equal(&a, &b));
    b.variable[2].base = 0x1000; /* not valid: does not count */
    assert_true(mtrr_state_equal(&a, &b));
    b.variable[2].mask = SIZE_MASK(0x1000);
    assert_false(mtrr_state_equal(&a, &b));
    b = a;
    b.fixed[4] = 6; /* switched off: does not count */
    assert_true(mtrr_state_equal(&a, &b));
    a.def_type |= FIXED_ON;
    assert_false(mtrr_state_equal(&a, &b));
    b.def_type |= FIXED_ON;
    assert_false(mtrr_state_equal(&a, &b));
    b.fixed[4] = 0;
    assert_true(mtrr_state_equal(&a, &b));
    b.def_type = (b.def_type & ~0xFFull) | MEM_TYPE_UC;
    assert_false(mtrr_state_equal(&a, &b));
    a.def_type &= ~ON;
    b.def_type &= ~ON;
    assert_true(mtrr_state_equal(&a, &b)); /* both off */
}

static void test_fixed_msr_numbers(void **context)
{
    static const uint32_t numbers[] = {0x250, 0x258, 0x259, 0x268, 0x269, 0x26A,
                                       0x26B, 0x26C, 0x26D, 0x26E, 0x26F, 0};

    (void)context;
    for (unsigned int i = 0; i < ARRAY_LEN(numbers); i++) {
        assert_int_equal(mtrr_fixed_msr(i), numbers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off_is_uncached),
        cmocka_unit_test(test_default_type),
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_default_is_no_party_to_overlap),
        cmocka_unit_test(test_range_edges_and_validity),
        cmocka_unit_test(test_mask_bits_beyond_phys_bits_ignored),
        cmocka_unit_test(test_mask_with_holes),
        cmocka_unit_test(test_fixed_ranges),
        cmocka_unit_test(test_fixed_ranges_end_at_1_mib),
        cmocka_unit_test(test_uniform_blocks),
        cmocka_unit_test(test_uniform_agrees_with_pages),
        cmocka_unit_test(test_bad_encodings_are_uncached),
        cmocka_unit_test(test_widest_address_space),
        cmocka_unit_test(test_equality),
        cmocka_unit_test(test_fixed_msr_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
