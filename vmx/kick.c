/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/kick.h"

#include "core/apic_send.h"
#include "core/log.h"
#include "vmx/hv_ops.h"
#include "vmx/vmx_state.h"

NOINLINE static void say_failure(const struct lp *target, enum status status)
{
    log_line(LOG_ERROR, "kick", "the local APIC did not take a kick for LP%02u: %s", target->lp_id,
             status_name(status));
}

bool kick_lp(struct lp *self, struct lp *target)
{
    const struct vmx_state *vmx = self->vcpu->vmx;
    enum status status = STATUS_OK;

    /* Sequentially consistent: started is visible before the NMI can arrive, and the caller's
     * stores too; pairs with the loads in nmi_arrived (vmx/nmi.c). */
    atomic_fetch_add_explicit(&target->shared.kicks_started, 1, memory_order_seq_cst);
    if (vmx_state_is_x2apic(vmx)) {
        apic_send_x2apic(APIC_ICR_DELIVERY_NMI | APIC_ICR_LEVEL_ASSERT, target->apic_id);
    } else {
        status = apic_send_xapic(APIC_ICR_DELIVERY_NMI | APIC_ICR_LEVEL_ASSERT, target->apic_id,
                                 vmx->icr_high);
    }
    /* Sequentially consistent: after the ICR write; pairs with the load in nmi_arrived. */
    atomic_fetch_add_explicit(&target->shared.kicks_issued, 1, memory_order_seq_cst);
    stats_count(&self->vcpu->stats, STAT_KICKS_SENT);
    if (__builtin_expect(status != STATUS_OK, 0)) {
        say_failure(target, status);
        return false;
    }
    return true;
}

void kick_all_for_ept(struct lp *self, struct partition *partition)
{
    struct machine *machine = self->machine;

    /* The full barrier between our change and the reading of run_seq: the target stores run_seq odd
     * and then loads ept_generation, also with a full barrier between (vmx/run.c). */
    atomic_fetch_add_explicit(&partition->ept_generation, 1, memory_order_seq_cst);
    for (uint32_t lp_id = 0; lp_id < machine->lp_count; lp_id++) {
        if (lp_id != self->lp_id) {
            (void)flush_wait_add(&self->hv->flush_lp, lp_id);
        }
    }
    flush_wait_kick(&self->hv->flush_lp, self->hv->flush_vcpu.counters);
    flush_wait_finish(&self->hv->flush_lp, self->hv->flush_vcpu.counters);
}
