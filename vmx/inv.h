/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INV_H
#define VMX_INV_H

#include "core/lp.h"
#include "vmx/partition.h"

/* INVVPID and INVEPT with the cheapest legal type. They act on the executing LP only. A failing one
 * is our bug (the type was checked against the capabilities): panic. Root mode. */

/* Everything that this vCPU's VPID has cached on this LP. */
void inv_vpid_all(const struct partition *partition, struct vcpu *vcpu);

/* Everything that was cached through this vCPU's EPT pointer on this LP. */
void inv_ept(const struct partition *partition, struct vcpu *vcpu);

#endif
