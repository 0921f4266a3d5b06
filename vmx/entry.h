/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_ENTRY_H
#define VMX_ENTRY_H

#include <stdint.h>

#include "core/compiler.h"
#include "core/lp.h"
#include "vmx/vmx_insn.h"

/*
 * VM entry and exit (entry.asm). Entering is a call that returns: on a VM exit, on an NMI that came
 * in root mode after the checks, or when the instruction failed.
 */
enum entry_outcome {
    ENTRY_EXITED = 0,       /* a VM exit; entry failures (exit reason bit 31) included */
    ENTRY_RETRY = 1,        /* lp->restart was set before the guest ran: check again */
    ENTRY_FAIL_INVALID = 2, /* VMfailInvalid */
    ENTRY_FAIL_VALID = 3,   /* VMfailValid: see the VM-instruction error field */
    ENTRY_FAIL_STATE = 4,   /* entry_launch_here only: a VM-entry failure exit; it was reported */
};

/* Enters the guest of this LP, whose VMCS is current. run_seq is odd when called and even on
 * return. Interrupts off. */
static inline enum entry_outcome vmx_enter_guest(void)
{
    return (enum entry_outcome)vmx_call_entry();
}

/* Where VM exits arrive: the value of HOST_RIP. Not to be called. */
void vmx_exit_entry(void);

/* The first VM exit of an LP has no vmx_enter_guest to return to. lp->saved_rsp points at a
 * stack that run_prepare_first_exit laid out; this stub calls run_loop (vmx/run.h) from there. */
void entry_first_exit(void);

/* HLT with interrupts off, unless lp->restart is set. An NMI that comes between the test and the
 * HLT does not get lost: its handler moves RIP past the HLT. */
void entry_halt(struct lp *lp);

/* The windows that the NMI handler looks at: RIP from begin up to and including end. */
extern const char entry_window_begin[] HIDDEN, entry_window_end[] HIDDEN,
    entry_window_exit[] HIDDEN;
extern const char halt_window_begin[] HIDDEN, halt_window_end[] HIDDEN;

/* Enables NMIs again after an exit that was caused by one (SDM volume 3, "Handling of NMIs": an
 * IRET ends the blocking). */
void entry_unblock_nmis(void);

/*
 * The first entry of an LP, made by boot/ in the firmware's context: takes the callee-saved
 * registers, RSP, RIP and RFLAGS as they are into the current VMCS and launches. Returns twice in
 * effect: ENTRY_EXITED (0) as the guest, or a failure as the firmware's own code. Clears run_seq's
 * odd state again on failure.
 */
enum entry_outcome entry_launch_here(struct lp *lp);

/* Where entry_launch_here goes on when the entry exited with a VM-entry failure, VMX operation
 * is off again, and RSP is the guest's (vmx/leave.c). */
extern const uint64_t entry_launch_refused HIDDEN;

#endif
