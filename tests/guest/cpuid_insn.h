/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_CPUID_INSN_H
#define GUEST_CPUID_INSN_H

/*
 * One function per instruction (cpuid_insn.asm). Each takes a 64-byte aligned scratch buffer of at
 * least 4096 bytes, may fault with the exception of its instruction, and changes no state that
 * matters to C code compiled without floating point.
 */
#define CPUID_INSN(name) void exec_##name(void *scratch);
#include "tests/guest/cpuid_insn.def"
#undef CPUID_INSN

#endif
