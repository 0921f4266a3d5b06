/* SPDX-License-Identifier: BSD-2-Clause */
/* Processors that are in the strangest states while others kick them. */
#include "tests/guest/hostile_events.h"
#include "core/compiler.h"
#include "tests/guest/hostile.h"
#include "tests/guest/realmode.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/runtime/traps.h"

#define IDT_BYTES   4096u
#define KICKS       30u
#define SETTLE_US   2000u
#define FIXED_FIRST 0x250u

void hostile_debug_loop(void *frame_word);
void hostile_debug_handler(void);
void hostile_nmi_handler(void);
extern volatile uint32_t hostile_debug_count;

#define REAL_IMAGE(name)                      \
    extern const uint8_t real_##name[];       \
    extern const uint8_t real_##name##_end[]; \
    static const struct real_image image_##name = {real_##name, real_##name##_end}

REAL_IMAGE(hostile_ac);
REAL_IMAGE(hostile_real);

static _Alignas(16) uint8_t idt[IDT_BYTES];
static _Alignas(16) uint8_t debug_stack[IDT_BYTES];

/* Changes the EPT again and again: each change waits until every processor has left guest mode. */
static void kick_all(void)
{
    uint64_t old = insn_rdmsr(FIXED_FIRST);

    for (unsigned int i = 0; i < KICKS; i++) {
        insn_wrmsr(FIXED_FIRST, i % 2 == 0 ? old ^ 0x0606060606060606ull : old);
    }
    insn_wrmsr(FIXED_FIRST, old);
}

static void set_own_gate(unsigned int vector, void (*handler)(void), uint8_t ist)
{
    uint16_t *gate = (uint16_t *)(void *)(idt + 16 * vector);
    uint64_t address = (uintptr_t)handler;

    gate[0] = (uint16_t)address;
    gate[1] = SELECTOR_CODE64;
    gate[2] = (uint16_t)(0x8E00u | ist);
    gate[3] = (uint16_t)(address >> 16);
    gate[4] = (uint16_t)(address >> 32);
    gate[5] = 0;
}

static void load_own_idt(void)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } PACKED table = {IDT_BYTES - 1, (uintptr_t)idt};

    insn_lidt(&table);
}

static void debug_loop_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    uint64_t top = (uintptr_t)debug_stack + sizeof(debug_stack);

    (void)arg;
    cpu->tss.ist[2] = top;
    set_own_gate(VECTOR_DB, hostile_debug_handler, 3);
    set_own_gate(VECTOR_NMI, hostile_debug_handler, 1);
    load_own_idt();
    hostile_debug_loop((void *)(uintptr_t)(top - 8));
}

static void nmi_forever_here(void *arg)
{
    (void)arg;
    set_own_gate(VECTOR_NMI, hostile_nmi_handler, 1);
    load_own_idt();
    for (;;) {
        insn_pause();
    }
}

/* Kicks a processor that only INIT can end, with EPT changes and NMIs, and starts it again. */
static void harass(struct cpu *cpu, const char *what, bool takes_nmis)
{
    clock_wait_us(SETTLE_US);
    kick_all();
    for (unsigned int i = 0; takes_nmis && i < KICKS; i++) {
        apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
    }
    kick_all();
    CHECK(smp_start(cpu), "%s: the processor does not start again", what);
    hostile_check_alive();
}

static bool has_victim(void)
{
    if (smp_cpu_count() < 2) {
        test_skip("one processor");
        return false;
    }
    return true;
}

static void loop_of(void (*fn)(void *arg), const char *what)
{
    if (has_victim()) {
        smp_run(&cpus[1], fn, NULL);
        harass(&cpus[1], what, true);
    }
}

static void image_of(const struct real_image *image, const char *what, bool takes_nmis)
{
    if (has_victim()) {
        CHECK(real_start(&cpus[1], image) != NULL, "%s: the code does not run", what);
        harass(&cpus[1], what, takes_nmis);
    }
}

void hostile_test_debug_loop(void)
{
    loop_of(debug_loop_here, "#DB loop");
}

void hostile_test_nmi_forever(void)
{
    loop_of(nmi_forever_here, "NMI handler for ever");
}

void hostile_test_alignment_loop(void)
{
    image_of(&image_hostile_ac, "#AC loop", false);
}

void hostile_test_real(void)
{
    image_of(&image_hostile_real, "real mode", true);
}

static void victim_here(void *arg)
{
    struct hostile_random random = {(uintptr_t)arg};

    for (;;) {
        switch (hostile_below(&random, 4)) {
        case 0:
            insn_sti_hlt_cli();
            break;
        case 1:
            hostile_port(&random);
            break;
        default:
            hostile_cpuid(&random);
            break;
        }
    }
}

static struct cpu *pick_victim(struct hostile_random *random)
{
    uint32_t first = smp_cpu_count() > 2 ? 2 : 1;

    return &cpus[first + hostile_below(random, smp_cpu_count() - first)];
}

/* INIT, SIPI and NMI in any order, from one or two processors. */
static void attack(struct hostile_random *random)
{
    const struct cpu *cpu = pick_victim(random);

    switch (hostile_below(random, 8)) {
    case 0:
    case 1:
        apic_send(cpu->apic_id, ICR_INIT | ICR_ASSERT);
        break;
    case 2:
        apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_SCRATCH));
        break;
    case 3:
        apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_START));
        break;
    case 4:
        (void)fault_wrmsr(FIXED_FIRST, insn_rdmsr(FIXED_FIRST) ^ 0x0606060606060606ull);
        break;
    default:
        apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
        break;
    }
}

static void attack_here(void *arg)
{
    struct hostile_random random = {(uintptr_t)arg};

    for (unsigned int i = 0; i < 600; i++) {
        attack(&random);
    }
}

void hostile_test_starts(void)
{
    uint64_t fixed = insn_rdmsr(FIXED_FIRST);

    if (!has_victim()) {
        return;
    }
    /* Puts the code and an NMI handler in place. */
    CHECK(real_start(&cpus[1], &image_hostile_real) != NULL && smp_start(&cpus[1]),
          "the real-mode code does not run");
    for (uint32_t i = 2; i < smp_cpu_count(); i++) {
        smp_run(&cpus[i], victim_here, (void *)(uintptr_t)(i + 77));
    }
    if (smp_cpu_count() > 2) {
        smp_run(&cpus[1], attack_here, (void *)(uintptr_t)0x1234567u);
    }
    attack_here((void *)(uintptr_t)0x7654321u);
    if (smp_cpu_count() > 2) {
        CHECK(smp_wait(&cpus[1]) || smp_wait(&cpus[1]), "the other attacker does not come back");
    }
    insn_wrmsr(FIXED_FIRST, fixed);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        CHECK(smp_start(&cpus[i]), "cpu %u does not start again", i);
    }
    hostile_check_alive();
}
