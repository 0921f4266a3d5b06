/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cpu.h"
#include "core/cr_bits.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/bochs_quirk.h"
#include "vmx/entry.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/hv_ops.h"
#include "vmx/inject.h"
#include "vmx/inv.h"
#include "vmx/nmi.h"
#include "vmx/platform.h"
#include "vmx/report.h"
#include "vmx/signal.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/* Exceptions, NMI, INIT, SIPI, triple fault, and the instructions that need no file of their
 * own. */

/* DR6 as the delivery leaves it: the conditions that were met, and the two bits that are cleared
 * when theirs is met, where the processor has them. */
static uint64_t dr6_after(uint64_t qualification)
{
    uint64_t dr6 = cpu_read_dr6() & ~DR6_BREAKPOINTS;
    struct debug_exit debug;

    exit_decode_debug(qualification, &debug);
    dr6 |= debug.breakpoints | (debug.is_bd ? DR6_BD : 0) | (debug.is_single_step ? DR6_BS : 0);
    if (debug.is_bus_lock) {
        dr6 &= ~DR6_NO_BUS_LOCK;
    }
    if (debug.is_rtm) {
        dr6 &= ~DR6_NO_RTM;
    }
    return dr6;
}

/*
 * The exit leaves "pending debug exceptions" clear, but an entry with RFLAGS.TF and blocking by STI
 * or MOV SS demands its BS bit (SDM volume 3, "Checks on Guest Non-Register State").
 */
static void keep_single_step_consistent(void)
{
    if ((vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) & INTERRUPTIBILITY_SHADOW) != 0 &&
        (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_TF) != 0) {
        inject_single_step();
    }
}

/*
 * #DB was taken only to keep the processor from looping in its delivery. What a delivery changes
 * before the handler runs is done here: DR6, DR7.GD and LBR (SDM volume 3, "Debug Exceptions" and
 * "VM Exits Caused by Debug Exceptions").
 */
static void give_debug_exception(struct vcpu *vcpu)
{
    uint64_t qualification = vmcs_read(VMCS_EXIT_QUALIFICATION);

    keep_single_step_consistent();
    cpu_write_dr6(dr6_after(qualification));
    vmcs_write(VMCS_GUEST_DR7, vmcs_read(VMCS_GUEST_DR7) & ~DR7_GD);
    vmcs_write64(VMCS_GUEST_IA32_DEBUGCTL,
                 vmcs_read64(VMCS_GUEST_IA32_DEBUGCTL) & ~IA32_DEBUGCTL_LBR);
    inject_exception(vcpu, EXCEPTION_DB, 0);
}

/* An INT1 instruction comes as a privileged software exception: given back as what it was. */
static void give_software_debug_exception(struct vcpu *vcpu)
{
    keep_single_step_consistent();
    vcpu->vmx->event = (struct pending_event){
        .information =
            exit_encode_injection(INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION, EXCEPTION_DB, false),
        .instruction_length = vmcs_read32(VMCS_VM_EXIT_INSTRUCTION_LENGTH),
    };
}

enum exit_action exit_exception_or_nmi(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t information = vmcs_read32(VMCS_VM_EXIT_INTERRUPTION_INFORMATION);
    struct interruption interruption;

    inject_keep_interrupted_event(vcpu);
    exit_decode_interruption(information, &interruption);
    if (interruption.type == INTERRUPTION_NMI) {
        nmi_arrived(lp);
        stats_count(&vcpu->stats, STAT_KICKS_TAKEN);
        bochs_repair_nmi_exit(lp, vcpu);
        entry_unblock_nmis();
        return EXIT_ACTION_RESUME;
    }
    inject_keep_nmis_blocked(interruption.is_nmi_unblocking);
    switch (interruption.vector) {
    case EXCEPTION_DB:
        if (interruption.type == INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION) {
            give_software_debug_exception(vcpu);
        } else {
            give_debug_exception(vcpu);
        }
        return EXIT_ACTION_RESUME;
    case EXCEPTION_AC:
        inject_exception(vcpu, EXCEPTION_AC, vmcs_read32(VMCS_VM_EXIT_INTERRUPTION_ERROR_CODE));
        return EXIT_ACTION_RESUME;
    default:
        return EXIT_ACTION_STOP;
    }
}

enum exit_action exit_nmi_window(struct lp *lp, struct vcpu *vcpu)
{
    (void)lp;
    nmi_window_opened(vcpu);
    return EXIT_ACTION_RESUME;
}

/*
 * INIT from hardware. While LPs are still being virtualised the firmware on the boot processor may
 * wake another one with real INIT and SIPI: the vCPU waits in the hardware's state, where the SIPI
 * is not lost. Afterwards guest IPIs are software's, and an INIT signal comes from the chipset; the
 * boot processor then starts at the reset vector, as it would.
 */
enum exit_action exit_init_signal(struct lp *lp, struct vcpu *vcpu)
{
    stats_count(&vcpu->stats, STAT_HARDWARE_INITS);
    vmx_state_reset_destination(vcpu->vmx);
    guest_state_init(vcpu->partition, vcpu);
    inv_vpid_all(vcpu->partition, vcpu);
    if ((vcpu->vmx->apic_base & IA32_APIC_BASE_BSP) != 0) {
        log_line(LOG_WARNING, "signal",
                 "INIT from the platform: the guest starts at the reset vector");
        return EXIT_ACTION_RESUME;
    }
    /* Acquire pairs with the release in boot/virtualise.c. */
    if (atomic_load_explicit(&lp->machine->is_started, memory_order_acquire)) {
        log_line(LOG_WARNING, "signal", "INIT from the platform: the vCPU waits for SIPI");
        signal_post_init(&vcpu->signals);
        return EXIT_ACTION_RESUME;
    }
    vmx_state_set_waiting_in_hardware(vcpu->vmx, true);
    flush_depart(&lp->hv->flush_lp, &lp->hv->flush_vcpu);
    vmcs_write32(VMCS_GUEST_ACTIVITY_STATE, ACTIVITY_WAIT_FOR_SIPI);
    return EXIT_ACTION_RESUME;
}

enum exit_action exit_sipi(struct lp *lp, struct vcpu *vcpu)
{
    vmx_state_set_waiting_in_hardware(vcpu->vmx, false);
    flush_arrive(&lp->hv->flush_lp, &lp->hv->flush_vcpu);
    guest_state_start((uint8_t)vmcs_read(VMCS_EXIT_QUALIFICATION));
    inv_vpid_all(vcpu->partition, vcpu);
    return EXIT_ACTION_RESUME;
}

enum exit_action exit_triple_fault(struct lp *lp, struct vcpu *vcpu)
{
    report_exit(lp, vcpu, "the guest's triple fault");
    platform_guest_triple_fault(lp);
    return EXIT_ACTION_STOP;
}

/* INVD would lose what our own caches hold. */
enum exit_action exit_invd(struct lp *lp, struct vcpu *vcpu)
{
    (void)lp;
    (void)vcpu;
    cpu_write_back_invalidate_caches();
    return EXIT_ACTION_ADVANCE;
}

enum exit_action exit_undefined(struct lp *lp, struct vcpu *vcpu)
{
    (void)lp;
    (void)vcpu;
    return EXIT_ACTION_UD;
}

enum exit_action exit_unexpected(struct lp *lp, struct vcpu *vcpu)
{
    (void)lp;
    (void)vcpu;
    return EXIT_ACTION_UNKNOWN;
}
