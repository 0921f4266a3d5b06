/* SPDX-License-Identifier: BSD-2-Clause */
/* INIT and SIPI: to every set, to processors in every state, in every order, in both APIC modes. */
#include "tests/guest/groups.h"
#include "tests/guest/init_check.h"
#include "tests/guest/init_states.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/probe.h"
#include "tests/guest/runtime/smp.h"

#define SETTLE_US     300u
#define SHORT_US      20u
#define LONG_PAUSE_US 20000u
#define START_US      100000u

static struct cpu *last_cpu(void)
{
    return &cpus[smp_cpu_count() - 1];
}

static void send_sipi(struct cpu *cpu, unsigned int low_page)
{
    apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(low_page));
}

static void forget_hooks(struct cpu *cpu)
{
    cpu->nmi_hook = NULL;
    cpu->irq_hook = NULL;
}

/* INIT stops it, it does not start by itself, SIPI starts it once, the registers are as INIT leaves
 * them, and it works. */
static void check_one_state(struct cpu *cpu, const struct init_state *state)
{
    volatile struct probe_record *record = probe_reset(LOW_PAGE_PROBE);
    unsigned int starts;

    REQUIRE(state->enter(cpu), "%s: cannot be entered", state->name);
    starts = atomic_load(&cpu->starts);
    CHECK(!state->is_counting || init_is_beating(), "%s: does not count", state->name);
    init_send(cpu);
    CHECK(!init_is_beating(), "%s: still counts after INIT", state->name);
    CHECK(atomic_load(&cpu->starts) == starts && record->entries == 0, "%s: started without SIPI",
          state->name);
    forget_hooks(cpu);
    send_sipi(cpu, LOW_PAGE_PROBE);
    REQUIRE(clock_wait_change(&cpu->starts, starts, START_US), "%s: does not start", state->name);
    CHECK(record->entries == 1, "%s: started %u times", state->name, record->entries);
    init_check_registers(state->name, record, smp_low_vector(LOW_PAGE_PROBE));
    init_check_apic(state->name, cpu);
}

static void states(void)
{
    for (unsigned int i = 0; i < init_state_count; i++) {
        check_one_state(last_cpu(), &init_states[i]);
        if (!ipi_revive_all(apic_current_mode())) {
            return;
        }
    }
}

static void long_pause(void)
{
    struct cpu *cpu = last_cpu();
    unsigned int starts = atomic_load(&cpu->starts);

    init_send(cpu);
    clock_wait_us(LONG_PAUSE_US);
    CHECK(atomic_load(&cpu->starts) == starts, "it started without SIPI");
    send_sipi(cpu, LOW_PAGE_START);
    CHECK(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
}

/* A SIPI to a processor that runs or halts is dropped, not kept. */
static void sipi_alone(void)
{
    struct cpu *cpu = last_cpu();
    volatile struct probe_record *record = probe_reset(LOW_PAGE_PROBE);
    unsigned int starts = atomic_load(&cpu->starts);

    send_sipi(cpu, LOW_PAGE_PROBE);
    clock_wait_us(SETTLE_US);
    CHECK(record->entries == 0, "an idle processor took the SIPI");
    REQUIRE(init_enter_spin(cpu), "cannot spin");
    send_sipi(cpu, LOW_PAGE_PROBE);
    CHECK(init_is_beating() && record->entries == 0, "a running processor took the SIPI");
    init_send(cpu);
    CHECK(record->entries == 0, "a SIPI from before INIT was kept");
    send_sipi(cpu, LOW_PAGE_START);
    CHECK(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
    CHECK(record->entries == 0, "it went to the wrong vector");
}

/* The second SIPI finds the processor running: one start, at the first vector. */
static void sipi_twice(void)
{
    struct cpu *cpu = last_cpu();

    for (unsigned int round = 0; round < 2; round++) {
        volatile struct probe_record *first = probe_reset(LOW_PAGE_PROBE);
        volatile struct probe_record *second = probe_reset(LOW_PAGE_PROBE2);
        unsigned int starts = atomic_load(&cpu->starts);

        init_send(cpu);
        send_sipi(cpu, LOW_PAGE_PROBE);
        if (round == 1) {
            clock_wait_us(SHORT_US);
        }
        send_sipi(cpu, LOW_PAGE_PROBE2);
        CHECK(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
        clock_wait_us(SETTLE_US);
        CHECK(first->entries == 1 && second->entries == 0, "entries: first %u, second %u",
              first->entries, second->entries);
        CHECK(atomic_load(&cpu->starts) == starts + 1, "it started %u times",
              atomic_load(&cpu->starts) - starts);
    }
}

/* As an OS does it: INIT and two SIPIs in a short time. */
static void quick(void)
{
    struct cpu *cpu = last_cpu();

    for (unsigned int round = 0; round < 20; round++) {
        unsigned int starts = atomic_load(&cpu->starts);

        apic_send(cpu->apic_id, ICR_INIT | ICR_ASSERT | ICR_LEVEL);
        clock_wait_us(5);
        apic_send(cpu->apic_id, ICR_INIT | ICR_LEVEL);
        send_sipi(cpu, LOW_PAGE_START);
        clock_wait_us(5);
        send_sipi(cpu, LOW_PAGE_START);
        REQUIRE(clock_wait_change(&cpu->starts, starts, START_US), "no start in round %u", round);
        CHECK(smp_wait(cpu) && atomic_load(&cpu->starts) == starts + 1, "round %u: %u starts",
              round, atomic_load(&cpu->starts) - starts);
    }
}

/* INIT level de-assert is a thing of the past and does nothing. */
static void deassert(void)
{
    struct cpu *cpu = last_cpu();
    unsigned int starts = atomic_load(&cpu->starts);

    REQUIRE(init_enter_spin(cpu), "cannot spin");
    apic_send(cpu->apic_id, ICR_INIT | ICR_LEVEL);
    CHECK(init_is_beating(), "INIT level de-assert stopped it");
    init_send(cpu);
    CHECK(!init_is_beating(), "INIT did not stop it");
    apic_send(cpu->apic_id, ICR_INIT | ICR_LEVEL);
    init_send(cpu);
    send_sipi(cpu, LOW_PAGE_START);
    CHECK(clock_wait_change(&cpu->starts, starts, START_US), "it does not start after two INITs");
}

static unsigned int starts_before[GUEST_MAX_CPUS];

/* Whether exactly the processors in the mask have started since starts_before was taken. */
static void check_started(const struct ipi_target *target, uint32_t cpu_mask)
{
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        unsigned int wanted = cpu_mask >> i & 1u;
        unsigned int starts;

        if (wanted != 0) {
            (void)clock_wait_change(&cpus[i].starts, starts_before[i], START_US);
        }
        starts = atomic_load(&cpus[i].starts) - starts_before[i];
        CHECK(starts == wanted, "%s %x: cpu %u started %u times, not %u", target->name,
              target->destination, i, starts, wanted);
    }
}

/* The members of the set stop and start, the others go on as if nothing had been. In xAPIC mode
 * INIT clears the logical destination register, so that a SIPI to the logical set reaches
 * nobody. */
static void check_set(const struct ipi_target *target)
{
    uint32_t sipi = ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_START);

    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        starts_before[i] = atomic_load(&cpus[i].starts);
    }
    apic_send(target->destination, target->command | ICR_INIT | ICR_ASSERT);
    clock_wait_us(SETTLE_US);
    apic_send(target->destination, target->command | sipi);
    if (target->command == ICR_LOGICAL && apic_current_mode() == APIC_XAPIC) {
        clock_wait_us(SETTLE_US);
        check_started(target, 0);
        apic_send(0, ICR_TO_ALL_BUT_SELF | sipi);
    }
    check_started(target, target->cpu_mask);
    clock_wait_us(SHORT_US);
}

static void sets(void)
{
    struct ipi_target targets[IPI_MAX_TARGETS];
    unsigned int models = apic_current_mode() == APIC_X2APIC ? 1 : 2;

    for (unsigned int model = 0; model < models; model++) {
        unsigned int count;

        ipi_set_logical((enum ipi_logical)model);
        count = ipi_list_targets(targets, (enum ipi_logical)model, false);
        for (unsigned int i = 0; i < count; i++) {
            if (apic_current_mode() == APIC_X2APIC && targets[i].command == ICR_LOGICAL &&
                machine_is_bare_bochs()) {
                continue;
            }
            ipi_set_logical((enum ipi_logical)model); /* INIT clears LDR */
            check_set(&targets[i]);
        }
    }
}

/* An INIT to some and a SIPI to all: only the former start. */
static void sipi_to_more(void)
{
    struct cpu *cpu = last_cpu();
    unsigned int starts = atomic_load(&cpu->starts);
    unsigned int others = atomic_load(&cpus[1].starts);

    if (cpu == &cpus[1]) {
        test_skip("two processors");
        return;
    }
    init_send(cpu);
    apic_send(0, ICR_TO_ALL_BUT_SELF | ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_START));
    CHECK(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
    CHECK(atomic_load(&cpus[1].starts) == others, "a processor without INIT started");
}

static void start_other(void *arg)
{
    (void)smp_start(arg);
}

/* A processor other than the first starts another one. */
static void from_other(void)
{
    struct cpu *cpu = last_cpu();
    unsigned int starts = atomic_load(&cpu->starts);

    if (cpu == &cpus[1]) {
        test_skip("two processors");
        return;
    }
    CHECK(smp_call(&cpus[1], start_other, cpu), "the sender is stuck");
    CHECK(atomic_load(&cpu->starts) == starts + 1, "%u starts", atomic_load(&cpu->starts) - starts);
}

/* An NMI to a processor that waits for SIPI must not start it nor stop it from starting. Whether
 * it is kept is up to the processor: the real-mode vector leads to a handler that counts. */
static void nmi_before_sipi(void)
{
    struct cpu *cpu = last_cpu();
    unsigned int starts = atomic_load(&cpu->starts);

    init_send(cpu);
    apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&cpu->starts) == starts, "an NMI started it");
    CHECK(init_real_start(cpu), "it does not start");
}

static void check_kept_state(void)
{
    init_check_kept_state(last_cpu());
}

static void check_cr0_kept(void)
{
    init_check_cr0_kept(last_cpu());
}

IPI_IN_BOTH_MODES(states)
IPI_IN_BOTH_MODES(long_pause)
IPI_IN_BOTH_MODES(sipi_alone)
IPI_IN_BOTH_MODES(sipi_twice)
IPI_IN_BOTH_MODES(quick)
IPI_IN_BOTH_MODES(deassert)
IPI_IN_BOTH_MODES(sets)
IPI_IN_BOTH_MODES(sipi_to_more)
IPI_IN_BOTH_MODES(from_other)
IPI_IN_BOTH_MODES(nmi_before_sipi)
IPI_IN_BOTH_MODES(check_kept_state)
IPI_IN_BOTH_MODES(check_cr0_kept)

static const struct test tests[] = {
    {"states", states_xapic},
    {"long_pause", long_pause_xapic},
    {"sipi_alone", sipi_alone_xapic},
    {"sipi_twice", sipi_twice_xapic},
    {"quick", quick_xapic},
    {"deassert", deassert_xapic},
    {"sets", sets_xapic},
    {"sipi_to_more", sipi_to_more_xapic},
    {"from_other", from_other_xapic},
    {"nmi_before_sipi", nmi_before_sipi_xapic},
    {"kept_state", check_kept_state_xapic},
    {"cr0_kept", check_cr0_kept_xapic},
};

static const struct test tests_x2[] = {
    {"states", states_x2apic},
    {"long_pause", long_pause_x2apic},
    {"sipi_alone", sipi_alone_x2apic},
    {"sipi_twice", sipi_twice_x2apic},
    {"quick", quick_x2apic},
    {"deassert", deassert_x2apic},
    {"sets", sets_x2apic},
    {"sipi_to_more", sipi_to_more_x2apic},
    {"from_other", from_other_x2apic},
    {"nmi_before_sipi", nmi_before_sipi_x2apic},
    {"kept_state", check_kept_state_x2apic},
    {"cr0_kept", check_cr0_kept_x2apic},
};

const struct test_group group_init = {.name = "init", TEST_GROUP(tests)};
const struct test_group group_init_x2 = {.name = "init_x2", TEST_GROUP(tests_x2)};
