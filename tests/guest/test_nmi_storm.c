/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/test_nmi_storm.h"

#include "tests/guest/groups.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

#define STORM_ROUNDS 500u
#define START_ROUNDS 40u
#define SELF_ROUNDS  100u
#define ACK_US       100000u
#define SETTLE_US    300u
#define MANY_CPUS    4u
#define LONG_NMIS    100000u
#define LONG_STARTS  500u

/* The longest a storm with starts may take: the emulator's time, not the clock on the wall. */
#define STORM_LIMIT_US 120000000u

static atomic_uint must_stop;
static atomic_uint sent[GUEST_MAX_CPUS];

/* Sends until told to stop or `rounds` are over, each time waiting for an NMI that was handled
 * after the sending: a lost one is a time-out. */
static void send_rounds(struct cpu *to, unsigned int rounds)
{
    struct cpu *self = cpu_this();

    for (unsigned int i = 0; i < rounds && atomic_load(&must_stop) == 0; i++) {
        unsigned int before = atomic_load(&to->nmi_count);

        apic_send(to->apic_id, ICR_NMI | ICR_ASSERT);
        atomic_fetch_add(&sent[self->index], 1);
        REQUIRE(clock_wait_count(&to->nmi_count, before + 1, ACK_US), "cpu %u to %u: round %u lost",
                self->index, to->index, i);
    }
}

static void storm(void *arg)
{
    send_rounds(arg, STORM_ROUNDS);
}

static void storm_until_stopped(void *arg)
{
    send_rounds(arg, 1000000u);
}

static void exit_until_stopped(void *arg)
{
    (void)arg;
    while (atomic_load(&must_stop) == 0) {
        (void)insn_cpuid(1, 0);
    }
}

static void begin(void)
{
    atomic_store(&must_stop, 0);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        atomic_store(&sent[i], 0);
    }
}

static void check_storm_to(struct cpu *target, bool is_exiting)
{
    unsigned int before = atomic_load(&target->nmi_count);
    unsigned int total = 0;
    unsigned int arrived;

    begin();
    if (is_exiting) {
        smp_run(target, exit_until_stopped, NULL);
    }
    for (uint32_t i = 1; i < target->index; i++) {
        smp_run(&cpus[i], storm, target);
    }
    storm(target);
    for (uint32_t i = 1; i < target->index; i++) {
        CHECK(smp_wait(&cpus[i]), "cpu %u is stuck", i);
    }
    atomic_store(&must_stop, 1);
    CHECK(smp_wait(target), "the target is stuck");
    clock_wait_us(SETTLE_US);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        total += atomic_load(&sent[i]);
    }
    arrived = atomic_load(&target->nmi_count) - before;
    CHECK(arrived <= total, "%u arrived, %u sent", arrived, total);
    CHECK(arrived >= STORM_ROUNDS, "only %u of %u arrived", arrived, total);
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&target->nmi_count) == before + arrived, "late NMIs");
}

void nmi_storm_to_one(void)
{
    struct cpu *target = &cpus[smp_cpu_count() - 1];

    check_storm_to(target, false);
    check_storm_to(target, true);
}

/* Two processors send to each other, acknowledged, while the first restarts a third: at least
 * `starts` times, until `nmis` have been sent. */
static void storm_and_starts(unsigned int starts, unsigned int nmis)
{
    uint64_t begin_tsc = insn_rdtsc();
    unsigned int before2;
    unsigned int before3;
    unsigned int round = 0;

    if (smp_cpu_count() < MANY_CPUS) {
        test_skip("fewer than four processors");
        return;
    }
    begin();
    before2 = atomic_load(&cpus[2].nmi_count);
    before3 = atomic_load(&cpus[3].nmi_count);
    smp_run(&cpus[2], storm_until_stopped, &cpus[3]);
    smp_run(&cpus[3], storm_until_stopped, &cpus[2]);
    while (round < starts || atomic_load(&sent[2]) + atomic_load(&sent[3]) < nmis) {
        CHECK(smp_start(&cpus[1]), "round %u: no start", round);
        round++;
        if (insn_rdtsc() - begin_tsc > STORM_LIMIT_US * clock_ticks_per_us()) {
            test_fail("only %u NMIs and %u starts in time",
                      atomic_load(&sent[2]) + atomic_load(&sent[3]), round);
            break;
        }
    }
    atomic_store(&must_stop, 1);
    CHECK(smp_wait(&cpus[2]) && smp_wait(&cpus[3]), "a sender is stuck");
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&cpus[3].nmi_count) - before3 == atomic_load(&sent[2]),
          "cpu 3: %u arrived, %u sent", atomic_load(&cpus[3].nmi_count) - before3,
          atomic_load(&sent[2]));
    CHECK(atomic_load(&cpus[2].nmi_count) - before2 == atomic_load(&sent[3]),
          "cpu 2: %u arrived, %u sent", atomic_load(&cpus[2].nmi_count) - before2,
          atomic_load(&sent[3]));
    if (nmis != 0) {
        print_line("MEASURE storm nmis=%u starts=%u", atomic_load(&sent[2]) + atomic_load(&sent[3]),
                   round);
    }
}

void nmi_storm_and_starts(void)
{
    storm_and_starts(START_ROUNDS, 0);
}

/* For the long tests: each NMI, INIT and SIPI makes a hypervisor kick the target. */
static void long_storm(void)
{
    storm_and_starts(LONG_STARTS, LONG_NMIS);
}

IPI_IN_BOTH_MODES(long_storm)

static const struct test long_tests[] = {
    {"xapic", long_storm_xapic},
    {"x2apic", long_storm_x2apic},
};

const struct test_group group_storm_long = {
    .name = "storm-long", TEST_GROUP(long_tests), .is_only_by_name = true};

static void storm_self(void *arg)
{
    (void)arg;
    send_rounds(cpu_this(), SELF_ROUNDS);
}

void nmi_storm_to_self(void)
{
    unsigned int before[GUEST_MAX_CPUS];

    begin();
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        before[i] = atomic_load(&cpus[i].nmi_count);
    }
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        smp_run(&cpus[i], storm_self, NULL);
    }
    storm_self(NULL);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        CHECK(i == 0 || smp_wait(&cpus[i]), "cpu %u is stuck", i);
        CHECK(atomic_load(&cpus[i].nmi_count) - before[i] == SELF_ROUNDS, "cpu %u: %u of %u", i,
              atomic_load(&cpus[i].nmi_count) - before[i], SELF_ROUNDS);
    }
}
