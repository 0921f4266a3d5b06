/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/flush.c core/flush_carry.c core/flush_wait.c hyperv/hypercall.c hyperv/flush_call.c
 * hyperv/msr.c hyperv/time.c hyperv/partition.c hyperv/overlay.c tests/sim/sim_space.c
 * tests/sim/sim_tlb.c tests/sim/sim_exact.c tests/sim/sim_guest.c tests/sim/sim_call.c
 * tests/sim/sim_ops.c tests/sim/sim_lp.c tests/sim/sim_run.c */
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
 * Hypercalls and the flush engine with LPs as threads (tests/sim/sim.h). SLUICE_SIM_SCALE=n runs
 * each scenario n times, each time with another seed; SLUICE_SIM_SEED sets the first;
 * SLUICE_SIM_FLUSHES is the number of flushes of each VP instead of the scenario's own;
 * SLUICE_SIM_TEST names the one test to run.
 */

static unsigned long from_environment(const char *name, unsigned long standard)
{
    const char *text = getenv(name);

    return text != NULL ? strtoul(text, NULL, 0) : standard;
}

static void add_exactness(struct sim_exactness *sum, const struct sim_exactness *more)
{
    for (uint32_t cause = 0; cause < SIM_CAUSES; cause++) {
        sum->executed[cause] += more->executed[cause];
        for (uint32_t reason = 0; reason < SIM_REASONS; reason++) {
            sum->dropped[cause][reason] += more->dropped[cause][reason];
        }
    }
}

/* Sums over all LPs. */
struct findings {
    uint64_t uses, stale, watchdogs, bad_invalidations, bad_calls;
    struct sim_exactness exactness;
};

static void gather(const struct sim *sim, struct findings *findings)
{
    *findings = (struct findings){.uses = 0};
    for (uint32_t i = 0; i < sim->scenario->lp_count; i++) {
        const struct sim_lp *lp = &sim->lps[i];

        findings->uses += lp->uses;
        findings->stale += lp->stale_uses + lp->stale_data + lp->stale_sections;
        findings->watchdogs += lp->watchdogs;
        findings->bad_invalidations += lp->bad_invalidations;
        findings->bad_calls += lp->bad_calls;
        add_exactness(&findings->exactness, &lp->exactness);
    }
}

static void print(const struct sim *sim, const struct findings *findings)
{
    print_message("%s, seed %llu: %llu flushes, %llu uses, %llu stale, %llu watchdogs, %llu bad "
                  "invalidations, %llu bad calls%s\n",
                  sim->scenario->name, (unsigned long long)sim->seed,
                  (unsigned long long)sim->flushes_done, (unsigned long long)findings->uses,
                  (unsigned long long)findings->stale, (unsigned long long)findings->watchdogs,
                  (unsigned long long)findings->bad_invalidations,
                  (unsigned long long)findings->bad_calls, sim->is_stuck ? ", STUCK" : "");
    for (uint32_t i = 0; i < FLUSH_COUNTER_COUNT; i++) {
        print_message("  %-36s %llu\n", flush_counter_name(i),
                      (unsigned long long)sim_counter(sim, i));
    }
    sim_exactness_print(&findings->exactness);
}

static bool do_counters_add_up(const struct sim *sim, const struct findings *findings)
{
    uint64_t targets =
        sim_counter(sim, FLUSH_COUNTER_SELF) + sim_counter(sim, FLUSH_COUNTER_WAITED_FOR) +
        sim_counter(sim, FLUSH_COUNTER_NOT_RUNNING) + sim_counter(sim, FLUSH_COUNTER_IN_ROOT);

    return sim_counter(sim, FLUSH_COUNTER_TARGETS) == targets &&
           sim_counter(sim, FLUSH_COUNTER_WAITS) <= sim_counter(sim, FLUSH_COUNTER_WAITED_FOR) &&
           sim_counter(sim, FLUSH_COUNTER_WATCHDOGS) == findings->watchdogs;
}

/* INVVPID by address drops nothing but what a list named (in this space or the other), and the
 * one that retains globals nothing but what a flush without globals or of all named. */
static bool is_exact(const struct sim_exactness *exactness)
{
    static const uint32_t causes[] = {FLUSH_INVVPID_ADDRESS, FLUSH_INVVPID_RETAINING_GLOBALS};
    uint64_t unnamed = 0;

    for (uint32_t i = 0; i < ARRAY_LEN(causes); i++) {
        unnamed += exactness->dropped[causes[i]][SIM_REASON_UNNAMED] +
                   exactness->dropped[causes[i]][SIM_REASON_GLOBAL];
    }
    return unnamed == 0;
}

/* Prints how to see a failure again. */
static bool holds(const struct sim *sim, const struct findings *findings)
{
    bool is_good = findings->stale == 0 && findings->bad_invalidations == 0 &&
                   findings->bad_calls == 0 && !sim->is_stuck &&
                   do_counters_add_up(sim, findings) && is_exact(&findings->exactness) &&
                   sim->flushes_done == (uint64_t)sim->scenario->flushes * sim->scenario->vp_count;

    print(sim, findings);
    if (!is_good) {
        print_message("again (what threads do differs from run to run): SLUICE_SIM_TEST=%s "
                      "SLUICE_SIM_SEED=%llu SLUICE_SIM_FLUSHES=%u build/host/test_sim_flush\n",
                      sim->scenario->name, (unsigned long long)sim->seed, sim->scenario->flushes);
    }
    return is_good;
}

static void play(struct sim_scenario scenario, struct sim_exactness *sum)
{
    unsigned long scale = from_environment("SLUICE_SIM_SCALE", 1);
    unsigned long seed = from_environment("SLUICE_SIM_SEED", 1);

    scenario.flushes = (uint32_t)from_environment("SLUICE_SIM_FLUSHES", scenario.flushes);
    for (unsigned long i = 0; i < scale; i++) {
        struct sim *sim = sim_run(&scenario, seed + i);
        struct findings findings;
        bool is_good;

        gather(sim, &findings);
        is_good = holds(sim, &findings);
        if (sum != NULL) {
            add_exactness(sum, &findings.exactness);
        }
        sim_free(sim);
        assert_true(is_good);
    }
}

static void test_one_vcpu_per_lp(void **state)
{
    (void)state;
    play(
        (struct sim_scenario){
            .name = __func__, .lp_count = 4, .vp_count = 4, .flushes = 1500, .has_delays = true},
        NULL);
}

static void test_overcommit(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 3,
                               .vp_count = 10,
                               .flushes = 600,
                               .is_overcommit = true,
                               .has_delays = true},
         NULL);
}

/* VP indexes from 0 to 4095 that follow neither LPs nor APIC ids; lists run page by page up to 2
 * MiB. */
static void test_permuted(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 4,
                               .vp_count = 9,
                               .flushes = 400,
                               .is_overcommit = true,
                               .has_delays = true,
                               .is_permuted = true,
                               .pages_max = 600},
         NULL);
}

static void test_permuted_one_vcpu_per_lp(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 5,
                               .vp_count = 5,
                               .flushes = 600,
                               .has_delays = true,
                               .is_permuted = true},
         NULL);
}

/* A vCPU that comes back finds its old translations and more ranges than there are slots. */
static void test_overcommit_on_one_lp(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 1,
                               .vp_count = 5,
                               .flushes = 1000,
                               .is_overcommit = true,
                               .is_list_only = true},
         NULL);
}

/* Two LPs on what are mostly two processors, nothing but flushes, no delays: the hardware's own
 * reordering shows here. */
static void test_two_flush_each_other(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 2,
                               .vp_count = 2,
                               .flushes = 20000,
                               .is_flush_only = true},
         NULL);
}

static void test_all_flush_each_other(void **state)
{
    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 6,
                               .vp_count = 6,
                               .flushes = 2000,
                               .is_flush_only = true,
                               .missing_types = FLUSH_HAS(FLUSH_INVVPID_SINGLE) |
                                                FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS)},
         NULL);
}

/* Processors with few types of INVVPID, and without VPIDs. */
static void test_fewer_types(void **state)
{
    static const uint32_t types[] = {
        UINT32_MAX, ~FLUSH_HAS(FLUSH_INVVPID_ALL), ~FLUSH_HAS(FLUSH_INVVPID_SINGLE),
        FLUSH_HAS(FLUSH_INVVPID_ADDRESS), FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS)};

    (void)state;
    for (uint32_t i = 0; i < ARRAY_LEN(types); i++) {
        play((struct sim_scenario){.name = __func__,
                                   .lp_count = 3,
                                   .vp_count = 5,
                                   .flushes = 200,
                                   .is_overcommit = true,
                                   .has_delays = true,
                                   .missing_types = types[i]},
             NULL);
    }
}

/* Requests one after the other, too short to be merged into more: what is dropped is what was
 * named, but for the address space. */
static void test_exact(void **state)
{
    struct sim_exactness sum = {.executed = {0}};

    (void)state;
    play((struct sim_scenario){.name = __func__,
                               .lp_count = 1,
                               .vp_count = 2,
                               .flushes = 4000,
                               .is_overcommit = true,
                               .is_short_only = true},
         &sum);
    for (uint32_t cause = 0; cause < SIM_CAUSE_LP_CHANGE; cause++) {
        assert_int_equal(sum.dropped[cause][SIM_REASON_UNNAMED], 0);
        assert_int_equal(sum.dropped[cause][SIM_REASON_GLOBAL], 0);
        assert_int_equal(sum.dropped[cause][SIM_REASON_OTHER_VP], 0);
    }
    assert_int_equal(sum.executed[SIM_CAUSE_LP_CHANGE], 2);
    assert_int_not_equal(sum.dropped[FLUSH_INVVPID_ADDRESS][SIM_REASON_NAMED], 0);
    assert_int_not_equal(sum.dropped[FLUSH_INVVPID_SINGLE][SIM_REASON_NAMED], 0);
    assert_int_not_equal(sum.dropped[FLUSH_INVVPID_RETAINING_GLOBALS][SIM_REASON_NAMED], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_vcpu_per_lp),
        cmocka_unit_test(test_overcommit),
        cmocka_unit_test(test_permuted),
        cmocka_unit_test(test_permuted_one_vcpu_per_lp),
        cmocka_unit_test(test_overcommit_on_one_lp),
        cmocka_unit_test(test_two_flush_each_other),
        cmocka_unit_test(test_all_flush_each_other),
        cmocka_unit_test(test_fewer_types),
        cmocka_unit_test(test_exact),
    };

    cmocka_set_test_filter(getenv("SLUICE_SIM_TEST"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
