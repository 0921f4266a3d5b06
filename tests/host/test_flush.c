/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c tests/sim/flush_world.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/flush_step.h"
#include "tests/sim/flush_world.h"

/* The flush engine's target: what is invalidated for what was posted. */

/* vCPU 1 sends to vCPU 0. */
static int set_up_other(void **state)
{
    int result = set_up(state);

    world.caller = 1;
    return result;
}

static void serve(void)
{
    world.call_count = 0;
    flush_serve(&world.self, &world.vcpus[0]);
    assert_false(flush_is_pending(&world.vcpus[0]));
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        assert_int_equal(atomic_load(&world.vcpus[0].pending.slots[i]), 0);
    }
}

/* The weaker of two requests never hides the stronger. */
static void test_merging(void **state)
{
    uint64_t range = PAGE(5) | 1;

    (void)state;
    send_to_bank(FLUSH_KIND_NON_GLOBAL, 1, NULL, 0);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_RETAINING_GLOBALS, 0);

    send_to_bank(FLUSH_KIND_ALL, 1, NULL, 0);
    send_to_bank(FLUSH_KIND_NON_GLOBAL, 1, NULL, 0);
    send_to_bank(FLUSH_KIND_LIST, 1, &range, 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);

    send_to_bank(FLUSH_KIND_LIST, 1, &range, 1);
    send_to_bank(FLUSH_KIND_NON_GLOBAL, 1, NULL, 0);
    serve();
    assert_int_equal(world.call_count, 3);
    expect_call(0, FLUSH_INVVPID_RETAINING_GLOBALS, 0);
    expect_call(1, FLUSH_INVVPID_ADDRESS, PAGE(5));
    expect_call(2, FLUSH_INVVPID_ADDRESS, PAGE(6));
}

/* Lists: by page while they are short; else everything, globals too. */
static void test_lists(void **state)
{
    uint64_t ranges[FLUSH_SLOTS + 1];
    uint64_t zero = 0, last = 0xFFFFFFFFFFFFF000ull, long_range = PAGE(1) | FLUSH_PAGES_DEFAULT;

    (void)state;
    for (uint32_t i = 0; i <= FLUSH_SLOTS; i++) {
        ranges[i] = PAGE(2 * i);
    }
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, FLUSH_SLOTS);
    serve();
    assert_int_equal(world.call_count, FLUSH_SLOTS);
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        expect_call(i, FLUSH_INVVPID_ADDRESS, PAGE(2 * i));
    }
    send_to_bank(FLUSH_KIND_LIST, 1, &last, 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_ADDRESS, last);
    assert_int_equal(counted(FLUSH_COUNTER_LISTS_WIDENED), 0);

    send_to_bank(FLUSH_KIND_LIST, 1, ranges, FLUSH_SLOTS + 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
    send_to_bank(FLUSH_KIND_LIST, 1, &zero, 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_ADDRESS, 0);
    send_to_bank(FLUSH_KIND_LIST, 1, &long_range, 1);
    serve();
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
    assert_int_equal(counted(FLUSH_COUNTER_LISTS_WIDENED), 2);

    send_to_bank(FLUSH_KIND_LIST, 1, NULL, 0);
    serve();
    assert_int_equal(world.call_count, 0);
}

/* Lists of several senders that are too long together. */
static void test_overflow(void **state)
{
    uint64_t ranges[FLUSH_SLOTS];
    uint64_t half = PAGE(100) | (FLUSH_PAGES_DEFAULT / 2);

    (void)state;
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        ranges[i] = PAGE(i);
    }
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, FLUSH_SLOTS - 1);
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, 1);
    assert_int_equal(word_of(0), FLUSH_WORD_LIST);
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, 1);
    assert_int_equal(word_of(0), FLUSH_WORD_LIST | FLUSH_WORD_ALL | FLUSH_WORD_OVERFLOW);
    assert_int_equal(counted(FLUSH_COUNTER_OVERFLOWS), 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);

    send_to_bank(FLUSH_KIND_LIST, 1, &half, 1);
    send_to_bank(FLUSH_KIND_LIST, 1, &half, 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
}

/* An overflow between the slots and the bit of another sender: the slot that was filled before
 * it is emptied with the others. */
static void test_overflow_half_way(void **state)
{
    uint64_t ranges[] = {PAGE(1), PAGE(3)};

    (void)state;
    for (uint32_t i = 1; i < FLUSH_SLOTS; i++) {
        atomic_store(&world.vcpus[0].pending.slots[i], PAGE(2 * i));
    }
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, 2);
    assert_int_equal(counted(FLUSH_COUNTER_OVERFLOWS), 1);
    serve();
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
}

/* The limit of pages is the machine's: the last that are invalidated one by one, and the first
 * that are not; with 0 lists are flushes of all. */
static void test_page_limit(void **state)
{
    static const uint32_t limits[] = {0, 1, 2, 32, 60};

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(limits); i++) {
        uint64_t fits = PAGE(1) | (limits[i] - 1), exceeds = PAGE(1) | limits[i];

        world.machine.pages_max = limits[i];
        if (limits[i] != 0) {
            send_to_bank(FLUSH_KIND_LIST, 1, &fits, 1);
            assert_int_equal(word_of(0), FLUSH_WORD_LIST);
            serve();
            assert_int_equal(world.call_count, limits[i]);
            expect_call(limits[i] - 1, FLUSH_INVVPID_ADDRESS, PAGE(limits[i]));
        }
        if (limits[i] <= 0xFFF) {
            send_to_bank(FLUSH_KIND_LIST, 1, &exceeds, 1);
            serve();
            assert_int_equal(world.call_count, 1);
            expect_call(0, FLUSH_INVVPID_SINGLE, 0);
        }
    }
}

/* What the processor lacks is replaced by what drops more. */
static void test_fallback(void **state)
{
    static const struct {
        uint32_t types;
        enum flush_kind kind;
        uint32_t calls;
        enum flush_invvpid expected;
    } cases[] = {
        {ALL_TYPES, FLUSH_KIND_LIST, 1, FLUSH_INVVPID_ADDRESS},
        {ALL_TYPES & ~FLUSH_HAS(FLUSH_INVVPID_ADDRESS), FLUSH_KIND_LIST, 1, FLUSH_INVVPID_SINGLE},
        {FLUSH_HAS(FLUSH_INVVPID_ALL), FLUSH_KIND_LIST, 1, FLUSH_INVVPID_ALL},
        {FLUSH_HAS(FLUSH_INVVPID_ALL), FLUSH_KIND_ALL, 1, FLUSH_INVVPID_ALL},
        {FLUSH_HAS(FLUSH_INVVPID_ALL), FLUSH_KIND_NON_GLOBAL, 1, FLUSH_INVVPID_ALL},
        {FLUSH_HAS(FLUSH_INVVPID_SINGLE), FLUSH_KIND_NON_GLOBAL, 1, FLUSH_INVVPID_SINGLE},
        {0, FLUSH_KIND_ALL, 0, FLUSH_INVVPID_ALL},
    };
    uint64_t range = PAGE(3);

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
        world.machine.invvpid_types = cases[i].types;
        send_to_bank(cases[i].kind, 1, &range, 1);
        /* Decided by the sender, so that no slots are filled for nothing. */
        assert_true(word_of(0) != FLUSH_WORD_LIST || cases[i].expected == FLUSH_INVVPID_ADDRESS);
        serve();
        assert_int_equal(world.call_count, cases[i].calls);
        if (cases[i].calls != 0) {
            assert_int_equal(world.calls[0].type, cases[i].expected);
        }
    }
}

/* A request in the moment between taking and invalidating is not lost. */
static void post_once(void)
{
    if (world.call_count != 0 && world.posts_left > 0) {
        world.posts_left--;
        atomic_fetch_or(&world.vcpus[0].pending.word, FLUSH_WORD_ALL);
    }
}

static void test_served_while_published(void **state)
{
    (void)state;
    atomic_store(&world.lps[0].run_seq, 21);
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_ALL);
    world.posts_left = 5;
    flush_step_hook = post_once;
    flush_serve_published(&world.self, &world.vcpus[0]);
    flush_step_hook = NULL;
    assert_false(flush_is_pending(&world.vcpus[0]));
    assert_int_equal(atomic_load(&world.lps[0].run_seq), 23);
    assert_int_equal(world.posts_left, 0);
    /* Each post is followed by an invalidation. */
    assert_true(world.call_count >= 2);
    assert_int_equal(counted(FLUSH_COUNTER_ROUNDS_HELD), world.call_count);
}

/* Coming to another LP drops what is old there, and with it all that was pending. */
static void test_lp_change(void **state)
{
    struct flush_vcpu *vcpu = &world.vcpus[0];

    (void)state;
    flush_arrive(&world.self, vcpu);
    assert_int_equal(world.call_count, 0);
    flush_depart(&world.self, vcpu);
    assert_int_equal(atomic_load(&vcpu->lp), FLUSH_LP_NONE);
    flush_arrive(&world.self, vcpu);
    assert_int_equal(world.call_count, 0);

    vcpu->last_lp = 2;
    atomic_store(&vcpu->pending.word, FLUSH_WORD_NON_GLOBAL);
    flush_arrive(&world.self, vcpu);
    assert_int_equal(atomic_load(&vcpu->lp), 1);
    assert_int_equal(vcpu->last_lp, 1);
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
    assert_false(flush_is_pending(vcpu));
    assert_int_equal(counted(FLUSH_COUNTER_LP_CHANGES), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_merging, set_up_other),
        cmocka_unit_test_setup(test_lists, set_up_other),
        cmocka_unit_test_setup(test_overflow, set_up_other),
        cmocka_unit_test_setup(test_overflow_half_way, set_up_other),
        cmocka_unit_test_setup(test_page_limit, set_up_other),
        cmocka_unit_test_setup(test_fallback, set_up_other),
        cmocka_unit_test_setup(test_served_while_published, set_up),
        cmocka_unit_test_setup(test_lp_change, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
