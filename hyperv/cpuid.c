/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/* What Server 2016 showed; guests only print it. */
#define VERSION_BUILD 14393u
#define VERSION_MAJOR 10u
#define VERSION_MINOR 0u

static struct cpuid_regs registers(uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    return (struct cpuid_regs){eax, ebx, ecx, edx};
}

struct cpuid_regs hyperv_cpuid(const struct hyperv_partition *partition, uint32_t leaf)
{
    if (!partition->features.is_on) {
        return registers(0, 0, 0, 0);
    }
    switch (leaf) {
    case HV_CPUID_VENDOR_AND_MAX_FUNCTION:
        return registers(HV_CPUID_HARDWARE_FEATURES, HV_VENDOR_EBX, HV_VENDOR_ECX, HV_VENDOR_EDX);
    case HV_CPUID_INTERFACE:
        return registers(HV_INTERFACE_SIGNATURE, 0, 0, 0);
    case HV_CPUID_VERSION:
        return registers(VERSION_BUILD, VERSION_MAJOR << 16 | VERSION_MINOR, 0, 0);
    case HV_CPUID_FEATURES:
        return registers((uint32_t)partition->privileges, (uint32_t)(partition->privileges >> 32),
                         0, partition->features_edx);
    case HV_CPUID_ENLIGHTENMENT_INFO:
        return registers(partition->recommendations, HV_SPINLOCK_RETRIES_NEVER, 0, 0);
    case HV_CPUID_IMPLEMENTATION_LIMITS:
        return registers(partition->facts.vp_max, partition->facts.lp_count, 0, 0);
    case HV_CPUID_HARDWARE_FEATURES:
        return registers(HV_HARDWARE_MSR_BITMAPS | HV_HARDWARE_SECOND_LEVEL_TRANSLATION, 0, 0, 0);
    default:
        return registers(0, 0, 0, 0);
    }
}

/* While the guest is offered the control and has not used it, it is to believe in no invariant TSC
 * (TLFS "Partition Reference Time Enlightenment"). */
static bool hides_invariant_tsc(const struct hyperv_partition *partition)
{
    uint64_t control =
        atomic_load_explicit(&partition->tsc_invariant_control, memory_order_relaxed);

    return partition->features.tsc_invariant && (control & HV_X64_MSR_TSC_INVARIANT_ON) == 0;
}

void hyperv_cpuid_adjust(const struct hyperv_partition *partition, uint32_t leaf,
                         struct cpuid_regs *inout)
{
    if (!partition->features.is_on) {
        return;
    }
    if (leaf == 1) {
        inout->ecx |= CPUID_1_ECX_HYPERVISOR;
    } else if (leaf == 0x80000007u && hides_invariant_tsc(partition)) {
        inout->edx &= ~CPUID_80000007_EDX_INVARIANT_TSC;
    }
}
