/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/kick.h"

#include "core/apic.h"
#include "core/log.h"
#include "core/panic.h"
#include "vmx/vmx_state.h"

#define WATCHDOG_DIVISOR 10u /* of the TSC frequency: 100 ms */

void kick_lp(struct lp *self, struct lp *target)
{
    enum status status;

    /* Sequentially consistent: started is visible before the NMI can arrive, and the caller's
     * stores too; pairs with the loads in nmi_arrived (vmx/nmi.c). */
    atomic_fetch_add_explicit(&target->shared.kicks_started, 1, memory_order_seq_cst);
    status = apic_send(APIC_ICR_DELIVERY_NMI | APIC_ICR_LEVEL_ASSERT, target->apic_id,
                       self->vcpu->vmx->icr_high);
    atomic_fetch_add_explicit(&target->shared.kicks_issued, 1, memory_order_seq_cst);
    stats_count(&self->vcpu->stats, STAT_KICKS_SENT);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "kick", "the local APIC did not take a kick for LP%02u: %s",
                 target->lp_id, status_name(status));
    }
}

static void wait_for(struct lp *self, struct lp *target, uint64_t run_seq)
{
    uint64_t begin = cpu_read_tsc();
    bool is_reported = false;

    /* Acquire pairs with the locked increment on the target's exit: what its guest did before is
     * visible here. */
    while (atomic_load_explicit(&target->shared.run_seq, memory_order_acquire) == run_seq) {
        cpu_pause();
        /* Pairs with the exchange in panic: whoever waits while the machine stops, stops too. */
        if (atomic_load_explicit(&self->machine->stop_requested, memory_order_relaxed) != 0) {
            panic_park();
        }
        if (!is_reported && cpu_read_tsc() - begin > self->machine->tsc_hz / WATCHDOG_DIVISOR) {
            is_reported = true;
            log_line(
                LOG_WARNING, "kick",
                "LP%02u VP%03u has not left guest mode for 100 ms (run_seq %llu); kicked again",
                target->lp_id, target->vcpu->vp_index, (unsigned long long)run_seq);
            kick_lp(self, target);
        }
    }
}

void kick_all_for_ept(struct lp *self, struct partition *partition)
{
    struct machine *machine = self->machine;

    /* The full barrier between our change and the reading of run_seq: the target stores run_seq odd
     * and then loads ept_generation, also with a full barrier between (vmx/run.c). */
    atomic_fetch_add_explicit(&partition->ept_generation, 1, memory_order_seq_cst);
    for (uint32_t i = 0; i < machine->lp_count; i++) {
        struct lp *target = machine->lps[i];
        uint64_t run_seq = atomic_load_explicit(&target->shared.run_seq, memory_order_seq_cst);

        if (target == self || (run_seq & 1) == 0) {
            continue;
        }
        kick_lp(self, target);
        wait_for(self, target, run_seq);
    }
}
