/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_IDT_H
#define CORE_IDT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * Exceptions, NMIs and stray interrupts in root mode. Interrupts are off there, so what comes is an
 * NMI (a kick, or the guest's), a machine check, a #GP that core/safe_msr.asm expects, a pending
 * interrupt while an INIT is carried out, or our own bug.
 */

#define IDT_VECTORS 256u

enum vector {
    VECTOR_DB = 1,
    VECTOR_NMI = 2,
    VECTOR_UD = 6,
    VECTOR_DF = 8,
    VECTOR_GP = 13,
    VECTOR_PF = 14,
    VECTOR_AC = 17,
    VECTOR_MC = 18,
};

/* What the stubs push, lowest address first (idt_stubs.asm draws it). */
struct idt_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector, error;
    uint64_t rip, cs, rflags, rsp, ss;
};

struct idt_gate {
    uint64_t low, high;
};

/* Fills two IDTs of IDT_VECTORS gates each, one after the other, with the stubs of the image
 * copy that lies offset bytes above this one: NMI on IST 1, double fault and machine check on
 * IST 2. */
void idt_build(struct idt_gate *gates, uint64_t offset);

/* Lets pending interrupts in, to be dropped, by the second of the two IDTs. Root mode,
 * interrupts off. */
void idt_take_pending_interrupts(void);

/* Called by the stubs, on the LP's own stack for the vector, interrupts off. frame may be
 * changed: the stub returns by it. Takes no lock, unless it ends in a panic. */
void idt_dispatch(struct idt_frame *frame);

/* RDMSR and WRMSR that return false, instead of faulting, where the processor raises #GP; *value
 * is then unchanged. Root mode only: our IDT catches the fault (core/safe_msr.asm). */
MUST_CHECK bool safe_read_msr(uint32_t msr, uint64_t *value);
MUST_CHECK bool safe_write_msr(uint32_t msr, uint64_t value);

/* XSETBV with ECX = 0 (XCR0), likewise. */
MUST_CHECK bool safe_write_xcr0(uint64_t value);

#endif
