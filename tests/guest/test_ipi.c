/* SPDX-License-Identifier: BSD-2-Clause */
/* Fixed interrupts and NMIs: every destination, both APIC modes. */
#include "tests/guest/groups.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"

#define DELIVERY_US 2000u
#define SETTLE_US   200u
#define ABSENT_ID   0x70u
#define GP          ((int)VECTOR_GP)

static unsigned int snapshot[GUEST_MAX_CPUS];

static atomic_uint *counter_of(struct cpu *cpu, uint32_t command)
{
    return (command & 0x700u) == ICR_NMI ? &cpu->nmi_count : &cpu->irq_count[command & 0xFFu];
}

/* Sends once and checks that each processor in the mask got exactly one, and no other any. */
static void check_delivery(const struct ipi_target *target, uint32_t command)
{
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        snapshot[i] = atomic_load(counter_of(&cpus[i], command));
    }
    insn_sti();
    apic_send(target->destination, target->command | command | ICR_ASSERT);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        if ((target->cpu_mask & 1u << i) != 0) {
            (void)clock_wait_count(counter_of(&cpus[i], command), snapshot[i] + 1, DELIVERY_US);
        }
    }
    clock_wait_us(SETTLE_US / 10);
    insn_cli();
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        unsigned int got = atomic_load(counter_of(&cpus[i], command)) - snapshot[i];

        CHECK(got == (target->cpu_mask >> i & 1u), "%s %x command %x: cpu %u got %u", target->name,
              target->destination, command, i, got);
    }
}

static void check_all_targets(uint32_t command)
{
    struct ipi_target targets[IPI_MAX_TARGETS];
    unsigned int models = apic_current_mode() == APIC_X2APIC ? 1 : 2;

    for (unsigned int model = 0; model < models; model++) {
        unsigned int count;

        ipi_set_logical((enum ipi_logical)model);
        count = ipi_list_targets(targets, (enum ipi_logical)model, true);
        for (unsigned int i = 0; i < count; i++) {
            check_delivery(&targets[i], command);
        }
    }
}

static void fixed(void)
{
    struct ipi_target self = {"self shorthand", 0, ICR_TO_SELF, 1u};

    check_all_targets(ICR_FIXED | VECTOR_TEST);
    check_delivery(&self, ICR_FIXED | VECTOR_TEST);
}

static void nmi(void)
{
    check_all_targets(ICR_NMI);
}

static void send_from_here(void *arg)
{
    const struct ipi_target *target = arg;

    apic_send(target->destination, target->command | ICR_ASSERT);
}

/* Processors other than the first send as well: to each other and to the first. */
static void from_others(void)
{
    static const uint32_t commands[] = {ICR_NMI, ICR_FIXED | VECTOR_TEST};

    for (uint32_t from = 1; from < smp_cpu_count(); from++) {
        for (uint32_t to = 0; to < smp_cpu_count(); to++) {
            for (unsigned int c = 0; c < ARRAY_LEN(commands); c++) {
                struct ipi_target target = {"", cpus[to].apic_id, commands[c], 0};
                atomic_uint *counter = counter_of(&cpus[to], commands[c]);
                unsigned int before = atomic_load(counter);

                insn_sti();
                CHECK(smp_call(&cpus[from], send_from_here, &target), "cpu %u is stuck", from);
                CHECK(clock_wait_count(counter, before + 1, DELIVERY_US),
                      "command %x from cpu %u does not reach cpu %u", commands[c], from, to);
                insn_cli();
                CHECK(atomic_load(counter) == before + 1, "cpu %u got too many", to);
            }
        }
    }
}

/* Lowest priority reaches exactly one of the set. */
static void lowest_priority(void)
{
    uint32_t mask = ((1u << smp_cpu_count()) - 1) & ~1u;
    unsigned int got = 0;

    ipi_set_logical(LOGICAL_FLAT);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        snapshot[i] = atomic_load(&cpus[i].irq_count[VECTOR_TEST]);
    }
    apic_send(mask, ICR_LOWEST | ICR_LOGICAL | ICR_ASSERT | VECTOR_TEST);
    clock_wait_us(SETTLE_US);
    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        got += atomic_load(&cpus[i].irq_count[VECTOR_TEST]) - snapshot[i];
    }
    CHECK(got == 1, "%u processors got it", got);
}

/* Lowest priority is reserved in x2APIC mode on some processors: xAPIC only. */
static void test_lowest_priority(void)
{
    ipi_in_mode(APIC_XAPIC, lowest_priority);
}

/* Nobody is there: nothing happens, and the ICR is free again. */
static void absent(void)
{
    struct ipi_target nobody = {"absent", ABSENT_ID, 0, 0};

    check_delivery(&nobody, ICR_FIXED | VECTOR_TEST);
    check_delivery(&nobody, ICR_NMI);
    apic_send(ABSENT_ID, ICR_INIT | ICR_ASSERT);
    apic_send(ABSENT_ID, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_START));
    clock_wait_us(SETTLE_US);
    CHECK(ipi_revive_all(apic_current_mode()), "an INIT to nobody hit somebody");
}

/* An interrupt below the task priority waits until the priority falls. */
static void task_priority(void)
{
    unsigned int before = atomic_load(&cpus[0].irq_count[VECTOR_TEST]);

    apic_write(APIC_TPR, VECTOR_TEST);
    apic_send(cpus[0].apic_id, ICR_FIXED | ICR_ASSERT | VECTOR_TEST);
    insn_sti();
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&cpus[0].irq_count[VECTOR_TEST]) == before, "it came above the priority");
    apic_write(APIC_TPR, 0);
    clock_wait_us(SETTLE_US);
    insn_cli();
    CHECK(atomic_load(&cpus[0].irq_count[VECTOR_TEST]) == before + 1, "it did not come after it");
}

/* CR8 and the TPR are the same thing. */
static void cr8(void)
{
    insn_write_cr8(5);
    CHECK(apic_read(APIC_TPR) == 0x50, "TPR is %x after CR8 := 5", apic_read(APIC_TPR));
    apic_write(APIC_TPR, 0x90);
    CHECK(insn_read_cr8() == 9, "CR8 is %lx after TPR := 90h", insn_read_cr8());
    CHECK(fault_write_cr8(0x10) == GP, "CR8 := 10h gives no #GP");
    insn_write_cr8(0);
}

static void icr_readback(void)
{
    uint32_t command = ICR_FIXED | ICR_ASSERT | VECTOR_TEST;
    uint32_t low;

    if (apic_current_mode() == APIC_X2APIC && machine_is_bochs()) {
        test_skip("Bochs does not keep what is written to the x2APIC ICR");
        return;
    }
    apic_send(cpus[1].apic_id, command);
    low = apic_read(APIC_ICR);
    CHECK((low & ~ICR_PENDING) == command, "ICR reads %x after %x", low, command);
    if (apic_current_mode() == APIC_XAPIC) {
        CHECK(apic_read(APIC_ICR_HIGH) == cpus[1].apic_id << 24, "ICR high reads %x",
              apic_read(APIC_ICR_HIGH));
        apic_write(APIC_ICR_HIGH, 0xA5000000u);
        CHECK(apic_read(APIC_ICR_HIGH) == 0xA5000000u, "ICR high reads %x",
              apic_read(APIC_ICR_HIGH));
    } else {
        uint64_t whole = insn_rdmsr(MSR_X2APIC_BASE + 0x30);

        CHECK(whole >> 32 == cpus[1].apic_id, "ICR reads %lx", whole);
    }
    clock_wait_us(SETTLE_US);
}

static void self_ipi(void)
{
    unsigned int before = atomic_load(&cpus[0].irq_count[VECTOR_TEST]);

    apic_write(APIC_SELF_IPI, VECTOR_TEST);
    insn_sti();
    (void)clock_wait_count(&cpus[0].irq_count[VECTOR_TEST], before + 1, DELIVERY_US);
    insn_cli();
    CHECK(atomic_load(&cpus[0].irq_count[VECTOR_TEST]) == before + 1, "SELF_IPI was not delivered");
    CHECK(machine_is_bochs() || fault_wrmsr(MSR_X2APIC_BASE + 0x3F, 0x100) == GP,
          "SELF_IPI takes a reserved bit");
}

static void test_self_ipi(void)
{
    ipi_in_mode(APIC_X2APIC, self_ipi);
}

static void x2apic_faults(void)
{
    uint64_t value;

    CHECK(fault_rdmsr(MSR_X2APIC_BASE + 0x0E, &value) == GP, "DFR exists in x2APIC mode");
    CHECK(fault_rdmsr(MSR_X2APIC_BASE + 0x31, &value) == GP, "ICR high exists in x2APIC mode");
    CHECK(fault_wrmsr(MSR_X2APIC_BASE + 0x02, 0) == GP, "the id is writable");
    CHECK(fault_wrmsr(MSR_X2APIC_BASE + 0x0D, 0) == GP, "LDR is writable");
    CHECK(fault_wrmsr(MSR_X2APIC_BASE + 0x0B, 1) == GP, "EOI takes a value");
    CHECK(fault_rdmsr(MSR_X2APIC_BASE + 0x3F, &value) == GP, "SELF_IPI is readable");
    CHECK(fault_rdmsr(MSR_X2APIC_BASE + 0xFF, &value) == GP, "MSR 8FFh is readable");
    CHECK(machine_is_bare_bochs() ||
              fault_wrmsr(MSR_X2APIC_BASE + 0x30, 1ull << 20 | ICR_TO_SELF | VECTOR_TEST) == GP,
          "ICR takes a reserved bit");
}

static void test_x2apic_faults(void)
{
    ipi_in_mode(APIC_X2APIC, x2apic_faults);
}

IPI_IN_BOTH_MODES(fixed)
IPI_IN_BOTH_MODES(nmi)
IPI_IN_BOTH_MODES(from_others)
IPI_IN_BOTH_MODES(absent)
IPI_IN_BOTH_MODES(task_priority)
IPI_IN_BOTH_MODES(cr8)
IPI_IN_BOTH_MODES(icr_readback)

static const struct test tests[] = {
    {"fixed", fixed_xapic},
    {"nmi", nmi_xapic},
    {"from_others", from_others_xapic},
    {"absent", absent_xapic},
    {"task_priority", task_priority_xapic},
    {"cr8", cr8_xapic},
    {"icr_readback", icr_readback_xapic},
    {"lowest_priority", test_lowest_priority},
};

static const struct test tests_x2[] = {
    {"fixed", fixed_x2apic},
    {"nmi", nmi_x2apic},
    {"from_others", from_others_x2apic},
    {"absent", absent_x2apic},
    {"task_priority", task_priority_x2apic},
    {"cr8", cr8_x2apic},
    {"icr_readback", icr_readback_x2apic},
    {"self_ipi", test_self_ipi},
    {"faults", test_x2apic_faults},
};

const struct test_group group_ipi = {.name = "ipi", TEST_GROUP(tests)};
const struct test_group group_ipi_x2 = {.name = "ipi_x2", TEST_GROUP(tests_x2)};
