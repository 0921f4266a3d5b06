/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/inv.h"

#include "core/panic.h"
#include "vmx/vmx_insn.h"
#include "vmx/vmx_state.h"

void inv_vpid_all(const struct partition *partition, struct vcpu *vcpu)
{
    enum invvpid_type type =
        partition->controls.has_invvpid_single ? INVVPID_SINGLE_CONTEXT : INVVPID_ALL_CONTEXTS;

    stats_count(&vcpu->stats, STAT_VPID_RESETS);
    if (vmx_invvpid_failed(type, vcpu->vmx->vpid, 0)) {
        panic("INVVPID type %d for VPID %u failed", (int)type, vcpu->vmx->vpid);
    }
}

void inv_ept(const struct partition *partition, struct vcpu *vcpu)
{
    enum invept_type type =
        partition->controls.has_invept_single ? INVEPT_SINGLE_CONTEXT : INVEPT_ALL_CONTEXTS;

    stats_count(&vcpu->stats, type == INVEPT_SINGLE_CONTEXT ? STAT_INVEPT_SINGLE : STAT_INVEPT_ALL);
    if (vmx_failed(vmx_invept(type, vcpu->vmx->eptp))) {
        panic("INVEPT type %d failed", (int)type);
    }
}
