/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source of asm_offsets.inc: each OFFSET becomes a line `NAME equ number` (see the Makefile). Not
 * linked into the image.
 */
#include <stddef.h>

#include "core/cpu.h"
#include "core/lp.h"
#include "core/vcpu.h"
#include "vmx/entry.h"
#include "vmx/leave_frame.h"

#define OFFSET(name, value) CPU_ASM_CONSTANT(name, value)

void asm_offsets(void);

void asm_offsets(void)
{
    OFFSET(LP_VCPU, offsetof(struct lp, vcpu));
    OFFSET(LP_SAVED_RSP, offsetof(struct lp, saved_rsp));
    OFFSET(LP_RESTART, offsetof(struct lp, restart));
    OFFSET(LP_RUN_SEQ, offsetof(struct lp, shared.run_seq));
    OFFSET(VCPU_GPR, offsetof(struct vcpu, gpr));
    OFFSET(VCPU_IS_LAUNCHED, offsetof(struct vcpu, is_launched));
    OFFSET(ENTRY_EXITED, ENTRY_EXITED);
    OFFSET(ENTRY_RETRY, ENTRY_RETRY);
    OFFSET(ENTRY_FAIL_INVALID, ENTRY_FAIL_INVALID);
    OFFSET(ENTRY_FAIL_VALID, ENTRY_FAIL_VALID);
    OFFSET(ENTRY_FAIL_STATE, ENTRY_FAIL_STATE);
    OFFSET(LEAVE_GPR, offsetof(struct leave_frame, gpr));
    OFFSET(LEAVE_RIP, offsetof(struct leave_frame, rip));
    OFFSET(LEAVE_CS, offsetof(struct leave_frame, cs));
    OFFSET(LEAVE_RFLAGS, offsetof(struct leave_frame, rflags));
    OFFSET(LEAVE_RSP, offsetof(struct leave_frame, rsp));
    OFFSET(LEAVE_SS, offsetof(struct leave_frame, ss));
    OFFSET(LEAVE_CR0, offsetof(struct leave_frame, cr0));
    OFFSET(LEAVE_CR3, offsetof(struct leave_frame, cr3));
    OFFSET(LEAVE_CR4, offsetof(struct leave_frame, cr4));
    OFFSET(LEAVE_EFER, offsetof(struct leave_frame, efer));
    OFFSET(LEAVE_DS, offsetof(struct leave_frame, ds));
    OFFSET(LEAVE_ES, offsetof(struct leave_frame, es));
    OFFSET(LEAVE_FS, offsetof(struct leave_frame, fs));
    OFFSET(LEAVE_GS, offsetof(struct leave_frame, gs));
    OFFSET(LEAVE_LDTR, offsetof(struct leave_frame, ldtr));
    OFFSET(LEAVE_TR, offsetof(struct leave_frame, tr));
    OFFSET(LEAVE_FS_BASE, offsetof(struct leave_frame, fs_base));
    OFFSET(LEAVE_GS_BASE, offsetof(struct leave_frame, gs_base));
    OFFSET(LEAVE_GDTR, offsetof(struct leave_frame, gdtr));
    OFFSET(LEAVE_IDTR, offsetof(struct leave_frame, idtr));
}
