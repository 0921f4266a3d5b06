/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cr_bits.h"
#include "core/msr.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/inject_fault.h"
#include "vmx/leave.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

static void read_view(const struct vcpu *vcpu, struct cpuid_guest_view *view)
{
    uint32_t rights = vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS);
    uint64_t efer = vmcs_read64(VMCS_GUEST_IA32_EFER);

    view->cr4 = vmcs_read(VMCS_GUEST_CR4);
    view->apic_base = vcpu->vmx->apic_base;
    view->is_64_bit = (efer & IA32_EFER_LMA) != 0 && (rights & ACCESS_RIGHTS_L) != 0;
}

enum exit_action exit_cpuid(struct lp *lp, struct vcpu *vcpu)
{
    const struct partition *partition = vcpu->partition;
    uint32_t leaf = (uint32_t)vcpu->gpr[GPR_RAX];
    uint32_t subleaf = (uint32_t)vcpu->gpr[GPR_RCX];
    struct cpuid_guest_view view;
    struct cpuid_regs regs;

    if (own_leaves_has(leaf)) {
        if (BUILD_HAS_INJECTION && leaf == OWN_LEAF_INFO) {
            inject_fault_on_own_leaf(lp);
        }
        own_leaves_read(&partition->own_leaves, leaf, subleaf, vcpu->vp_index, &regs);
    } else {
        read_view(vcpu, &view);
        cpu_cpuid(leaf, subleaf, &regs.eax, &regs.ebx, &regs.ecx, &regs.edx);
        cpuid_policy_apply(&partition->cpuid, leaf, subleaf, &view, &regs);
    }
    if (__builtin_expect(leave_is_requested(lp, leaf, subleaf), 0)) {
        leave_vmx(lp);
    }
    vcpu->gpr[GPR_RAX] = regs.eax;
    vcpu->gpr[GPR_RBX] = regs.ebx;
    vcpu->gpr[GPR_RCX] = regs.ecx;
    vcpu->gpr[GPR_RDX] = regs.edx;
    return EXIT_ACTION_ADVANCE;
}
