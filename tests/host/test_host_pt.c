/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/host_pt.c mm/page_pool.c mm/memtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/compiler.h"
#include "core/msr.h"
#include "mm/host_pt.h"

#define GIB        (1ull << 30)
#define MIB        (1ull << 20)
#define TIB        (1ull << 40)
#define POOL_PAGES 4096u
#define PHYS_BITS  48u

/* Bits of a paging-structure entry, by the SDM and not by the code under test. */
#define PRESENT       0x1ull
#define WRITABLE      0x2ull
#define WRITE_THROUGH 0x8ull
#define CACHE_OFF     0x10ull
#define LARGE         0x80ull
#define PAT_4K        0x80ull
#define PAT_LARGE     0x1000ull
#define NO_EXECUTE    (1ull << 63)
#define FRAME         0x000FFFFFFFFFF000ull

static uint8_t *memory;
static struct page_pool pool;
static struct host_pt tables;
static struct mtrr_state mtrrs;

static int set_up(void **context)
{
    (void)context;
    memory = aligned_alloc(PAGE_BYTES, POOL_PAGES * PAGE_BYTES);
    if (memory == NULL) {
        return 1;
    }
    memset(memory, 0xA5, POOL_PAGES * PAGE_BYTES);
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory, POOL_PAGES * PAGE_BYTES);
    mtrrs = (struct mtrr_state){
        .cap = 10 | IA32_MTRRCAP_FIX,
        .def_type = IA32_MTRR_DEF_TYPE_E | MEM_TYPE_WB,
        .phys_bits = PHYS_BITS,
    };
    return 0;
}

static int tear_down(void **context)
{
    (void)context;
    free(memory);
    return 0;
}

static void add_range(unsigned int index, uint64_t base, uint64_t bytes, enum mem_type type)
{
    mtrrs.variable[index].base = base | (uint64_t)type;
    mtrrs.variable[index].mask =
        (MASK64(PHYS_BITS - 1, 12) & ~(bytes - 1)) | IA32_MTRR_PHYSMASK_VALID;
}

static uint64_t pages_taken(void)
{
    return POOL_PAGES - page_pool_left(&pool);
}

/* What a processor finds: the leaf, and the rights that all levels leave. */
struct found {
    bool is_present;
    unsigned int level; /* 1: 4 KiB, 2: 2 MiB, 3: 1 GiB */
    uint64_t address;
    bool is_writable;
    bool is_executable;
    bool has_type_bits; /* PAT, PCD or PWT: not plain write-back */
};

static struct found walk(uint64_t address)
{
    const uint64_t *table = tables.root;
    struct found found = {.is_writable = true, .is_executable = true};

    for (unsigned int level = 4; level >= 1; level--) {
        unsigned int shift = 12 + 9 * (level - 1);
        uint64_t entry = table[(address >> shift) & 511];

        if ((entry & PRESENT) == 0) {
            return (struct found){0};
        }
        found.is_writable &= (entry & WRITABLE) != 0;
        found.is_executable &= (entry & NO_EXECUTE) == 0;
        if (level == 1 || (entry & LARGE) != 0) {
            uint64_t offset = address & ((1ull << shift) - 1);

            assert_true(level <= 3);
            assert_int_equal(entry & FRAME & ((1ull << shift) - 1), 0);
            found.is_present = true;
            found.level = level;
            found.address = (entry & FRAME) + offset;
            found.has_type_bits =
                (entry & (CACHE_OFF | WRITE_THROUGH | (level == 1 ? PAT_4K : PAT_LARGE))) != 0;
            return found;
        }
        table = (const uint64_t *)(uintptr_t)(entry & FRAME);
        assert_true((const uint8_t *)table >= memory);
        assert_true((const uint8_t *)table < memory + POOL_PAGES * PAGE_BYTES);
    }
    return found;
}

static void expect(uint64_t address, unsigned int level, bool is_writable, bool is_executable)
{
    struct found found = walk(address);

    assert_true(found.is_present);
    assert_int_equal(found.address, address);
    assert_int_equal(found.level, level);
    assert_int_equal(found.is_writable, is_writable);
    assert_int_equal(found.is_executable, is_executable);
    assert_false(found.has_type_bits);
}

static void expect_plain(uint64_t address, unsigned int level)
{
    expect(address, level, true, false);
}

static void build(uint64_t top, bool has_1g)
{
    assert_int_equal(host_pt_build(&tables, &pool, &mtrrs, top, has_1g), STATUS_OK);
}

static void protect(uint64_t base, uint64_t bytes, enum host_pt_rights rights)
{
    assert_int_equal(host_pt_protect(&tables, base, bytes, rights), STATUS_OK);
}

static void test_largest_pages(void **context)
{
    (void)context;
    build(4 * GIB, true);
    expect_plain(0, 3);
    expect_plain(4 * GIB - 1, 3);
    assert_false(walk(4 * GIB).is_present);
    assert_int_equal(pages_taken(), 2);
}

static void test_without_1g(void **context)
{
    (void)context;
    build(4 * GIB, false);
    expect_plain(0, 2);
    expect_plain(3 * GIB + 5 * MIB + 123, 2);
    expect_plain(4 * GIB - 1, 2);
    assert_false(walk(4 * GIB).is_present);
    assert_int_equal(pages_taken(), 2 + 4);
}

static void test_a_top_between_the_sizes(void **context)
{
    (void)context;
    build(GIB + 2 * MIB + 3 * PAGE_BYTES, true);
    expect_plain(GIB - 1, 3);
    expect_plain(GIB, 2);
    expect_plain(GIB + 2 * MIB, 1);
    expect_plain(GIB + 2 * MIB + 3 * PAGE_BYTES - 1, 1);
    assert_false(walk(GIB + 2 * MIB + 3 * PAGE_BYTES).is_present);
}

static void test_more_than_one_pml4_entry(void **context)
{
    (void)context;
    build(TIB + GIB, true);
    expect_plain(512 * GIB - 1, 3);
    expect_plain(512 * GIB, 3);
    expect_plain(TIB + GIB - 1, 3);
    assert_false(walk(TIB + GIB).is_present);
}

/* A page with two memory types is what the SDM leaves undefined. */
static void test_no_large_page_over_two_types(void **context)
{
    (void)context;
    add_range(0, 3 * GIB + 512 * MIB, 512 * MIB, MEM_TYPE_UC);
    add_range(1, 16 * MIB + 8 * PAGE_BYTES, 8 * PAGE_BYTES, MEM_TYPE_UC);
    build(4 * GIB, true);
    expect_plain(GIB, 3);
    expect_plain(3 * GIB, 2);
    expect_plain(3 * GIB + 512 * MIB, 2);
    expect_plain(16 * MIB, 1);
    expect_plain(16 * MIB + 8 * PAGE_BYTES, 1);
    expect_plain(18 * MIB, 2);
}

static void test_fixed_ranges_split_the_first_pages(void **context)
{
    (void)context;
    mtrrs.def_type |= IA32_MTRR_DEF_TYPE_FE;
    for (unsigned int i = 0; i < MTRR_FIXED_COUNT; i++) {
        mtrrs.fixed[i] = i < 2 ? 0x0606060606060606ull : 0;
    }
    build(4 * GIB, true);
    expect_plain(0, 1);
    expect_plain(0xA0000, 1);
    expect_plain(2 * MIB, 2);
    expect_plain(GIB, 3);
}

static void test_protect_splits_and_keeps_the_rest(void **context)
{
    (void)context;
    build(4 * GIB, true);
    protect(GIB + 2 * MIB + PAGE_BYTES, PAGE_BYTES, HOST_PT_READ_EXECUTE);
    expect(GIB + 2 * MIB + PAGE_BYTES, 1, false, true);
    expect_plain(GIB + 2 * MIB, 1);
    expect_plain(GIB + 2 * MIB + 2 * PAGE_BYTES, 1);
    expect_plain(GIB + 4 * MIB - 1, 1);
    expect_plain(GIB, 2);
    expect_plain(2 * GIB - 1, 2);
    expect_plain(0, 3);
    expect_plain(2 * GIB, 3);
}

static void test_rights(void **context)
{
    struct found found;

    (void)context;
    build(GIB, false);
    protect(4 * MIB, PAGE_BYTES, HOST_PT_READ);
    expect(4 * MIB, 1, false, false);
    protect(4 * MIB, PAGE_BYTES, HOST_PT_READ_EXECUTE);
    expect(4 * MIB, 1, false, true);
    protect(4 * MIB, PAGE_BYTES, HOST_PT_READ_WRITE);
    expect(4 * MIB, 1, true, false);
    protect(4 * MIB, PAGE_BYTES, HOST_PT_DEVICE);
    found = walk(4 * MIB);
    assert_true(found.is_present && found.is_writable && !found.is_executable);
    assert_true(found.has_type_bits);
    protect(4 * MIB, PAGE_BYTES, HOST_PT_NONE);
    assert_false(walk(4 * MIB).is_present);
    expect_plain(4 * MIB + PAGE_BYTES, 1);
    expect_plain(4 * MIB - 1, 2);
}

/* Nothing is writable and executable, whatever was asked for. */
static void test_no_page_is_writable_and_executable(void **context)
{
    (void)context;
    build(GIB, false);
    for (int rights = HOST_PT_NONE; rights <= HOST_PT_DEVICE; rights++) {
        struct found found;

        protect(8 * MIB, PAGE_BYTES, (enum host_pt_rights)rights);
        found = walk(8 * MIB);
        assert_false(found.is_writable && found.is_executable);
    }
}

static void test_protect_covers_whole_pages(void **context)
{
    (void)context;
    build(GIB, false);
    protect(6 * MIB + 10, 2 * PAGE_BYTES, HOST_PT_READ);
    expect_plain(6 * MIB - 1, 2);
    expect(6 * MIB, 1, false, false);
    expect(6 * MIB + 2 * PAGE_BYTES, 1, false, false);
    expect_plain(6 * MIB + 3 * PAGE_BYTES, 1);
}

static void test_protect_over_a_large_page_border(void **context)
{
    (void)context;
    build(4 * GIB, true);
    protect(2 * GIB - PAGE_BYTES, 2 * PAGE_BYTES, HOST_PT_NONE);
    assert_false(walk(2 * GIB - 1).is_present);
    assert_false(walk(2 * GIB).is_present);
    expect_plain(2 * GIB - PAGE_BYTES - 1, 1);
    expect_plain(2 * GIB + PAGE_BYTES, 1);
    expect_plain(3 * GIB, 3);
}

static void test_limits(void **context)
{
    (void)context;
    assert_int_equal(host_pt_build(&tables, &pool, &mtrrs, (1ull << 47) + PAGE_BYTES, true),
                     STATUS_OUT_OF_RANGE);
    assert_int_equal(host_pt_build(&tables, &pool, &mtrrs, GIB + 1, true), STATUS_OUT_OF_RANGE);
    assert_int_equal(pages_taken(), 0);
}

static void test_an_empty_pool(void **context)
{
    (void)context;
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory, 0);
    assert_int_equal(host_pt_build(&tables, &pool, &mtrrs, GIB, true), STATUS_NO_MEMORY);
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory, 3 * PAGE_BYTES);
    assert_int_equal(host_pt_build(&tables, &pool, &mtrrs, 4 * GIB, false), STATUS_NO_MEMORY);
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory, 3 * PAGE_BYTES);
    build(4 * GIB, true);
    /* One page is left, two tables are needed. */
    assert_int_equal(host_pt_protect(&tables, GIB, PAGE_BYTES, HOST_PT_READ), STATUS_NO_MEMORY);
}

/* The worst that the estimate covers: all variable ranges with edges inside pages, a top that is no
 * multiple of anything, and a split range and single pages far from each other. */
static void expect_enough(uint64_t top, bool has_1g)
{
    const uint64_t split = 40 * MIB;
    uint64_t needed = host_pt_pages_needed(top, has_1g, split);

    mtrrs.cap = MTRR_VARIABLE_MAX | IA32_MTRRCAP_FIX;
    mtrrs.def_type |= IA32_MTRR_DEF_TYPE_FE;
    mtrrs.fixed[0] = 0x0606060606060606ull;
    for (unsigned int i = 0; i < MTRR_VARIABLE_MAX; i++) {
        add_range(i, (2 * i + 5) * GIB + 7 * PAGE_BYTES, PAGE_BYTES, MEM_TYPE_UC);
    }
    assert_true(needed <= POOL_PAGES);
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory, needed * PAGE_BYTES);
    build(top, has_1g);
    for (uint64_t base = GIB - 20 * MIB; base < GIB + 20 * MIB; base += 2 * MIB) {
        protect(base + PAGE_BYTES, PAGE_BYTES, HOST_PT_NONE);
    }
    protect(0xFEE00000, PAGE_BYTES, HOST_PT_DEVICE);
    protect(2 * GIB + 100 * MIB, PAGE_BYTES, HOST_PT_READ_EXECUTE);
    expect_plain(top - 1, 1);
}

static void test_pages_needed_is_enough(void **context)
{
    (void)context;
    expect_enough(TIB + 77 * MIB + PAGE_BYTES, true);
    expect_enough(TIB + 77 * MIB + PAGE_BYTES, false);
    expect_enough(100 * GIB + PAGE_BYTES, false);
}

/* 64 TiB in 1 GiB pages are not worth more than a MiB of tables. */
static void test_pages_needed_is_modest(void **context)
{
    (void)context;
    assert_true(host_pt_pages_needed(64 * TIB, true, 64 * MIB) < 512);
    assert_true(host_pt_pages_needed(64 * GIB, false, 64 * MIB) < 512);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_largest_pages),
        TEST(test_without_1g),
        TEST(test_a_top_between_the_sizes),
        TEST(test_more_than_one_pml4_entry),
        TEST(test_no_large_page_over_two_types),
        TEST(test_fixed_ranges_split_the_first_pages),
        TEST(test_protect_splits_and_keeps_the_rest),
        TEST(test_rights),
        TEST(test_no_page_is_writable_and_executable),
        TEST(test_protect_covers_whole_pages),
        TEST(test_protect_over_a_large_page_border),
        TEST(test_limits),
        TEST(test_an_empty_pool),
        TEST(test_pages_needed_is_enough),
        TEST(test_pages_needed_is_modest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
