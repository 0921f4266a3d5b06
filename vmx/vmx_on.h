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

/* Locks IA32_FEATURE_CONTROL with VMX on if the firmware left it open, sets CR4.VMXE and the fixed
 * bits of CR0, executes VMXON, and makes the vCPU's VMCS current. On failure everything but the
 * lock is as before, and *why says what failed. */
MUST_CHECK enum status vmx_enable(struct lp *lp, const struct vmx_controls *controls,
                                  const char **why);

/* Leaves VMX operation on this LP: VMCLEAR, VMXOFF. CR0 and CR4 stay. Any mode but non-root. */
MUST_CHECK enum status vmx_leave_operation(struct lp *lp);

/* Undoes vmx_enable on this LP. */
void vmx_disable(struct lp *lp);

#endif
