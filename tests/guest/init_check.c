/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/init_check.h"

#include "tests/guest/init_states.h"
#include "tests/guest/realmode.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/runtime/traps.h"

#define START_US           100000u
#define CR0_ET             0x10u
#define CR0_CD             (1u << 30)
#define CR0_NW             (1u << 29)
#define MSR_SYSENTER_CS    0x174u
#define MSR_SYSENTER_ESP   0x175u
#define MSR_LSTAR          0xC0000082u
#define MSR_KERNEL_GS_BASE 0xC0000102u
#define MSR_PAT            0x277u
#define MARK_SYSENTER_CS   0x08u
#define MARK_SYSENTER_ESP  0x11223344ull
#define MARK_LSTAR         0x0000700011112222ull
#define MARK_KERNEL_GS     0x0000700033334444ull
#define MARK_PAT           0x0007040600010406ull
#define PAT_AT_RESET       0x0007040600070406ull

#define SAME(field, wanted)                                                                        \
    CHECK((uint64_t)(record->field) == (uint64_t)(wanted), "%s: " #field " is %lx, not %lx", name, \
          (uint64_t)(record->field), (uint64_t)(wanted))

void init_check_registers(const char *name, const volatile struct probe_record *record,
                          uint8_t vector)
{
    SAME(eax, 0);
    SAME(ebx, 0);
    SAME(ecx, 0);
    if (!machine_is_bare_bochs()) {
        SAME(edx, insn_cpuid(1, 0).eax); /* family, model, stepping */
        SAME(cr2, 0);
    }
    SAME(esi, 0);
    SAME(edi, 0);
    SAME(ebp, 0);
    SAME(esp, 0);
    SAME(cs, (uint32_t)vector << 8);
    SAME(ip, 0);
    SAME(ds, 0);
    SAME(es, 0);
    SAME(fs, 0);
    SAME(gs, 0);
    SAME(ss, 0);
    SAME(eflags, 2);
    CHECK((record->cr0 & ~(CR0_CD | CR0_NW)) == CR0_ET, "%s: CR0 is %x", name, record->cr0);
    SAME(cr3, 0);
    SAME(cr4, 0);
    SAME(dr6, 0xFFFF0FF0u);
    SAME(dr7, 0x400);
    SAME(dr0, 0);
    SAME(dr3, 0);
    SAME(gdt_base, 0);
    SAME(gdt_limit, 0xFFFF);
    SAME(idt_base, 0);
    SAME(idt_limit, 0xFFFF);
    SAME(efer, 0);
    SAME(fs_base, 0);
    SAME(gs_base, 0);
}

/* SDM volume 3, "Local APIC State After Power-Up or Reset"; the id and the mode stay. */
void init_check_apic(const char *name, const struct cpu *cpu)
{
    const struct apic_snapshot *s = &cpu->apic_at_start;
    bool is_x2apic = apic_current_mode() == APIC_X2APIC;

    CHECK(s->id == cpu->apic_id, "%s: APIC id %x", name, s->id);
    CHECK(s->tpr == 0, "%s: TPR %x", name, s->tpr);
    CHECK(is_x2apic || s->ldr == 0, "%s: LDR %x", name, s->ldr);
    CHECK(s->dfr == APIC_DFR_FLAT, "%s: DFR %x", name, s->dfr);
    CHECK((s->svr & 0x1FFu) == 0xFF, "%s: SVR %x", name, s->svr);
    CHECK(s->lvt_timer == APIC_LVT_MASKED, "%s: LVT timer %x", name, s->lvt_timer);
    CHECK(s->lvt_lint0 == APIC_LVT_MASKED, "%s: LINT0 %x", name, s->lvt_lint0);
    CHECK(s->lvt_lint1 == APIC_LVT_MASKED, "%s: LINT1 %x", name, s->lvt_lint1);
    CHECK(s->lvt_error == APIC_LVT_MASKED, "%s: LVT error %x", name, s->lvt_error);
    CHECK(s->timer_init == 0 && s->timer_count == 0, "%s: timer %x, count %x", name, s->timer_init,
          s->timer_count);
    CHECK(s->isr_bits == 0, "%s: ISR bits %x", name, s->isr_bits);
    CHECK(s->irr_bits == 0, "%s: IRR bits %x", name, s->irr_bits);
}

/* In the handler of VECTOR_TEST: that vector is in service and stays so. */
static void spin_in_service(struct trap_frame *frame)
{
    (void)frame;
    for (;;) {
        atomic_fetch_add(&init_beats, 1);
    }
}

/* Leaves marks in MSRs, the local APIC in use, one interrupt in service and one pending. */
static void mark(void *arg)
{
    (void)arg;
    insn_wrmsr(MSR_SYSENTER_CS, MARK_SYSENTER_CS);
    insn_wrmsr(MSR_SYSENTER_ESP, MARK_SYSENTER_ESP);
    insn_wrmsr(MSR_LSTAR, MARK_LSTAR);
    insn_wrmsr(MSR_KERNEL_GS_BASE, MARK_KERNEL_GS);
    insn_wrmsr(MSR_PAT, MARK_PAT);
    insn_write_dr0(0x1000);
    insn_write_dr3(0x2000);
    insn_write_cr2(0x3000);
    apic_write(APIC_TPR, 0x20);
    if (apic_current_mode() == APIC_XAPIC) {
        apic_write(APIC_DFR, APIC_DFR_CLUSTER);
        apic_write(APIC_LDR, 0x12000000u);
    }
    apic_write(APIC_LVT_ERROR, VECTOR_TEST + 2);
    apic_write(APIC_TIMER_DIV, APIC_TIMER_DIV_1);
    apic_write(APIC_LVT_TIMER, APIC_TIMER_PERIODIC | VECTOR_TIMER);
    apic_write(APIC_TIMER_INIT, 1000000);
    cpu_this()->irq_hook = spin_in_service;
    apic_send(cpu_this()->apic_id, ICR_FIXED | ICR_ASSERT | VECTOR_TEST);
    apic_send(cpu_this()->apic_id, ICR_FIXED | ICR_ASSERT | (VECTOR_TEST - 16));
    insn_sti();
    for (;;) {
        insn_pause();
    }
}

static void restore_pat(void *arg)
{
    (void)arg;
    insn_wrmsr(MSR_PAT, PAT_AT_RESET);
}

void init_check_kept_state(struct cpu *cpu)
{
    static const char name[] = "marked";
    volatile struct probe_record *record = probe_reset(LOW_PAGE_PROBE);
    unsigned int starts = atomic_load(&cpu->starts);
    unsigned int beats = atomic_load(&init_beats);

    smp_run(cpu, mark, NULL);
    REQUIRE(clock_wait_change(&init_beats, beats, START_US), "the marks are not set");
    init_send(cpu);
    cpu->irq_hook = NULL;
    apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_PROBE));
    REQUIRE(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
    init_check_registers(name, record, smp_low_vector(LOW_PAGE_PROBE));
    init_check_apic(name, cpu);
    SAME(sysenter_cs, MARK_SYSENTER_CS);
    SAME(sysenter_esp, MARK_SYSENTER_ESP);
    SAME(lstar, MARK_LSTAR);
    if (!machine_is_bare_bochs()) {
        SAME(kernel_gs_base, MARK_KERNEL_GS);
    }
    SAME(pat, MARK_PAT);
    SAME(mtrr_def_type, insn_rdmsr(0x2FF));
    CHECK(smp_call(cpu, restore_pat, NULL), "it does not answer");
}

static void set_cd(void *arg)
{
    insn_write_cr0(insn_read_cr0() | *(const uint32_t *)arg);
    for (;;) {
        atomic_fetch_add(&init_beats, 1);
    }
}

void init_check_cr0_kept(struct cpu *cpu)
{
    static uint32_t bits[] = {0, CR0_CD, CR0_CD | CR0_NW};

    if (machine_is_bare_bochs()) {
        test_skip("Bochs sets CD and NW on INIT");
        return;
    }
    for (unsigned int i = 0; i < ARRAY_LEN(bits); i++) {
        volatile struct probe_record *record = probe_reset(LOW_PAGE_PROBE);
        unsigned int starts = atomic_load(&cpu->starts);
        unsigned int beats = atomic_load(&init_beats);

        smp_run(cpu, set_cd, &bits[i]);
        REQUIRE(clock_wait_change(&init_beats, beats, START_US), "CR0 is not set");
        init_send(cpu);
        apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_PROBE));
        REQUIRE(clock_wait_change(&cpu->starts, starts, START_US), "it does not start");
        CHECK(record->cr0 == (bits[i] | CR0_ET), "CR0 is %x after INIT with %x", record->cr0,
              bits[i]);
    }
}

bool init_real_start(struct cpu *cpu)
{
    return real_start(cpu, &real_image_halt) != NULL && smp_start(cpu);
}
