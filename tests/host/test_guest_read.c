/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/guest_walk.c mm/guest_mem.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/cr_bits.h"
#include "core/msr.h"
#include "mm/guest_walk.h"

/* guest_read_linear over 32-bit paging: page 1 is the directory, page 2 the table of the first 4 MB
 * and page 3 that of the last 4 MB; the data pages are not in the order of the linear addresses. */
#define RAM_BASE  0x100000ull
#define RAM_PAGES 16u
#define OUTSIDE   0x90000000u
#define PAGE(n)   (RAM_BASE + (n)*PAGE_BYTES)
#define P         1u
#define CANARY    0xA5u

static _Alignas(4096) uint8_t ram[RAM_PAGES * 4096];
static struct guest_memory memory;
static const struct guest_paging paging = {.cr0 = CR0_PE | CR0_PG, .cr3 = PAGE(1)};
static uint8_t out[4 * 4096];

static void put(uint64_t table, uint32_t index, uint64_t value)
{
    uint32_t entry = (uint32_t)value;

    memcpy(&ram[table - RAM_BASE + index * 4], &entry, 4);
}

/* The byte that a test has put at a physical address. */
static uint8_t byte_at(uint64_t physical)
{
    return (uint8_t)(physical ^ (physical >> 8) ^ (physical >> 16));
}

static int make_guest(void **context)
{
    (void)context;
    for (uint32_t i = 0; i < sizeof(ram); i++) {
        ram[i] = byte_at(RAM_BASE + i);
    }
    memset(&ram[4096], 0, 3 * 4096);
    memset(out, CANARY, sizeof(out));
    memory = (struct guest_memory){.host_base = (uint8_t *)((uintptr_t)ram - RAM_BASE)};
    put(PAGE(1), 0, PAGE(2) | P);
    put(PAGE(1), 0x3FF, PAGE(3) | P);
    put(PAGE(2), 0, PAGE(12) | P);   /* linear 0 */
    put(PAGE(2), 0x10, PAGE(9) | P); /* linear 10000h, and the pages after it */
    put(PAGE(2), 0x11, PAGE(5) | P);
    put(PAGE(2), 0x12, PAGE(7) | P);
    put(PAGE(2), 0x13, 0); /* a hole */
    put(PAGE(2), 0x14, PAGE(8) | P);
    put(PAGE(2), 0x15, OUTSIDE | P);  /* a device */
    put(PAGE(3), 0x3FF, PAGE(6) | P); /* linear FFFFF000h */
    return guest_memory_add(&memory, gpa(RAM_BASE), sizeof(ram)) ? 0 : -1;
}

static void expect_read(uint64_t linear, size_t bytes, size_t expected)
{
    memset(out, CANARY, sizeof(out));
    assert_int_equal(guest_read_linear(&memory, &paging, gva(linear), out, bytes), expected);
    for (size_t i = expected; i < sizeof(out); i++) {
        assert_int_equal(out[i], CANARY);
    }
}

static void expect_bytes(size_t from, size_t count, uint64_t physical)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[from + i], byte_at(physical + i));
    }
}

static void test_inside_a_page(void **context)
{
    (void)context;
    expect_read(0x10123, 15, 15);
    expect_bytes(0, 15, PAGE(9) + 0x123);
    expect_read(0x10FFF, 1, 1);
    expect_bytes(0, 1, PAGE(9) + 0xFFF);
    expect_read(0x10000, 4096, 4096);
    expect_bytes(0, 4096, PAGE(9));
    expect_read(0x10000, 0, 0);
}

static void test_across_pages(void **context)
{
    (void)context;
    expect_read(0x10FFF, 2, 2);
    expect_bytes(0, 1, PAGE(9) + 0xFFF);
    expect_bytes(1, 1, PAGE(5));
    expect_read(0x10FF0, 0x10 + 4096 + 0x20, 0x10 + 4096 + 0x20);
    expect_bytes(0, 0x10, PAGE(9) + 0xFF0);
    expect_bytes(0x10, 4096, PAGE(5));
    expect_bytes(0x10 + 4096, 0x20, PAGE(7));
}

static void test_into_a_hole(void **context)
{
    (void)context;
    expect_read(0x12FF9, 15, 7);
    expect_bytes(0, 7, PAGE(7) + 0xFF9);
    expect_read(0x11000, 3 * 4096, 2 * 4096); /* does not go on behind the hole */
    expect_bytes(0, 4096, PAGE(5));
    expect_bytes(4096, 4096, PAGE(7));
    expect_read(0x13000, 8, 0);
    expect_read(0x13FFF, 8, 0);
    expect_read(0x400000, 1, 0);
}

static void test_into_a_device(void **context)
{
    (void)context;
    expect_read(0x14FFE, 4, 2);
    expect_bytes(0, 2, PAGE(8) + 0xFFE);
    expect_read(0x15000, 1, 0);
}

static void test_into_the_hidden_range(void **context)
{
    (void)context;
    memory.hidden = (struct guest_memory_range){PAGE(5), PAGE_BYTES};
    expect_read(0x10FFC, 8, 4);
    expect_bytes(0, 4, PAGE(9) + 0xFFC);
    expect_read(0x11000, 1, 0);
    expect_read(0x11FFF, 2, 0);
    expect_read(0x12000, 8, 8);
    /* A table in it: nothing that it maps can be read, all else can. */
    memory.hidden = (struct guest_memory_range){PAGE(3), PAGE_BYTES};
    expect_read(0xFFFFF000, 8, 0);
    expect_read(0x12000, 8, 8);
}

/* 32-bit linear addresses wrap at 4 GB. */
static void test_wrap(void **context)
{
    (void)context;
    expect_read(0xFFFFFFF8, 16, 16);
    expect_bytes(0, 8, PAGE(6) + 0xFF8);
    expect_bytes(8, 8, PAGE(12));
}

static void test_without_paging(void **context)
{
    const struct guest_paging flat = {.cr0 = CR0_PE};

    (void)context;
    assert_int_equal(guest_read_linear(&memory, &flat, gva(PAGE(4) - 4), out, 8), 8);
    expect_bytes(4, 4, PAGE(4));
    assert_int_equal(guest_read_linear(&memory, &flat, gva(PAGE(RAM_PAGES) - 3), out, 8), 3);
    expect_bytes(0, 3, PAGE(RAM_PAGES) - 3);
    assert_int_equal(guest_read_linear(&memory, &flat, gva(RAM_BASE - 1), out, 8), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_inside_a_page, make_guest),
        cmocka_unit_test_setup(test_across_pages, make_guest),
        cmocka_unit_test_setup(test_into_a_hole, make_guest),
        cmocka_unit_test_setup(test_into_a_device, make_guest),
        cmocka_unit_test_setup(test_into_the_hidden_range, make_guest),
        cmocka_unit_test_setup(test_wrap, make_guest),
        cmocka_unit_test_setup(test_without_paging, make_guest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
