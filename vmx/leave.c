/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/leave.h"

#include "core/cr_bits.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "core/panic.h"
#include "vmx/entry.h"
#include "vmx/guest_state.h"
#include "vmx/leave_frame.h"
#include "vmx/partition.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_on.h"

#define DESCRIPTOR_TSS_BUSY_BIT BIT64(41)

bool leave_is_requested(const struct lp *lp, uint32_t leaf, uint32_t subleaf)
{
    /* 5-level paging cannot be switched on again while paging is on. */
    bool is_possible = lp->machine->leave_entry != 0 && (vmcs_read(VMCS_GUEST_CR4) & CR4_LA57) == 0;

    /* Acquire pairs with the release in boot/virtualise.c. */
    return leaf == LEAVE_LEAF && subleaf == LEAVE_SUBLEAF && is_possible &&
           !atomic_load_explicit(&lp->machine->is_started, memory_order_acquire);
}

/*
 * CR0 and CR4 as the guest reads them, so that its own changes survive. What VMX operation alone
 * had forced on is undone: the guest's view began with firmware_cr0 (boot/virtualise.c), and CR4
 * bits that are fixed to 1 go back to the firmware's.
 */
static void fill_control_registers(const struct lp *lp, struct leave_frame *frame)
{
    uint64_t forced = lp->vcpu->partition->controls.cr4_fixed0 | CR4_VMXE;

    frame->cr0 = guest_state_read_cr0();
    frame->cr3 = vmcs_read(VMCS_GUEST_CR3);
    frame->cr4 = (guest_state_read_cr4() & ~forced) | (lp->firmware_cr4 & forced);
    frame->efer = vmcs_read64(VMCS_GUEST_IA32_EFER);
}

static void fill_registers(const struct vcpu *vcpu, struct leave_frame *frame)
{
    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        frame->gpr[i] = vcpu->gpr[i];
    }
    frame->rsp = vmcs_read(VMCS_GUEST_RSP);
    frame->rflags = vmcs_read(VMCS_GUEST_RFLAGS);
}

static void fill_segments(struct leave_frame *frame)
{
    frame->cs = vmcs_read16(VMCS_GUEST_CS_SELECTOR);
    frame->ss = vmcs_read16(VMCS_GUEST_SS_SELECTOR);
    frame->ds = vmcs_read16(VMCS_GUEST_DS_SELECTOR);
    frame->es = vmcs_read16(VMCS_GUEST_ES_SELECTOR);
    frame->fs = vmcs_read16(VMCS_GUEST_FS_SELECTOR);
    frame->gs = vmcs_read16(VMCS_GUEST_GS_SELECTOR);
    frame->ldtr = vmcs_read16(VMCS_GUEST_LDTR_SELECTOR);
    frame->tr = vmcs_read16(VMCS_GUEST_TR_SELECTOR);
    frame->fs_base = vmcs_read(VMCS_GUEST_FS_BASE);
    frame->gs_base = vmcs_read(VMCS_GUEST_GS_BASE);
    frame->gdtr.base = vmcs_read(VMCS_GUEST_GDTR_BASE);
    frame->gdtr.limit = (uint16_t)vmcs_read32(VMCS_GUEST_GDTR_LIMIT);
    frame->idtr.base = vmcs_read(VMCS_GUEST_IDTR_BASE);
    frame->idtr.limit = (uint16_t)vmcs_read32(VMCS_GUEST_IDTR_LIMIT);
    if (frame->tr != 0) {
        /* LTR wants an available TSS. */
        uint64_t *entry = (uint64_t *)(uintptr_t)(frame->gdtr.base + (frame->tr & ~7ull));

        *entry &= ~DESCRIPTOR_TSS_BUSY_BIT;
    }
}

/* The MSRs that VM exits have replaced, but for EFER: our page tables need NXE to the last. */
static void restore_msrs(void)
{
    uint64_t pat = vmcs_read64(VMCS_GUEST_IA32_PAT);
    uint64_t debugctl = vmcs_read64(VMCS_GUEST_IA32_DEBUGCTL);

    cpu_write_msr(MSR_IA32_SYSENTER_CS, vmcs_read32(VMCS_GUEST_IA32_SYSENTER_CS));
    cpu_write_msr(MSR_IA32_SYSENTER_ESP, vmcs_read(VMCS_GUEST_IA32_SYSENTER_ESP));
    cpu_write_msr(MSR_IA32_SYSENTER_EIP, vmcs_read(VMCS_GUEST_IA32_SYSENTER_EIP));
    cpu_write_msr(MSR_IA32_PAT, pat);
    cpu_write_msr(MSR_IA32_DEBUGCTL, debugctl);
    cpu_write_dr7(vmcs_read(VMCS_GUEST_DR7));
}

/* Leaves VMX operation; the processor goes on natively at rip. */
NORETURN static void go_back(struct lp *lp, uint64_t rip)
{
    struct machine *machine = lp->machine;
    struct leave_frame frame = {.rip = rip};
    void (*go)(const struct leave_frame *);

    fill_registers(lp->vcpu, &frame);
    fill_control_registers(lp, &frame);
    fill_segments(&frame);
    restore_msrs();
    lp_set_virtualised(lp, false);
    if (vmx_leave_operation(lp) != STATUS_OK) {
        panic("LP%02u: VMCLEAR or VMXOFF failed", lp->lp_id);
    }
    go = (void (*)(const struct leave_frame *))(uintptr_t)machine->leave_entry;
    go(&frame);
    __builtin_unreachable();
}

NORETURN void leave_vmx(struct lp *lp)
{
    go_back(lp, vmcs_read(VMCS_GUEST_RIP) + vmcs_read32(VMCS_VM_EXIT_INSTRUCTION_LENGTH));
}

NORETURN void leave_after_failed_entry(struct lp *lp)
{
    /* From this copy of the image to the firmware's. */
    uint64_t distance = lp->machine->leave_entry - (uint64_t)(uintptr_t)leave_to_firmware;

    go_back(lp, entry_launch_refused + distance);
}
