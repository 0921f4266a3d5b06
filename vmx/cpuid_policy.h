/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_CPUID_POLICY_H
#define VMX_CPUID_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "core/cpuid_bits.h"
#include "vmx/caps.h"

/*
 * Which CPUID words the guest sees: an allow-list per register bit. A feature is shown only when
 * the hardware has it, its VM-execution, entry and exit controls are set up, and its state is
 * switched or owned by the guest. Leaves that are not listed are zero.
 */

/* How raw CPUID is executed: a callback, so that this stays pure. */
struct cpuid_source {
    void (*read)(void *context, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out);
    void *context;
};

/* Made once from one LP; the same for all (caps_equal). Treat as read-only afterwards. */
struct cpuid_policy {
    uint32_t max_basic_leaf;    /* shown */
    uint32_t max_extended_leaf; /* shown */
    uint32_t leaf7_max_subleaf; /* shown */
    uint32_t allow_1_ecx, allow_1_edx;
    uint32_t allow_7_ebx, allow_7_ecx, allow_7_edx;
    uint32_t allow_7_1_eax, allow_7_1_ebx, allow_7_1_edx;
    uint32_t allow_7_2_edx;
    uint32_t allow_d_1_eax;
    uint32_t allow_80000001_ecx, allow_80000001_edx;
    /* Shown = allowed and in hardware. */
    struct cpuid_regs shown_1, shown_7, shown_7_1, shown_80000001;
    uint64_t xcr0_supported; /* what XSETBV may set */
    uint64_t xss_supported;  /* what IA32_XSS may hold */
    uint32_t xsave_max_bytes;
    bool shows_pmu; /* CPUID.0AH version above 0 */
    bool shows_monitor, shows_cet, shows_user_wait, shows_xsaves, shows_x2apic, shows_amx;
};

/* The guest's registers that CPUID reflects. */
struct cpuid_guest_view {
    uint64_t cr4;       /* as the guest reads it */
    uint64_t apic_base; /* IA32_APIC_BASE as the guest reads it */
    bool is_64_bit;     /* CS.L and EFER.LMA: SYSCALL is reported in 64-bit mode only */
};

/* Fills the policy. */
void cpuid_policy_init(struct cpuid_policy *policy, const struct vmx_controls *controls,
                       const struct cpuid_source *source);

/* Turns the raw words of (leaf, subleaf), read on the guest's LP with the guest's XCR0 and IA32_XSS
 * in place, into those that the guest sees. Leaves 0x40000000-0x4FFFFFFF give zero: a caller that
 * has leaves of its own there answers them before. Context: exit path, no locks. */
void cpuid_policy_apply(const struct cpuid_policy *policy, uint32_t leaf, uint32_t subleaf,
                        const struct cpuid_guest_view *view, struct cpuid_regs *inout);

/* The CR4 bits that the guest may set, from the shown features. VMXE and SMXE are never among
 * them. */
uint64_t cr4_allowed(const struct cpuid_policy *policy);

/* Whether XSETBV(0, value) succeeds on a processor that supports these XCR0 bits; false: #GP.
 * SDM volume 2, "XSETBV". */
bool xcr0_check(uint64_t value, uint64_t supported) MUST_CHECK;

#endif
