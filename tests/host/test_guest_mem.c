/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/guest_mem.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mm/guest_mem.h"

static struct guest_memory memory;

static int clear_memory(void **context)
{
    (void)context;
    memory = (struct guest_memory){0};
    return 0;
}

static void add(uint64_t base, uint64_t bytes)
{
    assert_true(guest_memory_add(&memory, gpa(base), bytes));
}

/* With no host_base a pointer is the address itself. */
static void expect_ram(uint64_t address, size_t bytes)
{
    assert_true((uintptr_t)guest_memory_at(&memory, gpa(address), bytes) == address);
}

static void expect_no_ram(uint64_t address, size_t bytes)
{
    assert_null(guest_memory_at(&memory, gpa(address), bytes));
}

static void test_empty(void **context)
{
    (void)context;
    expect_no_ram(0, 1);
    expect_no_ram(0x1000, 8);
    expect_no_ram(UINT64_MAX, 1);
}

static void test_first_and_last_byte(void **context)
{
    (void)context;
    add(0x10000, 0x3000);
    expect_no_ram(0xFFFF, 1);
    expect_ram(0x10000, 1);
    expect_ram(0x12FFF, 1);
    expect_ram(0x12FF8, 8);
    expect_no_ram(0x13000, 1);
    expect_no_ram(0x12FFF, 2);
    expect_no_ram(0xFFF8, 16);
}

static void test_page_crossing(void **context)
{
    (void)context;
    add(0x10000, 0x3000);
    expect_ram(0x11000, PAGE_BYTES);
    expect_ram(0x11001, PAGE_BYTES - 1);
    expect_no_ram(0x11001, PAGE_BYTES);
    expect_no_ram(0x11FFF, 2);
    expect_no_ram(0x11FFC, 8);
    expect_no_ram(0x11000, PAGE_BYTES + 1);
    expect_no_ram(0x11000, SIZE_MAX);
}

static void test_range_ends_inside_a_page(void **context)
{
    (void)context;
    add(0x10400, 0x800);
    expect_no_ram(0x103FF, 2);
    expect_ram(0x10400, 0x800);
    expect_no_ram(0x10400, 0x801);
    expect_ram(0x10BFF, 1);
    expect_no_ram(0x10BFF, 2);
}

static void test_top_of_the_address_space(void **context)
{
    (void)context;
    add(0x1000, 0x1000);
    expect_no_ram(UINT64_MAX, 1);
    expect_no_ram(UINT64_MAX, 2);
    expect_no_ram(UINT64_MAX - 1, 0x1003); /* would end in the RAM at 1000h */
    add(0xFFFFFFFFFFFFE000, 0x2000);       /* its end is 2^64 */
    expect_ram(0xFFFFFFFFFFFFE000, PAGE_BYTES);
    expect_ram(0xFFFFFFFFFFFFF000, PAGE_BYTES);
    expect_ram(UINT64_MAX, 1);
    expect_no_ram(UINT64_MAX, 2);
    memory.hidden = (struct guest_memory_range){0x1000, 0x1000};
    expect_ram(UINT64_MAX, 1);
    expect_ram(0xFFFFFFFFFFFFF000, PAGE_BYTES);
}

static void test_hidden(void **context)
{
    (void)context;
    add(0x10000, 0x10000);
    memory.hidden = (struct guest_memory_range){0x14800, 0x1000};
    expect_ram(0x14000, 0x800);
    expect_ram(0x147FF, 1);
    expect_no_ram(0x147FF, 2);
    expect_no_ram(0x14000, PAGE_BYTES); /* from before it into it */
    expect_no_ram(0x14800, 1);
    expect_no_ram(0x14900, 8);
    expect_no_ram(0x15000, PAGE_BYTES); /* from inside it out of it */
    expect_no_ram(0x157FF, 1);
    expect_no_ram(0x157FF, 2);
    expect_ram(0x15800, 0x800);
    /* All of it inside the bytes that are asked for. */
    memory.hidden = (struct guest_memory_range){0x16100, 0x10};
    expect_no_ram(0x16000, PAGE_BYTES);
    expect_ram(0x16000, 0x100);
    expect_ram(0x16110, 0xEF0);
}

static void test_merging(void **context)
{
    (void)context;
    add(0x1000, 0x800);
    add(0x1800, 0x800);
    add(0x2000, 0x1000);
    assert_int_equal(memory.range_count, 1);
    assert_int_equal(memory.ranges[0].base, 0x1000);
    assert_int_equal(memory.ranges[0].bytes, 0x2000);
    expect_ram(0x17FF, 2);
    add(0x3001, 0xFFF); /* one byte is missing */
    assert_int_equal(memory.range_count, 2);
    expect_no_ram(0x3000, 1);
    expect_ram(0x3001, 1);
    add(0x4000, 0x1000);
    assert_int_equal(memory.range_count, 2);
}

static void test_full_table(void **context)
{
    (void)context;
    for (uint64_t i = 0; i < GUEST_MEMORY_RANGES_MAX; i++) {
        add(i * 0x2000, 0x1000);
    }
    assert_false(guest_memory_add(&memory, gpa(GUEST_MEMORY_RANGES_MAX * 0x2000), 0x1000));
    assert_int_equal(memory.range_count, GUEST_MEMORY_RANGES_MAX);
    for (uint64_t i = 0; i < GUEST_MEMORY_RANGES_MAX; i++) {
        expect_ram(i * 0x2000, PAGE_BYTES);
        expect_no_ram(i * 0x2000 + 0x1000, 1);
        expect_no_ram(i * 0x2000 + 0x1FFF, 1);
    }
    expect_no_ram(GUEST_MEMORY_RANGES_MAX * 0x2000, 1);
    /* What only makes the last range longer still fits. */
    add(GUEST_MEMORY_RANGES_MAX * 0x2000 - 0x1000, 0x1000);
    expect_ram(GUEST_MEMORY_RANGES_MAX * 0x2000 - 1, 1);
}

static void test_host_base(void **context)
{
    uint8_t buffer[16] = {0};

    (void)context;
    add(0x5000, 0x1000);
    memory.host_base = (uint8_t *)((uintptr_t)buffer - 0x5000);
    assert_ptr_equal(guest_memory_at(&memory, gpa(0x5003), 1), &buffer[3]);
    assert_null(guest_memory_at(&memory, gpa(0x4FFF), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_empty, clear_memory),
        cmocka_unit_test_setup(test_first_and_last_byte, clear_memory),
        cmocka_unit_test_setup(test_page_crossing, clear_memory),
        cmocka_unit_test_setup(test_range_ends_inside_a_page, clear_memory),
        cmocka_unit_test_setup(test_top_of_the_address_space, clear_memory),
        cmocka_unit_test_setup(test_hidden, clear_memory),
        cmocka_unit_test_setup(test_merging, clear_memory),
        cmocka_unit_test_setup(test_full_table, clear_memory),
        cmocka_unit_test_setup(test_host_base, clear_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
