/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_CPU_H
#define GUEST_CPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/guest/runtime/guest_info.h"

/*
 * One struct per processor, reached through the GS base. "Processor" here is what the guest sees:
 * an LP on the bare machine, a virtual processor under a hypervisor.
 */

#define CPU_STACK_BYTES 8192u
#define CPU_IST_BYTES   4096u

/* Saved by traps.asm, in memory order. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector, error;
    uint64_t rip, cs, rflags, rsp, ss;
};

/* Where a caught exception continues; written by fault_try in traps.asm, which knows the layout. */
struct trap_recovery {
    uint64_t rsp;
    uint64_t rip;
};

struct tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map_base;
} __attribute__((packed));

/* The local APIC as the start-up code found it, before it was software-enabled. */
struct apic_snapshot {
    uint32_t id, tpr, ldr, dfr, svr;
    uint32_t lvt_timer, lvt_lint0, lvt_lint1, lvt_error;
    uint32_t timer_init, timer_count;
    uint32_t isr_bits, irr_bits; /* the eight words of each, OR-ed together */
};

struct cpu {
    struct cpu *self; /* offset 0: insn_read_gs_self */
    uint32_t index;   /* 0 is the boot processor */
    uint32_t apic_id;
    uint64_t stack_top; /* offset 16: trampoline.asm */

    /* Work handed over by smp_run. */
    void (*_Atomic work)(void *arg);
    void *work_arg;
    atomic_uint starts; /* times this processor came through the trampoline */
    struct apic_snapshot apic_at_start;

    /* Exceptions: see fault.h. */
    bool is_catching;
    struct trap_recovery recovery;
    uint8_t fault_vector;
    uint32_t fault_error;
    uint64_t fault_rip;
    uint64_t fault_cr2;

    /* Interrupts: counters and optional hooks; a hook runs in the handler, before the EOI. */
    atomic_uint nmi_count;
    atomic_uint irq_count[256];
    void (*nmi_hook)(struct trap_frame *frame);
    void (*irq_hook)(struct trap_frame *frame);
    void (*debug_hook)(struct trap_frame *frame); /* #DB and #BP outside fault_catch */

    struct tss tss;
    _Alignas(16) uint8_t stack[CPU_STACK_BYTES];
    _Alignas(16) uint8_t nmi_stack[CPU_IST_BYTES];
    _Alignas(16) uint8_t double_fault_stack[CPU_IST_BYTES];
};

extern struct cpu cpus[GUEST_MAX_CPUS];

/* The processor this code runs on. Needs the GS base set by cpu_load_tables. */
struct cpu *cpu_this(void);

/* Prepares the struct of every processor and the shared descriptor tables. Once, on the boot
 * processor. */
void cpu_init_all(const struct guest_info *info);

/* Loads GDT, IDT, TSS, segments, GS base and the control registers' usual bits on the processor
 * that calls. */
void cpu_load_tables(struct cpu *cpu);

/* Segment selectors. */
#define SELECTOR_CODE64      0x08u
#define SELECTOR_DATA        0x10u
#define SELECTOR_CODE32      0x18u
#define SELECTOR_USER_DATA   0x23u
#define SELECTOR_USER_CODE64 0x2Bu
#define SELECTOR_CODE16      0x30u
#define SELECTOR_DATA16      0x38u
#define SELECTOR_TSS         0x50u /* 16 bytes per processor */

/* Address and limit of the GDT, for code that loads it itself. */
uint32_t cpu_gdt_address(void);
uint16_t cpu_gdt_limit(void);

#endif
