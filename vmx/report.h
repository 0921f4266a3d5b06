/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_REPORT_H
#define VMX_REPORT_H

#include "core/lp.h"
#include "vmx/partition.h"

/* Reports in words, by log_line. Root mode; the vCPU's VMCS is current on this LP. */

/* Why, the exit by name, the guest's registers and instruction bytes, and what the VMCS holds.
 * run_seq is even, no lock is held. */
void report_exit(struct lp *lp, const struct vcpu *vcpu, const char *why);

/* The table of counters of all vCPUs; those of LPs that still run may be one behind. */
void report_counters(const struct partition *partition);

/* What the vCPU on this LP was doing: for panic. Nothing when no VMCS is loaded. */
void report_lp_state(struct lp *lp);

#endif
