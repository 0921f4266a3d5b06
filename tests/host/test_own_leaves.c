/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/own_leaves.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "vmx/own_leaves.h"

#define VPS      5u
#define COUNTERS 7u

/* Each counter of each VP has a value of its own, above 32 bits. */
static uint64_t count(void *context, uint32_t counter, uint32_t vp_index)
{
    unsigned int *calls = context;

    assert_true(counter < COUNTERS && vp_index < VPS);
    (*calls)++;
    return 0x100000000ull * (counter + 1) + vp_index + 0xFFFFFFF0u;
}

static unsigned int calls;
static const struct own_leaves own = {
    .version = OWN_VERSION(1, 2, 3),
    .mode = OWN_MODE_PASSTHROUGH,
    .vp_count = VPS,
    .counter_count = COUNTERS,
    .counter = count,
    .context = &calls,
};

static void assert_leaf(uint32_t leaf, uint32_t subleaf, struct cpuid_regs want)
{
    struct cpuid_regs regs = {9, 9, 9, 9};

    regs = own_leaves_read(&own, leaf, subleaf, 3);
    assert_int_equal(regs.eax, want.eax);
    assert_int_equal(regs.ebx, want.ebx);
    assert_int_equal(regs.ecx, want.ecx);
    assert_int_equal(regs.edx, want.edx);
}

static void the_block_is_named(void **state)
{
    struct cpuid_regs regs;
    char text[13] = {0};

    (void)state;
    regs = own_leaves_read(&own, 0x40000100, 0, 0);
    assert_int_equal(regs.eax, 0x40000102);
    memcpy(text, &regs.ebx, 4);
    memcpy(text + 4, &regs.ecx, 4);
    memcpy(text + 8, &regs.edx, 4);
    assert_string_equal(text, "SluiceSluice");
    assert_leaf(0x40000101, 0, (struct cpuid_regs){0x00010203, 1, VPS, 3});
    assert_leaf(0x40000101, 0x1F, (struct cpuid_regs){0x00010203, 1, VPS, 3});
    regs = own_leaves_read(&own, 0x40000100, 0xFFFFFFFF, 0);
    assert_int_equal(regs.eax, 0x40000102);
}

static void the_block_has_three_leaves(void **state)
{
    (void)state;
    assert_false(own_leaves_has(0x400000FF));
    assert_true(own_leaves_has(0x40000100));
    assert_true(own_leaves_has(0x40000102));
    assert_false(own_leaves_has(0x40000103));
    assert_leaf(0x40000103, 0, (struct cpuid_regs){0, 0, 0, 0});
}

static void counters_of_one_vp(void **state)
{
    (void)state;
    assert_leaf(0x40000102, 1u << 16, (struct cpuid_regs){0xFFFFFFF0, 1, COUNTERS, 1});
    assert_leaf(0x40000102, VPS << 16 | 6, (struct cpuid_regs){0xFFFFFFF4, 7, COUNTERS, 1});
}

static void counters_are_summed(void **state)
{
    uint64_t sum = 0;

    (void)state;
    for (uint32_t vp_index = 0; vp_index < VPS; vp_index++) {
        sum += count(&calls, 2, vp_index);
    }
    assert_leaf(0x40000102, 2,
                (struct cpuid_regs){(uint32_t)sum, (uint32_t)(sum >> 32), COUNTERS, 1});
}

static void what_does_not_exist_is_zero(void **state)
{
    (void)state;
    calls = 0;
    assert_leaf(0x40000102, COUNTERS, (struct cpuid_regs){0, 0, COUNTERS, 0});
    assert_leaf(0x40000102, 0xFFFF, (struct cpuid_regs){0, 0, COUNTERS, 0});
    assert_leaf(0x40000102, (VPS + 1) << 16, (struct cpuid_regs){0, 0, COUNTERS, 0});
    assert_leaf(0x40000102, 0xFFFFFFFF, (struct cpuid_regs){0, 0, COUNTERS, 0});
    assert_int_equal(calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_is_named),          cmocka_unit_test(the_block_has_three_leaves),
        cmocka_unit_test(counters_of_one_vp),          cmocka_unit_test(counters_are_summed),
        cmocka_unit_test(what_does_not_exist_is_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
