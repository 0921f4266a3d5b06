/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/resident.h"
#include "boot/startup.h"
#include "core/apic.h"
#include "core/cpu.h"
#include "core/cr_bits.h"
#include "core/fmt.h"
#include "core/msr.h"
#include "vmx/entry.h"
#include "vmx/guest_state.h"
#include "vmx/inject_fault.h"
#include "vmx/leave.h"
#include "vmx/names.h"
#include "vmx/run.h"
#include "vmx/vmcs.h"
#include "vmx/vmcs_setup.h"
#include "vmx/vmx_on.h"
#include "vmx/vmx_state.h"

/*
 * One processor's way into VMX non-root operation, and back. It lies in the firmware's memory,
 * since the guest that comes out of virtualise() can see nothing of struct lp; one for each LP,
 * since an LP that did not answer in time might still write to it.
 */
struct entry_request {
    const struct startup *startup;
    struct lp *lp;
    const struct vmx_tracing *tracing; /* what the firmware had on */
    bool has_failed;
    bool has_timed_out; /* set by the boot processor */
    char why[160];
};

static void fail(struct entry_request *request, const char *why)
{
    request->has_failed = true;
    (void)fmt_print(request->why, sizeof(request->why), "%s", why);
}

static void take_apic_state(struct vcpu *vcpu)
{
    struct vmx_state *vmx = vcpu->vmx;
    bool is_x2apic;

    vmx->apic_base = cpu_read_msr(MSR_IA32_APIC_BASE);
    is_x2apic = (vmx->apic_base & IA32_APIC_BASE_EXTD) != 0;
    vmx_state_set_apic_mode(vmx, is_x2apic, (vmx->apic_base & IA32_APIC_BASE_ENABLE) != 0);
    if (!is_x2apic) {
        vmx->icr_high = apic_read(APIC_ICR_HIGH) & 0xFF000000;
        vmx_state_set_ldr(vmx, apic_read(APIC_LDR));
        vmx_state_set_dfr(vmx, apic_read(APIC_DFR));
    }
    vmx->is_pmi_armed = (apic_read(APIC_LVT_PMI) & APIC_LVT_MASKED) == 0;
}

/* Whether a test wants this LP to fail: LP01, or the boot processor. */
static bool is_spoilt(const struct entry_request *request, enum config_inject on_lp1,
                      enum config_inject on_boot_lp)
{
    const struct startup *startup = request->startup;

    return (request->lp->lp_id == 1 && inject_fault_is(&startup->config, on_lp1)) ||
           (request->lp->lp_id == startup->mp.boot_lp &&
            inject_fault_is(&startup->config, on_boot_lp));
}

static bool fill_vmcs(struct entry_request *request)
{
    const struct startup *startup = request->startup;
    struct partition *partition = startup->machine->partition;
    struct host_environment environment = {
        .cr3 = startup->host_cr3,
        .idt = startup->host_idt,
        .exit_entry = resident_address(startup->resident, (const void *)(uintptr_t)vmx_exit_entry),
    };
    uint32_t encoding;

    vmcs_begin_bring_up();
    vmcs_setup_controls(partition, request->lp->vcpu);
    vmcs_setup_host(request->lp, &environment);
    guest_state_capture(partition, request->lp->vcpu);
    /* As the firmware had it, not as VMX operation wants it. */
    guest_state_write_cr0(partition, request->lp->firmware_cr0);
    if (vmcs_take_failure(&encoding)) {
        (void)fmt_print(request->why, sizeof(request->why), "VMWRITE of %s failed",
                        vmcs_field_name(encoding));
        request->has_failed = true;
        return false;
    }
    if (is_spoilt(request, CONFIG_INJECT_LP1_ENTRY, CONFIG_INJECT_BSP_ENTRY)) {
        vmcs_write32(VMCS_VM_ENTRY_CONTROLS, 0);
    }
    if (is_spoilt(request, CONFIG_INJECT_LP1_STATE, CONFIG_INJECT_NONE)) {
        vmcs_write32(VMCS_GUEST_ACTIVITY_STATE, UINT32_MAX);
    }
    return true;
}

/* What VMLAUNCH said when it returned. An entry that fails on guest state exits to root mode, which
 * reports it and comes back. */
static void explain_launch(struct entry_request *request, enum entry_outcome outcome)
{
    uint64_t error = 0;

    if (outcome == ENTRY_FAIL_STATE) {
        fail(request, "the first VM entry failed, see the report above");
        return;
    }
    if (outcome == ENTRY_FAIL_INVALID || vmx_failed(vmx_read(VMCS_VM_INSTRUCTION_ERROR, &error))) {
        fail(request, "VMLAUNCH: VMfailInvalid");
        return;
    }
    (void)fmt_print(request->why, sizeof(request->why), "VMLAUNCH: %s",
                    vmx_instruction_error_name((uint32_t)error));
    request->has_failed = true;
}

/* Root mode uses VPID 0, as the firmware did, and a VM exit does not flush: drops the firmware's
 * translations, the global ones too. What is cached from here to the entry are a few pages that
 * both page tables map to themselves. */
static void flush_firmware_translations(void)
{
    uint64_t cr4 = cpu_read_cr4();

    cpu_write_cr4(cr4 & ~CR4_PGE);
    cpu_write_cr3(cpu_read_cr3());
    cpu_write_cr4(cr4);
}

static void enter(struct entry_request *request)
{
    struct lp *lp = request->lp;
    enum entry_outcome outcome;

    run_prepare_first_exit(lp, resident_address(request->startup->resident,
                                                (const void *)(uintptr_t)entry_first_exit));
    /* Release pairs with the acquire in print_lps (core/panic.c): the vCPU is filled in. */
    atomic_store_explicit(&lp->shared.running, lp->vcpu, memory_order_release);
    lp_set_virtualised(lp, true);
    flush_firmware_translations();
    outcome = entry_launch_here(lp);
    if (outcome == ENTRY_EXITED) {
        return; /* as the guest: lp is hidden now */
    }
    if (outcome != ENTRY_FAIL_STATE) { /* else leave.c has done it */
        lp_set_virtualised(lp, false);
    }
    explain_launch(request, outcome);
    vmx_disable(lp);
}

/* On each LP, by MP Services. Interrupts are off until the guest's are on again. */
static void EFIAPI virtualise(void *argument)
{
    struct entry_request *request = argument;
    struct vmx_controls controls = request->startup->controls;
    bool had_interrupts = cpu_interrupts_are_on();
    const char *why;

    if (is_spoilt(request, CONFIG_INJECT_LP1_VMXON, CONFIG_INJECT_NONE)) {
        controls.vmcs_revision ^= 1;
    }

    cpu_disable_interrupts();
    vmx_stop_tracing(request->tracing);
    take_apic_state(request->lp->vcpu);
    if (vmx_enable(request->lp, &controls, &why) != STATUS_OK) {
        fail(request, why);
    } else if (fill_vmcs(request)) {
        enter(request);
    } else {
        vmx_disable(request->lp);
    }
    if (request->has_failed) {
        vmx_restart_tracing(request->tracing);
    }
    if (had_interrupts) {
        cpu_enable_interrupts();
    }
}

/* On an LP that is a guest already: back to what it was, if root mode can. */
static void EFIAPI leave(void *argument)
{
    const struct entry_request *request = argument;
    bool had_interrupts = cpu_interrupts_are_on();

    cpu_disable_interrupts();
    leave_request();
    vmx_restart_tracing(request->tracing);
    if (had_interrupts) {
        cpu_enable_interrupts();
    }
}

static EFI_STATUS virtualise_one(struct startup *startup, UINTN index)
{
    struct entry_request *request = &startup->requests[index];
    EFI_STATUS status = efi_mp_run(&startup->mp, index, virtualise, request);
    /* Only an LP that has finished has written its request to the end. */
    bool has_failed = !EFI_ERROR(status) && request->has_failed;

    request->has_timed_out = status == EFI_TIMEOUT;
    if (EFI_ERROR(status) || has_failed) {
        efi_console_line(LOG_ERROR, "LP%02u (APIC id %x) cannot be virtualised: %s",
                         (unsigned int)index, startup->lps[index].apic_id,
                         has_failed ? request->why : efi_status_name(status));
    }
    return has_failed ? EFI_DEVICE_ERROR : status;
}

/* Returns whether nothing of ours is in use on this LP any more. One that did not answer in time
 * may have become a guest since, and may still become one. */
static bool undo_one(struct startup *startup, UINTN index)
{
    struct entry_request *request = &startup->requests[index];
    EFI_STATUS status;

    if (!request->has_timed_out && !request->lp->is_in_vmx) {
        return true;
    }
    status = efi_mp_run(&startup->mp, index, leave, request);
    if (EFI_ERROR(status) || request->lp->is_in_vmx) {
        efi_console_line(LOG_ERROR, "LP%02u (APIC id %x) does not leave VMX operation: %s",
                         (unsigned int)index, startup->lps[index].apic_id,
                         EFI_ERROR(status) ? efi_status_name(status)
                                           : "it goes on as a guest of Sluice");
        return false;
    }
    return !request->has_timed_out;
}

static bool was_unlocked(const struct startup *startup)
{
    for (UINTN i = 0; i < startup->mp.count; i++) {
        if (caps_feature_control_state(startup->surveys[i].msrs.feature_control) ==
            CAPS_FEATURE_CONTROL_NEEDS_LOCK) {
            return true;
        }
    }
    return false;
}

static void undo(struct startup *startup)
{
    unsigned int left = 0;

    for (UINTN i = 0; i < startup->mp.count; i++) {
        left += !undo_one(startup, i);
    }
    if (left == 0) {
        efi_console_line(LOG_ERROR, "no LP is in VMX operation any more; all is as before%s",
                         was_unlocked(startup) ? ", but IA32_FEATURE_CONTROL stays locked" : "");
        return;
    }
    startup->is_pinned = true;
    startup->machine->leave_entry = 0; /* this code goes away with the image */
    efi_console_line(LOG_ERROR,
                     "%u LPs may still use Sluice's memory (%llx, %u KiB): it is not given back; "
                     "restart the machine",
                     left, (unsigned long long)startup->resident,
                     (unsigned int)(startup->resident_pages * PAGE_BYTES / 1024));
}

static EFI_STATUS make_requests(struct startup *startup)
{
    EFI_STATUS status = startup->services->AllocatePool(
        EfiLoaderData, startup->mp.count * sizeof(struct entry_request),
        (void **)&startup->requests);

    if (EFI_ERROR(status)) {
        startup->requests = NULL;
        efi_console_line(LOG_ERROR, "there is too little memory for the start of the LPs");
        return status;
    }
    for (UINTN i = 0; i < startup->mp.count; i++) {
        startup->requests[i] = (struct entry_request){.startup = startup,
                                                      .lp = startup->machine->lps[i],
                                                      .tracing = &startup->surveys[i].tracing};
    }
    return EFI_SUCCESS;
}

static EFI_STATUS virtualise_all(struct startup *startup)
{
    UINTN boot_lp = startup->mp.boot_lp;
    EFI_STATUS status = EFI_SUCCESS;

    for (UINTN i = 0; i < startup->mp.count && !EFI_ERROR(status); i++) {
        if (i != boot_lp) {
            status = virtualise_one(startup, i);
        }
    }
    if (EFI_ERROR(status)) {
        return status;
    }
    efi_console_line(LOG_INFO, "%u LPs run as guests; the boot processor follows",
                     (unsigned int)startup->mp.count - 1);
    log_drain();
    /* Release: everything above is visible to an LP that sees it; pairs with the acquire loads in
     * vmx/exit_signal.c and vmx/leave.c. */
    atomic_store_explicit(&startup->machine->is_started, true, memory_order_release);
    status = virtualise_one(startup, boot_lp);
    if (EFI_ERROR(status)) {
        /* Release: as above, for the LPs that are to go back (vmx/leave.c). */
        atomic_store_explicit(&startup->machine->is_started, false, memory_order_release);
    }
    return status;
}

EFI_STATUS startup_virtualise(struct startup *startup)
{
    EFI_STATUS status = make_requests(startup);

    if (EFI_ERROR(status)) {
        return status;
    }
    status = virtualise_all(startup);
    if (EFI_ERROR(status)) {
        undo(startup);
    } else {
        efi_console_use_log(false);
    }
    if (!startup->is_pinned) {
        startup->services->FreePool(startup->requests);
        startup->requests = NULL;
    }
    return status;
}
