/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/resident.h"
#include "boot/startup.h"
#include "core/cpu.h"
#include "vmx/hv_ops.h"
#include "vmx/msr_bitmap.h"
#include "vmx/own_counters.h"
#include "vmx/platform.h"

/* What the guest is shown and which accesses exit: CPUID and MSR policies, bitmaps, our own CPUID
 * block. */

static void read_cpuid(void *context, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    (void)context;
    cpu_cpuid(leaf, subleaf, &out->eax, &out->ebx, &out->ecx, &out->edx);
}

static uint64_t read_counter(void *context, uint32_t counter, uint32_t vp_index)
{
    const struct partition *partition = context;
    const struct vcpu *vcpu = partition->vcpus[vp_index];
    const struct hv_lp *hv = partition->machine->lps[vcpu->vcpu_id]->hv;

    if (counter < OWN_COUNTER_EXITS) {
        return vcpu->stats.counters[counter];
    }
    if (counter < OWN_COUNTER_FLUSHES) {
        return vcpu->stats.exits[counter - OWN_COUNTER_EXITS];
    }
    if (counter < OWN_COUNTER_CALLS) {
        return hv->flush_vcpu.counters[counter - OWN_COUNTER_FLUSHES];
    }
    counter -= OWN_COUNTER_CALLS;
    return hv->vp.calls[counter / HYPERV_OUTCOME_COUNT][counter % HYPERV_OUTCOME_COUNT];
}

void startup_build_policies(struct startup *startup)
{
    struct partition *partition = startup->machine->partition;
    struct cpuid_source source = {.read = read_cpuid};
    uint64_t mcg_cap = startup->surveys[startup->mp.boot_lp].mcg_cap;

    cpuid_policy_init(&partition->cpuid, &partition->controls, &source);
    partition->cr4_allowed = cr4_allowed(&partition->cpuid);
    msr_policy_context_init(&partition->msr_x2apic, &partition->cpuid, mcg_cap);
    partition->msr_x2apic.icr_passes = startup->config.guest_ipi == CONFIG_GUEST_IPI_DIRECT;
    partition->msr_xapic = partition->msr_x2apic;
    partition->msr_xapic.x2apic_passes = false;
    msr_bitmap_build(partition->msr_bitmap_xapic, &partition->msr_xapic);
    msr_bitmap_build(partition->msr_bitmap_x2apic, &partition->msr_x2apic);
    platform_build_io_bitmaps(startup->machine, partition->io_bitmaps);
    partition->own_leaves = (struct own_leaves){
        .version = OWN_VERSION(SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH),
        .mode = OWN_MODE_PASSTHROUGH,
        .vp_count = partition->vcpu_count,
        .counter_count = OWN_COUNTER_COUNT,
        .counter = (uint64_t(*)(void *, uint32_t, uint32_t))(uintptr_t)resident_address(
            startup->resident, (const void *)(uintptr_t)read_counter),
        .context = partition,
    };
}
