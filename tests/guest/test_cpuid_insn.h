/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_CPUID_INSN_H
#define GUEST_TEST_CPUID_INSN_H

#include <stdbool.h>
#include <stdint.h>

/* Whether CPUID shows bit `bit` of register reg (0 EAX, 1 EBX, 2 ECX, 3 EDX); false for a leaf or
 * subleaf above the highest. */
bool cpuid_shows(uint32_t leaf, uint32_t subleaf, uint32_t reg, uint32_t bit);

/* The test cpuid.instructions. */
void test_cpuid_instructions(void);

#endif
