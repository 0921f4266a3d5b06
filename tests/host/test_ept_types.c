/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/ept.c mm/ept_change.c mm/ept_types.c mm/memtype.c */
#include "tests/host/ept_fixture.h"

/* New memory types for a live map. */

static void test_set_types(void **context)
{
    struct mtrr_state before = make_mtrrs(36);
    struct mtrr_state after = before;
    bool changed = true;

    (void)context;
    assert_int_equal(start(&before, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    assert_int_equal(ept_hide(&map, gpa(4 * GIB), 4 * MIB), STATUS_OK);
    assert_int_equal(ept_remap_page(&map, gpa(0xFEE00000), hpa(0xFEE00000), EPT_READ, MEM_TYPE_UC),
                     STATUS_OK);
    assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_OK);
    assert_false(changed);
    add_range(&after, 0, 2 * GIB, GIB, MEM_TYPE_UC);
    add_range(&after, 1, 3 * GIB + 2 * MIB, 4096, MEM_TYPE_WT);
    add_range(&after, 2, 4 * GIB, GIB, MEM_TYPE_WP);
    assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_OK);
    assert_true(changed);
    expect_identity(2 * GIB - 1, EPT_LEVEL_1G, MEM_TYPE_WB);
    expect_identity(2 * GIB, EPT_LEVEL_1G, MEM_TYPE_UC);
    expect_identity(3 * GIB, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(3 * GIB + 2 * MIB, EPT_LEVEL_4K, MEM_TYPE_WT);
    expect_identity(3 * GIB + 2 * MIB + 4096, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_hidden(4 * GIB);
    expect_identity(4 * GIB + 4 * MIB, EPT_LEVEL_2M, MEM_TYPE_WP);
    assert_int_equal(walk(0xFEE00000).access, EPT_READ);
    assert_int_equal(walk(0xFEE00000).type, MEM_TYPE_UC);
    after.phys_bits = 37;
    assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_BAD_ARGUMENT);
}

/* Going back joins the tables; a table that a walk may be in stays readable until reclaimed. */
static void test_join_and_reclaim(void **context)
{
    struct mtrr_state before = make_mtrrs(36);
    struct mtrr_state after = before;
    uint64_t pages;
    bool changed;

    (void)context;
    add_range(&after, 1, 3 * GIB + 2 * MIB, 4096, MEM_TYPE_WT);
    assert_int_equal(start(&before, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    for (unsigned int round = 0; round < 1000; round++) {
        hpa_t directory;
        uint64_t entry;

        assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_OK);
        expect_identity(3 * GIB + 2 * MIB, EPT_LEVEL_4K, MEM_TYPE_WT);
        if (round == 0) {
            pages = map.pages;
        }
        assert_int_equal(map.pages, pages);
        entry = *((uint64_t *)pool_page_at(&pool, map.pdpt[0]) + 3);
        directory = hpa(entry & MASK64(47, 12));
        assert_int_equal(ept_set_types(&map, &before, &changed), STATUS_OK);
        assert_true(changed);
        expect_identity(3 * GIB + 2 * MIB, EPT_LEVEL_1G, MEM_TYPE_WB);
        assert_int_equal(map.retired_count, 2);
        assert_int_equal(*(uint64_t *)pool_page_at(&pool, directory), (3 * GIB) | 0xB7);
        ept_reclaim(&map);
        assert_int_equal(map.retired_count, 0);
    }
}

static void test_retired_list_is_bounded(void **context)
{
    struct mtrr_state before = make_mtrrs(36);
    struct mtrr_state after = before;
    bool changed;

    (void)context;
    add_range(&after, 1, 3 * GIB + 2 * MIB, 4096, MEM_TYPE_WT);
    assert_int_equal(start(&before, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    for (unsigned int round = 0; round < EPT_RETIRED_MAX; round++) {
        assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_OK);
        assert_int_equal(ept_set_types(&map, &before, &changed), STATUS_OK);
        assert_int_equal(walk(3 * GIB).type, MEM_TYPE_WB);
    }
    assert_int_equal(map.retired_count, EPT_RETIRED_MAX);
    assert_true(map.pages < 2 * EPT_RETIRED_MAX);
}

static void test_scattered_types_are_refused(void **context)
{
    struct mtrr_state before = make_mtrrs(46);
    struct mtrr_state after = before;
    bool changed;

    (void)context;
    after.variable[0].base = MEM_TYPE_UC;
    after.variable[0].mask = BIT64(12) | IA32_MTRR_PHYSMASK_VALID; /* every second page */
    assert_int_equal(start(&before, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 46), STATUS_OK);
    assert_int_equal(ept_set_types(&map, &after, &changed), STATUS_NO_MEMORY);
    assert_false(changed);
    expect_identity(0, EPT_LEVEL_1G, MEM_TYPE_WB);
    assert_true(mtrr_state_equal(&map.mtrrs, &before));
}

static void test_estimate_is_enough(void **context)
{
    (void)context;
    for (unsigned int largest = 1; largest <= 3; largest++) {
        uint64_t top = largest == 1 ? 64 * MIB : 70 * GIB;
        struct mtrr_state mtrrs = make_mtrrs(40);
        struct ept_caps caps = {.has_2m = largest >= 2, .has_1g = largest >= 3};
        bool changed;

        mtrrs.def_type |= IA32_MTRR_DEF_TYPE_FE;
        assert_int_equal(start(&mtrrs, largest), STATUS_OK);
        pool.limit = (unsigned int)ept_pages_needed(&caps, 40, top);
        assert_true(pool.limit < POOL_PAGES);
        assert_int_equal(ept_map_identity(&map, gpa(0), largest == 3 ? 1ull << 40 : top),
                         STATUS_OK);
        for (unsigned int i = 0; i < 10; i++) {
            add_range(&mtrrs, i, (i + 1) * 5 * GIB + 12 * MIB + 0x3000, 4096, MEM_TYPE_UC);
        }
        assert_int_equal(ept_set_types(&map, &mtrrs, &changed), STATUS_OK);
        assert_int_equal(ept_hide(&map, gpa(3 * MIB), 33 * MIB), STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_types),
        cmocka_unit_test(test_join_and_reclaim),
        cmocka_unit_test(test_retired_list_is_bounded),
        cmocka_unit_test(test_scattered_types_are_refused),
        cmocka_unit_test(test_estimate_is_enough),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
