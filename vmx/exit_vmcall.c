/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cr_bits.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/exits.h"
#include "vmx/hv_ops.h"
#include "vmx/vmcs.h"

/* VMCALL: a hypercall of the Microsoft interface, or #UD. It exits at every privilege level and in
 * every mode; who may call is for hyperv/ to say. */

static uint8_t dpl_of(uint32_t rights)
{
    return (uint8_t)((rights & ACCESS_RIGHTS_DPL_MASK) >> ACCESS_RIGHTS_DPL_SHIFT);
}

/* The current privilege level is SS.DPL. Non-conforming code has the same in CS, which is read
 * anyway. In virtual-8086 mode both are 3 (SDM volume 3, "Checks on Guest Segment Registers"). */
static inline uint8_t privilege_of(uint32_t code_rights)
{
    if ((code_rights & ACCESS_RIGHTS_CONFORMING) != 0) {
        return dpl_of(vmcs_read32(VMCS_GUEST_SS_ACCESS_RIGHTS));
    }
    return dpl_of(code_rights);
}

/* The shortest way is that of a 64-bit kernel: long mode implies protected mode, so CR0 is not
 * read. */
static inline void find_caller(struct hyperv_caller *caller)
{
    uint32_t code = vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS);

    if (__builtin_expect((code & ACCESS_RIGHTS_L) != 0, 1) &&
        __builtin_expect((vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LMA) != 0, 1)) {
        caller->cpl = privilege_of(code);
        caller->is_protected = true;
        caller->is_64_bit_code = true;
        return;
    }
    caller->cpl = dpl_of(vmcs_read32(VMCS_GUEST_SS_ACCESS_RIGHTS));
    caller->is_protected = (vmcs_read(VMCS_GUEST_CR0) & CR0_PE) != 0;
    caller->is_64_bit_code = false;
}

/* Where the interface is off the hypercall page cannot be on. */
enum exit_action exit_vmcall(struct lp *lp, struct vcpu *vcpu)
{
    struct hv_lp *hv = lp->hv;
    struct hyperv_caller caller;

    find_caller(&caller);
    if (__builtin_expect(hyperv_hypercall(&hv->vp, &caller, vcpu->gpr, hv->hypercall_buffer) ==
                             HYPERV_RESULT_UD,
                         0)) {
        return EXIT_ACTION_UD;
    }
    return EXIT_ACTION_ADVANCE;
}
