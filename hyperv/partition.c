/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/* Takes away what this machine cannot give in full. */
static void resolve(struct hyperv_features *features, const struct hyperv_facts *facts)
{
    bool has_time = facts->tsc_hz > HV_REFERENCE_TIME_HZ;

    if (!features->is_on) {
        *features = (struct hyperv_features){.is_on = false};
        return;
    }
    features->tlbflush = features->tlbflush && features->vpindex;
    features->tlbflush_ext = features->tlbflush_ext && features->tlbflush;
    features->time = features->time && has_time;
    features->runtime = features->runtime && has_time;
    features->frequencies = features->frequencies && facts->tsc_hz != 0 && facts->apic_hz != 0;
    features->tsc_invariant = features->tsc_invariant && facts->is_tsc_invariant;
}

static uint64_t privilege_if(bool is_granted, uint64_t privileges)
{
    return is_granted ? privileges : 0;
}

static uint64_t privileges_of(const struct hyperv_features *features,
                              const struct hyperv_facts *facts)
{
    return privilege_if(features->is_on, HV_ACCESS_HYPERCALL_MSRS) |
           privilege_if(features->runtime, HV_ACCESS_VP_RUNTIME_REG) |
           privilege_if(features->time, HV_ACCESS_PARTITION_REFERENCE_COUNTER) |
           privilege_if(features->time && facts->is_tsc_invariant,
                        HV_ACCESS_PARTITION_REFERENCE_TSC) |
           privilege_if(features->vapic, HV_ACCESS_INTR_CTRL_REGS) |
           privilege_if(features->vpindex, HV_ACCESS_VP_INDEX) |
           privilege_if(features->reset, HV_ACCESS_RESET_REG) |
           privilege_if(features->tlbflush_ext, HV_ENABLE_EXTENDED_GVA_RANGES) |
           privilege_if(features->frequencies, HV_ACCESS_FREQUENCY_REGS) |
           privilege_if(features->tsc_invariant, HV_ACCESS_TSC_INVARIANT_CONTROLS);
}

static uint32_t features_edx_of(const struct hyperv_features *features)
{
    uint32_t edx = features->is_on ? HV_FEATURE_HYPERCALL_MSR_LOCK : 0;

    if (features->frequencies) {
        edx |= HV_FEATURE_FREQUENCY_REGS;
    }
    if (features->xmm_input) {
        edx |= HV_FEATURE_XMM_HYPERCALL_INPUT;
    }
    if (features->tlbflush_ext) {
        edx |= HV_FEATURE_EXTENDED_GVA_RANGES;
    }
    return edx;
}

void hyperv_partition_init(struct hyperv_partition *partition, const struct hyperv_ops *ops,
                           const struct hyperv_features *features, const struct hyperv_facts *facts,
                           struct hv_reference_tsc_page *page, uint64_t tsc)
{
    *partition = (struct hyperv_partition){
        .ops = ops, .features = *features, .facts = *facts, .reference_tsc_page = page};
    resolve(&partition->features, facts);
    partition->privileges = privileges_of(&partition->features, facts);
    partition->features_edx = features_edx_of(&partition->features);
    if (partition->features.tlbflush) {
        partition->recommendations =
            HV_RECOMMEND_REMOTE_TLB_FLUSH | HV_RECOMMEND_EX_PROCESSOR_MASKS;
    }
    partition->calls_granted = hyperv_find_granted_calls(partition);
    if (facts->tsc_hz > HV_REFERENCE_TIME_HZ) {
        partition->tsc_scale = hyperv_scale_of(facts->tsc_hz);
    }
    hyperv_time_restart(partition, tsc);
}

void hyperv_vp_init(struct hyperv_vp *vp, struct hyperv_partition *partition, uint32_t vp_index,
                    void *context)
{
    *vp = (struct hyperv_vp){.partition = partition, .context = context, .vp_index = vp_index};
}

void hyperv_partition_reset(struct hyperv_vp *vp)
{
    struct hyperv_partition *partition = vp->partition;
    bool needs_sync = false;
    bool is_moved;

    spin_lock(&partition->lock);
    atomic_store_explicit(&partition->guest_os_id, 0, memory_order_relaxed);
    atomic_store_explicit(&partition->hypercall, 0, memory_order_relaxed);
    atomic_store_explicit(&partition->reference_tsc, 0, memory_order_relaxed);
    atomic_store_explicit(&partition->tsc_invariant_control, 0, memory_order_relaxed);
    /* Taking one away cannot be refused. */
    is_moved = hyperv_overlay_move(vp, HYPERV_OVERLAY_REFERENCE_TSC, 0, &needs_sync) &&
               hyperv_overlay_move(vp, HYPERV_OVERLAY_HYPERCALL, 0, &needs_sync);
    hyperv_time_restart(partition, partition->ops->read_tsc(vp->context));
    spin_unlock(&partition->lock);
    if (is_moved && needs_sync) {
        partition->ops->overlay_sync(vp->context);
    }
}

void hyperv_vp_reset(struct hyperv_vp *vp)
{
    vp->vp_assist_page = 0;
    vp->run_ticks = 0;
    if (vp->is_running) {
        vp->run_begin_tsc = vp->partition->ops->read_tsc(vp->context);
    }
}
