/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_FAULT_H
#define GUEST_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Running code that may fault. The exception ends the called function (as longjmp would) and its
 * vector comes back as a value. Works on each processor by itself; does not nest.
 */

#define NO_FAULT (-1)

struct fault {
    int vector; /* NO_FAULT or 0..31 */
    uint32_t error;
    uint64_t rip;
    uint64_t cr2;
};

/* Calls fn(arg); returns the exception it raised, if any. RFLAGS are restored in both cases. */
struct fault fault_catch(void (*fn)(void *arg), void *arg);

/* The vector alone. */
int fault_vector_of(void (*fn)(void *arg), void *arg);

/* RDMSR, WRMSR, XSETBV and moves to control registers: vector or NO_FAULT. *value is written on
 * success only. */
int fault_rdmsr(uint32_t msr, uint64_t *value);
int fault_wrmsr(uint32_t msr, uint64_t value);
int fault_xsetbv(uint32_t index, uint64_t value);
int fault_write_cr0(uint64_t value);
int fault_write_cr3(uint64_t value);
int fault_write_cr4(uint64_t value);
int fault_write_cr8(uint64_t value);

/* traps.asm: calls fn(arg) after noting in *recovery where a fault shall continue. Returns 0 if fn
 * returned, 1 if a fault ended it. */
struct trap_recovery;
uint64_t fault_try(void (*fn)(void *arg), void *arg, struct trap_recovery *recovery);

#endif
