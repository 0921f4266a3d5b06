/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/page_pool.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mm/page_pool.h"

#define PAGES 8u

/* Filled with rubbish, with a page before and behind that the pool must leave alone. */
static uint8_t *memory;
static struct page_pool pool;

static int set_up(void **context)
{
    (void)context;
    memory = aligned_alloc(PAGE_BYTES, (PAGES + 2) * PAGE_BYTES);
    if (memory == NULL) {
        return 1;
    }
    memset(memory, 0xA5, (PAGES + 2) * PAGE_BYTES);
    page_pool_init(&pool, (uint64_t)(uintptr_t)memory + PAGE_BYTES, PAGES * PAGE_BYTES);
    return 0;
}

static int tear_down(void **context)
{
    (void)context;
    free(memory);
    return 0;
}

static void expect_bytes(const uint8_t *from, size_t bytes, uint8_t value)
{
    for (size_t i = 0; i < bytes; i++) {
        assert_int_equal(from[i], value);
    }
}

static void test_pages_follow_each_other(void **context)
{
    (void)context;
    assert_int_equal(page_pool_left(&pool), PAGES);
    assert_ptr_equal(page_pool_take(&pool, 1), memory + PAGE_BYTES);
    assert_ptr_equal(page_pool_take(&pool, 3), memory + 2 * PAGE_BYTES);
    assert_ptr_equal(page_pool_take(&pool, 1), memory + 5 * PAGE_BYTES);
    assert_int_equal(page_pool_left(&pool), PAGES - 5);
}

static void test_only_what_is_taken_is_zeroed(void **context)
{
    (void)context;
    (void)page_pool_take(&pool, 2);
    expect_bytes(memory, PAGE_BYTES, 0xA5);
    expect_bytes(memory + PAGE_BYTES, 2 * PAGE_BYTES, 0);
    expect_bytes(memory + 3 * PAGE_BYTES, (PAGES - 1) * PAGE_BYTES, 0xA5);
}

static void test_nothing_beyond_the_end(void **context)
{
    (void)context;
    assert_non_null(page_pool_take(&pool, PAGES - 1));
    assert_null(page_pool_take(&pool, 2));
    assert_int_equal(page_pool_left(&pool), 1);
    assert_non_null(page_pool_take(&pool, 1));
    assert_null(page_pool_take(&pool, 1));
    assert_int_equal(page_pool_left(&pool), 0);
    expect_bytes(memory + (PAGES + 1) * PAGE_BYTES, PAGE_BYTES, 0xA5);
}

static void test_no_pages_and_far_too_many(void **context)
{
    (void)context;
    assert_null(page_pool_take(&pool, 0));
    assert_null(page_pool_take(&pool, UINT64_MAX));
    /* A count whose bytes wrap to a small number. */
    assert_null(page_pool_take(&pool, (1ull << 52) + 1));
    assert_int_equal(page_pool_left(&pool), PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pages_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_what_is_taken_is_zeroed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_beyond_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_pages_and_far_too_many, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
