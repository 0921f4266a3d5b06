/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/hypercall.c hyperv/flush_call.c hyperv/msr.c hyperv/time.c hyperv/partition.c
 * hyperv/overlay.c */
#include "tests/host/hv_fixture.h"

/* Flush calls whose input is in registers, and what lists may hold when extended ranges are
 * shown. */

#define FAST 0x10000ull

#define SPACE_ID 0x1234000ull
#define RUBBISH  0xDEADBEEF00000000ull

static struct hv_world world;

static int begin(void **context)
{
    struct hyperv_features features = all_features;

    (void)context;
    features.xmm_input = true;
    features.tlbflush_ext = true;
    world_init(&world, &features, &usual_facts);
    assert_true(writes(&world, HV_X64_MSR_GUEST_OS_ID, 1));
    assert_true(writes(&world, HV_X64_MSR_HYPERCALL, RAM_BASE | 1));
    for (uint32_t i = 0; i < HYPERV_XMM_WORDS; i++) {
        world.xmm[i] = 0x1000ull * (i + 1);
    }
    return 0;
}

/* The input's first words, which go into general registers. */
static uint64_t call_64(uint64_t control, uint64_t first, uint64_t second)
{
    static const struct hyperv_caller kernel = {0, true, true};
    uint64_t gpr[GPR_COUNT], before[GPR_COUNT];

    memset(gpr, 0x77, sizeof(gpr));
    gpr[GPR_RCX] = control;
    gpr[GPR_RDX] = first;
    gpr[GPR_R8] = second;
    memcpy(before, gpr, sizeof(gpr));
    world.flushes = 0;
    assert_int_equal(hyperv_hypercall(&world.vp, &kernel, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_memory_equal(gpr + 1, before + 1, sizeof(gpr) - sizeof(gpr[0]));
    return gpr[GPR_RAX];
}

static uint64_t call_32(uint64_t control, uint64_t first, uint64_t second)
{
    static const struct hyperv_caller kernel = {0, true, false};
    uint64_t gpr[GPR_COUNT];

    memset(gpr, 0x77, sizeof(gpr));
    gpr[GPR_RDX] = RUBBISH | control >> 32;
    gpr[GPR_RAX] = RUBBISH | (uint32_t)control;
    gpr[GPR_RBX] = RUBBISH | first >> 32;
    gpr[GPR_RCX] = RUBBISH | (uint32_t)first;
    gpr[GPR_RDI] = RUBBISH | second >> 32;
    gpr[GPR_RSI] = RUBBISH | (uint32_t)second;
    world.flushes = 0;
    assert_int_equal(hyperv_hypercall(&world.vp, &kernel, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal((gpr[GPR_RAX] | gpr[GPR_RDX]) >> 32, 0);
    return gpr[GPR_RDX] << 32 | gpr[GPR_RAX];
}

typedef uint64_t caller(uint64_t control, uint64_t first, uint64_t second);

static void check_space(caller *call)
{
    world.xmm[0] = 0x25; /* the mask */
    assert_int_equal(call(FAST | SPACE, SPACE_ID, HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY), 0);
    assert_int_equal(world.flushes, 1);
    assert_int_equal(world.request.kind, FLUSH_KIND_NON_GLOBAL);
    assert_int_equal(world.request.address_space, SPACE_ID);
    assert_int_equal(world.named_count, 3);
    assert_true(world.named[0] && world.named[2] && world.named[5]);
    assert_int_equal(world.xmm_reads, 1);
    assert_int_equal(world.lookups, 0);
    assert_int_equal(call(FAST | SPACE, SPACE_ID, 1ull << 40), 5);
    assert_int_equal(world.flushes, 0);
}

static void test_space(void **context)
{
    check_space(call_64);
    begin(context);
    check_space(call_32);
}

/* Eleven elements fit, and stand from the upper half of XMM0 on. */
static void check_list(caller *call)
{
    world.xmm[0] = 1;
    for (uint32_t count = 1; count <= 11; count++) {
        assert_int_equal(call(FAST | LIST | REPS(count), SPACE_ID, 0), (uint64_t)count << 32);
        assert_int_equal(world.request.range_count, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(world.ranges[i], 0x1000ull * (i + 2));
        }
    }
    assert_int_equal(call(FAST | LIST | REPS(11) | START(10), SPACE_ID, 0), 11ull << 32);
    assert_int_equal(world.request.range_count, 1);
    assert_int_equal(world.ranges[0], 0xC000);
    assert_int_equal(call(FAST | LIST | REPS(12), SPACE_ID, 0), 3);
    assert_int_equal(call(FAST | LIST, SPACE_ID, 0), 3);
}

static void test_list(void **context)
{
    check_list(call_64);
    begin(context);
    check_list(call_32);
}

/* Format and bank mask are in XMM0, banks from XMM1 on. */
static void check_sets(caller *call)
{
    world.xmm[0] = 0;
    world.xmm[1] = 0x6;
    world.xmm[2] = 0x2;
    world.xmm[3] = 0x80;
    assert_int_equal(call(FAST | SPACE_X | BANKS(2), SPACE_ID, 0), 0);
    assert_int_equal(world.named_count, 2);
    assert_true(world.named[65] && world.named[135]);
    world.xmm[4] = 0x5000;
    world.xmm[5] = 0x8001;
    assert_int_equal(call(FAST | LIST_X | BANKS(2) | REPS(2), SPACE_ID, 0), 2ull << 32);
    assert_int_equal(world.request.range_count, 2);
    assert_int_equal(world.ranges[1], 0x8001);
    assert_int_equal(call(FAST | SPACE_X | BANKS(1), SPACE_ID, 0), 3);
    assert_int_equal(call(FAST | LIST_X | BANKS(2) | REPS(9), SPACE_ID, 0), 3);
    world.xmm[0] = 1;
    assert_int_equal(call(FAST | SPACE_X, SPACE_ID, 0), 0);
    assert_int_equal(world.named_count, VPS);
}

static void test_sets(void **context)
{
    check_sets(call_64);
    begin(context);
    check_sets(call_32);
}

/* An extended range: small pages as ever, but for one bit of the count; large pages are a flush
 * of all. */
static void test_extended_ranges(void **context)
{
    static const struct {
        uint64_t element;
        enum flush_kind kind;
        uint64_t pages;
    } table[] = {
        {0x5000, FLUSH_KIND_LIST, 1},
        {0x57FF, FLUSH_KIND_LIST, 2048},
        {0x200800, FLUSH_KIND_ALL, 512},
        {0x200802, FLUSH_KIND_ALL, 3 * 512},
        {0x40001800, FLUSH_KIND_ALL, 512 * 512},
        {0x40001FFF, FLUSH_KIND_ALL, 2048ull * 512 * 512},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        world.xmm[0] = 1;
        world.xmm[1] = table[i].element;
        assert_int_equal(call_64(FAST | LIST | REPS(1), 0, HV_FLUSH_USE_EXTENDED_RANGE_FORMAT),
                         1ull << 32);
        assert_int_equal(world.flushes, 1);
        assert_int_equal(world.request.kind, table[i].kind);
        assert_int_equal(world.request.page_count, table[i].pages);
        /* In the simple format bit 11 belongs to the number of pages. */
        assert_int_equal(call_64(FAST | LIST | REPS(1), 0, 0), 1ull << 32);
        assert_int_equal(world.request.kind, FLUSH_KIND_LIST);
        assert_int_equal(world.request.page_count, (table[i].element & 0xFFF) + 1);
    }
    /* Behind small ones it counts as much. */
    world.xmm[2] = 0x200800;
    world.xmm[1] = 0x7000;
    assert_int_equal(call_64(FAST | LIST | REPS(2), 0, HV_FLUSH_USE_EXTENDED_RANGE_FORMAT),
                     2ull << 32);
    assert_int_equal(world.request.kind, FLUSH_KIND_ALL);
    assert_true(world.request.is_widened);
}

/* The format means nothing to a call without a list, nor where it is not shown. */
static void test_extended_is_refused(void **context)
{
    (void)context;
    world.xmm[0] = 1;
    assert_int_equal(call_64(FAST | SPACE, 0, HV_FLUSH_USE_EXTENDED_RANGE_FORMAT), 5);
    assert_int_equal(call_64(FAST | LIST | REPS(1), 0, HV_FLUSH_USE_EXTENDED_RANGE_FORMAT | 0x10),
                     5);
    world.partition.features.tlbflush_ext = false;
    assert_int_equal(call_64(FAST | LIST | REPS(1), 0, HV_FLUSH_USE_EXTENDED_RANGE_FORMAT), 5);
    assert_int_equal(world.flushes, 0);
}

/* A list that names more pages than the limit is a flush of all, and its rest is not read. */
static void test_page_limit(void **context)
{
    uint64_t *words = (uint64_t *)(void *)(world.ram + (INPUT - RAM_BASE));

    (void)context;
    world.partition.facts.list_pages_max = 32;
    memset(words, 0, 24);
    words[2] = 1;
    for (uint32_t i = 0; i < 509; i++) {
        words[3 + i] = 0x1000ull * i;
    }
    assert_int_equal(call_64(LIST | REPS(32), INPUT, 0), 32ull << 32);
    assert_int_equal(world.request.kind, FLUSH_KIND_LIST);
    assert_int_equal(world.request.range_count, 32);
    assert_false(world.request.is_widened);
    assert_int_equal(call_64(LIST | REPS(509), INPUT, 0), 509ull << 32);
    assert_int_equal(world.request.kind, FLUSH_KIND_ALL);
    assert_true(world.request.is_widened);
    assert_int_equal(world.request.page_count, 33);
    /* What is not canonical does not count. */
    for (uint32_t i = 0; i < 509; i++) {
        words[3 + i] = i % 2 == 0 && i < 64 ? 0x1000ull * i : 0xAAAAAAAAAAAAAFFFull;
    }
    assert_int_equal(call_64(LIST | REPS(509), INPUT, 0), 509ull << 32);
    assert_int_equal(world.request.kind, FLUSH_KIND_LIST);
    assert_int_equal(world.request.range_count, 32);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_space),
        CASE(test_list),
        CASE(test_sets),
        CASE(test_extended_ranges),
        CASE(test_extended_is_refused),
        CASE(test_page_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
