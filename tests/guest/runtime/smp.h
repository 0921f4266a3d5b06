/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_SMP_H
#define GUEST_SMP_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/cpu.h"

/*
 * Start-up of the other processors and work for them. A processor that has nothing to do sits in
 * HLT with interrupts on and is woken by VECTOR_WAKE.
 */

/* Pages below 1 MiB (offsets from guest_info.low_base); each one is a SIPI vector. */
#define LOW_PAGE_START   0u /* ordinary start-up */
#define LOW_PAGE_PROBE   1u /* records the registers first: see probe.h */
#define LOW_PAGE_PROBE2  2u /* the same code at a second vector */
#define LOW_PAGE_SCRATCH 3u /* free for tests */

/* Copies the start-up code into low memory. Once, before smp_start_all. */
void smp_init(const struct guest_info *info);

/* Processors in the machine, the boot processor included. */
uint32_t smp_cpu_count(void);

/* Physical address of one of the low pages, and its SIPI vector. */
uint64_t smp_low_page(unsigned int page);
uint8_t smp_low_vector(unsigned int page);

/* Copies 16-bit code into a low page and fills the parameter block that start-up code needs. */
void smp_place_code(unsigned int page, const void *code, uint64_t bytes);

/* INIT, pause, SIPI to one processor; true when it is in its idle loop. */
bool smp_start(struct cpu *cpu);

/* The same for all others, one by one. */
bool smp_start_all(void);

/* Waits until the processor has come through the start-up code more than `before` times. */
bool smp_wait_started(struct cpu *cpu, unsigned int before);

/* Lets fn(arg) run on an idle processor, and returns at once. */
void smp_run(struct cpu *cpu, void (*fn)(void *arg), void *arg);

/* Waits until it is idle again; false after two seconds. */
bool smp_wait(struct cpu *cpu);

/* Both. On the boot processor itself fn is simply called. */
bool smp_call(struct cpu *cpu, void (*fn)(void *arg), void *arg);

/* Runs fn(arg) on every processor, one after the other. */
bool smp_call_each(void (*fn)(void *arg), void *arg);

#endif
