/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/flush.h"

/*
 * The store-load pairs of the protocol on this machine's processors: one thread enters while
 * another sends, again and again at the same moment. Neither may miss the other. Where the compiler
 * would emit the same instruction for a weaker order, this cannot show the difference.
 */

#define ROUNDS     200000u
#define SPINS      2000u /* then the thread gives way, for machines with one processor */
#define OFFSET_MAX 64u

struct litmus {
    struct lp_shared lps[2];
    struct lp_shared *lp_table[2];
    struct flush_vcpu vcpus[2];
    struct flush_vcpu *vp_table[2];
    struct flush_machine machine;
    struct flush_lp sender, target;
    struct flush_seen scratch[2][2];
    _Atomic uint32_t at_start; /* threads that have come to the round, counted over all rounds */
    _Atomic uint32_t at_end;
    /* The sender of this round has returned, or waits for the target. Until then the target
     * stays in guest mode, or in its section, so that it cannot have come and gone before the
     * sender looked. */
    _Atomic bool has_looked;
    _Atomic uint64_t page_table;
    /* What the threads saw in the round, for the sender to judge after its end. */
    bool has_target_seen;
    uint32_t both_missed, target_saw, sender_saw;
    bool is_gva_round;
};

static bool ignore_kick(void *self, uint32_t lp_id)
{
    (void)self;
    (void)lp_id;
    return true;
}

static void ignore_invvpid(void *self, const struct flush_vcpu *vcpu, enum flush_invvpid type,
                           gva_t address)
{
    (void)self;
    (void)vcpu;
    (void)type;
    (void)address;
}

static void relax(void *self)
{
    struct litmus *litmus = self;

    atomic_store(&litmus->has_looked, true);
}

static uint64_t stand_still(void *self)
{
    (void)self;
    return 0;
}

static void ignore_report(void *self, const struct flush_late *late)
{
    (void)self;
    (void)late;
}

static const struct flush_ops ops = {.kick = ignore_kick,
                                     .invvpid = ignore_invvpid,
                                     .relax = relax,
                                     .now = stand_still,
                                     .report = ignore_report};

/* Both threads leave this at nearly the same moment; each round with another offset. */
static void meet(_Atomic uint32_t *count, uint32_t round)
{
    uint32_t spins = 0;

    atomic_fetch_add(count, 1);
    while (atomic_load(count) < 2 * (round + 1)) {
        if (++spins % SPINS == 0) {
            (void)sched_yield();
        }
    }
}

static void offset(uint32_t round, uint32_t multiplier)
{
    for (volatile uint32_t i = round * multiplier % OFFSET_MAX; i > 0; i--) {
    }
}

static void stay(const struct litmus *litmus)
{
    uint32_t spins = 0;

    while (!atomic_load(&litmus->has_looked)) {
        if (++spins % SPINS == 0) {
            (void)sched_yield();
        }
    }
}

/* An entry as vmx/run.c makes it, guest mode, an exit. */
static void enter(struct litmus *litmus)
{
    atomic_fetch_add_explicit(&litmus->lps[1].run_seq, 1, memory_order_seq_cst);
    litmus->has_target_seen = flush_is_pending(&litmus->vcpus[1]);
    stay(litmus);
    atomic_fetch_add_explicit(&litmus->lps[1].run_seq, 1, memory_order_seq_cst);
}

/* gva_begin, a walk, gva_end. */
static void use_address(struct litmus *litmus, uint32_t round)
{
    atomic_fetch_add_explicit(&litmus->lps[1].gva_seq, 1, memory_order_seq_cst);
    litmus->has_target_seen =
        atomic_load_explicit(&litmus->page_table, memory_order_relaxed) == round + 1;
    stay(litmus);
    atomic_fetch_add_explicit(&litmus->lps[1].gva_seq, 1, memory_order_release);
}

static void *run_target(void *argument)
{
    struct litmus *litmus = argument;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        meet(&litmus->at_start, round);
        offset(round, 7);
        if (litmus->is_gva_round) {
            use_address(litmus, round);
        } else {
            enter(litmus);
        }
        meet(&litmus->at_end, round);
    }
    return NULL;
}

static void run_sender(struct litmus *litmus)
{
    struct flush_request request = {.targets = {.is_all = true}, .kind = FLUSH_KIND_ALL};
    uint64_t *counters = litmus->vcpus[0].counters;
    enum flush_counter counter =
        litmus->is_gva_round ? FLUSH_COUNTER_GVA_WAITS : FLUSH_COUNTER_WAITED_FOR;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t before = counters[counter];
        bool has_sender_seen;

        atomic_store(&litmus->has_looked, false);
        meet(&litmus->at_start, round);
        offset(round, 11);
        atomic_store_explicit(&litmus->page_table, round + 1, memory_order_relaxed);
        flush_send(&litmus->sender, &litmus->vcpus[0], &request);
        has_sender_seen = counters[counter] != before;
        atomic_store(&litmus->has_looked, true);
        meet(&litmus->at_end, round);
        litmus->sender_saw += has_sender_seen;
        litmus->target_saw += litmus->has_target_seen;
        litmus->both_missed += !has_sender_seen && !litmus->has_target_seen;
        atomic_store(&litmus->vcpus[1].pending.word, 0);
    }
}

static void play(bool is_gva_round)
{
    static struct litmus litmus;
    pthread_t thread;

    memset(&litmus, 0, sizeof(litmus));
    litmus.is_gva_round = is_gva_round;
    litmus.machine = (struct flush_machine){.ops = &ops,
                                            .lps = litmus.lp_table,
                                            .lp_count = 2,
                                            .vps = litmus.vp_table,
                                            .vp_count = 2,
                                            .invvpid_types = FLUSH_HAS(FLUSH_INVVPID_SINGLE),
                                            .pages_max = FLUSH_PAGES_DEFAULT,
                                            .watchdog_ticks = UINT64_MAX};
    for (uint32_t i = 0; i < 2; i++) {
        litmus.lp_table[i] = &litmus.lps[i];
        litmus.vp_table[i] = &litmus.vcpus[i];
        atomic_store(&litmus.vcpus[i].lp, i + 1);
    }
    flush_lp_init(&litmus.sender, &litmus.machine, 0, &litmus, litmus.scratch[0]);
    flush_lp_init(&litmus.target, &litmus.machine, 1, &litmus, litmus.scratch[1]);
    assert_int_equal(pthread_create(&thread, NULL, run_target, &litmus), 0);
    run_sender(&litmus);
    (void)pthread_join(thread, NULL);
    print_message("target saw %u, sender saw %u, neither %u\n", litmus.target_saw,
                  litmus.sender_saw, litmus.both_missed);
    assert_int_equal(litmus.both_missed, 0);
}

static void test_entry_and_send(void **state)
{
    (void)state;
    play(false);
}

static void test_section_and_send(void **state)
{
    (void)state;
    play(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry_and_send),
        cmocka_unit_test(test_section_and_send),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
