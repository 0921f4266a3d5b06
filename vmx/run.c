/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/run.h"

#include "core/apic.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "core/panic.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/hv_ops.h"
#include "vmx/inject.h"
#include "vmx/inv.h"
#include "vmx/leave.h"
#include "vmx/nmi.h"
#include "vmx/report.h"
#include "vmx/signal.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

void run_prepare_first_exit(struct lp *lp, uint64_t first_exit)
{
    /* entry_first_exit is returned to with RSP 16-aligned: the picture is in entry.asm. */
    uint64_t *stack = (uint64_t *)(uintptr_t)(lp->stack_top - 16);

    *--stack = first_exit;
    *--stack = 0; /* rbp */
    lp->saved_rsp = (uint64_t)(uintptr_t)stack;
}

/* The guest did what cannot be emulated, or an entry failed: it ends here, with a report. */
NORETURN static void stop_guest(struct lp *lp, struct vcpu *vcpu, const char *why)
{
    /* Sequentially consistent: one LP reports; pairs with the loads in the NMI handler and
     * in serve_nmis. */
    if (atomic_exchange_explicit(&lp->machine->stop_requested, 1, memory_order_seq_cst) != 0) {
        panic_park();
    }
    log_seize();
    report_exit(lp, vcpu, why);
    report_counters(vcpu->partition);
    (void)panic_stop_others();
    log_line(LOG_ERROR, "run", "the guest is stopped: %s", why);
    log_drain();
    panic_park();
}

static void carry_out_init(struct vcpu *vcpu)
{
    stats_count(&vcpu->stats, STAT_SOFTWARE_INITS);
    apic_reset_by_init();
    vmx_state_reset_destination(vcpu->vmx);
    vcpu->vmx->icr_high = 0;
    vcpu->vmx->is_pmi_armed = false;
    vcpu->vmx->attention.has_nmi = false;
    vcpu->vmx->is_triple_fault = false;
    guest_state_init(vcpu->partition, vcpu);
    inv_vpid_all(vcpu->partition, vcpu);
    if ((vcpu->vmx->apic_base & IA32_APIC_BASE_BSP) != 0) {
        signal_clear_waiting(&vcpu->signals);
    }
}

/* The vCPU waits for SIPI, and runs again. While it does not run nobody waits for it; what was
 * to be flushed is flushed before its next entry. Both may be repeated. */
static void run_end(struct lp *lp)
{
    flush_depart(&lp->hv->flush_lp, &lp->hv->flush_vcpu);
    hyperv_vp_run_end(&lp->hv->vp);
}

static void run_begin(struct lp *lp)
{
    flush_arrive(&lp->hv->flush_lp, &lp->hv->flush_vcpu);
    hyperv_vp_run_begin(&lp->hv->vp);
}

/* Carries out what the mailbox holds. A vCPU that waits for SIPI stays in here, in root mode. */
static void serve_signals(struct lp *lp, struct vcpu *vcpu)
{
    uint8_t vector;

    for (;;) {
        lp->restart = 0;
        switch (signal_take(&vcpu->signals, &vector)) {
        case SIGNAL_ACTION_INIT:
            carry_out_init(vcpu);
            if (signal_is_waiting(&vcpu->signals)) {
                run_end(lp);
            }
            break;
        case SIGNAL_ACTION_SIPI:
            stats_count(&vcpu->stats, STAT_SOFTWARE_SIPIS);
            guest_state_start(vector);
            run_begin(lp);
            break;
        case SIGNAL_ACTION_NMI:
            vcpu->vmx->attention.has_nmi = true;
            break;
        case SIGNAL_ACTION_NONE:
            if (!signal_is_waiting(&vcpu->signals)) {
                return;
            }
            entry_halt(lp);
            break;
        }
    }
}

/* An event that was being delivered goes first, or it would be lost: the machine check comes
 * with the exit after that. */
static void serve_machine_check(struct lp *lp, struct vcpu *vcpu)
{
    lp->machine_check_pending = false;
    vcpu->vmx->attention.has_machine_check =
        (vcpu->vmx->event.information & INTERRUPTION_VALID) != 0;
    if (!vcpu->vmx->attention.has_machine_check) {
        stats_count(&vcpu->stats, STAT_MACHINE_CHECKS);
        inject_exception(vcpu, EXCEPTION_MC, 0);
    }
}

/* NMIs that arrived in root mode, or ended guest mode. */
static void serve_nmis(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t in_root = lp->kicks_in_root;

    /* Acquire pairs with the exchange in panic and stop_guest. */
    if (atomic_load_explicit(&lp->machine->stop_requested, memory_order_acquire) != 0) {
        panic_park();
    }
    if (in_root != 0) {
        vcpu->stats.counters[STAT_KICKS_IN_ROOT] += in_root;
        lp->kicks_in_root -= in_root;
    }
    nmi_find_guest_sources(lp, vcpu);
}

/* Everything that precedes an entry but the last check. */
static void serve(struct lp *lp, struct vcpu *vcpu)
{
    /* Cleared before the checks: an NMI from here on is seen by entry.asm. */
    lp->restart = 0;
    /* Acquire pairs with the release of a post (vmx/signal.c). */
    if (atomic_load_explicit(&vcpu->signals, memory_order_acquire) != 0) {
        serve_signals(lp, vcpu);
    }
    /* After the signals, which clear restart too while they wait. */
    if (lp->nmi_arrived) {
        serve_nmis(lp, vcpu);
    }
    if (lp->machine_check_pending || vcpu->vmx->attention.has_machine_check) {
        serve_machine_check(lp, vcpu);
    }
    if (vcpu->vmx->attention.has_nmi) {
        nmi_deliver(vcpu);
    }
    inject_commit(vcpu);
}

/* Whether serve has anything to do. NMIs and machine checks set restart; signals, events to
 * inject and what lasts over several exits are looked at themselves, so that nobody has to
 * announce them. The exit path's hot case is that nothing is set. The acquire pairs with the
 * release of a post (vmx/signal.c). */
static inline bool is_owed(const struct lp *lp, const struct vcpu *vcpu)
{
    const struct vmx_state *vmx = vcpu->vmx;

    return (lp->restart | atomic_load_explicit(&vcpu->signals, memory_order_acquire) |
            vmx->event.information | vmx->attention.any) != 0;
}

/* The EPT has changed since this LP last invalidated: run_seq is made even again, since the sender
 * waits for just that, and the entry begins anew. */
static void follow_ept(struct lp *lp, struct vcpu *vcpu, uint64_t generation)
{
    /* Sequentially consistent: pairs with the loads of run_seq in flush_wait_add
     * (core/flush_wait.h) and in the waits of core/flush_wait.c. */
    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
    inv_ept(vcpu->partition, vcpu);
    /* Release: after the invalidation; read by reports. */
    atomic_store_explicit(&lp->shared.ept_generation_seen, generation, memory_order_release);
}

/* Whether the EPT has changed since; *generation is what it is now. */
static inline bool is_ept_stale(const struct lp *lp, const struct vcpu *vcpu, uint64_t *generation)
{
    /* Sequentially consistent, after run_seq was made odd: pairs with the same in
     * kick_all_for_ept. */
    *generation = atomic_load_explicit(&vcpu->partition->ept_generation, memory_order_seq_cst);
    /* Relaxed: what this LP wrote itself. */
    return *generation !=
           atomic_load_explicit(&lp->shared.ept_generation_seen, memory_order_relaxed);
}

/* Makes run_seq odd: from here on senders kick. What they posted before is seen by the checks that
 * follow. */
static inline void publish(struct lp *lp)
{
    /* Sequentially consistent: store, then load; pairs with the senders' change and their load of
     * run_seq (core/flush.c, vmx/kick.c). */
    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
}

/* After publish: whether the entry may be made. If not, run_seq is even again. */
static bool settle(struct lp *lp, struct vcpu *vcpu)
{
    struct hv_lp *hv = lp->hv;
    uint64_t generation;

    while (flush_is_pending(&hv->flush_vcpu)) {
        flush_serve_published(&hv->flush_lp, &hv->flush_vcpu);
    }
    if (!is_ept_stale(lp, vcpu, &generation)) {
        return true;
    }
    follow_ept(lp, vcpu, generation);
    return false;
}

/* In the activity state wait-for-SIPI kicks have no effect, so it counts as root mode: run_seq
 * is even inside, and odd for the moment from the exit to the second increment. Sequentially
 * consistent, as every change of run_seq is; pairs with the loads in vmx/kick.c. */
static enum entry_outcome enter_waiting_in_hardware(struct lp *lp)
{
    enum entry_outcome outcome;

    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
    outcome = vmx_enter_guest();
    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
    return outcome;
}

/* The way with something to do; run_seq is even. */
NOINLINE static enum entry_outcome enter_after_service(struct lp *lp, struct vcpu *vcpu)
{
    for (;;) {
        serve(lp, vcpu);
        if (flush_is_pending(&lp->hv->flush_vcpu)) {
            flush_serve(&lp->hv->flush_lp, &lp->hv->flush_vcpu);
        }
        publish(lp);
        if (settle(lp, vcpu)) {
            break;
        }
        /* Left in the VMCS, the event would be overwritten by another one, or outlive an INIT. */
        inject_take_back(vcpu);
    }
    if (vmx_state_is_waiting_in_hardware(vcpu->vmx)) {
        return enter_waiting_in_hardware(lp);
    }
    return vmx_enter_guest();
}

/* run_seq is odd already, and a sender has posted something. */
NOINLINE static enum entry_outcome enter_after_settling(struct lp *lp, struct vcpu *vcpu)
{
    if (!settle(lp, vcpu)) {
        return enter_after_service(lp, vcpu);
    }
    return vmx_enter_guest();
}

static inline enum entry_outcome enter(struct lp *lp, struct vcpu *vcpu)
{
    uint64_t generation;

    if (__builtin_expect(is_owed(lp, vcpu), 0)) {
        return enter_after_service(lp, vcpu);
    }
    publish(lp);
    if (__builtin_expect(is_ept_stale(lp, vcpu, &generation), 0) ||
        __builtin_expect(flush_is_pending(&lp->hv->flush_vcpu), 0)) {
        return enter_after_settling(lp, vcpu);
    }
    return vmx_enter_guest();
}

/* What a handler asked for, besides going past the instruction. */
NOINLINE static void apply(struct lp *lp, struct vcpu *vcpu, enum exit_action action)
{
    switch (action) {
    case EXIT_ACTION_RESUME:
    case EXIT_ACTION_ADVANCE:
        break;
    case EXIT_ACTION_GP:
        inject_exception(vcpu, EXCEPTION_GP, 0);
        break;
    case EXIT_ACTION_UD:
        inject_exception(vcpu, EXCEPTION_UD, 0);
        break;
    case EXIT_ACTION_STOP:
        stop_guest(lp, vcpu, "this exit cannot be emulated");
    case EXIT_ACTION_UNKNOWN:
        stop_guest(lp, vcpu, "an exit that is not handled");
    }
    if (vcpu->vmx->is_triple_fault) {
        (void)exit_triple_fault(lp, vcpu);
        stop_guest(lp, vcpu, "a triple fault");
    }
}

static inline void handle_exit(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t reason = vmcs_read32(VMCS_EXIT_REASON);
    enum exit_action action;

    if (__builtin_expect(reason >= EXIT_HANDLERS_COUNT, 0)) {
        stop_guest(lp, vcpu,
                   (reason & VM_EXIT_ENTRY_FAILURE) != 0 ? "a VM entry failed"
                                                         : "an exit that is not handled");
    }
    stats_count_exit(&vcpu->stats, reason);
    action = exit_handlers[reason](lp, vcpu);
    if (__builtin_expect(action == EXIT_ACTION_ADVANCE, 1)) {
        inject_advance_rip(vmcs_read_raw(VMCS_VM_EXIT_INSTRUCTION_LENGTH));
        return;
    }
    apply(lp, vcpu, action);
}

NOINLINE static void handle_failed_entry(struct lp *lp, struct vcpu *vcpu,
                                         enum entry_outcome outcome)
{
    const char *instruction = vcpu->is_launched != 0 ? "VMRESUME failed" : "VMLAUNCH failed";

    if (outcome == ENTRY_RETRY) {
        stats_count(&vcpu->stats, STAT_ENTRY_RETRIES);
        inject_take_back(vcpu);
        return;
    }
    if (outcome == ENTRY_FAIL_VALID) {
        stop_guest(lp, vcpu, instruction);
    }
    /* Without a current VMCS there is nothing to report from, and it is our bug. */
    panic("%s: VMfailInvalid, there is no current VMCS", instruction);
}

NORETURN void run_loop(enum entry_outcome outcome)
{
    struct lp *lp = this_lp();
    struct vcpu *vcpu = lp->vcpu;

    if (outcome == ENTRY_EXITED && (vmcs_read32(VMCS_EXIT_REASON) & VM_EXIT_ENTRY_FAILURE) != 0) {
        /* The very first entry: nothing has changed yet, and the start-up undoes the rest. */
        report_exit(lp, vcpu, "the first VM entry failed");
        leave_after_failed_entry(lp);
    }
    for (;;) {
        /* Not kept over the entry, which leaves no register. */
        lp = cpu_reload_gs_self();
        vcpu = lp->vcpu;
        while (__builtin_expect(outcome != ENTRY_EXITED, 0)) {
            handle_failed_entry(lp, vcpu, outcome);
            outcome = enter_after_service(lp, vcpu);
        }
        handle_exit(lp, vcpu);
        outcome = enter(lp, vcpu);
    }
}
