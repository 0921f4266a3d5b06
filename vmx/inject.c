/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/inject.h"

#include "core/cr_bits.h"
#include "core/msr.h"
#include "vmx/exit_decode.h"
#include "vmx/guest_state.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

#define ERROR_CODE_DF 0u

/* The guest's double fault while a double fault was delivered: it shuts down. */
static void set_triple_fault(struct vcpu *vcpu)
{
    vcpu->vmx->event = (struct pending_event){0};
    vcpu->vmx->is_triple_fault = true;
}

void inject_exception(struct vcpu *vcpu, uint8_t vector, uint32_t error_code)
{
    struct pending_event *event = &vcpu->vmx->event;
    bool is_protected = (vmcs_read(VMCS_GUEST_CR0) & CR0_PE) != 0;

    switch (exception_merge(event->information, vector)) {
    case EXCEPTION_MERGE_TRIPLE_FAULT:
        set_triple_fault(vcpu);
        return;
    case EXCEPTION_MERGE_DOUBLE_FAULT:
        vector = EXCEPTION_DF;
        error_code = ERROR_CODE_DF;
        break;
    case EXCEPTION_MERGE_NEW:
        break;
    }
    event->information = exit_encode_injection(INTERRUPTION_HARDWARE_EXCEPTION, vector,
                                               is_protected && exception_has_error_code(vector));
    event->error_code = error_code;
    event->instruction_length = 0;
    stats_count(&vcpu->stats, STAT_FAULTS_INJECTED);
}

void inject_keep_interrupted_event(struct vcpu *vcpu)
{
    uint32_t information = vmcs_read32(VMCS_IDT_VECTORING_INFORMATION);
    struct interruption interruption;

    exit_decode_interruption(information, &interruption);
    if (!interruption.is_valid) {
        return;
    }
    if (interruption.type == INTERRUPTION_NMI) {
        /* The delivery set the blocking; it begins anew. */
        vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE,
                     vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) &
                         ~INTERRUPTIBILITY_BLOCKING_BY_NMI);
    }
    vcpu->vmx->event.information =
        exit_encode_injection(interruption.type, interruption.vector, interruption.has_error_code);
    vcpu->vmx->event.error_code =
        interruption.has_error_code ? vmcs_read32(VMCS_IDT_VECTORING_ERROR_CODE) : 0;
    vcpu->vmx->event.instruction_length = exit_injection_needs_length(interruption.type)
                                              ? vmcs_read32(VMCS_VM_EXIT_INSTRUCTION_LENGTH)
                                              : 0;
}

void inject_keep_nmis_blocked(bool is_nmi_unblocking)
{
    if (is_nmi_unblocking &&
        (vmcs_read32(VMCS_IDT_VECTORING_INFORMATION) & INTERRUPTION_VALID) == 0) {
        vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE,
                     vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) |
                         INTERRUPTIBILITY_BLOCKING_BY_NMI);
    }
}

void inject_commit(struct vcpu *vcpu)
{
    struct pending_event *event = &vcpu->vmx->event;

    if ((event->information & INTERRUPTION_VALID) == 0) {
        return;
    }
    vmcs_write32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION, event->information);
    if ((event->information & INTERRUPTION_ERROR_CODE_VALID) != 0) {
        vmcs_write32(VMCS_VM_ENTRY_EXCEPTION_ERROR_CODE, event->error_code);
    }
    if (event->instruction_length != 0) {
        vmcs_write32(VMCS_VM_ENTRY_INSTRUCTION_LENGTH, event->instruction_length);
    }
    event->information = 0; /* error code and length stay, for inject_take_back */
}

void inject_take_back(struct vcpu *vcpu)
{
    vcpu->vmx->event.information = vmcs_read32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION);
    vmcs_write32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION, 0);
}

uint64_t inject_wrap_rip(uint64_t rip)
{
    return guest_state_is_64_bit() ? rip : (uint32_t)rip;
}

void inject_end_shadow(void)
{
    vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE,
                 vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) & ~INTERRUPTIBILITY_SHADOW);
}

void inject_single_step(void)
{
    if ((vmcs_read64(VMCS_GUEST_IA32_DEBUGCTL) & IA32_DEBUGCTL_BTF) == 0) {
        vmcs_write(VMCS_GUEST_PENDING_DEBUG_EXCEPTIONS,
                   vmcs_read(VMCS_GUEST_PENDING_DEBUG_EXCEPTIONS) | DR6_BS);
    }
}
