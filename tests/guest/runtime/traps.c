/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/traps.h"

#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/test.h"

#define RFLAGS_TF (1ull << 8)
#define RFLAGS_RF (1ull << 16)

/* Lets the interrupted fault_catch return with the exception. */
static void recover(struct cpu *cpu, struct trap_frame *frame)
{
    cpu->is_catching = false;
    cpu->fault_vector = (uint8_t)frame->vector;
    cpu->fault_error = (uint32_t)frame->error;
    cpu->fault_rip = frame->rip;
    cpu->fault_cr2 = frame->vector == VECTOR_PF ? insn_read_cr2() : 0;
    frame->rip = cpu->recovery.rip;
    frame->rsp = cpu->recovery.rsp;
    frame->cs = SELECTOR_CODE64;
    frame->ss = SELECTOR_DATA;
    frame->rflags &= ~(RFLAGS_TF | RFLAGS_RF);
}

static void handle_nmi(struct cpu *cpu, struct trap_frame *frame)
{
    atomic_fetch_add(&cpu->nmi_count, 1);
    if (cpu->nmi_hook != NULL) {
        cpu->nmi_hook(frame);
    }
}

static void handle_exception(struct cpu *cpu, struct trap_frame *frame)
{
    if (cpu->is_catching) {
        recover(cpu, frame);
        return;
    }
    if ((frame->vector == VECTOR_DB || frame->vector == VECTOR_BP) && cpu->debug_hook != NULL) {
        cpu->debug_hook(frame);
        return;
    }
    print_line("FATAL cpu=%u exception %u error=%x rip=%lx rsp=%lx cr2=%lx", cpu->index,
               (unsigned int)frame->vector, (unsigned int)frame->error, frame->rip, frame->rsp,
               insn_read_cr2());
    print_line("FATAL rax=%lx rbx=%lx rcx=%lx rdx=%lx rsi=%lx rdi=%lx cs=%x rflags=%x", frame->rax,
               frame->rbx, frame->rcx, frame->rdx, frame->rsi, frame->rdi, (unsigned int)frame->cs,
               (unsigned int)frame->rflags);
    test_abort("unexpected exception");
}

void trap_handle(struct trap_frame *frame)
{
    struct cpu *cpu = cpu_this();
    unsigned int vector = (unsigned int)frame->vector & 0xFFu;

    if (vector == VECTOR_NMI) {
        handle_nmi(cpu, frame);
        return;
    }
    if (vector < 32) {
        handle_exception(cpu, frame);
        return;
    }
    atomic_fetch_add(&cpu->irq_count[vector], 1);
    if (cpu->irq_hook != NULL) {
        cpu->irq_hook(frame);
    }
    if (vector != VECTOR_SPURIOUS) {
        apic_eoi();
    }
}
