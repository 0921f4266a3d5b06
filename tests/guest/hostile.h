/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_HOSTILE_H
#define GUEST_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/guest_info.h"

/*
 * A guest that tries to break the hypervisor: random operations of rings 0 and 3 on all processors
 * at once, each under fault_catch. The load options `seed=N` and `ops=N` choose another sequence
 * and another number of operations for each processor and storm.
 */

/* Before the tests run; keeps a pointer. */
void hostile_init(const struct guest_info *info);

/* The firmware's map, as hostile_init was told. */
const struct guest_info *hostile_machine(void);

/* Random numbers, a sequence for each processor. */
struct hostile_random {
    uint64_t state;
};

uint64_t hostile_next(struct hostile_random *random);
uint32_t hostile_below(struct hostile_random *random, uint32_t limit);

/* A number of any size, often one at a border: 0, 1, all ones, a power of two, its neighbours. */
uint64_t hostile_value(struct hostile_random *random);

/* One operation. It runs with interrupts off and leaves the processor as it found it; it may fault
 * only inside fault_catch. */
typedef void hostile_operation(struct hostile_random *random);

/* Runs the operation on all processors at once, as often as the options say, divided by divisor.
 * The current test fails when one does not come back. */
void hostile_storm(hostile_operation *operation, unsigned int divisor);

/* The current test fails unless every processor answers and Sluice's CPUID block with it. */
void hostile_check_alive(void);

/* Registers for hostile_call, in the order in which hostile.asm knows them; RSP stays. */
struct hostile_registers {
    uint64_t rax, rcx, rdx, rbx, rbp, rsi, rdi;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t code; /* where to call to */
};

/* Loads the registers, calls code and stores what it left. For fault_catch. */
void hostile_call(void *registers);

/* Calls code bytes, a RET behind them, and returns the vector of the fault or NO_FAULT. At most 32
 * bytes; registers->code is filled in. Restores what instructions can change: see hostile.c. */
int hostile_execute(struct hostile_registers *registers, const uint8_t *bytes, unsigned int count);

/* Brings back control registers, debug registers, GS base, interrupt flag. */
void hostile_restore(void);

/* The local APIC of the processor that calls as the runtime wants it. */
void hostile_quiet(void *arg);

/* Operations. */
hostile_operation hostile_instruction;
hostile_operation hostile_msr;
hostile_operation hostile_control;
hostile_operation hostile_cpuid;
hostile_operation hostile_port;
hostile_operation hostile_port_string;
hostile_operation hostile_apic_page;
hostile_operation hostile_tsc;
hostile_operation hostile_mtrr;
hostile_operation hostile_address;
hostile_operation hostile_icr;
hostile_operation hostile_apic_mode;

#endif
