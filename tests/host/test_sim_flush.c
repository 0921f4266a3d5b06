/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c tests/sim/sim_lp.c tests/sim/sim_guest.c */
/* THREADS */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/sim/sim.h"

/*
 * The flush engine with LPs as threads (tests/sim/sim.h). SLUICE_SIM_SCALE=n runs each scenario n
 * times, each time with another seed; SLUICE_SIM_SEED sets the first.
 */

#define ALL_TYPES                                                         \
    (FLUSH_HAS(FLUSH_INVVPID_ADDRESS) | FLUSH_HAS(FLUSH_INVVPID_SINGLE) | \
     FLUSH_HAS(FLUSH_INVVPID_ALL) | FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS))

static unsigned long from_environment(const char *name, unsigned long standard)
{
    const char *text = getenv(name);

    return text != NULL ? strtoul(text, NULL, 0) : standard;
}

static void judge(const struct sim *sim)
{
    uint64_t stale = 0, watchdogs = 0, bad = 0, uses = 0;

    for (uint32_t i = 0; i < sim->scenario->lp_count; i++) {
        const struct sim_lp *lp = &sim->lps[i];

        stale += lp->stale_uses + lp->stale_data + lp->stale_sections;
        watchdogs += lp->watchdogs;
        bad += lp->bad_invalidations;
        uses += lp->uses;
    }
    for (uint32_t i = 0; i < FLUSH_COUNTER_COUNT; i++) {
        print_message("  %-36s %llu\n", flush_counter_name(i),
                      (unsigned long long)sim_counter(sim, i));
    }
    print_message("%s: %llu flushes, %llu uses, %llu stale, %llu watchdogs, stuck: %d\n",
                  sim->scenario->name, (unsigned long long)sim->flushes_done,
                  (unsigned long long)uses, (unsigned long long)stale,
                  (unsigned long long)watchdogs, (int)sim->is_stuck);
    assert_int_equal(stale, 0);
    assert_int_equal(bad, 0);
    assert_false(sim->is_stuck);
    assert_int_equal(watchdogs, sim_counter(sim, FLUSH_COUNTER_WATCHDOGS));
    assert_int_equal(sim->flushes_done, sim->scenario->flushes * sim->scenario->vp_count);
    assert_int_equal(
        sim_counter(sim, FLUSH_COUNTER_TARGETS),
        sim_counter(sim, FLUSH_COUNTER_SELF) + sim_counter(sim, FLUSH_COUNTER_WAITED_FOR) +
            sim_counter(sim, FLUSH_COUNTER_NOT_RUNNING) + sim_counter(sim, FLUSH_COUNTER_IN_ROOT));
    assert_true(sim_counter(sim, FLUSH_COUNTER_WAITS) <=
                sim_counter(sim, FLUSH_COUNTER_WAITED_FOR));
}

static void play(const struct sim_scenario *scenario)
{
    unsigned long scale = from_environment("SLUICE_SIM_SCALE", 1);
    unsigned long seed = from_environment("SLUICE_SIM_SEED", 1);

    for (unsigned long i = 0; i < scale; i++) {
        struct sim *sim = sim_run(scenario, seed + i);

        judge(sim);
        free(sim);
    }
}

static void test_one_vcpu_per_lp(void **state)
{
    static const struct sim_scenario scenario = {.name = "4 on 4",
                                                 .lp_count = 4,
                                                 .vp_count = 4,
                                                 .flushes = 1500,
                                                 .has_delays = true,
                                                 .invvpid_types = ALL_TYPES};

    (void)state;
    play(&scenario);
}

static void test_overcommit(void **state)
{
    static const struct sim_scenario scenario = {.name = "10 on 3",
                                                 .lp_count = 3,
                                                 .vp_count = 10,
                                                 .flushes = 600,
                                                 .is_overcommit = true,
                                                 .has_delays = true,
                                                 .invvpid_types = ALL_TYPES};

    (void)state;
    play(&scenario);
}

/* A vCPU that comes back finds its old translations and more ranges than there are slots. */
static void test_overcommit_on_one_lp(void **state)
{
    static const struct sim_scenario scenario = {.name = "5 on 1",
                                                 .lp_count = 1,
                                                 .vp_count = 5,
                                                 .flushes = 1000,
                                                 .is_overcommit = true,
                                                 .is_list_only = true,
                                                 .invvpid_types = ALL_TYPES};

    (void)state;
    play(&scenario);
}

/* Two LPs on what are mostly two processors, nothing but flushes, no delays: the hardware's own
 * reordering shows here. */
static void test_two_flush_each_other(void **state)
{
    static const struct sim_scenario scenario = {.name = "2 without pause",
                                                 .lp_count = 2,
                                                 .vp_count = 2,
                                                 .flushes = 20000,
                                                 .is_flush_only = true,
                                                 .invvpid_types = ALL_TYPES};

    (void)state;
    play(&scenario);
}

static void test_all_flush_each_other(void **state)
{
    static const struct sim_scenario scenario = {.name = "6 without pause",
                                                 .lp_count = 6,
                                                 .vp_count = 6,
                                                 .flushes = 2000,
                                                 .is_flush_only = true,
                                                 .invvpid_types = FLUSH_HAS(FLUSH_INVVPID_ALL) |
                                                                  FLUSH_HAS(FLUSH_INVVPID_ADDRESS)};

    (void)state;
    play(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_vcpu_per_lp),      cmocka_unit_test(test_overcommit),
        cmocka_unit_test(test_overcommit_on_one_lp), cmocka_unit_test(test_two_flush_each_other),
        cmocka_unit_test(test_all_flush_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
