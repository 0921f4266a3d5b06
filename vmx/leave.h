/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_LEAVE_H
#define VMX_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lp.h"

/*
 * Going back: an LP that runs a guest becomes the firmware's own again, when another LP could not
 * be virtualised. Possible only until all LPs are (machine->is_started): then the next OS may have
 * changed everything.
 */

/* The CPUID leaf and subleaf by which the start-up code, as a guest, asks for it. */
#define LEAVE_LEAF    0x4000FFFFu
#define LEAVE_SUBLEAF 0x534C4C56u

/* As the guest: asks root mode to go away. Returns when it has; or when it cannot, and then the LP
 * still is in VMX operation (lp->is_in_vmx). Without root mode it does nothing. */
static inline void leave_request(void)
{
    uint32_t eax, ebx, ecx, edx;

    cpu_cpuid(LEAVE_LEAF, LEAVE_SUBLEAF, &eax, &ebx, &ecx, &edx);
}

/* Whether this CPUID is such a request, and one that can be granted: not once is_started is set,
 * nor when leave_entry is 0, nor to a guest with 5-level paging. Root mode. */
bool leave_is_requested(const struct lp *lp, uint32_t leaf, uint32_t subleaf);

/* Leaves VMX operation; the processor goes on after the guest's CPUID, natively (SDM volume 3,
 * "Leaving VMX Operation"). Root mode, from the CPUID exit, after leave_is_requested. */
NORETURN void leave_vmx(struct lp *lp);

/* After the first VM entry of this LP exited with a VM-entry failure: leaves VMX operation;
 * entry_launch_here returns ENTRY_FAIL_STATE to the start-up code. */
NORETURN void leave_after_failed_entry(struct lp *lp);

#endif
