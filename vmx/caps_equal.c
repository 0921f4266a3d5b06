/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "core/compiler.h"
#include "core/cpuid_bits.h"
#include "vmx/caps.h"

/* Compares the raw words of two LPs, and names the first that differs. */

struct word {
    size_t offset;
    const char *name;
};

/* These bits show the state of the LP (CR4, IA32_APIC_BASE), not what it can do. */
#define DYNAMIC_1_ECX CPUID_1_ECX_OSXSAVE
#define DYNAMIC_1_EDX CPUID_1_EDX_APIC
#define DYNAMIC_7_ECX CPUID_7_ECX_OSPKE

#define MSR_WORD(member, name)                             \
    {                                                      \
        offsetof(struct vmx_capability_msrs, member), name \
    }
#define FEATURE_WORD(member, name)                      \
    {                                                   \
        offsetof(struct vmx_cpu_features, member), name \
    }

static const struct word msr_words[] = {
    MSR_WORD(basic, "IA32_VMX_BASIC"),
    MSR_WORD(pinbased_ctls, "IA32_VMX_PINBASED_CTLS"),
    MSR_WORD(procbased_ctls, "IA32_VMX_PROCBASED_CTLS"),
    MSR_WORD(exit_ctls, "IA32_VMX_EXIT_CTLS"),
    MSR_WORD(entry_ctls, "IA32_VMX_ENTRY_CTLS"),
    MSR_WORD(true_pinbased_ctls, "IA32_VMX_TRUE_PINBASED_CTLS"),
    MSR_WORD(true_procbased_ctls, "IA32_VMX_TRUE_PROCBASED_CTLS"),
    MSR_WORD(true_exit_ctls, "IA32_VMX_TRUE_EXIT_CTLS"),
    MSR_WORD(true_entry_ctls, "IA32_VMX_TRUE_ENTRY_CTLS"),
    MSR_WORD(procbased_ctls2, "IA32_VMX_PROCBASED_CTLS2"),
    MSR_WORD(misc, "IA32_VMX_MISC"),
    MSR_WORD(cr0_fixed0, "IA32_VMX_CR0_FIXED0"),
    MSR_WORD(cr0_fixed1, "IA32_VMX_CR0_FIXED1"),
    MSR_WORD(cr4_fixed0, "IA32_VMX_CR4_FIXED0"),
    MSR_WORD(cr4_fixed1, "IA32_VMX_CR4_FIXED1"),
    MSR_WORD(ept_vpid_cap, "IA32_VMX_EPT_VPID_CAP"),
    MSR_WORD(vmfunc, "IA32_VMX_VMFUNC"),
};

static const struct word feature_words[] = {
    FEATURE_WORD(leaf1_ecx, "CPUID.1:ECX"),
    FEATURE_WORD(leaf1_edx, "CPUID.1:EDX"),
    FEATURE_WORD(leaf7_ebx, "CPUID.7.0:EBX"),
    FEATURE_WORD(leaf7_ecx, "CPUID.7.0:ECX"),
    FEATURE_WORD(leaf7_edx, "CPUID.7.0:EDX"),
    FEATURE_WORD(leaf7_1_eax, "CPUID.7.1:EAX"),
    FEATURE_WORD(leaf7_1_edx, "CPUID.7.1:EDX"),
    FEATURE_WORD(leafd_1_eax, "CPUID.0DH.1:EAX"),
    FEATURE_WORD(leaf80000001_ecx, "CPUID.80000001H:ECX"),
    FEATURE_WORD(leaf80000001_edx, "CPUID.80000001H:EDX"),
    FEATURE_WORD(leaf80000008_eax, "CPUID.80000008H:EAX"),
};

/* Each member is in one of the tables (feature_control is the one that is not). */
STATIC_ASSERT(sizeof(struct vmx_capability_msrs) == (ARRAY_LEN(msr_words) + 1) * sizeof(uint64_t));
STATIC_ASSERT(sizeof(struct vmx_cpu_features) == ARRAY_LEN(feature_words) * sizeof(uint32_t));

static bool is_same(const void *a, const void *b, size_t offset, size_t bytes)
{
    const uint8_t *byte_a = (const uint8_t *)a + offset;
    const uint8_t *byte_b = (const uint8_t *)b + offset;

    for (size_t i = 0; i < bytes; i++) {
        if (byte_a[i] != byte_b[i]) {
            return false;
        }
    }
    return true;
}

static struct vmx_cpu_features static_part(const struct vmx_cpu_features *features)
{
    struct vmx_cpu_features part = *features;

    part.leaf1_ecx &= ~DYNAMIC_1_ECX;
    part.leaf1_edx &= ~DYNAMIC_1_EDX;
    part.leaf7_ecx &= ~DYNAMIC_7_ECX;
    return part;
}

static const char *first_difference(const struct vmx_capability_msrs *msrs_a,
                                    const struct vmx_cpu_features *features_a,
                                    const struct vmx_capability_msrs *msrs_b,
                                    const struct vmx_cpu_features *features_b)
{
    for (size_t i = 0; i < ARRAY_LEN(msr_words); i++) {
        if (!is_same(msrs_a, msrs_b, msr_words[i].offset, sizeof(uint64_t))) {
            return msr_words[i].name;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(feature_words); i++) {
        if (!is_same(features_a, features_b, feature_words[i].offset, sizeof(uint32_t))) {
            return feature_words[i].name;
        }
    }
    return NULL;
}

bool caps_equal(const struct vmx_capability_msrs *msrs_a, const struct vmx_cpu_features *features_a,
                const struct vmx_capability_msrs *msrs_b, const struct vmx_cpu_features *features_b,
                const char **difference)
{
    const struct vmx_cpu_features part_a = static_part(features_a);
    const struct vmx_cpu_features part_b = static_part(features_b);
    const char *name = first_difference(msrs_a, &part_a, msrs_b, &part_b);

    if (name != NULL && difference != NULL) {
        *difference = name;
    }
    return name == NULL;
}
