/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor as such: instructions that exit, with everything that can lie around them. */
#include "tests/guest/cpu_insn.h"
#include "tests/guest/groups.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_control.h"

#define COM1_SCRATCH 0x3FFu
#define COM2         0x2F8u
#define UART_LSR     5u
#define LSR_DATA     1u
#define DR7_RESET    0x400ull
#define DR7_WRITE_4  0x000D0001ull /* breakpoint 0: local, writes, four bytes */
#define UNMAPPED     ((void *)0x600000000000ull)
#define HALT_ROUNDS  50u

static unsigned int step_count;
static uint64_t step_rips[STEP_BORDERS];

static void on_step(struct trap_frame *frame)
{
    if (step_count < STEP_BORDERS) {
        step_rips[step_count] = frame->rip;
    }
    step_count++;
    if (step_count >= STEP_BORDERS) {
        frame->rflags &= ~(1ull << 8);
    }
}

static void single_step_here(void *arg)
{
    struct cpu *cpu = cpu_this();

    (void)arg;
    step_count = 0;
    cpu->debug_hook = on_step;
    step_sequence();
    cpu->debug_hook = NULL;
    CHECK(step_count == STEP_BORDERS, "%u traps", step_count);
    for (unsigned int i = 0; i < STEP_BORDERS; i++) {
        CHECK(step_rips[i] == step_borders[i], "trap %u at %lx, not %lx", i, step_rips[i],
              step_borders[i]);
    }
    insn_write_dr6(0xFFFF0FF0u);
}

static void test_single_step(void)
{
    CHECK(smp_call_each(single_step_here, NULL), "a processor does not answer");
}

static void note_int1(struct trap_frame *frame)
{
    step_rips[0] = frame->rip;
    step_count++;
}

/* Nothing else is going on that would end guest mode: the #DB must come by itself. */
static void int1_here(void *arg)
{
    struct cpu *cpu = cpu_this();

    (void)arg;
    step_count = 0;
    cpu->debug_hook = note_int1;
    raise_int1();
    cpu->debug_hook = NULL;
    CHECK(step_count == 1, "%u traps", step_count);
    CHECK(step_rips[0] == (uintptr_t)int1_border, "the trap is at %lx", step_rips[0]);
}

static void test_int1(void)
{
    CHECK(smp_call_each(int1_here, NULL), "a processor does not answer");
}

static uint64_t interrupt_rip;

static void note_rip(struct trap_frame *frame)
{
    interrupt_rip = frame->rip;
}

static void sti_shadow_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    uint64_t border = (uintptr_t)shadow_cpuid_border;

    (void)arg;
    interrupt_rip = 0;
    cpu->irq_hook = note_rip;
    insn_cli();
    apic_send(cpu->apic_id, ICR_FIXED | ICR_ASSERT | VECTOR_TEST);
    clock_wait_us(5);
    shadow_cpuid();
    cpu->irq_hook = NULL;
    CHECK(interrupt_rip == border, "the interrupt came at %lx, not %lx, on cpu %u", interrupt_rip,
          border, cpu->index);
}

static void test_sti_shadow(void)
{
    CHECK(smp_call_each(sti_shadow_here, NULL), "a processor does not answer");
}

/* The APIC timer ends each HLT; one interrupt a round. */
static void halt_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    unsigned int before = atomic_load(&cpu->irq_count[VECTOR_TIMER]);

    (void)arg;
    apic_write(APIC_TIMER_DIV, APIC_TIMER_DIV_1);
    apic_write(APIC_LVT_TIMER, VECTOR_TIMER);
    for (unsigned int i = 0; i < HALT_ROUNDS; i++) {
        unsigned int count = atomic_load(&cpu->irq_count[VECTOR_TIMER]);

        apic_write(APIC_TIMER_INIT, 2000);
        while (atomic_load(&cpu->irq_count[VECTOR_TIMER]) == count) {
            insn_sti_hlt_cli();
        }
    }
    apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED);
    CHECK(atomic_load(&cpu->irq_count[VECTOR_TIMER]) == before + HALT_ROUNDS, "%u interrupts",
          atomic_load(&cpu->irq_count[VECTOR_TIMER]) - before);
}

static void test_halt(void)
{
    CHECK(smp_call_each(halt_here, NULL), "a processor does not answer");
}

static void test_string_io(void)
{
    static const char text[] = "string output";
    uint8_t back[8] = {0};

    insn_outs8(COM1_SCRATCH, text, sizeof(text) - 1);
    CHECK(insn_in8(COM1_SCRATCH) == 't', "the register holds %x", insn_in8(COM1_SCRATCH));
    insn_ins8(COM1_SCRATCH, back, sizeof(back));
    for (unsigned int i = 0; i < sizeof(back); i++) {
        CHECK(back[i] == 't', "byte %u read is %x", i, back[i]);
    }
}

/* The console belongs to Sluice: output is swallowed, there is no input, and nobody waits. */
static void test_console_port(void)
{
    static const char text[] = "CONSOLE-PORT-LEAK";

    if (!sluice_is_present()) {
        test_skip("not under Sluice");
        return;
    }
    CHECK((insn_in8(COM2 + UART_LSR) & LSR_DATA) == 0, "there is input");
    for (unsigned int i = 0; i < sizeof(text) - 1; i++) {
        insn_out8(COM2, (uint8_t)text[i]);
    }
    insn_outs8(COM2, text, sizeof(text) - 1);
    for (uint16_t offset = 0; offset < 8; offset++) {
        (void)insn_in8((uint16_t)(COM2 + offset));
    }
    insn_out8(COM2 + 3, 0x80); /* divisor latch: the speed must stay Sluice's */
    insn_out8(COM2, 0xFF);
    insn_out8(COM2 + 1, 0xFF);
    insn_out8(COM2 + 3, 0x03);
    CHECK(sluice_is_present(), "Sluice does not answer");
}

static void test_compatibility_mode(void)
{
    CHECK(compat_cpuid() == insn_cpuid(1, 0).eax, "CPUID differs in 32-bit code");
}

static void check_fault(const char *name, void (*fn)(void *), void *address, int vector,
                        uint32_t error)
{
    struct fault fault = fault_catch(fn, address);

    CHECK(fault.vector == vector && fault.error == error, "%s: vector %d error %x on cpu %u", name,
          fault.vector, fault.error, cpu_this()->index);
    if (vector == (int)VECTOR_PF) {
        CHECK(fault.cr2 == (uintptr_t)address, "%s: CR2 %lx", name, fault.cr2);
    }
}

static void do_ud2(void *arg)
{
    (void)arg;
    insn_ud2();
}

static void do_int3(void *arg)
{
    (void)arg;
    insn_int3();
}

static void exceptions_here(void *arg)
{
    (void)arg;
    check_fault("divide", raise_de, NULL, (int)VECTOR_DE, 0);
    check_fault("ud2", do_ud2, NULL, (int)VECTOR_UD, 0);
    check_fault("int3", do_int3, NULL, (int)VECTOR_BP, 0);
    check_fault("selector", raise_np_gp, NULL, (int)VECTOR_GP, 0xFFF8);
    check_fault("stack", raise_ss, NULL, 12, 0);
    check_fault("read", raise_read, UNMAPPED, (int)VECTOR_PF, 0);
    check_fault("write", raise_write, UNMAPPED, (int)VECTOR_PF, 2);
}

static void test_exceptions(void)
{
    CHECK(smp_call_each(exceptions_here, NULL), "a processor does not answer");
}

static volatile uint32_t watched;
static unsigned int watch_hits;
static uint64_t watch_dr6;

static void on_watch(struct trap_frame *frame)
{
    (void)frame;
    watch_hits++;
    watch_dr6 = insn_read_dr6();
}

/* A breakpoint stays armed over an exit; DR0, DR6 and DR7 are the guest's own. */
static void debug_registers_here(void *arg)
{
    struct cpu *cpu = cpu_this();

    (void)arg;
    watch_hits = 0;
    cpu->debug_hook = on_watch;
    insn_write_dr6(0xFFFF0FF0u);
    insn_write_dr0((uintptr_t)&watched);
    insn_write_dr7(DR7_RESET | DR7_WRITE_4);
    (void)insn_cpuid(1, 0);
    CHECK(insn_read_dr7() == (DR7_RESET | DR7_WRITE_4), "DR7 is %lx after an exit",
          insn_read_dr7());
    CHECK(insn_read_dr0() == (uintptr_t)&watched, "DR0 is %lx after an exit", insn_read_dr0());
    watched = 1;
    (void)insn_cpuid(1, 0);
    CHECK(watch_hits == 1, "%u breakpoint hits", watch_hits);
    CHECK((watch_dr6 & 0xFu) == 1, "DR6 is %lx", watch_dr6);
    insn_write_dr7(DR7_RESET);
    insn_write_dr0(0);
    insn_write_dr6(0xFFFF0FF0u);
    cpu->debug_hook = NULL;
}

static void test_debug_registers(void)
{
    CHECK(smp_call_each(debug_registers_here, NULL), "a processor does not answer");
}

static void test_xapic_forms(void)
{
    uint32_t old = apic_read(APIC_TIMER_DIV);
    int form;

    REQUIRE(apic_current_mode() == APIC_XAPIC, "not in xAPIC mode");
    form = xapic_forms(APIC_BASE_ADDRESS);
    CHECK(form == 0, "form %d of MOV did not arrive", form);
    apic_write(APIC_TIMER_DIV, old);
}

static const struct test tests[] = {
    {"single_step", test_single_step},
    {"int1", test_int1},
    {"sti_shadow", test_sti_shadow},
    {"halt", test_halt},
    {"string_io", test_string_io},
    {"console_port", test_console_port},
    {"compatibility_mode", test_compatibility_mode},
    {"exceptions", test_exceptions},
    {"debug_registers", test_debug_registers},
    {"cr0", test_control_cr0},
    {"cr3", test_control_cr3},
    {"cr4", test_control_cr4},
    {"wbinvd", test_control_wbinvd},
    {"xapic_forms", test_xapic_forms},
};

const struct test_group group_cpu = {.name = "cpu", TEST_GROUP(tests)};
