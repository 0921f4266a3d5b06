/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_INIT_CHECK_H
#define GUEST_INIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/probe.h"

/* Checks after INIT and SIPI, against SDM volume 3, "IA-32 and Intel 64 Processor States Following
 * Power-up, Reset, or INIT" (the column of INIT) and "Local APIC State After It Receives an
 * INIT-Deassert IPI". Failures are reported under the given name. */

void init_check_registers(const char *name, const volatile struct probe_record *record,
                          uint8_t vector);
void init_check_apic(const char *name, const struct cpu *cpu);

/* MSRs that INIT keeps, and local APIC registers that it clears. */
void init_check_kept_state(struct cpu *cpu);

/* CR0.CD and CR0.NW are as they were before INIT. */
void init_check_cr0_kept(struct cpu *cpu);

/* Starts a processor that waits for SIPI in real mode, then again normally. */
bool init_real_start(struct cpu *cpu);

#endif
