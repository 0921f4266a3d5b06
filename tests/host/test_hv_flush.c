/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/hypercall.c hyperv/flush_call.c
 * hyperv/msr.c hyperv/time.c hyperv/partition.c hyperv/overlay.c */
#include "tests/host/hv_fixture.h"

static struct hv_world world;
static uint64_t *words;

static int begin(void **context)
{
    (void)context;
    world_init_calls(&world);
    words = (uint64_t *)(void *)(world.ram + (INPUT - RAM_BASE));
    return 0;
}

static uint64_t call(uint64_t control)
{
    static const struct hyperv_caller kernel = {0, true, true};
    uint64_t gpr[GPR_COUNT] = {[GPR_RCX] = control, [GPR_RDX] = INPUT};

    world.flushes = 0;
    assert_int_equal(hyperv_hypercall(&world.vp, &kernel, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal(world.buffer[512], 0x5AFE5AFE5AFE5AFEull);
    return gpr[GPR_RAX];
}

/* The VPs of the last flush are those of first..last, both included. */
static void check_named(uint32_t first, uint32_t last)
{
    assert_int_equal(world.flushes, 1);
    assert_int_equal(world.named_count, last - first + 1);
    for (uint32_t vp = first; vp <= last; vp++) {
        assert_true(world.named[vp]);
    }
}

static void test_kinds(void **context)
{
    (void)context;
    words[0] = 0x123456000;
    words[2] = 1ull << 63 | 1;
    assert_int_equal(call(SPACE), 0);
    assert_int_equal(world.request.kind, FLUSH_KIND_ALL);
    assert_int_equal(world.request.address_space, 0x123456000);
    assert_int_equal(world.named_count, 2);
    assert_true(world.named[0] && world.named[63]);
    words[1] = HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY | HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES;
    assert_int_equal(call(SPACE), 0);
    assert_int_equal(world.request.kind, FLUSH_KIND_NON_GLOBAL);
    /* On a list it is accepted, and globals go with their addresses. */
    words[3] = 0x7000;
    assert_int_equal(call(LIST | REPS(1)), 1ull << 32);
    assert_int_equal(world.request.kind, FLUSH_KIND_LIST);
    assert_int_equal(world.request.page_count, 1);
}

/* Input that begins within its page. */
static void test_offset(void **context)
{
    static const struct hyperv_caller kernel = {0, true, true};
    uint64_t gpr[GPR_COUNT] = {[GPR_RCX] = LIST | REPS(2), [GPR_RDX] = INPUT + 0x128};
    uint64_t *input = words + 0x128 / 8;

    (void)context;
    words[0] = 0x1000;
    words[2] = 1;
    input[0] = 0x2000;
    input[2] = 2;
    input[3] = 0x7000;
    input[4] = 0x9000;
    assert_int_equal(hyperv_hypercall(&world.vp, &kernel, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal(gpr[GPR_RAX], 2ull << 32);
    assert_int_equal(world.request.address_space, 0x2000);
    check_named(1, 1);
    assert_int_equal(world.request.range_count, 2);
    assert_int_equal(world.ranges[1], 0x9000);
}

static void test_flags(void **context)
{
    (void)context;
    words[2] = 1;
    for (uint32_t bit = 0; bit < 64; bit++) {
        uint64_t status = bit < 3 ? 0 : 5;

        words[1] = 1ull << bit;
        assert_int_equal(call(SPACE), status);
        assert_int_equal(world.flushes, status == 0);
        assert_int_equal(call(LIST | REPS(2)), status == 0 ? 2ull << 32 : 5);
        assert_int_equal(world.flushes, status == 0);
    }
    for (uint32_t bit = 0; bit < 64; bit++) {
        words[1] = 1ull << bit;
        words[2] = HV_GENERIC_SET_ALL;
        assert_int_equal(call(SPACE_X), bit < 3 ? 0 : 5);
        assert_int_equal(call(LIST_X | REPS(2)), bit < 3 ? 2ull << 32 : 5);
    }
    /* Elements before the start were done by an earlier call. */
    assert_int_equal(call(LIST_X | REPS(4) | START(3)), 3ull << 32 | 5);
}

static void test_masks(void **context)
{
    (void)context;
    words[2] = 0; /* an empty mask is everybody */
    assert_int_equal(call(SPACE), 0);
    check_named(0, VPS - 1);
    words[1] = HV_FLUSH_ALL_PROCESSORS;
    words[2] = 2;
    assert_int_equal(call(SPACE), 0);
    check_named(0, VPS - 1);
    words[1] = 0;
    assert_int_equal(call(SPACE), 0);
    check_named(1, 1);
    words[2] = ~0ull;
    assert_int_equal(call(SPACE), 0);
    check_named(0, 63);
    world.partition.facts.vp_limit = 8;
    assert_int_equal(call(SPACE), 0);
    check_named(0, 7);
    words[2] = 1ull << 63;
    assert_int_equal(call(SPACE), 0); /* nobody, and no error */
    assert_int_equal(world.named_count, 0);
}

static void test_sparse_sets(void **context)
{
    (void)context;
    words[3] = 0xA;
    words[4] = 1;
    words[5] = 2;
    assert_int_equal(call(SPACE_X | BANKS(2)), 0);
    assert_int_equal(world.named_count, 2);
    assert_true(world.named[64] && world.named[193]);
    words[5] = ~0ull; /* VPs 192-255, of which 200 and above do not exist */
    assert_int_equal(call(SPACE_X | BANKS(2)), 0);
    assert_int_equal(world.named_count, 9);
    words[3] = 1ull << 63;
    assert_int_equal(call(SPACE_X | BANKS(1)), 0);
    assert_int_equal(world.named_count, 0);
    words[3] = 0; /* an empty set is nobody */
    assert_int_equal(call(SPACE_X), 0);
    assert_int_equal(world.flushes, 0);
    words[1] = HV_FLUSH_ALL_PROCESSORS;
    assert_int_equal(call(SPACE_X), 0);
    check_named(0, VPS - 1);
}

static void test_all_vps_that_fit(void **context)
{
    (void)context;
    world.partition.facts.vp_limit = HV_VP_SET_MAX_VPS;
    for (uint32_t i = 3; i < 3 + 1 + 64; i++) {
        words[i] = ~0ull;
    }
    assert_int_equal(call(SPACE_X | BANKS(64)), 0);
    check_named(0, HV_VP_SET_MAX_VPS - 1);
}

static void test_bank_counts(void **context)
{
    static const uint32_t counts[] = {0, 1, 3, 63, 64, 65, 508};

    (void)context;
    words[3] = 0xA;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        assert_int_equal(call(SPACE_X | BANKS(counts[i])), 3);
        assert_int_equal(call(SPACE_X | BANKS(509)), 3);
        assert_int_equal(call(SPACE_X | BANKS(1023)), 3);
        assert_int_equal(world.flushes, 0);
    }
    words[3] = ~0ull;
    assert_int_equal(call(SPACE_X | BANKS(63)), 3);
    assert_int_equal(call(SPACE_X | BANKS(65)), 3);
    words[1] = HV_FLUSH_ALL_PROCESSORS; /* the size must be right even so */
    assert_int_equal(call(SPACE_X | BANKS(63)), 3);
    assert_int_equal(call(SPACE_X | BANKS(64)), 0);
}

static void test_formats(void **context)
{
    (void)context;
    words[2] = 2;
    assert_int_equal(call(SPACE_X), 5);
    words[2] = ~0ull;
    assert_int_equal(call(SPACE_X), 5);
    words[2] = 1ull << 32;
    assert_int_equal(call(SPACE_X), 5);
    words[2] = HV_GENERIC_SET_ALL;
    assert_int_equal(call(SPACE_X), 0);
    check_named(0, VPS - 1);
    words[3] = 0xFF; /* means nothing here */
    assert_int_equal(call(SPACE_X | BANKS(3)), 0);
    check_named(0, VPS - 1);
    /* The list comes after the banks all the same. */
    words[4] = words[5] = words[6] = 0xBAD000;
    words[7] = 0x4000;
    assert_int_equal(call(LIST_X | BANKS(3) | REPS(1)), 1ull << 32);
    assert_int_equal(world.ranges[0], 0x4000);
    words[2] = HV_GENERIC_SET_SPARSE_4K;
    words[3] = 7;
    words[1] = HV_FLUSH_ALL_PROCESSORS;
    assert_int_equal(call(LIST_X | BANKS(3) | REPS(1)), 1ull << 32);
    assert_int_equal(world.ranges[0], 0x4000);
    check_named(0, VPS - 1);
}

struct clip_case {
    uint64_t element;
    uint32_t canonical_bits;
    uint64_t range; /* GONE: nothing is left */
};

#define GONE 1ull

static void test_canonical(void **context)
{
    static const struct clip_case table[] = {
        {0x0000000000000000ull, 48, 0x0000000000000000ull},
        {0x0000000000000FFFull, 48, 0x0000000000000FFFull},
        {0x00007FFFFFFFF000ull, 48, 0x00007FFFFFFFF000ull},
        {0x00007FFFFFFFFFFFull, 48, 0x00007FFFFFFFF000ull}, /* runs into the hole */
        {0x00007FFFFFFFE005ull, 48, 0x00007FFFFFFFE001ull},
        {0x0000800000000000ull, 48, GONE},
        {0xAAAAAAAAAAAAA000ull, 48, GONE},
        {0xFFFF7FFFFFFFF000ull, 48, GONE},
        {0xFFFF7FFFFFFFE001ull, 48, GONE},
        {0xFFFF7FFFFFFFF001ull, 48, 0xFFFF800000000000ull}, /* comes out of it */
        {0xFFFF7FFFFFFFE004ull, 48, 0xFFFF800000000002ull},
        {0xFFFF800000000FFFull, 48, 0xFFFF800000000FFFull},
        {0xFFFFFFFFFFFFF000ull, 48, 0xFFFFFFFFFFFFF000ull},
        {0xFFFFFFFFFFFFFFFFull, 48, 0xFFFFFFFFFFFFF000ull}, /* does not wrap */
        {0xFFFFFFFFFFFF8FFFull, 48, 0xFFFFFFFFFFFF8007ull},
        {0x0000800000000001ull, 57, 0x0000800000000001ull},
        {0x00FFFFFFFFFFF002ull, 57, 0x00FFFFFFFFFFF000ull},
        {0x0100000000000000ull, 57, GONE},
        {0xFEFFFFFFFFFFF000ull, 57, GONE},
        {0xFEFFFFFFFFFFF003ull, 57, 0xFF00000000000002ull},
        {0xFF00000000000000ull, 57, 0xFF00000000000000ull},
        {0xFFFFFFFFFFFFF800ull, 57, 0xFFFFFFFFFFFFF000ull},
    };

    (void)context;
    words[2] = 1;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        world.partition.facts.canonical_bits = table[i].canonical_bits;
        words[3] = table[i].element;
        assert_int_equal(call(LIST | REPS(1)), 1ull << 32);
        assert_int_equal(world.flushes, table[i].range != GONE);
        if (table[i].range != GONE) {
            assert_int_equal(world.request.range_count, 1);
            assert_int_equal(world.ranges[0], table[i].range);
            assert_int_equal(world.request.page_count, (table[i].range & 0xFFF) + 1);
        }
    }
}

static void test_lists(void **context)
{
    (void)context;
    words[2] = 1;
    for (uint32_t i = 0; i < 509; i++) {
        words[3 + i] = i % 2 == 0 ? 0x1000ull * i : 0xAAAAAAAAAAAAA000ull;
    }
    assert_int_equal(call(LIST | REPS(509)), 509ull << 32);
    assert_int_equal(world.request.range_count, 255);
    assert_int_equal(world.request.page_count, 255);
    for (uint32_t i = 0; i < 255; i++) {
        assert_int_equal(flush_range_start(world.ranges[i]).value, 0x2000ull * i);
        assert_int_equal(flush_range_pages(world.ranges[i]), 1);
    }
    assert_int_equal(call(LIST | REPS(509) | START(508)), 509ull << 32);
    assert_int_equal(world.request.range_count, 1);
    assert_int_equal(world.ranges[0], 508 * 0x1000);
    assert_int_equal(call(LIST | REPS(509) | START(507)), 509ull << 32);
    assert_int_equal(world.request.range_count, 1);
    assert_int_equal(call(LIST | REPS(508) | START(507)), 508ull << 32);
    assert_int_equal(world.flushes, 0); /* only one that is not canonical */
    assert_int_equal(world.vp.gvas_flushed, 257);
}

static void test_list_after_banks(void **context)
{
    (void)context;
    words[3] = 0x5;
    words[4] = 1;
    words[5] = 1;
    words[6] = 0x10003;
    words[7] = 0x20FFF;
    words[8] = 0x30000;
    assert_int_equal(call(LIST_X | BANKS(2) | REPS(3)), 3ull << 32);
    assert_int_equal(world.named_count, 2);
    assert_true(world.named[0] && world.named[128]);
    assert_int_equal(world.request.range_count, 3);
    assert_int_equal(world.request.page_count, 4 + 4096 + 1);
    assert_int_equal(world.ranges[0], 0x10003);
    assert_int_equal(world.ranges[2], 0x30000);
    /* The largest: 64 banks and 444 elements. */
    memset(words + 3, 0xFF, PAGE_BYTES - 24);
    assert_int_equal(call(LIST_X | BANKS(64) | REPS(444)), 444ull << 32);
    check_named(0, VPS - 1);
    assert_int_equal(world.request.range_count, 444);
    assert_int_equal(call(LIST_X | BANKS(64) | REPS(445)), 3);
}

/* What the guest does to its page after the copy does not count; the guest's page is not
 * written. */
static void test_input_is_not_written(void **context)
{
    static uint8_t before[PAGE_BYTES];

    (void)context;
    words[2] = 1;
    words[3] = 0x00007FFFFFFFFFFFull;
    memcpy(before, words, PAGE_BYTES);
    assert_int_equal(call(LIST | REPS(1)), 1ull << 32);
    assert_memory_equal(before, words, PAGE_BYTES);
    assert_ptr_equal(world.request.ranges, &world.buffer[3]);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_kinds),       CASE(test_offset),           CASE(test_flags),
        CASE(test_masks),       CASE(test_sparse_sets),      CASE(test_all_vps_that_fit),
        CASE(test_bank_counts), CASE(test_formats),          CASE(test_canonical),
        CASE(test_lists),       CASE(test_list_after_banks), CASE(test_input_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
