/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/ept.c mm/ept_change.c mm/ept_types.c mm/memtype.c */
#include "tests/host/ept_fixture.h"

/* Hiding and remapping, running out of pages, and all operations at random against a model. */

static void test_remap(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);
    struct ept_translation found;

    (void)context;
    add_range(&mtrrs, 0, 0xFEC00000, 4 * MIB, MEM_TYPE_UC);
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    assert_int_equal(ept_remap_page(&map, gpa(0xFEE00000), hpa(0xFEE00000), EPT_READ, MEM_TYPE_UC),
                     STATUS_OK);
    found = walk(0xFEE00300);
    assert_int_equal(found.hpa.value, 0xFEE00300);
    assert_int_equal(found.access, EPT_READ);
    assert_int_equal(found.type, MEM_TYPE_UC);
    assert_false(found.is_identity);
    expect_identity(0xFEDFFFFF, EPT_LEVEL_2M, MEM_TYPE_UC);
    expect_identity(0xFEE01000, EPT_LEVEL_4K, MEM_TYPE_UC);
    expect_identity(0xFE000000, EPT_LEVEL_2M, MEM_TYPE_WB);
    assert_int_equal(ept_restore_page(&map, gpa(0xFEE00000)), STATUS_OK);
    expect_identity(0xFEE00000, EPT_LEVEL_4K, MEM_TYPE_UC);
    assert_int_equal(ept_remap_page(&map, gpa(0), hpa(0x3000), EPT_EXECUTE, MEM_TYPE_WB),
                     STATUS_OK);
    assert_int_equal(walk(0).access, EPT_EXECUTE);
}

static void test_remap_refuses(void **context)
{
    static const struct {
        uint64_t page, target, access;
        unsigned int type;
        enum status status;
    } cases[] = {
        {0x1000, 0x2000, EPT_ALL, 6, STATUS_OK},
        {0x1001, 0x2000, EPT_ALL, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2010, EPT_ALL, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, 0, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, EPT_WRITE, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, EPT_WRITE | EPT_EXECUTE, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, 8, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, EPT_READ | 8, 6, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, EPT_READ, 2, STATUS_BAD_ARGUMENT},
        {0x1000, 0x2000, EPT_READ, 7, STATUS_BAD_ARGUMENT},
        {1ull << 36, 0x2000, EPT_READ, 6, STATUS_OUT_OF_RANGE},
        {0x1000, 1ull << 36, EPT_READ, 6, STATUS_OUT_OF_RANGE},
        {0xFFFFFFFFFFFFF000, 0x2000, EPT_READ, 6, STATUS_OUT_OF_RANGE},
    };
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(start(&mtrrs, 3), STATUS_OK);
        assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
        assert_int_equal(ept_remap_page(&map, gpa(cases[i].page), hpa(cases[i].target),
                                        cases[i].access, (enum mem_type)cases[i].type),
                         cases[i].status);
        if (cases[i].status != STATUS_OK) {
            expect_identity(0x1000, EPT_LEVEL_1G, MEM_TYPE_WB);
        }
    }
    map.caps.has_execute_only = false;
    assert_int_equal(ept_remap_page(&map, gpa(0), hpa(0), EPT_EXECUTE, MEM_TYPE_WB),
                     STATUS_BAD_ARGUMENT);
    assert_int_equal(ept_restore_page(&map, gpa(0x10)), STATUS_BAD_ARGUMENT);
    assert_int_equal(ept_restore_page(&map, gpa(1ull << 36)), STATUS_OUT_OF_RANGE);
}

static void test_hide(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);
    uint64_t from = 0x3FE00000 - 0x3000;
    uint64_t to = 0x40000000 + 3 * 2 * MIB + 0x2000;
    uint64_t pages;

    (void)context;
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    pages = map.pages;
    assert_int_equal(ept_hide(&map, gpa(from + 1), to - from - 2), STATUS_OK);
    assert_int_equal(map.pages - pages, 2 + 2); /* two directories, two page tables at the ends */
    for (uint64_t at = from; at < to; at += 0x1000) {
        expect_hidden(at);
    }
    expect_identity(from - 1, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(from - 2 * MIB, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(to, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_identity(to + 2 * MIB, EPT_LEVEL_2M, MEM_TYPE_WB);
    /* Neither identity nor a violation brings it back. */
    assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
    assert_int_equal(ept_map_on_violation(&map, gpa(GIB)), STATUS_OK);
    expect_hidden(GIB);
    /* One page out of the shared table: the other blocks keep theirs. */
    assert_int_equal(ept_restore_page(&map, gpa(GIB + 0x5000)), STATUS_OK);
    expect_identity(GIB + 0x5000, EPT_LEVEL_4K, MEM_TYPE_WB);
    expect_hidden(GIB + 0x4000);
    expect_hidden(GIB + 2 * MIB + 0x5000);
    assert_int_equal(ept_hide(&map, gpa(GIB), 2 * MIB), STATUS_OK);
    expect_hidden(GIB + 0x5000);
}

static void test_hide_before_identity(void **context)
{
    struct mtrr_state mtrrs = make_mtrrs(36);

    (void)context;
    assert_int_equal(start(&mtrrs, 3), STATUS_OK);
    assert_int_equal(ept_hide(&map, gpa(8 * MIB), 4 * MIB), STATUS_OK);
    assert_int_equal(ept_hide(&map, gpa(16 * MIB), 0), STATUS_OK);
    assert_false(walk(16 * MIB).is_mapped);
    assert_int_equal(ept_map_identity(&map, gpa(0), GIB), STATUS_OK);
    expect_hidden(8 * MIB);
    expect_hidden(12 * MIB - 1);
    expect_identity(12 * MIB, EPT_LEVEL_2M, MEM_TYPE_WB);
    expect_identity(8 * MIB - 1, EPT_LEVEL_2M, MEM_TYPE_WB);
}

/* Every operation, with every number of pages left: all or nothing. */
static void test_no_memory_changes_nothing(void **context)
{
    struct mtrr_state before = make_mtrrs(36);
    struct mtrr_state after = before;

    (void)context;
    add_range(&after, 0, 3 * GIB + 2 * MIB, 4096, MEM_TYPE_WT);
    add_range(&after, 1, 5 * GIB, 8192, MEM_TYPE_WP);
    for (unsigned int what = 0; what < 4; what++) {
        bool is_done = false;

        for (unsigned int left = 0; !is_done; left++) {
            enum status status = STATUS_OK;
            bool changed = false;

            assert_int_equal(start(&before, 3), STATUS_OK);
            assert_int_equal(ept_map_identity(&map, gpa(0), 1ull << 36), STATUS_OK);
            pool.limit = pool.used + left;
            if (what == 0) {
                status = ept_set_types(&map, &after, &changed);
            } else if (what == 1) {
                status = ept_hide(&map, gpa(3 * GIB - 4096), 5 * MIB);
            } else if (what == 2) {
                status = ept_restore_page(&map, gpa(3 * GIB));
            } else {
                status = ept_remap_page(&map, gpa(3 * GIB), hpa(0), EPT_READ, MEM_TYPE_WB);
            }
            is_done = status == STATUS_OK;
            if (is_done) {
                assert_int_equal(walk(3 * GIB).level, what == 0 ? EPT_LEVEL_2M : EPT_LEVEL_4K);
                assert_int_equal(left, what < 2 ? 4 : 2);
                assert_int_equal(map.reserve_pages, 0);
            } else {
                assert_int_equal(status, STATUS_NO_MEMORY);
                assert_false(changed);
                for (uint64_t at = 0; at < 1ull << 36; at += GIB) {
                    expect_identity(at, EPT_LEVEL_1G, MEM_TYPE_WB);
                }
            }
        }
    }
    assert_int_equal(start(&before, 3), STATUS_OK);
    pool.limit = pool.used;
    assert_int_equal(ept_map_identity(&map, gpa(4096), 4096), STATUS_NO_MEMORY);
    assert_int_equal(ept_map_on_violation(&map, gpa(4096)), STATUS_OK); /* a leaf needs no table */
    {
        hpa_t root;

        assert_int_equal(ept_root_create(&map, &root), STATUS_NO_MEMORY);
    }
}

/*
 * Random operations on a small window, against a list of pages as the model. The window holds a
 * 1 GiB border; pages are handed out sparingly, so that operations fail now and then.
 */
#define WINDOW_BASE  (GIB - 4 * MIB)
#define WINDOW_PAGES 2048u

struct model_page {
    bool is_mapped, is_pinned;
    uint64_t entry;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 16) % limit;
}

static void check_model(const struct model_page *pages)
{
    for (unsigned int i = 0; i < WINDOW_PAGES; i++) {
        uint64_t address = WINDOW_BASE + i * 4096ull;
        struct ept_translation found = walk(address);
        uint64_t end;

        assert_int_equal(found.is_mapped, pages[i].is_mapped);
        if (!pages[i].is_mapped) {
            continue;
        }
        assert_int_equal(found.is_identity, !pages[i].is_pinned);
        if (pages[i].is_pinned) {
            assert_int_equal(found.hpa.value | found.access | (uint64_t)found.type << 3,
                             pages[i].entry);
        } else {
            assert_int_equal(found.hpa.value, address);
            assert_int_equal(found.access, EPT_ALL);
            assert_int_equal(found.type, memtype_at(&map.mtrrs, address, &end));
        }
    }
}

static void random_types(struct mtrr_state *mtrrs)
{
    static const enum mem_type types[] = {MEM_TYPE_UC, MEM_TYPE_WC, MEM_TYPE_WT, MEM_TYPE_WP,
                                          MEM_TYPE_WB};

    for (unsigned int i = 0; i < 4; i++) {
        uint64_t bytes = 4096ull << random_below(12);
        uint64_t base = WINDOW_BASE + random_below(WINDOW_PAGES) * 4096;

        add_range(mtrrs, i, base & ~(bytes - 1), bytes, types[random_below(5)]);
        if (random_below(3) == 0) {
            mtrrs->variable[i].mask = 0;
        }
    }
}

static void random_step(struct model_page *pages, struct mtrr_state *mtrrs)
{
    unsigned int first = (unsigned int)random_below(WINDOW_PAGES);
    unsigned int count = 1 + (unsigned int)random_below(WINDOW_PAGES - first);
    gpa_t at = gpa(WINDOW_BASE + first * 4096ull);
    unsigned int what = (unsigned int)random_below(12);
    struct model_page page = {true, false, 0};
    bool changed;

    if (what == 0) {
        random_types(mtrrs);
        if (ept_set_types(&map, mtrrs, &changed) == STATUS_OK && random_below(2) == 0) {
            ept_reclaim(&map);
        }
    } else if (what == 1) {
        if (ept_map_identity(&map, at, count * 4096ull) == STATUS_OK) {
            for (unsigned int i = first; i < first + count; i++) {
                pages[i].is_mapped = true;
            }
        } else {
            for (unsigned int i = first; i < first + count; i++) {
                pages[i].is_mapped = walk(WINDOW_BASE + i * 4096ull).is_mapped;
            }
        }
    } else if (what == 2) {
        page.is_pinned = true;
        page.entry = SCRATCH | EPT_READ | EPT_WRITE | (MEM_TYPE_WB << 3);
        if (ept_hide(&map, at, count * 4096ull) == STATUS_OK) {
            for (unsigned int i = first; i < first + count; i++) {
                pages[i] = page;
            }
        }
    } else if (what < 7) {
        page.is_pinned = true;
        page.entry = random_below(1u << 20) << 12 | EPT_READ | (MEM_TYPE_UC << 3);
        if (ept_remap_page(&map, at, hpa(page.entry & MASK64(47, 12)), EPT_READ, MEM_TYPE_UC) ==
            STATUS_OK) {
            pages[first] = page;
        }
    } else if (ept_restore_page(&map, at) == STATUS_OK) {
        pages[first] = page;
    }
}

static void test_random_operations(void **context)
{
    static struct model_page pages[WINDOW_PAGES];

    (void)context;
    random_state = 0x9E3779B97F4A7C15;
    for (unsigned int round = 0; round < 30; round++) {
        struct mtrr_state mtrrs = make_mtrrs(36);

        memset(pages, 0, sizeof(pages));
        assert_int_equal(start(&mtrrs, 1 + round % 3), STATUS_OK);
        pool.limit = pool.used + 2;
        for (unsigned int step = 0; step < 60; step++) {
            if (pool.limit < POOL_PAGES && random_below(6) == 0) {
                pool.limit++;
            }
            random_step(pages, &mtrrs);
            check_model(pages);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remap),
        cmocka_unit_test(test_remap_refuses),
        cmocka_unit_test(test_hide),
        cmocka_unit_test(test_hide_before_identity),
        cmocka_unit_test(test_no_memory_changes_nothing),
        cmocka_unit_test(test_random_operations),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
