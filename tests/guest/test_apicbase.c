/* SPDX-License-Identifier: BSD-2-Clause */
/* IA32_APIC_BASE: mode changes, refused values, moving the window. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_cpuid_insn.h"

#define GP           ((int)VECTOR_GP)
#define MODE_BITS    ((uint64_t)(APIC_BASE_EN | APIC_BASE_EXTD))
#define MOVED_WINDOW 0xFED50000ull
#define WAIT_US      5000u

static void bsp_flag_here(void *arg)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);
    bool is_bsp = cpu_this()->index == 0;

    (void)arg;
    CHECK(((base & APIC_BASE_BSP) != 0) == is_bsp, "APIC_BASE is %lx on cpu %u", base,
          cpu_this()->index);
    CHECK((base & 0xFFFFFF000ull) == APIC_BASE_ADDRESS, "APIC_BASE is %lx on cpu %u", base,
          cpu_this()->index);
}

static void test_bsp_flag(void)
{
    CHECK(smp_call_each(bsp_flag_here, NULL), "a processor does not answer");
}

static void reserved_here(void *arg)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;
    static const uint8_t low[] = {0, 1, 2, 3, 4, 5, 6, 7, 9};

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(low); i++) {
        CHECK(fault_wrmsr(MSR_APIC_BASE, base | 1ull << low[i]) == GP, "bit %u gives no #GP",
              low[i]);
    }
    for (uint32_t bit = address_bits; bit < 64; bit++) {
        CHECK(fault_wrmsr(MSR_APIC_BASE, base | 1ull << bit) == GP, "bit %u gives no #GP", bit);
    }
    CHECK(insn_rdmsr(MSR_APIC_BASE) == base, "APIC_BASE changed to %lx", insn_rdmsr(MSR_APIC_BASE));
}

static void test_reserved(void)
{
    CHECK(smp_call_each(reserved_here, NULL), "a processor does not answer");
}

static void xapic_illegal_here(void *arg)
{
    uint64_t off = insn_rdmsr(MSR_APIC_BASE) & ~MODE_BITS;

    (void)arg;
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EXTD) == GP, "xAPIC -> EXTD without EN");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EN) == NO_FAULT, "xAPIC -> xAPIC");
    CHECK(apic_current_mode() == APIC_XAPIC, "a refused write changed the mode");
    CHECK(apic_id() == cpu_this()->apic_id, "xAPIC id is %x", apic_id());
}

static void test_xapic_illegal(void)
{
    CHECK(smp_call_each(xapic_illegal_here, NULL), "a processor does not answer");
}

static void move_here(void *arg)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);

    (void)arg;
    CHECK(fault_wrmsr(MSR_APIC_BASE, (base & 0xFFFu) | MOVED_WINDOW) == GP,
          "the window moves on cpu %u", cpu_this()->index);
    CHECK(fault_wrmsr(MSR_APIC_BASE, (base & 0xFFFu) | 0x1000u) == GP,
          "the window moves over RAM on cpu %u", cpu_this()->index);
    CHECK(insn_rdmsr(MSR_APIC_BASE) == base, "APIC_BASE changed");
    CHECK(apic_id() == cpu_this()->apic_id, "APIC id is %x", apic_id());
}

static void test_move(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice: moving the window is allowed");
        return;
    }
    CHECK(smp_call_each(move_here, NULL), "a processor does not answer");
}

/* Work that keeps its APIC off until it is told to go on. SDM volume 3, "x2APIC States": from
 * off only xAPIC mode can be reached. */
static atomic_uint may_continue;
static atomic_uint is_off;

static void stay_off(void *arg)
{
    uint64_t off = insn_rdmsr(MSR_APIC_BASE) & ~MODE_BITS;

    (void)arg;
    CHECK(fault_wrmsr(MSR_APIC_BASE, off) == NO_FAULT, "xAPIC -> off");
    CHECK(apic_current_mode() == APIC_OFF, "not off");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | MODE_BITS) == GP, "off -> x2APIC");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EXTD) == GP, "off -> EXTD without EN");
    CHECK(apic_current_mode() == APIC_OFF, "a refused write changed the mode");
    CHECK(!cpuid_shows(1, 0, 3, 9), "CPUID shows an APIC that is off");
    atomic_store(&is_off, 1);
    (void)clock_wait_change(&may_continue, 0, 1000000);
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EN) == NO_FAULT, "off -> xAPIC");
    CHECK(apic_current_mode() == APIC_XAPIC, "not in xAPIC mode");
    CHECK(cpuid_shows(1, 0, 3, 9), "CPUID does not show the APIC");
    apic_set_mode(APIC_XAPIC);
}

/* A processor whose APIC is off gets no interrupts, and works again after it is switched on. */
static void test_off(void)
{
    struct cpu *cpu = &cpus[smp_cpu_count() - 1];
    unsigned int nmis;
    unsigned int irqs;

    if (smp_cpu_count() < 2 || machine_is_bare_bochs()) {
        test_skip("one processor, or an emulator that cannot switch the APIC on again");
        return;
    }
    atomic_store(&may_continue, 0);
    atomic_store(&is_off, 0);
    smp_run(cpu, stay_off, NULL);
    REQUIRE(clock_wait_change(&is_off, 0, 1000000), "the APIC does not switch off");
    nmis = atomic_load(&cpu->nmi_count);
    irqs = atomic_load(&cpu->irq_count[VECTOR_TEST]);
    apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
    apic_send(cpu->apic_id, ICR_FIXED | ICR_ASSERT | VECTOR_TEST);
    clock_wait_us(WAIT_US);
    CHECK(atomic_load(&cpu->nmi_count) == nmis, "an NMI came while the APIC was off");
    atomic_store(&may_continue, 1);
    REQUIRE(smp_wait(cpu), "the processor does not come back");
    clock_wait_us(WAIT_US);
    CHECK(atomic_load(&cpu->nmi_count) == nmis, "an NMI was kept while the APIC was off");
    CHECK(atomic_load(&cpu->irq_count[VECTOR_TEST]) == irqs, "an interrupt was kept");
    apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
    CHECK(clock_wait_count(&cpu->nmi_count, nmis + 1, WAIT_US), "no NMI after switching on");
    CHECK(smp_start(cpu), "the processor does not start any more");
}

/* Into x2APIC mode, and what is refused there. */
static void enter_here(void *arg)
{
    uint64_t off = insn_rdmsr(MSR_APIC_BASE) & ~MODE_BITS;

    (void)arg;
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | MODE_BITS) == NO_FAULT, "xAPIC -> x2APIC");
    CHECK(apic_current_mode() == APIC_X2APIC, "not in x2APIC mode");
    CHECK(apic_id() == cpu_this()->apic_id, "x2APIC id is %x", apic_id());
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EN) == GP, "x2APIC -> xAPIC");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EXTD) == GP, "x2APIC -> EXTD without EN");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | MODE_BITS) == NO_FAULT, "x2APIC -> x2APIC");
    CHECK(apic_current_mode() == APIC_X2APIC, "a refused write changed the mode");
    apic_enable();
}

static void test_enter(void)
{
    if (!apic_has_x2apic()) {
        test_skip("CPUID shows no x2APIC");
        return;
    }
    CHECK(smp_call_each(enter_here, NULL), "a processor does not answer");
}

/* Out of it through off, and back. */
static void leave_here(void *arg)
{
    uint64_t off = insn_rdmsr(MSR_APIC_BASE) & ~MODE_BITS;

    (void)arg;
    CHECK(fault_wrmsr(MSR_APIC_BASE, off) == NO_FAULT, "x2APIC -> off");
    CHECK(apic_current_mode() == APIC_OFF, "not off");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | MODE_BITS) == GP, "off -> x2APIC");
    CHECK(fault_wrmsr(MSR_APIC_BASE, off | APIC_BASE_EN) == NO_FAULT, "off -> xAPIC");
    CHECK(apic_current_mode() == APIC_XAPIC, "not in xAPIC mode");
    apic_set_mode(APIC_X2APIC);
}

static void test_leave(void)
{
    if (!apic_has_x2apic() || machine_is_bochs()) {
        test_skip("no x2APIC, or an emulator that cannot leave it");
        return;
    }
    CHECK(smp_call_each(leave_here, NULL), "a processor does not answer");
}

static const struct test tests[] = {
    {"bsp_flag", test_bsp_flag}, {"reserved", test_reserved}, {"xapic_illegal", test_xapic_illegal},
    {"move", test_move},         {"off", test_off},
};

static const struct test tests_x2[] = {
    {"enter", test_enter}, {"bsp_flag", test_bsp_flag}, {"reserved", test_reserved},
    {"move", test_move},   {"leave", test_leave},
};

const struct test_group group_apicbase = {.name = "apicbase", TEST_GROUP(tests)};
const struct test_group group_apicbase_x2 = {.name = "apicbase_x2", TEST_GROUP(tests_x2)};
