/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/nmi.h"

#include "core/apic.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "core/ops.h"
#include "core/panic.h"
#include "vmx/entry.h"
#include "vmx/exit_decode.h"
#include "vmx/port_watch.h"
#include "vmx/report.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

#define PORT61_SERR_OR_IOCHK 0xC0u /* the error latches */
#define PORT61_SERR_DISABLE  0x04u /* written 1: clears the SERR latch */
#define PORT61_IOCHK_DISABLE 0x08u /* written 1: clears the IOCHK latch */
#define MCG_STATUS_RIPV      0x1u
#define MCG_STATUS_MCIP      0x4u /* machine check in progress */

void nmi_arrived(struct lp *lp)
{
    /* Sequentially consistent: pairs with the increments in kick_lp. */
    uint64_t started = atomic_load_explicit(&lp->shared.kicks_started, memory_order_seq_cst);
    uint64_t issued = atomic_load_explicit(&lp->shared.kicks_issued, memory_order_seq_cst);

    /* By our own time: the guest may set the TSC. */
    (void)nmi_account_arrival(&lp->nmi_account, started, issued,
                              cpu_read_tsc() - (uint64_t)lp_tsc_correction(lp));
    lp->nmi_arrived = true;
    lp->restart = 1;
}

/* RIP from label A to the entry instruction: nothing of the guest has been touched, so the frame
 * goes on at the pseudo-exit. In the halt window the HLT is skipped. */
static void move_out_of_windows(struct idt_frame *frame)
{
    uint64_t rip = frame->rip;

    if (rip >= (uint64_t)(uintptr_t)entry_window_begin &&
        rip <= (uint64_t)(uintptr_t)entry_window_end) {
        frame->rip = (uint64_t)(uintptr_t)entry_window_exit;
    } else if (rip >= (uint64_t)(uintptr_t)halt_window_begin &&
               rip < (uint64_t)(uintptr_t)halt_window_end) {
        frame->rip = (uint64_t)(uintptr_t)halt_window_end;
    }
}

static void handle_nmi_in_root(struct lp *lp, struct idt_frame *frame)
{
    lp->kicks_in_root++;
    /* Acquire pairs with the exchange in panic and stop_guest. */
    if (atomic_load_explicit(&lp->machine->stop_requested, memory_order_acquire) != 0) {
        panic_park();
    }
    nmi_arrived(lp);
    move_out_of_windows(frame);
}

static bool handle_machine_check_in_root(struct lp *lp, struct idt_frame *frame)
{
    uint64_t status = cpu_read_msr(MSR_IA32_MCG_STATUS);

    if ((status & MCG_STATUS_MCIP) == 0) {
        return true; /* an interrupt of that vector (core/idt.c) */
    }
    if ((status & MCG_STATUS_RIPV) == 0) {
        return false;
    }
    lp->machine_check_pending = true;
    lp->restart = 1;
    move_out_of_windows(frame);
    return true;
}

static void stop_lp(const struct lp *lp)
{
    (void)apic_send(APIC_ICR_DELIVERY_NMI | APIC_ICR_LEVEL_ASSERT, lp->apic_id, 0);
}

const struct root_ops root_ops = {
    .nmi = handle_nmi_in_root,
    .machine_check = handle_machine_check_in_root,
    .stop_lp = stop_lp,
    .describe = report_lp_state,
};

/* A PMI that LVTPC delivers as NMI masks the register (SDM volume 3, "Local Vector Table"). */
static bool has_pmi(struct vcpu *vcpu)
{
    uint32_t lvt;

    if (!vcpu->vmx->is_pmi_armed || vcpu->vmx->is_pmi_reported) {
        return false;
    }
    lvt = apic_read(APIC_LVT_PMI);
    if ((lvt & APIC_LVT_DELIVERY_MASK) != APIC_LVT_DELIVERY_NMI || (lvt & APIC_LVT_MASKED) == 0) {
        return false;
    }
    vcpu->vmx->is_pmi_reported = true;
    return true;
}

/* Port 61h concerns the LPs whose LINT1 takes NMIs. */
static bool has_port61_error(struct vcpu *vcpu)
{
    uint32_t lint1 = apic_read(APIC_LVT_LINT1);

    if ((lint1 & (APIC_LVT_DELIVERY_MASK | APIC_LVT_MASKED)) != APIC_LVT_DELIVERY_NMI) {
        return false;
    }
    if ((cpu_in8(PORT_SYSTEM_CONTROL_B) & PORT61_SERR_OR_IOCHK) == 0) {
        vcpu->vmx->is_port61_reported = false;
        return false;
    }
    if (vcpu->vmx->is_port61_reported) {
        return false;
    }
    vcpu->vmx->is_port61_reported = true;
    return true;
}

void nmi_find_guest_sources(struct lp *lp, struct vcpu *vcpu)
{
    uint64_t unexplained = lp->nmi_account.unexplained;
    bool is_guests;

    lp->nmi_arrived = false;
    is_guests = has_pmi(vcpu);
    is_guests |= has_port61_error(vcpu);
    if (unexplained != vcpu->stats.counters[STAT_NMIS_UNEXPLAINED]) {
        vcpu->stats.counters[STAT_NMIS_UNEXPLAINED] = unexplained;
        is_guests = true;
    }
    if (is_guests) {
        vcpu->vmx->attention.has_nmi = true;
    }
}

void nmi_guest_wrote_lvt_pmi(struct vcpu *vcpu, uint32_t value)
{
    vcpu->vmx->is_pmi_armed = (value & APIC_LVT_MASKED) == 0;
    vcpu->vmx->is_pmi_reported = false;
}

void nmi_guest_wrote_port61(struct vcpu *vcpu, uint8_t value)
{
    if ((value & (PORT61_SERR_DISABLE | PORT61_IOCHK_DISABLE)) != 0) {
        vcpu->vmx->is_port61_reported = false;
    }
}

static void set_nmi_window(struct vcpu *vcpu, bool is_open)
{
    uint32_t proc;

    if (vcpu->vmx->is_nmi_window_open == is_open) {
        return;
    }
    proc = vmcs_read32(VMCS_PRIMARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS);
    proc = is_open ? proc | PROC_NMI_WINDOW_EXITING : proc & ~PROC_NMI_WINDOW_EXITING;
    vmcs_write32(VMCS_PRIMARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS, proc);
    vcpu->vmx->is_nmi_window_open = is_open;
}

/* Whether blocking by STI holds back an NMI window is the processor's choice; where it does not,
 * the window would open at once, for ever. Blocking by MOV SS always does, and lasts as long. */
static void hold_back_window(uint32_t blocking)
{
    if ((blocking & INTERRUPTIBILITY_BLOCKING_BY_STI) != 0) {
        uint32_t state = vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE);

        vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE,
                     (state & ~INTERRUPTIBILITY_BLOCKING_BY_STI) |
                         INTERRUPTIBILITY_BLOCKING_BY_MOV_SS);
    }
}

void nmi_deliver(struct vcpu *vcpu)
{
    uint32_t blocking = vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) &
                        (INTERRUPTIBILITY_BLOCKING_BY_STI | INTERRUPTIBILITY_BLOCKING_BY_MOV_SS |
                         INTERRUPTIBILITY_BLOCKING_BY_NMI | INTERRUPTIBILITY_BLOCKING_BY_SMI);

    if (blocking != 0 || (vcpu->vmx->event.information & INTERRUPTION_VALID) != 0) {
        hold_back_window(blocking);
        set_nmi_window(vcpu, true);
        return;
    }
    vcpu->vmx->attention.has_nmi = false;
    vcpu->vmx->event = (struct pending_event){
        .information = exit_encode_injection(INTERRUPTION_NMI, VECTOR_NMI, false),
    };
    stats_count(&vcpu->stats, STAT_GUEST_NMIS);
}

void nmi_window_opened(struct vcpu *vcpu)
{
    set_nmi_window(vcpu, false);
}
