/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/ept.c mm/ept_change.c mm/ept_types.c mm/memtype.c */
#include "tests/host/ept_fixture.h"

/* Building and walking a map. */

static void test_init_checks(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(40);
    struct ept_params params = {.ops = &pool_ops, .context = &pool, .mtrrs = &mtrrs};
    static const unsigned int bad_bits[] = {0, 31, 53, 64};

    (void)context;
    pool.limit = POOL_PAGES;
    for (size_t i = 0; i < ARRAY_LEN(bad_bits); i++) {
        mtrrs.phys_bits = bad_bits[i];
        assert_int_equal(ept_init(&map, &params), STATUS_BAD_ARGUMENT);
    }
    mtrrs.phys_bits = 36;
    params.scratch = hpa(0x7800);
    assert_int_equal(ept_init(&map, &params), STATUS_BAD_ARGUMENT);
    params.scratch = hpa(1ull << 36);
    assert_int_equal(ept_init(&map, &params), STATUS_BAD_ARGUMENT);
    params.scratch = hpa((1ull << 36) - 4096);
    pool.used = 0;
    assert_int_equal(ept_init(&map, &params), STATUS_OK);
    pool.used = 0;
    pool.limit = 1;
    assert_int_equal(ept_init(&map, &params), STATUS_NO_MEMORY);
}

static void test_reach(void **context)
{
    static const struct {
        unsigned int phys_bits;
        uint64_t limit;
        unsigned int pdpts;
    } cases[] = {
        {32, 1ull << 32, 1},   {36, 1ull << 36, 1},   {39, 1ull << 39, 1},   {40, 1ull << 40, 2},
        {46, 1ull << 46, 128}, {48, 1ull << 48, 512}, {52, 1ull << 48, 512},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mtrr_state mtrrs = make_mtrrs(cases[i].phys_bits);
        struct ept_translation found;
        uint64_t last = cases[i].limit - 1;
        hpa_t root;

        assert_int_equal(start(&mtrrs, 3), STATUS_OK);
        assert_int_equal(map.pages, cases[i].pdpts + 1);
        assert_int_equal(ept_map_identity(&map, gpa(0), cases[i].limit), STATUS_OK);
        assert_int_equal(map.pages, cases[i].pdpts + 1); /* 1 GiB leaves only */
        expect_identity(last, EPT_LEVEL_1G, MEM_TYPE_WB);
        assert_false(walk(cases[i].limit).is_mapped);
        assert_int_equal(ept_map_identity(&map, gpa(0), cases[i].limit + 1), STATUS_OUT_OF_RANGE);
        assert_int_equal(ept_map_identity(&map, gpa(UINT64_MAX), 2), STATUS_OUT_OF_RANGE);
        assert_int_equal(ept_map_identity(&map, gpa(4096), UINT64_MAX), STATUS_OUT_OF_RANGE);
        assert_int_equal(ept_map_on_violation(&map, gpa(cases[i].limit)), STATUS_OUT_OF_RANGE);
        assert_int_equal(ept_hide(&map, gpa(last), 2), STATUS_OUT_OF_RANGE);
        assert_int_equal(ept_root_create(&map, &root), STATUS_OK);
        ept_walk_root(&map, root, gpa(last), &found);
        assert_true(found.is_mapped);
        assert_int_equal(found.hpa.value, last);
        ept_walk_root(&map, root, gpa(cases[i].limit), &found);
        assert_false(found.is_mapped);
    }
}

static void test_largest_pages(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    mtrrs.def_type |= IA32_MTRR_DEF_TYPE_FE; /* fixed ranges all UC */
    add_range(&mtrrs, 0, 0xC0000000, GIB, MEM_TYPE_UC);
    add_range(&mtrrs, 1, 0x7F900000, MIB, MEM_TYPE_WC);
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    expect_identity(0, EPT_LEVEL_4K, MEM_TYPE_UC);
    expect_identity(0xFFFFF, EPT_LEVEL_4K, MEM_TYPE_UC);
    expect_identity(0x100000, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(0x1FFFFF, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(0x200000, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(0x3FFFFFFF, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(0x7F8FFFFF, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(0x7F900000, EPT_LEVEL_4K, MEM_TYPE_WC);
    expect_identity(0x7FA00000, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(0x80000000, EPT_LEVEL_1G, MEM_TYPE_WB);
    expect_identity(0xC0000000, EPT_LEVEL_1G, MEM_TYPE_UC);
    expect_identity(0x100000000, EPT_LEVEL_1G, MEM_TYPE_WB);
    assert_int_equal(map.pages, 1 + 1 + 2 + 2);
}

static void test_missing_page_sizes(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    assert_int_equal(start(&mtrrs, 2), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 4 * GIB), STATUS_OK);
    expect_identity(0x12345678, EPT_LEVEL_2M, MEM_TYPE_WB);
    assert_int_equal(map.pages, 2 + 4);
    assert_int_equal(start(&mtrrs, 1), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(4 * MIB), 4 * MIB), STATUS_OK);
    expect_identity(4 * MIB, EPT_LEVEL_4K, MEM_TYPE_WB);
    assert_false(walk(4 * MIB - 1).is_mapped);
    assert_false(walk(8 * MIB).is_mapped);
    assert_int_equal(map.pages, 2 + 1 + 2);
}

static void test_ranges_are_enlarged_to_pages(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0x5FFF), 2), STATUS_OK);
    assert_false(walk(0x4FFF).is_mapped);
    expect_identity(0x5000, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(0x6FFF, EPT_LEVEL_4K, MEM_TYPE_WB);
    assert_false(walk(0x7000).is_mapped);
    assert_int_equal(ept_map_identity(&map, gpa(0x9123), 0), STATUS_OK);
    assert_false(walk(0x9123).is_mapped);
    /* The rest of the GiB comes in around what is there. */
    assert_int_equal(ept_map_identity(&map, gpa(0), 2 * GIB), STATUS_OK);
    expect_identity(0x4FFF, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(0x200000, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(GIB, EPT_LEVEL_1G, MEM_TYPE_WB);
}

static void test_entry_format_and_pointer(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    assert_int_equal(ept_pointer(hpa(0x123456000)), 0x12345601E);
    mtrrs.def_type = IA32_MTRR_DEF_TYPE_E | MEM_TYPE_WP;
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 2 * GIB), STATUS_OK);
    assert_int_equal(walk(GIB + 5).entry, GIB | 7 | (5 << 3) | 0x80);
    assert_int_equal(ept_remap_page(&map, gpa(0x200000), hpa(0x9000), EPT_READ, MEM_TYPE_UC),
                     STATUS_OK);
    assert_int_equal(walk(0x200000).entry & ~BIT64(11), 0x9000 | 1);
    assert_int_equal(walk(0x201000).entry, 0x201000 | 7 | (5 << 3));
    assert_int_equal(walk(0x400000).entry, 0x400000 | 7 | (5 << 3) | 0x80);
}

static void test_roots_share_tables(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(40);
    hpa_t roots[3];

    (void)context;
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        assert_int_equal(ept_root_create(&map, &roots[i]), STATUS_OK);
    }
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 40), STATUS_OK);
    assert_int_equal(ept_hide(&map, gpa(0x5000), 0x1000), STATUS_OK);
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        struct ept_translation found;

        ept_walk_root(&map, roots[i], gpa(0x5008), &found);
        assert_int_equal(found.hpa.value, SCRATCH + 8);
        ept_walk_root(&map, roots[i], gpa((1ull << 40) - 1), &found);
        assert_int_equal(found.hpa.value, (1ull << 40) - 1);
    }
    assert_int_not_equal(roots[0].value, roots[1].value);
}

static void test_on_violation(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(46);

    (void)context;
    add_range(&mtrrs, 0, 64 * GIB, 2 * MIB, MEM_TYPE_UC);
    add_range(&mtrrs, 1, 64 * GIB + 2 * MIB, 4096, MEM_TYPE_UC);
    assert_int_equal(start(&mtrrs, 2), STATUS_OK);
    assert_int_equal(ept_map_on_violation(&map, gpa(64 * GIB + 123)), STATUS_OK);
    expect_identity(64 * GIB, EPT_LEVEL_2M, MEM_TYPE_UC);
    assert_false(walk(64 * GIB + 2 * MIB).is_mapped);
    assert_int_equal(ept_map_on_violation(&map, gpa(64 * GIB + 2 * MIB)), STATUS_OK);
    expect_identity(64 * GIB + 2 * MIB, EPT_LEVEL_4K, MEM_TYPE_UC);
    assert_int_equal(ept_map_on_violation(&map, gpa(64 * GIB + 2 * MIB + 4096)), STATUS_OK);
    expect_identity(64 * GIB + 2 * MIB + 4096, EPT_LEVEL_4K, MEM_TYPE_WB);
    assert_int_equal(ept_map_on_violation(&map, gpa((1ull << 46) - 1)), STATUS_OK);
    expect_identity((1ull << 46) - 1, EPT_LEVEL_2M, MEM_TYPE_WB);
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_on_violation(&map, gpa(5 * GIB)), STATUS_OK);
    expect_identity(5 * GIB, EPT_LEVEL_1G, MEM_TYPE_WB);
    assert_int_equal(ept_map_on_violation(&map, gpa(64 * GIB)), STATUS_OK);
    expect_identity(64 * GIB, EPT_LEVEL_2M, MEM_TYPE_UC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_checks),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_largest_pages),
        cmocka_unit_test(test_missing_page_sizes),
        cmocka_unit_test(test_ranges_are_enlarged_to_pages),
        cmocka_unit_test(test_entry_format_and_pointer),
        cmocka_unit_test(test_roots_share_tables),
        cmocka_unit_test(test_on_violation),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
