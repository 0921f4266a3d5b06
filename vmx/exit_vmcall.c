/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cr_bits.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/exits.h"
#include "vmx/hv_ops.h"
#include "vmx/vmcs.h"

/* VMCALL: a hypercall of the Microsoft interface, or #UD. It exits at every privilege level and in
 * every mode; who may call is for hyperv/ to say. */

static uint8_t current_privilege_level(void)
{
    uint32_t rights = vmcs_read32(VMCS_GUEST_SS_ACCESS_RIGHTS);

    return (uint8_t)((rights & ACCESS_RIGHTS_DPL_MASK) >> ACCESS_RIGHTS_DPL_SHIFT);
}

enum exit_action exit_vmcall(struct lp *lp, struct vcpu *vcpu)
{
    uint64_t efer = vmcs_read64(VMCS_GUEST_IA32_EFER);
    uint32_t code = vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS);
    struct hyperv_caller caller = {
        .cpl = current_privilege_level(),
        .is_protected = (vmcs_read(VMCS_GUEST_CR0) & CR0_PE) != 0 &&
                        (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_VM) == 0,
        .is_64_bit_code = (efer & IA32_EFER_LMA) != 0 && (code & ACCESS_RIGHTS_L) != 0,
    };

    if (!vcpu->partition->hyperv.features.is_on ||
        hyperv_hypercall(&lp->hv->vp, &caller, vcpu->gpr, lp->hv->hypercall_buffer) !=
            HYPERV_RESULT_DONE) {
        return EXIT_ACTION_UD;
    }
    return EXIT_ACTION_ADVANCE;
}
