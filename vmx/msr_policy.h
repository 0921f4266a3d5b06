/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_MSR_POLICY_H
#define VMX_MSR_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "vmx/cpuid_policy.h"

/*
 * What a guest's RDMSR and WRMSR may do: one table of ranges, an allow-list. What is not listed
 * exits and gets #GP. MSRs that make the processor write to memory behind EPT (Processor Trace, DS
 * area, hardware feedback, remote action request, microcode staging) are not listed. A listed MSR
 * that this processor lacks gets #GP from the processor itself.
 */

enum msr_action {
    MSR_FAULT,   /* exits; inject #GP(0) */
    MSR_PASS,    /* does not exit */
    MSR_EMULATE, /* exits; the handler below */
};

enum msr_handler {
    MSR_HANDLER_NONE,
    /* Safe RDMSR, then msr_filter_read; msr_filter_write, then safe WRMSR; a fault is #GP. */
    MSR_HANDLER_FILTER,
    MSR_HANDLER_SWALLOW,         /* write: nothing happens. BIOS_UPDT_TRIG */
    MSR_HANDLER_FEATURE_CONTROL, /* read: IA32_FEATURE_CONTROL_LOCK; writes fault */
    MSR_HANDLER_TSC,             /* write: 0x10 */
    MSR_HANDLER_TSC_ADJUST,      /* write: 0x3B */
    MSR_HANDLER_APIC_BASE,       /* read and write */
    MSR_HANDLER_MTRR,            /* read and write, IA32_MTRRCAP (read) included */
    MSR_HANDLER_DEBUGCTL,        /* write: check by msr_debugctl_check, store in the VMCS */
    MSR_HANDLER_X2APIC_ICR,      /* read and write */
    MSR_HANDLER_X2APIC_LVT_PMI,  /* write */
    MSR_HANDLER_COUNT
};

/* What the table depends on; one per vCPU or one for all. */
struct msr_policy_context {
    bool x2apic_passes; /* guest's APIC is in x2APIC mode by its own view */
    bool icr_passes;    /* guest-ipi=direct */
    bool shows_pmu, shows_cet, shows_user_wait, shows_xsaves;
    uint8_t mc_banks;     /* IA32_MCG_CAP[7:0] */
    uint64_t xss_allowed; /* cpuid_policy.xss_supported */
};

struct msr_rule {
    enum msr_action read, write;
    enum msr_handler handler;
};

/* Fills the context: x2APIC passes when shown, the ICR does not. mcg_cap: IA32_MCG_CAP, 0 if
 * absent. */
void msr_policy_context_init(struct msr_policy_context *context, const struct cpuid_policy *cpuid,
                             uint64_t mcg_cap);

/* The rule for an MSR; MSR_FAULT both ways for one that is not listed. */
struct msr_rule msr_policy_lookup(const struct msr_policy_context *context, uint32_t msr);

/* MSR_HANDLER_FILTER: what the guest reads where the processor holds raw. Any context, as all
 * here. */
uint64_t msr_filter_read(const struct msr_policy_context *context, uint32_t msr, uint64_t raw);

/* MSR_HANDLER_FILTER: judges a write. current is the processor's value. True: *out is what to write
 * (safely) to the processor. False: #GP. */
bool msr_filter_write(const struct msr_policy_context *context, uint32_t msr, uint64_t value,
                      uint64_t current, uint64_t *out) MUST_CHECK;

/* Whether the guest may set IA32_DEBUGCTL to value; false: #GP. BTS and trace bits are refused:
 * they write to the DS area. The processor may lack some of the rest, and VM entry fails on those:
 * try the value with a safe WRMSR in root mode (then write 0) before it goes into the VMCS. */
bool msr_debugctl_check(uint64_t value) MUST_CHECK;

/* Walks the table, for the bitmap and for tests: range number index, or false past the end. */
struct msr_range {
    uint32_t first, last;
    struct msr_rule rule; /* with this context */
};
bool msr_policy_range(const struct msr_policy_context *context, unsigned int index,
                      struct msr_range *range);

#endif
