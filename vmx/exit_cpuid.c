/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/inject_fault.h"
#include "vmx/leave.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

static void read_view(const struct vcpu *vcpu, struct cpuid_guest_view *view)
{
    view->cr4 = vmcs_read(VMCS_GUEST_CR4);
    view->apic_base = vcpu->vmx->apic_base;
    view->is_64_bit = guest_state_is_64_bit();
}

static void set_registers(struct vcpu *vcpu, const struct cpuid_regs *regs)
{
    vcpu->gpr[GPR_RAX] = regs->eax;
    vcpu->gpr[GPR_RBX] = regs->ebx;
    vcpu->gpr[GPR_RCX] = regs->ecx;
    vcpu->gpr[GPR_RDX] = regs->edx;
}

/* What the processor says, less what the guest is not shown. Out of line, so that our own leaves
 * stay short. */
NOINLINE static enum exit_action answer_by_policy(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t leaf = (uint32_t)vcpu->gpr[GPR_RAX];
    uint32_t subleaf = (uint32_t)vcpu->gpr[GPR_RCX];
    struct cpuid_guest_view view;
    struct cpuid_regs regs;

    if (__builtin_expect(leaf == LEAVE_LEAF, 0) && leave_is_requested(lp, leaf, subleaf)) {
        leave_vmx(lp);
    }
    read_view(vcpu, &view);
    cpu_cpuid(leaf, subleaf, &regs.eax, &regs.ebx, &regs.ecx, &regs.edx);
    cpuid_policy_apply(&vcpu->partition->cpuid, leaf, subleaf, &view, &regs);
    hyperv_cpuid_adjust(&vcpu->partition->hyperv, leaf, &regs);
    set_registers(vcpu, &regs);
    return EXIT_ACTION_ADVANCE;
}

/* The Microsoft interface's leaves; zeros where it is off. */
static enum exit_action answer_synthetic(struct vcpu *vcpu)
{
    struct cpuid_regs regs = hyperv_cpuid(&vcpu->partition->hyperv, (uint32_t)vcpu->gpr[GPR_RAX]);

    set_registers(vcpu, &regs);
    return EXIT_ACTION_ADVANCE;
}

enum exit_action exit_cpuid(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t leaf = (uint32_t)vcpu->gpr[GPR_RAX];
    struct cpuid_regs regs;

    if (!own_leaves_has(leaf)) {
        return hyperv_has_leaf(leaf) ? answer_synthetic(vcpu) : answer_by_policy(lp, vcpu);
    }
    if (BUILD_HAS_INJECTION && leaf == OWN_LEAF_INFO) {
        inject_fault_on_own_leaf(lp);
    }
    regs = own_leaves_read(&vcpu->partition->own_leaves, leaf, (uint32_t)vcpu->gpr[GPR_RCX],
                           vcpu->vp_index);
    set_registers(vcpu, &regs);
    return EXIT_ACTION_ADVANCE;
}
