/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/init_states.h"

#include "tests/guest/realmode.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

#define ENTER_US 100000u
#define BEAT_US  300u
#define PAUSE_US 200u

atomic_uint init_beats;

static void beat(void)
{
    atomic_fetch_add(&init_beats, 1);
}

static void spin_cli(void *arg)
{
    (void)arg;
    for (;;) {
        beat();
    }
}

static void spin_sti(void *arg)
{
    insn_sti();
    spin_cli(arg);
}

static void loop_cpuid(void *arg)
{
    (void)arg;
    for (;;) {
        (void)insn_cpuid(1, 0);
        beat();
    }
}

static void halt_cli(void *arg)
{
    (void)arg;
    beat();
    for (;;) {
        insn_hlt();
    }
}

static void halt_sti(void *arg)
{
    (void)arg;
    beat();
    for (;;) {
        insn_sti_hlt_cli();
    }
}

/* Own NMI, and the handler never comes back: NMIs stay blocked. */
static void spin_in_handler(struct trap_frame *frame)
{
    spin_cli(frame);
}

static void spin_in_nmi(void *arg)
{
    (void)arg;
    cpu_this()->nmi_hook = spin_in_handler;
    apic_send(cpu_this()->apic_id, ICR_NMI | ICR_ASSERT);
    for (;;) {
        insn_pause();
    }
}

/* Sends IPIs to itself without end: the INIT may fall between any two steps of that. */
static void loop_send(void *arg)
{
    (void)arg;
    for (;;) {
        apic_send(cpu_this()->apic_id, ICR_NMI | ICR_ASSERT);
        beat();
    }
}

static bool run_and_wait(struct cpu *cpu, void (*fn)(void *arg))
{
    unsigned int before = atomic_load(&init_beats);

    smp_run(cpu, fn, NULL);
    return clock_wait_change(&init_beats, before, ENTER_US);
}

bool init_enter_spin(struct cpu *cpu)
{
    return run_and_wait(cpu, spin_cli);
}

bool init_is_beating(void)
{
    return clock_wait_change(&init_beats, atomic_load(&init_beats), BEAT_US);
}

void init_send(struct cpu *cpu)
{
    apic_send(cpu->apic_id, ICR_INIT | ICR_ASSERT);
    clock_wait_us(PAUSE_US);
}

static bool enter_idle(struct cpu *cpu)
{
    return smp_wait(cpu);
}

static bool enter_spin_sti(struct cpu *cpu)
{
    return run_and_wait(cpu, spin_sti);
}

static bool enter_cpuid(struct cpu *cpu)
{
    return run_and_wait(cpu, loop_cpuid);
}

static bool enter_halt_cli(struct cpu *cpu)
{
    return run_and_wait(cpu, halt_cli);
}

static bool enter_halt_sti(struct cpu *cpu)
{
    return run_and_wait(cpu, halt_sti);
}

static bool enter_nmi(struct cpu *cpu)
{
    return run_and_wait(cpu, spin_in_nmi);
}

static bool enter_send(struct cpu *cpu)
{
    return run_and_wait(cpu, loop_send);
}

static bool enter_real_spin(struct cpu *cpu)
{
    return real_start(cpu, &real_image_spin) != NULL;
}

static bool enter_real_halt(struct cpu *cpu)
{
    return real_start(cpu, &real_image_halt) != NULL;
}

static bool enter_spin32(struct cpu *cpu)
{
    return real_start(cpu, &real_image_spin32) != NULL;
}

static bool enter_wait_for_sipi(struct cpu *cpu)
{
    init_send(cpu);
    return true;
}

const struct init_state init_states[] = {
    {"idle", enter_idle, false},           {"spin_cli", init_enter_spin, true},
    {"spin_sti", enter_spin_sti, true},    {"cpuid_loop", enter_cpuid, true},
    {"halt_cli", enter_halt_cli, false},   {"halt_sti", enter_halt_sti, false},
    {"nmi_handler", enter_nmi, true},      {"sending", enter_send, true},
    {"real_spin", enter_real_spin, false}, {"real_halt", enter_real_halt, false},
    {"protected_32", enter_spin32, false}, {"wait_for_sipi", enter_wait_for_sipi, false},
};

const unsigned int init_state_count = ARRAY_LEN(init_states);
