/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c tests/sim/flush_world.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/flush_step.h"
#include "tests/sim/flush_world.h"

/* Ways through the flush engine that are rarely gone, one by one: what the simulation would go
 * only now and then does not count for the coverage. */

static uint32_t steps;

static void count_step(void)
{
    steps++;
}

/* VP indexes behind the last one, in the last bank and in banks of their own, are passed over. */
static void test_beyond_the_last(void **state)
{
    uint64_t banks[] = {UINT64_MAX, UINT64_MAX};
    struct flush_request request = {
        .targets = {.valid_banks = BIT64(VPS / 64) | BIT64(63), .banks = banks},
        .kind = FLUSH_KIND_ALL};
    uint64_t targets = 0;

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    for (uint32_t i = 0; i < VPS; i++) {
        bool is_target = i >= VPS / 64 * 64 && world.vp_table[i] != NULL;

        assert_int_equal(word_of(i), is_target ? FLUSH_WORD_ALL : 0);
        targets += is_target;
    }
    assert_int_not_equal(targets, 0);
    assert_int_equal(counted(FLUSH_COUNTER_TARGETS), targets);
}

/* A list that the decoder has widened is counted as one that was widened here. */
static void test_widened_before(void **state)
{
    uint64_t bank = 2;
    struct flush_request request = {
        .targets = {.valid_banks = 1, .banks = &bank}, .kind = FLUSH_KIND_ALL, .is_widened = true};

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    assert_int_equal(word_of(1), FLUSH_WORD_ALL);
    assert_int_equal(counted(FLUSH_COUNTER_LISTS_WIDENED), 1);
    request.is_widened = false;
    flush_send(&world.self, &world.vcpus[0], &request);
    assert_int_equal(counted(FLUSH_COUNTER_LISTS_WIDENED), 1);
}

/* The target looks for itself whether it can go by address. */
static void test_list_without_the_type(void **state)
{
    uint64_t range = PAGE(3);

    (void)state;
    world.caller = 1;
    send_to_bank(FLUSH_KIND_LIST, 1, &range, 1);
    assert_int_equal(word_of(0), FLUSH_WORD_LIST);
    world.machine.invvpid_types &= ~FLUSH_HAS(FLUSH_INVVPID_ADDRESS);
    flush_serve(&world.self, &world.vcpus[0]);
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_SINGLE, 0);
}

/* The bit of a list whose ranges have been taken with another request leaves nothing to do, with or
 * without the type. */
static void test_list_taken_before(void **state)
{
    (void)state;
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_LIST);
    flush_serve(&world.self, &world.vcpus[0]);
    world.machine.invvpid_types &= ~FLUSH_HAS(FLUSH_INVVPID_ADDRESS);
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_LIST);
    flush_serve(&world.self, &world.vcpus[0]);
    assert_int_equal(world.call_count, 0);
}

/* Another sender fills the first slot in the meantime: its element stays, and ours stands beside
 * it. */
static uint64_t element_of_other;

static void take_slot(void)
{
    uint64_t free = 0;

    (void)atomic_compare_exchange_strong(&world.vcpus[0].pending.slots[0], &free, element_of_other);
}

static void test_slot_taken(void **state)
{
    uint64_t range = PAGE(77);

    (void)state;
    world.caller = 1;
    send_to_bank(FLUSH_KIND_LIST, 1, &range, 1);
    element_of_other = atomic_exchange(&world.vcpus[0].pending.slots[0], 0);
    range = PAGE(3);
    flush_step_hook = take_slot;
    send_to_bank(FLUSH_KIND_LIST, 1, &range, 1);
    flush_step_hook = NULL;
    flush_serve(&world.self, &world.vcpus[0]);
    assert_int_equal(world.call_count, 2);
    expect_call(0, FLUSH_INVVPID_ADDRESS, PAGE(77));
    expect_call(1, FLUSH_INVVPID_ADDRESS, PAGE(3));
}

/* Each step of the protocol is one at which the simulation may delay. */
static void test_steps(void **state)
{
    uint64_t range = PAGE(3);

    (void)state;
    atomic_store(&world.lps[1].run_seq, 11);
    atomic_store(&world.vcpus[1].lp, 2);
    world.vcpus[0].last_lp = 2;
    flush_step_hook = count_step;
    steps = 0;
    flush_arrive(&world.self, &world.vcpus[0]);
    assert_int_not_equal(steps, 0);
    steps = 0;
    send_to_bank(FLUSH_KIND_LIST, 3, &range, 1);
    assert_int_not_equal(steps, 0);
    steps = 0;
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_LIST);
    flush_serve(&world.self, &world.vcpus[0]);
    assert_int_not_equal(steps, 0);
    steps = 0;
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_ALL);
    flush_serve_published(&world.self, &world.vcpus[0]);
    assert_int_not_equal(steps, 0);
    steps = 0;
    flush_depart(&world.self, &world.vcpus[0]);
    assert_int_not_equal(steps, 0);
    flush_step_hook = NULL;
}

/* A list for everybody stands in each slot array. */
static void test_list_for_all(void **state)
{
    uint64_t range = PAGE(3) | 1;
    struct flush_request request = {.targets = {.is_all = true},
                                    .kind = FLUSH_KIND_LIST,
                                    .ranges = &range,
                                    .range_count = 1,
                                    .page_count = 2};

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    assert_int_equal(world.call_count, 2); /* the caller's own */
    for (uint32_t i = 1; i < VPS; i++) {
        bool is_target = world.vp_table[i] != NULL;

        assert_int_equal(word_of(i), is_target ? FLUSH_WORD_LIST : 0);
        if (is_target) {
            world.call_count = 0;
            flush_serve(&world.self, &world.vcpus[i]);
            assert_int_equal(world.call_count, 2);
            assert_int_equal(world.calls[1].address, PAGE(4));
        }
    }
}

/* LP 1 has left guest mode, and its use of a guest address, before the sender begins to wait. */
static void leave_when_seen(void)
{
    if (world.self.seen_count != 0) {
        atomic_store(&world.lps[1].run_seq, 12);
        atomic_store(&world.lps[1].gva_seq, 6);
    }
}

static void test_left_before_the_wait(void **state)
{
    (void)state;
    atomic_store(&world.lps[1].run_seq, 11);
    atomic_store(&world.lps[1].gva_seq, 5);
    atomic_store(&world.vcpus[1].lp, 2);
    flush_step_hook = leave_when_seen;
    send_to_bank(FLUSH_KIND_ALL, 2, NULL, 0);
    flush_step_hook = NULL;
    assert_int_equal(world.turns, 0);
    assert_int_equal(counted(FLUSH_COUNTER_WAITS), 1);
    assert_int_equal(counted(FLUSH_COUNTER_GVA_WAITS), 1);
}

static void test_names(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < FLUSH_COUNTER_COUNT; i++) {
        const char *name = flush_counter_name((enum flush_counter)i);

        assert_non_null(name);
        assert_string_not_equal(name, "?");
    }
    assert_string_equal(flush_counter_name(FLUSH_COUNTER_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_beyond_the_last, set_up),
        cmocka_unit_test_setup(test_widened_before, set_up),
        cmocka_unit_test_setup(test_list_without_the_type, set_up),
        cmocka_unit_test_setup(test_list_taken_before, set_up),
        cmocka_unit_test_setup(test_slot_taken, set_up),
        cmocka_unit_test_setup(test_steps, set_up),
        cmocka_unit_test_setup(test_list_for_all, set_up),
        cmocka_unit_test_setup(test_left_before_the_wait, set_up),
        cmocka_unit_test_setup(test_names, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
