/* SPDX-License-Identifier: BSD-2-Clause */
/* NMIs: none lost, none invented; blocking; shadows. Storms are in test_nmi_storm.c. */
#include "tests/guest/cpu_insn.h"
#include "tests/guest/groups.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_nmi_storm.h"

#define PAIR_ROUNDS   25u
#define SHADOW_ROUNDS 20u
#define ACK_US        50000u
#define SETTLE_US     300u
#define ENTER_US      100000u

static void send_nmi(struct cpu *to)
{
    apic_send(to->apic_id, ICR_NMI | ICR_ASSERT);
}

/* Sends one by one, each after the one before was seen. */
static void send_acknowledged(void *arg)
{
    struct cpu *to = arg;

    for (unsigned int i = 0; i < PAIR_ROUNDS; i++) {
        unsigned int before = atomic_load(&to->nmi_count);

        send_nmi(to);
        REQUIRE(clock_wait_count(&to->nmi_count, before + 1, ACK_US), "cpu %u to %u: round %u lost",
                cpu_this()->index, to->index, i);
    }
}

static void pairs(void)
{
    for (uint32_t from = 0; from < smp_cpu_count(); from++) {
        for (uint32_t to = 0; to < smp_cpu_count(); to++) {
            unsigned int before = atomic_load(&cpus[to].nmi_count);

            CHECK(smp_call(&cpus[from], send_acknowledged, &cpus[to]), "cpu %u is stuck", from);
            clock_wait_us(5);
            CHECK(atomic_load(&cpus[to].nmi_count) == before + PAIR_ROUNDS,
                  "cpu %u to %u: %u arrived, %u sent", from, to,
                  atomic_load(&cpus[to].nmi_count) - before, PAIR_ROUNDS);
        }
    }
}

static atomic_uint entered;
static atomic_uint may_leave;

static void hold(struct trap_frame *frame)
{
    (void)frame;
    if (atomic_fetch_add(&entered, 1) == 0) {
        (void)clock_wait_change(&may_leave, 0, 1000000);
    }
}

/* While the handler runs further NMIs wait; they become one. */
static void check_blocked(struct cpu *cpu, unsigned int extra)
{
    unsigned int before = atomic_load(&cpu->nmi_count);

    atomic_store(&entered, 0);
    atomic_store(&may_leave, 0);
    cpu->nmi_hook = hold;
    send_nmi(cpu);
    CHECK(clock_wait_change(&entered, 0, ENTER_US), "the handler is not entered");
    for (unsigned int i = 0; i < extra; i++) {
        send_nmi(cpu);
        clock_wait_us(20);
    }
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&entered) == 1, "an NMI came inside the handler");
    atomic_store(&may_leave, 1);
    CHECK(clock_wait_count(&cpu->nmi_count, before + 2, ENTER_US), "the held NMI was lost");
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&cpu->nmi_count) == before + 2, "%u extra: %u arrived", extra,
          atomic_load(&cpu->nmi_count) - before);
    cpu->nmi_hook = NULL;
}

static void blocked(void)
{
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        check_blocked(&cpus[i], 1);
        check_blocked(&cpus[i], 3);
    }
}

/* Exits and exceptions while NMIs are blocked; then an IRET of another exception inside the
 * handler ends the blocking (SDM volume 3, "Handling Multiple NMIs"). The nested NMI gets a
 * stack of its own. */
static void nested(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();

    (void)frame;
    if (atomic_fetch_add(&entered, 1) != 0) {
        return;
    }
    (void)clock_wait_change(&may_leave, 0, 1000000);
    (void)insn_cpuid(1, 0);
    if (atomic_load(&entered) != 1) {
        test_fail("an NMI came before the IRET");
    }
    cpu->tss.ist[0] -= CPU_IST_BYTES / 2;
    insn_int3();
    if (!clock_wait_count(&entered, 2, 1000)) {
        test_fail("an IRET does not end the blocking");
    }
    cpu->tss.ist[0] += CPU_IST_BYTES / 2;
}

static void ignore(struct trap_frame *frame)
{
    (void)frame;
}

static void iret_unblocks(void)
{
    struct cpu *cpu = &cpus[1];
    unsigned int before = atomic_load(&cpu->nmi_count);

    atomic_store(&entered, 0);
    atomic_store(&may_leave, 0);
    cpu->nmi_hook = nested;
    cpu->debug_hook = ignore;
    send_nmi(cpu);
    CHECK(clock_wait_change(&entered, 0, ENTER_US), "the handler is not entered");
    send_nmi(cpu);
    clock_wait_us(SETTLE_US);
    atomic_store(&may_leave, 1);
    CHECK(clock_wait_count(&cpu->nmi_count, before + 2, ENTER_US), "the second NMI was lost");
    CHECK(smp_call(cpu, ipi_nothing, NULL), "it does not answer");
    CHECK(atomic_load(&cpu->nmi_count) == before + 2, "%u arrived",
          atomic_load(&cpu->nmi_count) - before);
    cpu->nmi_hook = NULL;
    cpu->debug_hook = NULL;
}

static void halt_once(void *arg)
{
    (void)arg;
    atomic_store(&entered, 1);
    insn_hlt();
    atomic_store(&entered, 2);
}

static void halt_once_sti(void *arg)
{
    (void)arg;
    atomic_store(&entered, 1);
    insn_sti_hlt_cli();
    atomic_store(&entered, 2);
}

static void check_wakes(void (*fn)(void *arg))
{
    struct cpu *cpu = &cpus[1];
    unsigned int before = atomic_load(&cpu->nmi_count);

    atomic_store(&entered, 0);
    smp_run(cpu, fn, NULL);
    REQUIRE(clock_wait_change(&entered, 0, ENTER_US), "the work does not begin");
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&entered) == 1, "HLT ended by itself");
    send_nmi(cpu);
    CHECK(clock_wait_change(&entered, 1, ENTER_US), "the NMI does not end the HLT");
    CHECK(atomic_load(&cpu->nmi_count) == before + 1, "%u arrived",
          atomic_load(&cpu->nmi_count) - before);
    CHECK(smp_wait(cpu), "it does not come back");
}

static void wakes_halt(void)
{
    for (unsigned int round = 0; round < 10; round++) {
        check_wakes(halt_once);
        check_wakes(halt_once_sti);
    }
}

/* An NMI that is sent in the shadow of STI or of a load of SS comes once, in or after the
 * shadow. */
static void shadows_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    bool is_x2apic = apic_current_mode() == APIC_X2APIC;
    uint32_t command = ICR_NMI | ICR_ASSERT;

    (void)arg;
    if (!is_x2apic) {
        apic_write(APIC_ICR_HIGH, cpu->apic_id << 24);
    }
    for (unsigned int round = 0; round < SHADOW_ROUNDS; round++) {
        unsigned int before = atomic_load(&cpu->nmi_count);

        if (is_x2apic) {
            (round % 2 == 0 ? shadow_sti_x2apic : shadow_ss_x2apic)(0, command, cpu->apic_id);
        } else {
            (round % 2 == 0 ? shadow_sti_xapic : shadow_ss_xapic)(APIC_BASE_ADDRESS + APIC_ICR,
                                                                  command, 0);
        }
        CHECK(clock_wait_count(&cpu->nmi_count, before + 1, ACK_US), "lost on cpu %u", cpu->index);
        clock_wait_us(5);
        CHECK(atomic_load(&cpu->nmi_count) == before + 1, "cpu %u: %u arrived", cpu->index,
              atomic_load(&cpu->nmi_count) - before);
    }
}

static void shadows(void)
{
    CHECK(smp_call_each(shadows_here, NULL), "a processor does not answer");
}

/* Kicks of every sort must not look like NMIs of the guest. */
static void none_invented(void)
{
    unsigned int before[GUEST_MAX_CPUS];

    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        before[i] = atomic_load(&cpus[i].nmi_count);
    }
    for (unsigned int round = 0; round < 10; round++) {
        for (uint32_t i = 1; i < smp_cpu_count(); i++) {
            CHECK(smp_start(&cpus[i]), "cpu %u does not start", i);
        }
        apic_send(0, ICR_TO_ALL_BUT_SELF | ICR_FIXED | ICR_ASSERT | VECTOR_TEST);
        clock_wait_us(20);
    }
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        CHECK(atomic_load(&cpus[i].nmi_count) == before[i], "cpu %u got %u NMIs", i,
              atomic_load(&cpus[i].nmi_count) - before[i]);
    }
}

static void test_pmi(void)
{
    unsigned int version = insn_cpuid(0, 0).eax >= 0xA ? insn_cpuid(0xA, 0).eax & 0xFFu : 0;

    if (version == 0) {
        test_skip("CPUID.0AH shows no performance counters: no PMI source");
    } else {
        test_skip("performance counters are not programmed by this guest");
    }
}

static void test_port61(void)
{
    test_skip("the emulated board raises no NMI through port 61h");
}

IPI_IN_BOTH_MODES(pairs)
IPI_IN_BOTH_MODES(blocked)
IPI_IN_BOTH_MODES(iret_unblocks)
IPI_IN_BOTH_MODES(wakes_halt)
IPI_IN_BOTH_MODES(shadows)
IPI_IN_BOTH_MODES(none_invented)
IPI_IN_BOTH_MODES(nmi_storm_to_one)
IPI_IN_BOTH_MODES(nmi_storm_and_starts)
IPI_IN_BOTH_MODES(nmi_storm_to_self)

static const struct test tests[] = {
    {"pairs", pairs_xapic},
    {"blocked", blocked_xapic},
    {"iret_unblocks", iret_unblocks_xapic},
    {"wakes_halt", wakes_halt_xapic},
    {"shadows", shadows_xapic},
    {"none_invented", none_invented_xapic},
    {"storm_to_one", nmi_storm_to_one_xapic},
    {"storm_and_starts", nmi_storm_and_starts_xapic},
    {"storm_to_self", nmi_storm_to_self_xapic},
    {"pmi", test_pmi},
    {"port61", test_port61},
};

static const struct test tests_x2[] = {
    {"pairs", pairs_x2apic},
    {"blocked", blocked_x2apic},
    {"iret_unblocks", iret_unblocks_x2apic},
    {"wakes_halt", wakes_halt_x2apic},
    {"shadows", shadows_x2apic},
    {"none_invented", none_invented_x2apic},
    {"storm_to_one", nmi_storm_to_one_x2apic},
    {"storm_and_starts", nmi_storm_and_starts_x2apic},
    {"storm_to_self", nmi_storm_to_self_x2apic},
};

const struct test_group group_nmi = {.name = "nmi", TEST_GROUP(tests)};
const struct test_group group_nmi_x2 = {.name = "nmi_x2", TEST_GROUP(tests_x2)};
