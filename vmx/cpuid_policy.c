/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/cpuid_policy.h"

#include "core/cr_bits.h"
#include "core/msr.h"
#include "vmx/cpuid_allow.h"

#define LEAF_BASIC_LAST       0x1Fu
#define LEAF_EXTENDED_FIRST   0x80000000u
#define LEAF_EXTENDED_LAST    0x80000008u
#define LEAF_7_SUBLEAF_LAST   2u
#define PMU_VERSION_MASK      0xFFu
#define PMU_VERSION_LAST      5u /* version 6 adds leaf 23H and MSRs that the guest does not get */
#define XSAVE_COMPONENT_LIMIT 63u
#define XSAVE_LEGACY_BYTES    576u /* legacy region and header */

#define CR4_ALWAYS MASK64(10, 0) /* VME PVI TSD DE PSE PAE MCE PGE PCE OSFXSR OSXMMEXCPT */

static struct cpuid_regs read_leaf(const struct cpuid_source *source, uint32_t leaf,
                                   uint32_t subleaf)
{
    struct cpuid_regs regs = {0, 0, 0, 0};

    source->read(source->context, leaf, subleaf, &regs);
    return regs;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The bits whose instructions or state need a control that this machine may not have. */
static void allow_by_controls(struct cpuid_policy *policy, const struct vmx_controls *controls)
{
    if (controls->shows_invpcid) {
        policy->allow_7_ebx |= CPUID_7_EBX_INVPCID;
    }
    if (controls->shows_user_wait) {
        policy->allow_7_ecx |= CPUID_7_ECX_WAITPKG;
    }
    if (controls->shows_cet) {
        policy->allow_7_ecx |= CPUID_7_ECX_CET_SS;
        policy->allow_7_edx |= CPUID_7_EDX_CET_IBT;
        policy->allow_7_1_edx |= CPUID_7_1_EDX_CET_SSS;
    }
    if (controls->shows_xsaves) {
        policy->allow_d_1_eax |= CPUID_D_1_EAX_XSAVES;
    }
    if (controls->shows_rdtscp) {
        policy->allow_7_ecx |= CPUID_7_ECX_RDPID; /* the same control */
        policy->allow_80000001_edx |= CPUID_80000001_EDX_RDTSCP;
    }
}

static void init_shown(struct cpuid_policy *policy, const struct cpuid_source *source)
{
    struct cpuid_regs leaf_0 = read_leaf(source, 0, 0);
    struct cpuid_regs leaf_ext = read_leaf(source, LEAF_EXTENDED_FIRST, 0);
    struct cpuid_regs regs = read_leaf(source, 1, 0);

    policy->max_basic_leaf = lesser(leaf_0.eax, LEAF_BASIC_LAST);
    policy->max_extended_leaf = lesser(leaf_ext.eax, LEAF_EXTENDED_LAST);
    policy->shown_1.ecx = regs.ecx & policy->allow_1_ecx;
    policy->shown_1.edx = regs.edx & policy->allow_1_edx;
    if (policy->max_basic_leaf >= 7) {
        regs = read_leaf(source, 7, 0);
        policy->leaf7_max_subleaf = lesser(regs.eax, LEAF_7_SUBLEAF_LAST);
        policy->shown_7.ebx = regs.ebx & policy->allow_7_ebx;
        policy->shown_7.ecx = regs.ecx & policy->allow_7_ecx;
        policy->shown_7.edx = regs.edx & policy->allow_7_edx;
    }
    if (policy->leaf7_max_subleaf >= 1) {
        regs = read_leaf(source, 7, 1);
        policy->shown_7_1.eax = regs.eax & policy->allow_7_1_eax;
        policy->shown_7_1.ebx = regs.ebx & policy->allow_7_1_ebx;
        policy->shown_7_1.edx = regs.edx & policy->allow_7_1_edx;
    }
    if (policy->max_extended_leaf >= 0x80000001) {
        regs = read_leaf(source, 0x80000001, 0);
        policy->shown_80000001.ecx = regs.ecx & policy->allow_80000001_ecx;
        policy->shown_80000001.edx = regs.edx & policy->allow_80000001_edx;
    }
    if (policy->max_basic_leaf >= 0xA) {
        policy->shows_pmu = (read_leaf(source, 0xA, 0).eax & PMU_VERSION_MASK) != 0;
    }
    policy->shows_monitor = (policy->shown_1.ecx & CPUID_1_ECX_MONITOR) != 0;
    policy->shows_x2apic = (policy->shown_1.ecx & CPUID_1_ECX_X2APIC) != 0;
    policy->shows_user_wait = (policy->shown_7.ecx & CPUID_7_ECX_WAITPKG) != 0;
    policy->shows_cet = (policy->shown_7.ecx & CPUID_7_ECX_CET_SS) != 0 ||
                        (policy->shown_7.edx & CPUID_7_EDX_CET_IBT) != 0;
    policy->shows_amx = (policy->shown_7.edx & CPUID_7_EDX_AMX_TILE) != 0;
}

static void init_xsave(struct cpuid_policy *policy, const struct cpuid_source *source)
{
    struct cpuid_regs regs;

    if ((policy->shown_1.ecx & CPUID_1_ECX_XSAVE) == 0 || policy->max_basic_leaf < 0xD) {
        return;
    }
    regs = read_leaf(source, 0xD, 0);
    policy->xcr0_supported = ((uint64_t)regs.edx << 32 | regs.eax) & ALLOW_XCR0;
    policy->xsave_max_bytes = XSAVE_LEGACY_BYTES;
    for (uint32_t i = 2; i < XSAVE_COMPONENT_LIMIT; i++) {
        uint32_t end;

        if ((policy->xcr0_supported & BIT64(i)) == 0) {
            continue;
        }
        regs = read_leaf(source, 0xD, i);
        end = regs.ebx + regs.eax;
        if (end > policy->xsave_max_bytes) {
            policy->xsave_max_bytes = end;
        }
    }
    regs = read_leaf(source, 0xD, 1);
    policy->shows_xsaves = (regs.eax & policy->allow_d_1_eax & CPUID_D_1_EAX_XSAVES) != 0;
    if (policy->shows_xsaves && policy->shows_cet) {
        policy->xss_supported = ((uint64_t)regs.edx << 32 | regs.ecx) & (XSS_CET_U | XSS_CET_S);
    }
}

void cpuid_policy_init(struct cpuid_policy *policy, const struct vmx_controls *controls,
                       const struct cpuid_source *source)
{
    *policy = (struct cpuid_policy){
        .allow_1_ecx = ALLOW_1_ECX,
        .allow_1_edx = ALLOW_1_EDX,
        .allow_7_ebx = ALLOW_7_EBX,
        .allow_7_ecx = ALLOW_7_ECX,
        .allow_7_edx = ALLOW_7_EDX,
        .allow_7_1_eax = ALLOW_7_1_EAX,
        .allow_7_1_ebx = ALLOW_7_1_EBX,
        .allow_7_1_edx = ALLOW_7_1_EDX,
        .allow_7_2_edx = ALLOW_7_2_EDX,
        .allow_d_1_eax = ALLOW_D_1_EAX,
        .allow_80000001_ecx = ALLOW_80000001_ECX,
        .allow_80000001_edx = ALLOW_80000001_EDX,
    };
    allow_by_controls(policy, controls);
    init_shown(policy, source);
    init_xsave(policy, source);
}

/* Sets or clears a bit that shows the state of the guest's processor, not a feature of it. */
static uint32_t with_bit(uint32_t word, uint32_t bit, bool is_set)
{
    return is_set ? word | bit : word & ~bit;
}

static void apply_1(const struct cpuid_policy *policy, const struct cpuid_guest_view *view,
                    struct cpuid_regs *regs)
{
    uint32_t edx = regs->edx & policy->allow_1_edx;
    bool has_xsave = (policy->shown_1.ecx & CPUID_1_ECX_XSAVE) != 0;
    bool has_apic = (view->apic_base & IA32_APIC_BASE_ENABLE) != 0;

    regs->ecx = with_bit(regs->ecx & policy->allow_1_ecx, CPUID_1_ECX_OSXSAVE,
                         has_xsave && (view->cr4 & CR4_OSXSAVE) != 0);
    regs->edx = with_bit(edx, CPUID_1_EDX_APIC, has_apic);
}

static void apply_7(const struct cpuid_policy *policy, uint32_t subleaf,
                    const struct cpuid_guest_view *view, struct cpuid_regs *regs)
{
    bool has_pku = (policy->shown_7.ecx & CPUID_7_ECX_PKU) != 0;
    const struct cpuid_regs raw = *regs;

    *regs = (struct cpuid_regs){0, 0, 0, 0};
    if (subleaf > policy->leaf7_max_subleaf) {
        return;
    }
    switch (subleaf) {
    case 0:
        regs->eax = policy->leaf7_max_subleaf;
        regs->ebx = raw.ebx & policy->allow_7_ebx;
        regs->ecx = with_bit(raw.ecx & policy->allow_7_ecx, CPUID_7_ECX_OSPKE,
                             has_pku && (view->cr4 & CR4_PKE) != 0);
        regs->edx = raw.edx & policy->allow_7_edx;
        break;
    case 1:
        regs->eax = raw.eax & policy->allow_7_1_eax;
        regs->ebx = raw.ebx & policy->allow_7_1_ebx;
        regs->edx = raw.edx & policy->allow_7_1_edx;
        break;
    default:
        regs->edx = raw.edx & policy->allow_7_2_edx;
        break;
    }
}

static void apply_xsave(const struct cpuid_policy *policy, uint32_t subleaf,
                        struct cpuid_regs *regs)
{
    uint64_t components = policy->xcr0_supported | policy->xss_supported;

    if (policy->xcr0_supported == 0) {
        *regs = (struct cpuid_regs){0, 0, 0, 0};
    } else if (subleaf == 0) {
        regs->eax = (uint32_t)policy->xcr0_supported;
        regs->ecx = policy->xsave_max_bytes;
        regs->edx = (uint32_t)(policy->xcr0_supported >> 32);
    } else if (subleaf == 1) {
        regs->eax &= policy->allow_d_1_eax;
        regs->ecx = (uint32_t)policy->xss_supported;
        regs->edx = (uint32_t)(policy->xss_supported >> 32);
    } else if (subleaf >= XSAVE_COMPONENT_LIMIT || (components & BIT64(subleaf)) == 0) {
        *regs = (struct cpuid_regs){0, 0, 0, 0};
    }
}

static void apply_basic(const struct cpuid_policy *policy, uint32_t leaf, uint32_t subleaf,
                        const struct cpuid_guest_view *view, struct cpuid_regs *regs)
{
    const struct cpuid_regs zero = {0, 0, 0, 0};

    switch (leaf) {
    case 0x0:
        regs->eax = lesser(regs->eax, policy->max_basic_leaf);
        break;
    case 0x1:
        apply_1(policy, view, regs);
        break;
    case 0x2:  /* caches and TLBs */
    case 0x4:  /* caches */
    case 0x9:  /* direct cache access */
    case 0xB:  /* topology */
    case 0x15: /* TSC and crystal */
    case 0x16: /* frequencies */
    case 0x17: /* system on chip vendor */
    case 0x18: /* TLBs */
    case 0x1A: /* native model of a hybrid part */
    case 0x1F: /* topology */
        break;
    case 0x3:
        *regs = (policy->shown_1.edx & CPUID_1_EDX_PSN) != 0 ? *regs : zero;
        break;
    case 0x5:
        *regs = policy->shows_monitor ? *regs : zero;
        break;
    case 0x6:
        *regs = (struct cpuid_regs){regs->eax & ALLOW_6_EAX, regs->ebx & ALLOW_6_EBX,
                                    regs->ecx & ALLOW_6_ECX, 0};
        break;
    case 0x7:
        apply_7(policy, subleaf, view, regs);
        break;
    case 0xA:
        regs->eax = (regs->eax & ~PMU_VERSION_MASK) |
                    lesser(regs->eax & PMU_VERSION_MASK, PMU_VERSION_LAST);
        break;
    case 0xD:
        apply_xsave(policy, subleaf, regs);
        break;
    case 0x1D: /* tile palettes */
    case 0x1E: /* tile multiplier */
        *regs = policy->shows_amx ? *regs : zero;
        break;
    default:
        *regs = zero;
        break;
    }
}

static void apply_extended(const struct cpuid_policy *policy, uint32_t leaf,
                           const struct cpuid_guest_view *view, struct cpuid_regs *regs)
{
    switch (leaf) {
    case 0x80000000:
        regs->eax = policy->max_extended_leaf;
        break;
    case 0x80000001:
        regs->eax = 0;
        regs->ebx = 0;
        regs->ecx &= policy->allow_80000001_ecx;
        regs->edx &= policy->allow_80000001_edx;
        if (!view->is_64_bit) {
            regs->edx &= ~CPUID_80000001_EDX_SYSCALL;
        }
        break;
    case 0x80000007:
        *regs = (struct cpuid_regs){0, 0, 0, regs->edx & CPUID_80000007_EDX_INVARIANT_TSC};
        break;
    case 0x80000008:
        *regs = (struct cpuid_regs){regs->eax, regs->ebx & CPUID_80000008_EBX_WBNOINVD, 0, 0};
        break;
    default: /* 80000002H-80000006H: brand string and caches */
        break;
    }
}

void cpuid_policy_apply(const struct cpuid_policy *policy, uint32_t leaf, uint32_t subleaf,
                        const struct cpuid_guest_view *view, struct cpuid_regs *inout)
{
    if (leaf <= policy->max_basic_leaf) {
        apply_basic(policy, leaf, subleaf, view, inout);
    } else if (leaf >= LEAF_EXTENDED_FIRST && leaf <= policy->max_extended_leaf) {
        apply_extended(policy, leaf, view, inout);
    } else {
        *inout = (struct cpuid_regs){0, 0, 0, 0};
    }
}

uint64_t cr4_allowed(const struct cpuid_policy *policy)
{
    const struct {
        uint32_t shown;
        uint64_t cr4;
    } needs[] = {
        {policy->shown_7.ecx & CPUID_7_ECX_UMIP, CR4_UMIP},
        {policy->shown_7.ecx & CPUID_7_ECX_LA57, CR4_LA57},
        {policy->shown_7.ebx & CPUID_7_EBX_FSGSBASE, CR4_FSGSBASE},
        {policy->shown_1.ecx & CPUID_1_ECX_PCID, CR4_PCIDE},
        {policy->shown_1.ecx & CPUID_1_ECX_XSAVE, CR4_OSXSAVE},
        {policy->shown_7.ebx & CPUID_7_EBX_SMEP, CR4_SMEP},
        {policy->shown_7.ebx & CPUID_7_EBX_SMAP, CR4_SMAP},
        {policy->shown_7.ecx & CPUID_7_ECX_PKU, CR4_PKE},
        {policy->shows_cet ? 1 : 0, CR4_CET},
    };
    uint64_t allowed = CR4_ALWAYS;

    for (unsigned int i = 0; i < ARRAY_LEN(needs); i++) {
        allowed |= needs[i].shown != 0 ? needs[i].cr4 : 0;
    }
    return allowed;
}

/* Whether value holds all bits of the group or none. */
static bool is_all_or_none(uint64_t value, uint64_t group)
{
    return (value & group) == 0 || (value & group) == group;
}

bool xcr0_check(uint64_t value, uint64_t supported)
{
    const uint64_t avx512 = XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM;

    if ((value & ~supported) != 0 || (value & XCR0_X87) == 0) {
        return false;
    }
    if ((value & XCR0_AVX) != 0 && (value & XCR0_SSE) == 0) {
        return false;
    }
    if ((value & avx512) != 0 && (value & XCR0_AVX) == 0) {
        return false;
    }
    return is_all_or_none(value, avx512) && is_all_or_none(value, XCR0_BNDREGS | XCR0_BNDCSR) &&
           is_all_or_none(value, XCR0_TILECFG | XCR0_TILEDATA);
}
