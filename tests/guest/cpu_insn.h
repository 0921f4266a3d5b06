/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_CPU_INSN_H
#define GUEST_CPU_INSN_H

#include <stdint.h>

/* Instruction sequences of cpu_insn.asm; described there. */

#define STEP_BORDERS 5u

void step_sequence(void);
extern const uint64_t step_borders[STEP_BORDERS];

void raise_int1(void);
extern const uint8_t int1_border[];

void shadow_cpuid(void);
extern const uint8_t shadow_cpuid_border[];

void shadow_sti_xapic(uint64_t icr, uint32_t command, uint32_t high);
void shadow_ss_xapic(uint64_t icr, uint32_t command, uint32_t high);
void shadow_sti_x2apic(uint64_t icr, uint32_t command, uint32_t high);
void shadow_ss_x2apic(uint64_t icr, uint32_t command, uint32_t high);

uint32_t compat_cpuid(void);

void raise_de(void *address);
void raise_np_gp(void *address);
void raise_read(void *address);
void raise_write(void *address);
void raise_ss(void *address);

int xapic_forms(uint64_t apic_page);

#endif
