/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cpu.h"
#include "core/idt.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/exits.h"
#include "vmx/hv_ops.h"
#include "vmx/nmi.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

static const struct msr_policy_context *policy_of(const struct vcpu *vcpu)
{
    return vmx_state_is_x2apic(vcpu->vmx) ? &vcpu->partition->msr_x2apic
                                          : &vcpu->partition->msr_xapic;
}

static bool read_emulated(struct vcpu *vcpu, uint32_t msr, enum msr_handler handler,
                          uint64_t *value)
{
    switch (handler) {
    case MSR_HANDLER_FEATURE_CONTROL:
        *value = IA32_FEATURE_CONTROL_LOCK;
        return true;
    case MSR_HANDLER_APIC_BASE:
        *value = vcpu->vmx->apic_base;
        return true;
    case MSR_HANDLER_MTRR:
        return mtrr_shadow_read(&vcpu->vmx->mtrrs, msr, value);
    case MSR_HANDLER_DEBUGCTL:
        *value = vmcs_read64(VMCS_GUEST_IA32_DEBUGCTL);
        return true;
    case MSR_HANDLER_SWALLOW:
        *value = 0;
        return true;
    case MSR_HANDLER_FILTER:
        if (!safe_read_msr(msr, value)) {
            return false;
        }
        *value = msr_filter_read(policy_of(vcpu), msr, *value);
        return true;
    case MSR_HANDLER_X2APIC_ICR:
        /* The hardware's holds our last kick. */
        *value = vcpu->vmx->x2apic_icr;
        return vmx_state_is_x2apic(vcpu->vmx);
    case MSR_HANDLER_NONE:
    case MSR_HANDLER_TSC:
    case MSR_HANDLER_TSC_ADJUST:
    case MSR_HANDLER_X2APIC_LVT_PMI:
    case MSR_HANDLER_COUNT:
        return safe_read_msr(msr, value);
    }
    return false;
}

/* 40000000H to 400000FFH and beyond: the Microsoft interface's. */
static enum exit_action read_synthetic(struct lp *lp, struct vcpu *vcpu, uint32_t msr)
{
    uint64_t value;

    if (hyperv_read_msr(&lp->hv->vp, msr, &value) != HYPERV_MSR_OK) {
        return EXIT_ACTION_GP;
    }
    vcpu->gpr[GPR_RAX] = (uint32_t)value;
    vcpu->gpr[GPR_RDX] = value >> 32;
    return EXIT_ACTION_ADVANCE;
}

enum exit_action exit_rdmsr(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t msr = (uint32_t)vcpu->gpr[GPR_RCX];
    struct msr_rule rule;
    uint64_t value = 0;

    if (hyperv_has_msr(msr)) {
        return read_synthetic(lp, vcpu, msr);
    }
    rule = msr_policy_lookup(policy_of(vcpu), msr);
    if (rule.read == MSR_FAULT || !read_emulated(vcpu, msr, rule.handler, &value)) {
        return EXIT_ACTION_GP;
    }
    vcpu->gpr[GPR_RAX] = (uint32_t)value;
    vcpu->gpr[GPR_RDX] = value >> 32;
    return EXIT_ACTION_ADVANCE;
}

/* Whether all LPs have been changed alike. */
static bool tscs_agree(const struct lp *lp)
{
    const struct machine *machine = lp->machine;
    bool agrees = true;

    for (uint32_t i = 0; i < machine->lp_count; i++) {
        /* Acquire: pairs with the release in correct_tsc. */
        agrees &= atomic_load_explicit(&machine->lps[i]->tsc_correction, memory_order_acquire) ==
                  lp_tsc_correction(lp);
    }
    return agrees;
}

/*
 * The reference TSC page is valid only while all LPs have been changed alike. Several may change
 * and publish at once: whoever publishes looks again. A change that this look misses was stored
 * after it, and its LP publishes after that; the lock in hyperv_reference_tsc_agree orders the two,
 * so the last word is that of one who has seen all changes.
 */
static void follow_tsc(struct lp *lp)
{
    bool agrees;

    do {
        agrees = tscs_agree(lp);
        hyperv_reference_tsc_agree(&lp->hv->vp, agrees, lp_tsc_correction(lp));
    } while (tscs_agree(lp) != agrees);
}

static void correct_tsc(struct lp *lp, int64_t added)
{
    /* Release: pairs with the acquire in tscs_agree. Only this LP writes. */
    atomic_store_explicit(&lp->tsc_correction, lp_tsc_correction(lp) + added, memory_order_release);
    /* An NMI between the write and this line saw a wrong time. */
    lp->nmi_account.doubt_until = 0;
    follow_tsc(lp);
}

/*
 * The guest's writes take effect; what they add is remembered, so that our own times stay right.
 * The processor adds the same to IA32_TSC_ADJUST (SDM volume 3, "IA32_TSC_ADJUST Register
 * Support"), which says exactly what it was; without that register it is known but for the ticks
 * that pass in between.
 */
static bool write_tsc(struct lp *lp, const struct vcpu *vcpu, uint64_t value)
{
    bool is_exact = (vcpu->partition->cpuid.shown_7.ebx & CPUID_7_EBX_TSC_ADJUST) != 0;
    uint64_t adjust_before = is_exact ? cpu_read_msr(MSR_IA32_TSC_ADJUST) : 0;
    uint64_t before = cpu_read_tsc();

    if (!safe_write_msr(MSR_IA32_TIME_STAMP_COUNTER, value)) {
        return false;
    }
    correct_tsc(lp, (int64_t)(is_exact ? cpu_read_msr(MSR_IA32_TSC_ADJUST) - adjust_before
                                       : value - before));
    return true;
}

static bool write_tsc_adjust(struct lp *lp, uint64_t value)
{
    uint64_t before;

    if (!safe_read_msr(MSR_IA32_TSC_ADJUST, &before) ||
        !safe_write_msr(MSR_IA32_TSC_ADJUST, value)) {
        return false;
    }
    correct_tsc(lp, (int64_t)(value - before));
    return true;
}

static bool write_filtered(struct vcpu *vcpu, uint32_t msr, uint64_t value)
{
    uint64_t current = 0;
    uint64_t out;

    /* A register that can only be written reads as #GP: then there is no current value. */
    if (!safe_read_msr(msr, &current)) {
        current = 0;
    }
    return msr_filter_write(policy_of(vcpu), msr, value, current, &out) && safe_write_msr(msr, out);
}

static bool write_mtrr(struct lp *lp, struct vcpu *vcpu, uint32_t msr, uint64_t value)
{
    bool rebuild = false;

    if (!mtrr_shadow_write(&vcpu->vmx->mtrrs, msr, value, &rebuild)) {
        return false;
    }
    if (rebuild) {
        mtrr_guest_changed(lp, vcpu);
    }
    return true;
}

/* Which bits exist is the processor's to say: a value that it refuses would fail the VM entry. */
static bool write_debugctl(uint64_t value)
{
    if (!msr_debugctl_check(value) || !safe_write_msr(MSR_IA32_DEBUGCTL, value)) {
        return false;
    }
    cpu_write_msr(MSR_IA32_DEBUGCTL, 0);
    vmcs_write64(VMCS_GUEST_IA32_DEBUGCTL, value);
    return true;
}

static bool write_lvt_pmi(struct vcpu *vcpu, uint64_t value)
{
    if (!safe_write_msr(MSR_IA32_X2APIC_LVT_PMI, value)) {
        return false;
    }
    nmi_guest_wrote_lvt_pmi(vcpu, (uint32_t)value);
    return true;
}

static enum exit_action action_of(bool succeeded)
{
    return succeeded ? EXIT_ACTION_ADVANCE : EXIT_ACTION_GP;
}

static enum exit_action write_emulated(struct lp *lp, struct vcpu *vcpu, uint32_t msr,
                                       enum msr_handler handler, uint64_t value)
{
    switch (handler) {
    case MSR_HANDLER_X2APIC_ICR:
        return apic_guest_wrote_x2apic_icr(lp, vcpu, value);
    case MSR_HANDLER_X2APIC_LVT_PMI:
        return action_of(write_lvt_pmi(vcpu, value));
    case MSR_HANDLER_APIC_BASE:
        return apic_guest_wrote_base(lp, vcpu, value);
    case MSR_HANDLER_TSC:
        return action_of(write_tsc(lp, vcpu, value));
    case MSR_HANDLER_TSC_ADJUST:
        return action_of(write_tsc_adjust(lp, value));
    case MSR_HANDLER_MTRR:
        return action_of(write_mtrr(lp, vcpu, msr, value));
    case MSR_HANDLER_DEBUGCTL:
        return action_of(write_debugctl(value));
    case MSR_HANDLER_FILTER:
        return action_of(write_filtered(vcpu, msr, value));
    case MSR_HANDLER_SWALLOW:
        return EXIT_ACTION_ADVANCE;
    case MSR_HANDLER_FEATURE_CONTROL:
        return EXIT_ACTION_GP;
    case MSR_HANDLER_NONE:
    case MSR_HANDLER_COUNT:
        break;
    }
    return action_of(safe_write_msr(msr, value));
}

enum exit_action exit_wrmsr(struct lp *lp, struct vcpu *vcpu)
{
    uint32_t msr = (uint32_t)vcpu->gpr[GPR_RCX];
    uint64_t value = (uint32_t)vcpu->gpr[GPR_RAX] | (vcpu->gpr[GPR_RDX] << 32);
    struct msr_rule rule;

    if (hyperv_has_msr(msr)) {
        return hyperv_write_msr(&lp->hv->vp, msr, value) == HYPERV_MSR_OK ? EXIT_ACTION_ADVANCE
                                                                          : EXIT_ACTION_GP;
    }
    rule = msr_policy_lookup(policy_of(vcpu), msr);
    if (rule.write == MSR_FAULT) {
        log_line(LOG_DEBUG, "msr", "WRMSR %x := %016llx refused", msr, (unsigned long long)value);
        return EXIT_ACTION_GP;
    }
    return write_emulated(lp, vcpu, msr, rule.handler, value);
}
