/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/vmx_on.h"

#include <stddef.h>

#include "core/cpu.h"
#include "core/cpuid_bits.h"
#include "core/cr_bits.h"
#include "core/msr.h"
#include "vmx/vmx_insn.h"
#include "vmx/vmx_state.h"

#define CPUID_LEAF_7                  7u
#define CPUID_LEAF_D                  0xDu
#define SECONDARY_CONTROLS_ALLOWED    BIT64(63) /* of the primary controls' capability MSR */
#define SECONDARY_VMFUNC_ALLOWED      BIT64(45)
#define SECONDARY_EPT_OR_VPID_ALLOWED (BIT64(33) | BIT64(37))
#define CPUID_LEAF_PERFMON            0xAu
#define PERFMON_VERSION_MASK          0xFFu

static struct cpuid_regs cpuid_if(uint32_t max_leaf, uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_regs regs = {0, 0, 0, 0};

    if (leaf <= max_leaf) {
        cpu_cpuid(leaf, subleaf, &regs.eax, &regs.ebx, &regs.ecx, &regs.edx);
    }
    return regs;
}

static void read_features(struct vmx_cpu_features *features)
{
    struct cpuid_regs basic = cpuid_if(0, 0, 0);
    struct cpuid_regs extended;
    struct cpuid_regs regs;

    cpu_cpuid(0x80000000, 0, &extended.eax, &extended.ebx, &extended.ecx, &extended.edx);
    regs = cpuid_if(basic.eax, 1, 0);
    features->leaf1_ecx = regs.ecx;
    features->leaf1_edx = regs.edx;
    regs = cpuid_if(basic.eax, CPUID_LEAF_7, 0);
    features->leaf7_ebx = regs.ebx;
    features->leaf7_ecx = regs.ecx;
    features->leaf7_edx = regs.edx;
    if (regs.eax >= 1) {
        regs = cpuid_if(basic.eax, CPUID_LEAF_7, 1);
        features->leaf7_1_eax = regs.eax;
        features->leaf7_1_edx = regs.edx;
    }
    regs = cpuid_if(basic.eax, CPUID_LEAF_D, 1);
    features->leafd_1_eax = regs.eax;
    regs = cpuid_if(extended.eax, 0x80000001, 0);
    features->leaf80000001_ecx = regs.ecx;
    features->leaf80000001_edx = regs.edx;
    regs = cpuid_if(extended.eax, 0x80000008, 0);
    features->leaf80000008_eax = regs.eax;
}

static void read_true_controls(struct vmx_capability_msrs *msrs)
{
    msrs->true_pinbased_ctls = cpu_read_msr(MSR_IA32_VMX_TRUE_PINBASED_CTLS);
    msrs->true_procbased_ctls = cpu_read_msr(MSR_IA32_VMX_TRUE_PROCBASED_CTLS);
    msrs->true_exit_ctls = cpu_read_msr(MSR_IA32_VMX_TRUE_EXIT_CTLS);
    msrs->true_entry_ctls = cpu_read_msr(MSR_IA32_VMX_TRUE_ENTRY_CTLS);
}

static void read_secondary(struct vmx_capability_msrs *msrs)
{
    msrs->procbased_ctls2 = cpu_read_msr(MSR_IA32_VMX_PROCBASED_CTLS2);
    if ((msrs->procbased_ctls2 & SECONDARY_EPT_OR_VPID_ALLOWED) != 0) {
        msrs->ept_vpid_cap = cpu_read_msr(MSR_IA32_VMX_EPT_VPID_CAP);
    }
    if ((msrs->procbased_ctls2 & SECONDARY_VMFUNC_ALLOWED) != 0) {
        msrs->vmfunc = cpu_read_msr(MSR_IA32_VMX_VMFUNC);
    }
}

void vmx_read_capabilities(struct vmx_capability_msrs *msrs, struct vmx_cpu_features *features)
{
    *msrs = (struct vmx_capability_msrs){0};
    *features = (struct vmx_cpu_features){0};
    read_features(features);
    if ((features->leaf1_ecx & CPUID_1_ECX_VMX) == 0) {
        return;
    }
    msrs->feature_control = cpu_read_msr(MSR_IA32_FEATURE_CONTROL);
    msrs->basic = cpu_read_msr(MSR_IA32_VMX_BASIC);
    msrs->pinbased_ctls = cpu_read_msr(MSR_IA32_VMX_PINBASED_CTLS);
    msrs->procbased_ctls = cpu_read_msr(MSR_IA32_VMX_PROCBASED_CTLS);
    msrs->exit_ctls = cpu_read_msr(MSR_IA32_VMX_EXIT_CTLS);
    msrs->entry_ctls = cpu_read_msr(MSR_IA32_VMX_ENTRY_CTLS);
    msrs->misc = cpu_read_msr(MSR_IA32_VMX_MISC);
    msrs->cr0_fixed0 = cpu_read_msr(MSR_IA32_VMX_CR0_FIXED0);
    msrs->cr0_fixed1 = cpu_read_msr(MSR_IA32_VMX_CR0_FIXED1);
    msrs->cr4_fixed0 = cpu_read_msr(MSR_IA32_VMX_CR4_FIXED0);
    msrs->cr4_fixed1 = cpu_read_msr(MSR_IA32_VMX_CR4_FIXED1);
    if ((msrs->basic & IA32_VMX_BASIC_TRUE_CONTROLS) != 0) {
        read_true_controls(msrs);
    }
    if ((msrs->procbased_ctls & SECONDARY_CONTROLS_ALLOWED) != 0) {
        read_secondary(msrs);
    }
}

/* PEBS exists where the debug store and performance monitoring do, and IA32_MISC_ENABLE has it. */
static bool has_pebs(const struct vmx_cpu_features *features)
{
    struct cpuid_regs basic = cpuid_if(0, 0, 0);
    struct cpuid_regs perfmon = cpuid_if(basic.eax, CPUID_LEAF_PERFMON, 0);

    return (features->leaf1_edx & CPUID_1_EDX_DS) != 0 &&
           (perfmon.eax & PERFMON_VERSION_MASK) != 0 &&
           (cpu_read_msr(MSR_IA32_MISC_ENABLE) & IA32_MISC_ENABLE_PEBS_UNAVAILABLE) == 0;
}

void vmx_read_tracing(const struct vmx_cpu_features *features, struct vmx_tracing *out)
{
    *out = (struct vmx_tracing){0};
    if ((features->leaf7_ebx & CPUID_7_EBX_INTEL_PT) != 0) {
        uint64_t value = cpu_read_msr(MSR_IA32_RTIT_CTL);

        out->rtit_ctl = (value & IA32_RTIT_CTL_TRACE_EN) != 0 ? value : 0;
    }
    if (has_pebs(features)) {
        out->pebs_enable = cpu_read_msr(MSR_IA32_PEBS_ENABLE);
    }
}

void vmx_stop_tracing(const struct vmx_tracing *tracing)
{
    if (tracing->rtit_ctl != 0) {
        cpu_write_msr(MSR_IA32_RTIT_CTL, tracing->rtit_ctl & ~IA32_RTIT_CTL_TRACE_EN);
    }
    if (tracing->pebs_enable != 0) {
        cpu_write_msr(MSR_IA32_PEBS_ENABLE, 0);
    }
}

void vmx_restart_tracing(const struct vmx_tracing *tracing)
{
    if (tracing->rtit_ctl != 0) {
        cpu_write_msr(MSR_IA32_RTIT_CTL, tracing->rtit_ctl);
    }
    if (tracing->pebs_enable != 0) {
        cpu_write_msr(MSR_IA32_PEBS_ENABLE, tracing->pebs_enable);
    }
}

static void set_feature_control(void)
{
    uint64_t value = cpu_read_msr(MSR_IA32_FEATURE_CONTROL);

    if (caps_feature_control_state(value) == CAPS_FEATURE_CONTROL_NEEDS_LOCK) {
        cpu_write_msr(MSR_IA32_FEATURE_CONTROL, caps_feature_control_value(value));
    }
}

/* Neither VMXON nor VMPTRLD invalidates: what was cached under our VPIDs and EPT pointers by an
 * earlier hypervisor, or by an attempt of ours that was undone, would be used. */
static bool flush_translations(const struct vmx_controls *controls, const struct vmx_state *vmx)
{
    enum invept_type ept = controls->has_invept_all ? INVEPT_ALL_CONTEXTS : INVEPT_SINGLE_CONTEXT;
    enum invvpid_type vpid =
        controls->has_invvpid_all ? INVVPID_ALL_CONTEXTS : INVVPID_SINGLE_CONTEXT;

    return !vmx_failed(vmx_invept(ept, ept == INVEPT_ALL_CONTEXTS ? 0 : vmx->eptp)) &&
           !vmx_invvpid_failed(vpid, vpid == INVVPID_ALL_CONTEXTS ? 0 : vmx->vpid, 0);
}

/* Makes the vCPU's VMCS current and the TLB clean. NULL, or what failed. */
static const char *load_vmcs(const struct vmx_controls *controls, const struct vmx_state *vmx)
{
    if (vmx_failed(vmx_clear(vmx->vmcs.value))) {
        return "VMCLEAR failed";
    }
    if (vmx_failed(vmx_load(vmx->vmcs.value))) {
        return "VMPTRLD failed";
    }
    return flush_translations(controls, vmx) ? NULL : "INVEPT or INVVPID failed";
}

MUST_CHECK enum status vmx_enable(struct lp *lp, const struct vmx_controls *controls,
                                  const char **why)
{
    uint32_t *region = (uint32_t *)(uintptr_t)lp->vmxon_region;
    uint32_t *vmcs = (uint32_t *)(uintptr_t)lp->vcpu->vmx->vmcs.value;

    set_feature_control();
    lp->firmware_cr0 = cpu_read_cr0();
    lp->firmware_cr4 = cpu_read_cr4();
    region[0] = controls->vmcs_revision;
    vmcs[0] = controls->vmcs_revision;
    cpu_write_cr0((lp->firmware_cr0 | controls->cr0_fixed0) & controls->cr0_fixed1);
    cpu_write_cr4((lp->firmware_cr4 | controls->cr4_fixed0 | CR4_VMXE) & controls->cr4_fixed1);
    *why = "VMXON failed";
    if (vmx_failed(vmx_on(lp->vmxon_region))) {
        cpu_write_cr4(lp->firmware_cr4);
        cpu_write_cr0(lp->firmware_cr0);
        return STATUS_VMX_FAILED;
    }
    lp->is_in_vmx = true;
    *why = load_vmcs(controls, lp->vcpu->vmx);
    if (*why == NULL) {
        return STATUS_OK;
    }
    vmx_disable(lp);
    return STATUS_VMX_FAILED;
}

enum status vmx_leave_operation(struct lp *lp)
{
    if (vmx_failed(vmx_clear(lp->vcpu->vmx->vmcs.value)) || vmx_failed(vmx_off())) {
        return STATUS_VMX_FAILED;
    }
    lp->is_in_vmx = false;
    return STATUS_OK;
}

void vmx_disable(struct lp *lp)
{
    /* With CR4.VMXE cleared while still in VMX operation the processor would fault. */
    if (lp->is_in_vmx && vmx_leave_operation(lp) == STATUS_OK) {
        cpu_write_cr4(lp->firmware_cr4);
        cpu_write_cr0(lp->firmware_cr0);
    }
}
