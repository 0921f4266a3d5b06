/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c tests/sim/flush_world.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/flush_world.h"

/* The flush engine's sender: whom it posts to, kicks, waits for, and what it counts. */

/* Targets: exactly those that exist and are named, in all banks. */
static void test_targets(void **state)
{
    /* The third belongs to bank 63: VPs that do not exist. */
    uint64_t banks[] = {1ull << 2 | 1ull << 3 | 1ull << 63, ~(1ull << 5), UINT64_MAX};
    struct flush_request request = {
        .targets = {.valid_banks = 1 | 1ull << 2 | 1ull << 63, .banks = banks},
        .kind = FLUSH_KIND_ALL};
    uint64_t targets = 0;

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    for (uint32_t i = 0; i < VPS; i++) {
        bool is_named = i == 2 || i == 63 || (i >= 128 && i < 192 && i != 133);
        bool is_target = is_named && world.vp_table[i] != NULL;

        assert_int_equal(word_of(i), is_target ? FLUSH_WORD_ALL : 0);
        targets += is_target;
    }
    assert_int_equal(counted(FLUSH_COUNTER_TARGETS), targets);
    assert_int_equal(counted(FLUSH_COUNTER_NOT_RUNNING), targets);
    assert_int_equal(world.turns, 0);
}

static void test_all_targets(void **state)
{
    struct flush_request request = {.targets = {.is_all = true}, .kind = FLUSH_KIND_NON_GLOBAL};
    uint64_t targets = 0;

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    for (uint32_t i = 0; i < VPS; i++) {
        targets += world.vp_table[i] != NULL;
        /* The caller's own part is carried out at once. */
        assert_int_equal(word_of(i),
                         world.vp_table[i] != NULL && i != 0 ? FLUSH_WORD_NON_GLOBAL : 0);
    }
    assert_int_equal(world.call_count, 1);
    expect_call(0, FLUSH_INVVPID_RETAINING_GLOBALS, 0);
    assert_int_equal(counted(FLUSH_COUNTER_TARGETS), targets);
    assert_int_equal(counted(FLUSH_COUNTER_SELF), 1);
}

/* What others have posted to the caller stays for its next entry, and does not widen its own
 * request. */
static void test_caller_alone(void **state)
{
    uint64_t ranges[] = {PAGE(7), PAGE(9) | 1};

    (void)state;
    atomic_store(&world.vcpus[0].pending.word, FLUSH_WORD_NON_GLOBAL);
    send_to_bank(FLUSH_KIND_LIST, 1, ranges, 2);
    assert_int_equal(word_of(0), FLUSH_WORD_NON_GLOBAL);
    assert_int_equal(world.call_count, 3);
    expect_call(0, FLUSH_INVVPID_ADDRESS, PAGE(7));
    expect_call(1, FLUSH_INVVPID_ADDRESS, PAGE(9));
    expect_call(2, FLUSH_INVVPID_ADDRESS, PAGE(10));
    send_to_bank(FLUSH_KIND_ALL, 1, NULL, 0);
    assert_int_equal(world.call_count, 4);
    expect_call(3, FLUSH_INVVPID_SINGLE, 0);
    assert_int_equal(counted(FLUSH_COUNTER_SELF), 2);
    assert_int_equal(counted(FLUSH_COUNTER_WAITS), 0);
    /* Not named: nothing is dropped. */
    send_to_bank(FLUSH_KIND_ALL, 2, NULL, 0);
    assert_int_equal(world.call_count, 4);
}

static void test_nobody(void **state)
{
    uint64_t banks[] = {0, 0};
    struct flush_request request = {.targets = {.valid_banks = 0x11, .banks = banks},
                                    .kind = FLUSH_KIND_ALL};

    (void)state;
    flush_send(&world.self, &world.vcpus[0], &request);
    request.targets.valid_banks = 0;
    flush_send(&world.self, &world.vcpus[0], &request);
    /* The first behind the last VP: what stands there in the table is none. */
    world.machine.vp_count = 7;
    assert_non_null(world.vp_table[7]);
    send_to_bank(FLUSH_KIND_ALL, 1ull << 7, NULL, 0);
    assert_int_equal(word_of(7), 0);
    assert_int_equal(counted(FLUSH_COUNTER_TARGETS), 0);
}

/* Who runs is kicked and waited for, who is in root mode is not, who is named alone neither. */
static void test_where(void **state)
{
    (void)state;
    atomic_store(&world.lps[1].run_seq, 11);
    atomic_store(&world.vcpus[1].lp, 2);
    atomic_store(&world.vcpus[2].lp, 3);
    send_to_bank(FLUSH_KIND_ALL, 0x87, NULL, 0);
    assert_int_equal(world.kicks[1], 1);
    assert_int_equal(world.kicks[0] + world.kicks[2], 0);
    assert_int_equal(world.turns, 2);
    assert_int_equal(counted(FLUSH_COUNTER_TARGETS), 4);
    assert_int_equal(counted(FLUSH_COUNTER_SELF), 1);
    assert_int_equal(counted(FLUSH_COUNTER_WAITED_FOR), 1);
    assert_int_equal(counted(FLUSH_COUNTER_IN_ROOT), 1);
    assert_int_equal(counted(FLUSH_COUNTER_NOT_RUNNING), 1);
    assert_int_equal(counted(FLUSH_COUNTER_WAITS), 1);
    assert_int_equal(counted(FLUSH_COUNTER_WAIT_TICKS), 2 * (WATCHDOG / 4));
    assert_int_equal(counted(FLUSH_COUNTER_WAIT_TICKS_LONGEST), 2 * (WATCHDOG / 4));
    assert_int_equal(atomic_load(&world.lps[1].kicked_seq), 11);
    assert_int_equal(world.reports, 0);
}

/* All that are in guest mode are kicked before the first is waited for. */
static void test_kicks_in_one_batch(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < LPS; i++) {
        atomic_store(&world.lps[i].run_seq, 11);
        atomic_store(&world.vcpus[i].lp, i + 1);
    }
    send_to_bank(FLUSH_KIND_ALL, 0x6, NULL, 0);
    assert_int_equal(world.kicks[1], 1);
    assert_int_equal(world.kicks[2], 1);
    assert_int_equal(counted(FLUSH_COUNTER_WAITS), 2);
    assert_int_equal(world.turns, 2);
}

/* An LP in root mode that uses a guest address is waited for, but not kicked. */
static void test_gva_section(void **state)
{
    (void)state;
    atomic_store(&world.lps[1].gva_seq, 5);
    atomic_store(&world.vcpus[1].lp, 2);
    send_to_bank(FLUSH_KIND_ALL, 0x2, NULL, 0);
    assert_int_equal(world.kicks[1], 0);
    assert_int_equal(world.turns, 2);
    assert_int_equal(counted(FLUSH_COUNTER_IN_ROOT), 1);
    assert_int_equal(counted(FLUSH_COUNTER_GVA_WAITS), 1);
    assert_int_equal(counted(FLUSH_COUNTER_WAITS), 0);
}

/* Only a kick for this very run_seq stands for ours, and only one that was certain to arrive. */
static void test_kick_left_out(void **state)
{
    (void)state;
    atomic_store(&world.vcpus[1].lp, 2);
    atomic_store(&world.lps[1].run_seq, 11);
    atomic_store(&world.lps[1].kicked_seq, 11);
    send_to_bank(FLUSH_KIND_ALL, 0x2, NULL, 0);
    assert_int_equal(world.kicks[1], 0);
    assert_int_equal(world.turns, 2);
    assert_int_equal(counted(FLUSH_COUNTER_KICKS_SPARED), 1);

    world.turns = 0;
    world.is_kick_refused = true;
    atomic_store(&world.lps[1].run_seq, 13);
    send_to_bank(FLUSH_KIND_ALL, 0x2, NULL, 0);
    assert_int_equal(world.kicks[1], 1);
    assert_int_equal(world.turns, 2);
    assert_int_equal(atomic_load(&world.lps[1].kicked_seq), 11);
}

/* Two vCPUs found on one LP: one kick. */
static void test_same_lp_twice(void **state)
{
    (void)state;
    atomic_store(&world.vcpus[1].lp, 2);
    atomic_store(&world.vcpus[2].lp, 2);
    atomic_store(&world.lps[1].run_seq, 11);
    for (uint32_t i = 1; i <= 5; i++) {
        world.turns = 0;
        atomic_fetch_or(&world.lps[1].run_seq, 1);
        send_to_bank(FLUSH_KIND_ALL, 0x6, NULL, 0);
        assert_int_equal(world.kicks[1], i);
        assert_int_equal(counted(FLUSH_COUNTER_WAITED_FOR), 2 * i);
        assert_int_equal(counted(FLUSH_COUNTER_KICKS_SPARED), i);
        assert_int_equal(counted(FLUSH_COUNTER_WAITS), 2 * i);
        assert_int_equal(world.self.seen_count, 0);
    }
}

/* The watchdog kicks once more, reports once, and the wait goes on. */
static void test_watchdog(void **state)
{
    (void)state;
    world.turns_until_exit = 100;
    atomic_store(&world.vcpus[1].lp, 2);
    atomic_store(&world.lps[1].run_seq, 11);
    send_to_bank(FLUSH_KIND_ALL, 0x2, NULL, 0);
    assert_int_equal(world.turns, 100);
    assert_int_equal(world.kicks[1], 2);
    assert_int_equal(world.reports, 1);
    assert_int_equal(world.late.lp_id, 1);
    assert_int_equal(world.late.seq, 11);
    assert_false(world.late.is_gva_section);
    assert_int_equal(counted(FLUSH_COUNTER_WATCHDOGS), 1);

    world.turns = 0;
    atomic_store(&world.lps[1].gva_seq, 7);
    send_to_bank(FLUSH_KIND_ALL, 0x2, NULL, 0);
    assert_int_equal(world.turns, 100);
    assert_int_equal(world.kicks[1], 2);
    assert_int_equal(world.reports, 2);
    assert_true(world.late.is_gva_section);
    assert_int_equal(world.late.seq, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_targets, set_up),
        cmocka_unit_test_setup(test_all_targets, set_up),
        cmocka_unit_test_setup(test_caller_alone, set_up),
        cmocka_unit_test_setup(test_nobody, set_up),
        cmocka_unit_test_setup(test_where, set_up),
        cmocka_unit_test_setup(test_kicks_in_one_batch, set_up),
        cmocka_unit_test_setup(test_gva_section, set_up),
        cmocka_unit_test_setup(test_kick_left_out, set_up),
        cmocka_unit_test_setup(test_same_lp_twice, set_up),
        cmocka_unit_test_setup(test_watchdog, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
