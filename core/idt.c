/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/idt.h"

#include "core/apic.h"
#include "core/lp.h"
#include "core/machine.h"
#include "core/ops.h"
#include "core/panic.h"

#define GATE_PRESENT_INTERRUPT 0x00008E0000000000ull
#define GATE_IST_SHIFT         32u
#define IST_NMI                1u
#define IST_FAULT              2u
#define FIRST_INTERRUPT_VECTOR 32u

extern const uint64_t idt_stub_table[IDT_VECTORS];
extern const uint64_t idt_drop_stub;
extern const uint64_t safe_access_table[];
extern const uint64_t safe_access_refused;

static uint64_t ist_of(uint32_t vector)
{
    if (vector == VECTOR_NMI) {
        return IST_NMI;
    }
    return vector == VECTOR_DF || vector == VECTOR_MC ? IST_FAULT : 0;
}

static void set_gate(struct idt_gate *gate, uint64_t handler, uint64_t ist)
{
    gate->low = (handler & 0xFFFF) | ((uint64_t)LP_SELECTOR_CODE << 16) | (ist << GATE_IST_SHIFT) |
                GATE_PRESENT_INTERRUPT | ((handler & 0xFFFF0000) << 32);
    gate->high = handler >> 32;
}

/* In the window an interrupt may come with any vector: the 8259 delivers what the guest told it
 * to. What is an exception's vector elsewhere is dropped there, but for NMI and machine check,
 * which can be told apart. */
static bool is_dropped_in_window(uint32_t vector)
{
    return vector < FIRST_INTERRUPT_VECTOR && vector != VECTOR_NMI && vector != VECTOR_MC;
}

void idt_build(struct idt_gate *gates, uint64_t offset)
{
    struct idt_gate *window = gates + IDT_VECTORS;

    for (uint32_t vector = 0; vector < IDT_VECTORS; vector++) {
        uint64_t stub = idt_stub_table[vector] + offset;

        set_gate(&gates[vector], stub, ist_of(vector));
        set_gate(&window[vector], is_dropped_in_window(vector) ? idt_drop_stub + offset : stub,
                 ist_of(vector));
    }
}

static void load(uint64_t gates)
{
    struct cpu_descriptor_table table = {
        .limit = IDT_VECTORS * sizeof(struct idt_gate) - 1,
        .base = gates,
    };

    cpu_load_idt(&table);
}

void idt_take_pending_interrupts(void)
{
    uint64_t gates = this_lp()->machine->idt;

    load(gates + IDT_VECTORS * sizeof(struct idt_gate));
    cpu_take_pending_interrupts();
    load(gates);
}

/* Whether the fault is one that safe_msr.asm expects; then the frame goes on at `refused`. */
static bool recover(struct idt_frame *frame)
{
    for (uint32_t i = 0; safe_access_table[i] != 0; i++) {
        if (frame->rip == safe_access_table[i]) {
            frame->rip = safe_access_refused;
            return true;
        }
    }
    return false;
}

void idt_dispatch(struct idt_frame *frame)
{
    struct lp *lp = this_lp();

    if (frame->vector == VECTOR_NMI) {
        root_ops.nmi(lp, frame);
        return;
    }
    if (frame->vector == VECTOR_GP && recover(frame)) {
        return;
    }
    if (frame->vector == VECTOR_MC && root_ops.machine_check(lp, frame)) {
        return;
    }
    if (frame->vector >= FIRST_INTERRUPT_VECTOR) {
        /* Only apic_reset_by_init lets interrupts in: they are taken in order to be dropped. */
        apic_write(APIC_EOI, 0);
        return;
    }
    panic_exception(frame);
}
