/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_USER_H
#define GUEST_USER_H

#include <stdint.h>

/* Code at CPL 3. */

struct user_entry {
    uint64_t rip;
    uint64_t rsp;
    uint64_t *tss_rsp0;
};

/* vmx_insn.asm */
void user_enter(const struct user_entry *entry);
void user_nothing(void);
void user_vmcall(void);
void user_xsetbv(void);
void user_cpuid(void);
void user_rdmsr(void);
void user_hlt(void);
void user_invd(void);
void user_sgdt(void);

/* Runs a snippet at CPL 3 on the processor that calls; returns the vector it ended with. VECTOR_BP
 * means that it ran to its end. */
int user_run(void (*snippet)(void));

#endif
