/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMX_ON_H
#define VMX_VMX_ON_H

#include "core/compiler.h"
#include "core/lp.h"
#include "core/status.h"
#include "vmx/caps.h"
#include "vmx/partition.h"

/* VMX operation on this LP: reading what it can do, entering, leaving. Boot context. */

/* Reads the capability MSRs and CPUID words of this LP. Faults are recovered nowhere in boot
 * context, so MSRs are read only where CPUID and the MSRs before say that they exist. */
void vmx_read_capabilities(struct vmx_capability_msrs *msrs, struct vmx_cpu_features *features);

/*
 * Tracing that firmware may have left on, and that writes to memory behind the EPT's back while
 * root mode runs, through tables in memory that a guest can change: Processor Trace, and PEBS with
 * its debug store. (Hardware feedback writes to one address that sits in an MSR; the guest cannot
 * reach it.)
 */
struct vmx_tracing {
    uint64_t rtit_ctl;    /* IA32_RTIT_CTL; 0: off, or there is none */
    uint64_t pebs_enable; /* IA32_PEBS_ENABLE; likewise */
};

/* What of it is on, on this LP. features are this LP's. */
void vmx_read_tracing(const struct vmx_cpu_features *features, struct vmx_tracing *out);

/* Switches off what vmx_read_tracing found on this LP, or on again. */
void vmx_stop_tracing(const struct vmx_tracing *tracing);
void vmx_restart_tracing(const struct vmx_tracing *tracing);

/* Locks IA32_FEATURE_CONTROL with VMX on if the firmware left it open, sets CR4.VMXE and the
 * fixed bits of CR0, executes VMXON, makes the vCPU's VMCS current, and drops what an earlier
 * user of VMX operation may have left in the TLB. On failure everything but the lock is as
 * before, unless the LP cannot leave VMX operation again (lp->is_in_vmx), and *why says what
 * failed. */
MUST_CHECK enum status vmx_enable(struct lp *lp, const struct vmx_controls *controls,
                                  const char **why);

/* Leaves VMX operation on this LP: VMCLEAR, VMXOFF. CR0 and CR4 stay. Any mode but non-root. */
MUST_CHECK enum status vmx_leave_operation(struct lp *lp);

/* Undoes vmx_enable on this LP. */
void vmx_disable(struct lp *lp);

#endif
