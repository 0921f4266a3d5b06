/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/idt.h"

#include "core/apic.h"
#include "core/lp.h"
#include "core/ops.h"
#include "core/panic.h"

#define GATE_PRESENT_INTERRUPT 0x00008E0000000000ull
#define GATE_IST_SHIFT         32u
#define IST_NMI                1u
#define IST_FAULT              2u
#define FIRST_INTERRUPT_VECTOR 32u

extern const uint64_t idt_stub_table[IDT_VECTORS];
extern const uint64_t safe_access_table[];
extern const uint64_t safe_access_refused;

static uint64_t ist_of(uint32_t vector)
{
    if (vector == VECTOR_NMI) {
        return IST_NMI;
    }
    return vector == VECTOR_DF || vector == VECTOR_MC ? IST_FAULT : 0;
}

void idt_build(struct idt_gate *gates, uint64_t offset)
{
    for (uint32_t vector = 0; vector < IDT_VECTORS; vector++) {
        uint64_t stub = idt_stub_table[vector] + offset;

        gates[vector].low = (stub & 0xFFFF) | ((uint64_t)LP_SELECTOR_CODE << 16) |
                            (ist_of(vector) << GATE_IST_SHIFT) | GATE_PRESENT_INTERRUPT |
                            ((stub & 0xFFFF0000) << 32);
        gates[vector].high = stub >> 32;
    }
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
