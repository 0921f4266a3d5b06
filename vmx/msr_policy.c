/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/msr_policy.h"

#include "core/bits.h"
#include "core/msr.h"
#include "vmx/msr_table.h"

#define MC_BANKS_MAX 32u

/* IA32_ARCH_CAPABILITIES: bits that announce MSRs which the guest does not get: MCU_CONTROL,
 * MCU_ENUMERATION (microcode staging), MCU_EXTENDED_SERVICE, OVERCLOCKING_STATUS. */
#define ARCH_CAPABILITIES_HIDDEN (BIT64(9) | BIT64(16) | BIT64(22) | BIT64(23))

/* IA32_PERF_CAPABILITIES: PEBS trap, registers, format, baseline, output to PT, timed. */
#define PERF_CAPABILITIES_HIDDEN (MASK64(11, 6) | BIT64(14) | MASK64(17, 16))

#define MISC_ENABLE_BTS_UNAVAILABLE BIT64(11)
#define MISC_ENABLE_XD_DISABLE      BIT64(34)
/* Fast strings, thermal control, SpeedStep, MONITOR, SpeedStep lock, CPUID limit, xTPR, turbo. */
#define MISC_ENABLE_GUEST \
    (BIT64(0) | BIT64(3) | BIT64(16) | BIT64(18) | BIT64(20) | BIT64(22) | BIT64(23) | BIT64(38))

/* LBR, BTF, BLD, freeze LBRs and counters on PMI, uncore PMI, freeze while SMM, RTM debug. */
#define DEBUGCTL_GUEST \
    (BIT64(0) | BIT64(1) | BIT64(2) | BIT64(11) | BIT64(12) | BIT64(13) | BIT64(14) | BIT64(15))

void msr_policy_context_init(struct msr_policy_context *context, const struct cpuid_policy *cpuid,
                             uint64_t mcg_cap)
{
    *context = (struct msr_policy_context){
        .x2apic_passes = cpuid->shows_x2apic,
        .icr_passes = false,
        .shows_pmu = cpuid->shows_pmu,
        .shows_cet = cpuid->shows_cet,
        .shows_user_wait = cpuid->shows_user_wait,
        .shows_xsaves = cpuid->shows_xsaves,
        .mc_banks = (uint8_t)bits_get(mcg_cap, 7, 0),
        .xss_allowed = cpuid->xss_supported,
    };
}

static uint32_t bank_count(const struct msr_policy_context *context)
{
    return context->mc_banks < MC_BANKS_MAX ? context->mc_banks : MC_BANKS_MAX;
}

/* The last MSR of a row, which for machine-check banks depends on their number. */
static uint32_t row_last(const struct msr_policy_context *context, const struct msr_row *row)
{
    uint32_t banks = bank_count(context);

    if (row->condition == MSR_WHEN_BANKS && banks != 0) {
        return row->first + banks - 1;
    }
    if (row->condition == MSR_WHEN_BANKS_4 && banks != 0) {
        return row->first + 4 * banks - 1;
    }
    return row->last;
}

static bool row_holds(const struct msr_policy_context *context, enum msr_condition condition)
{
    switch (condition) {
    case MSR_WHEN_ALWAYS:
        return true;
    case MSR_WHEN_X2APIC:
        return context->x2apic_passes;
    case MSR_WHEN_PMU:
        return context->shows_pmu;
    case MSR_WHEN_CET:
        return context->shows_cet;
    case MSR_WHEN_USER_WAIT:
        return context->shows_user_wait;
    case MSR_WHEN_XSAVES:
        return context->shows_xsaves;
    case MSR_WHEN_BANKS:
    case MSR_WHEN_BANKS_4:
        return context->mc_banks != 0;
    default:
        return false;
    }
}

static struct msr_rule row_rule(const struct msr_policy_context *context, const struct msr_row *row)
{
    const struct msr_rule fault = {MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE};
    const struct msr_rule pass = {MSR_PASS, MSR_PASS, MSR_HANDLER_NONE};

    if (!row_holds(context, row->condition)) {
        return fault;
    }
    if (row->handler == MSR_HANDLER_X2APIC_ICR && context->icr_passes) {
        return pass;
    }
    return (struct msr_rule){row->read, row->write, row->handler};
}

bool msr_policy_range(const struct msr_policy_context *context, unsigned int index,
                      struct msr_range *range)
{
    if (index >= msr_row_count) {
        return false;
    }
    range->first = msr_rows[index].first;
    range->last = row_last(context, &msr_rows[index]);
    range->rule = row_rule(context, &msr_rows[index]);
    return true;
}

struct msr_rule msr_policy_lookup(const struct msr_policy_context *context, uint32_t msr)
{
    struct msr_range range;
    unsigned int low = 0;
    unsigned int high = msr_row_count;

    while (low < high) {
        unsigned int middle = low + (high - low) / 2;

        (void)msr_policy_range(context, middle, &range);
        if (msr < range.first) {
            high = middle;
        } else if (msr > range.last) {
            low = middle + 1;
        } else {
            return range.rule;
        }
    }
    return (struct msr_rule){MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE};
}

uint64_t msr_filter_read(const struct msr_policy_context *context, uint32_t msr, uint64_t raw)
{
    switch (msr) {
    case MSR_IA32_ARCH_CAPABILITIES:
        return raw & ~ARCH_CAPABILITIES_HIDDEN;
    case MSR_IA32_PERF_CAPABILITIES:
        return raw & ~PERF_CAPABILITIES_HIDDEN;
    case MSR_IA32_MISC_ENABLE:
        return raw | MISC_ENABLE_BTS_UNAVAILABLE | IA32_MISC_ENABLE_PEBS_UNAVAILABLE;
    case MSR_IA32_XSS:
        return raw & context->xss_allowed;
    default:
        return raw;
    }
}

bool msr_filter_write(const struct msr_policy_context *context, uint32_t msr, uint64_t value,
                      uint64_t current, uint64_t *out)
{
    switch (msr) {
    case MSR_IA32_MISC_ENABLE:
        /* XD disable may be cleared, never set: our own page tables and EFER need NX. */
        *out = (current & ~MISC_ENABLE_GUEST & ~MISC_ENABLE_XD_DISABLE) |
               (value & MISC_ENABLE_GUEST) | (current & value & MISC_ENABLE_XD_DISABLE);
        return true;
    case MSR_IA32_XSS:
        *out = value;
        return (value & ~context->xss_allowed) == 0;
    default:
        return false;
    }
}

bool msr_debugctl_check(uint64_t value)
{
    return (value & ~DEBUGCTL_GUEST) == 0;
}
