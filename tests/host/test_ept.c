/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/ept.c mm/ept_change.c mm/ept_types.c mm/memtype.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/msr.h"
#include "mm/ept.h"

#define GIB        (1ull << 30)
#define MIB        (1ull << 20)
#define SCRATCH    0x7000ull
#define POOL_BASE  0x40000000ull /* the physical address that our pool pretends to have */
#define POOL_PAGES 4096u

/* A pool whose pages come filled with rubbish, and which can run dry. */
struct pool {
    uint64_t *memory;
    unsigned int used;
    unsigned int limit;
};

static void *pool_alloc(void *context, hpa_t *out)
{
    struct pool *pool = context;
    uint64_t *page;

    if (pool->used == pool->limit) {
        return NULL;
    }
    page = pool->memory + 512ull * pool->used;
    memset(page, 0xA5, 4096);
    *out = hpa(POOL_BASE + 4096ull * pool->used++);
    return page;
}

static void *pool_page_at(void *context, hpa_t page)
{
    struct pool *pool = context;

    assert_true(page.value % 4096 == 0 && page.value >= POOL_BASE);
    assert_true(page.value < POOL_BASE + 4096ull * pool->used);
    return pool->memory + (page.value - POOL_BASE) / 8;
}

static const struct ept_pages_ops pool_ops = {pool_alloc, pool_page_at};

static struct pool pool;
static struct ept_map map;

static struct mtrr_state make_mtrrs(unsigned int phys_bits)
{
    struct mtrr_state state = {0};

    state.cap = 10 | IA32_MTRRCAP_FIX | IA32_MTRRCAP_WC;
    state.def_type = IA32_MTRR_DEF_TYPE_E | MEM_TYPE_WB;
    state.phys_bits = phys_bits;
    return state;
}

static void add_range(struct mtrr_state *state, unsigned int index, uint64_t base, uint64_t bytes,
                      enum mem_type type)
{
    state->variable[index].base = base | (uint64_t)type;
    state->variable[index].mask =
        (MASK64(state->phys_bits - 1, 12) & ~(bytes - 1)) | IA32_MTRR_PHYSMASK_VALID;
}

static enum status start(const struct mtrr_state *mtrrs, unsigned int largest)
{
    struct ept_params params = {
        .ops = &pool_ops,
        .context = &pool,
        .caps = {.has_2m = largest >= 2, .has_1g = largest >= 3, .has_execute_only = true},
        .mtrrs = mtrrs,
        .scratch = {SCRATCH},
    };

    pool.used = 0;
    pool.limit = POOL_PAGES;
    return ept_init(&map, &params);
}

static struct ept_translation walk(uint64_t address)
{
    struct ept_translation found;

    ept_walk(&map, gpa(address), &found);
    return found;
}

static void expect_identity(uint64_t address, enum ept_level level, enum mem_type type)
{
    struct ept_translation found = walk(address);

    assert_true(found.is_mapped);
    assert_true(found.is_identity);
    assert_int_equal(found.hpa.value, address);
    assert_int_equal(found.access, EPT_ALL);
    assert_int_equal(found.level, level);
    assert_int_equal(found.type, type);
}

static void expect_hidden(uint64_t address)
{
    struct ept_translation found = walk(address);

    assert_true(found.is_mapped);
    assert_false(found.is_identity);
    assert_int_equal(found.hpa.value, SCRATCH | (address & 0xFFF));
    assert_int_equal(found.access, EPT_READ | EPT_WRITE);
    assert_int_equal(found.type, MEM_TYPE_WB);
    assert_int_equal(found.level, EPT_LEVEL_4K);
}

static int set_up(void **context)
{
    (void)context;
    pool.memory = aligned_alloc(4096, 4096ull * POOL_PAGES);
    return pool.memory == NULL;
}

static int tear_down(void **context)
{
    (void)context;
    free(pool.memory);
    return 0;
}

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
        cmocka_unit_test(test_init_checks),
        cmocka_unit_test(test_reach),
        cmocka_unit_test(test_largest_pages),
        cmocka_unit_test(test_missing_page_sizes),
        cmocka_unit_test(test_ranges_are_enlarged_to_pages),
        cmocka_unit_test(test_entry_format_and_pointer),
        cmocka_unit_test(test_roots_share_tables),
        cmocka_unit_test(test_remap),
        cmocka_unit_test(test_remap_refuses),
        cmocka_unit_test(test_hide),
        cmocka_unit_test(test_hide_before_identity),
        cmocka_unit_test(test_on_violation),
        cmocka_unit_test(test_set_types),
        cmocka_unit_test(test_join_and_reclaim),
        cmocka_unit_test(test_retired_list_is_bounded),
        cmocka_unit_test(test_scattered_types_are_refused),
        cmocka_unit_test(test_no_memory_changes_nothing),
        cmocka_unit_test(test_estimate_is_enough),
        cmocka_unit_test(test_random_operations),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
