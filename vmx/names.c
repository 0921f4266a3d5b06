/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/names.h"

#include "core/compiler.h"
#include "core/fmt.h"
#include "vmx/exit_decode.h"
#include "vmx/vmcs_fields.h"

static const char *const exit_reason_names[EXIT_REASON_LIMIT] = {
#define EXIT_REASON(number, name, words) [number] = words,
#include "vmx/exit_reasons.def"
#undef EXIT_REASON
};

static const struct {
    uint16_t encoding;
    const char *name;
} vmcs_fields[] = {
#define VMCS_FIELD(width, name, encoding) {encoding, #name},
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
};

static const char *const instruction_error_names[] = {
    [1] = "VMCALL executed in VMX root operation",
    [2] = "VMCLEAR with invalid physical address",
    [3] = "VMCLEAR with VMXON pointer",
    [4] = "VMLAUNCH with non-clear VMCS",
    [5] = "VMRESUME with non-launched VMCS",
    [6] = "VMRESUME after VMXOFF",
    [7] = "VM entry with invalid control field(s)",
    [8] = "VM entry with invalid host-state field(s)",
    [9] = "VMPTRLD with invalid physical address",
    [10] = "VMPTRLD with VMXON pointer",
    [11] = "VMPTRLD with incorrect VMCS revision identifier",
    [12] = "VMREAD/VMWRITE from/to unsupported VMCS component",
    [13] = "VMWRITE to read-only VMCS component",
    [15] = "VMXON executed in VMX root operation",
    [16] = "VM entry with invalid executive-VMCS pointer",
    [17] = "VM entry with non-launched executive VMCS",
    [18] = "VM entry with executive-VMCS pointer not VMXON pointer",
    [19] = "VMCALL with non-clear VMCS",
    [20] = "VMCALL with invalid VM-exit control fields",
    [22] = "VMCALL with incorrect MSEG revision identifier",
    [23] = "VMXOFF under dual-monitor treatment of SMIs and SMM",
    [24] = "VMCALL with invalid SMM-monitor features",
    [25] = "VM entry with invalid VM-execution control fields in executive VMCS",
    [26] = "VM entry with events blocked by MOV SS",
    [28] = "invalid operand to INVEPT/INVVPID",
};

static const char *const exception_names[32] = {
    [EXCEPTION_DE] = "#DE divide error",
    [EXCEPTION_DB] = "#DB debug",
    [EXCEPTION_NMI] = "NMI",
    [EXCEPTION_BP] = "#BP breakpoint",
    [EXCEPTION_OF] = "#OF overflow",
    [EXCEPTION_BR] = "#BR bound range exceeded",
    [EXCEPTION_UD] = "#UD invalid opcode",
    [EXCEPTION_NM] = "#NM device not available",
    [EXCEPTION_DF] = "#DF double fault",
    [9] = "coprocessor segment overrun",
    [EXCEPTION_TS] = "#TS invalid TSS",
    [EXCEPTION_NP] = "#NP segment not present",
    [EXCEPTION_SS] = "#SS stack-segment fault",
    [EXCEPTION_GP] = "#GP general protection",
    [EXCEPTION_PF] = "#PF page fault",
    [EXCEPTION_MF] = "#MF x87 FPU error",
    [EXCEPTION_AC] = "#AC alignment check",
    [EXCEPTION_MC] = "#MC machine check",
    [EXCEPTION_XM] = "#XM SIMD floating-point",
    [EXCEPTION_VE] = "#VE virtualization exception",
    [EXCEPTION_CP] = "#CP control protection",
};

static const char *const interruption_type_names[8] = {
    [INTERRUPTION_EXTERNAL_INTERRUPT] = "external interrupt",
    [INTERRUPTION_RESERVED] = "reserved type",
    [INTERRUPTION_NMI] = "NMI",
    [INTERRUPTION_HARDWARE_EXCEPTION] = "hardware exception",
    [INTERRUPTION_SOFTWARE_INTERRUPT] = "software interrupt",
    [INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION] = "privileged software exception",
    [INTERRUPTION_SOFTWARE_EXCEPTION] = "software exception",
    [INTERRUPTION_OTHER_EVENT] = "other event",
};

static const char *const activity_state_names[] = {
    [ACTIVITY_ACTIVE] = "active",
    [ACTIVITY_HLT] = "HLT",
    [ACTIVITY_SHUTDOWN] = "shutdown",
    [ACTIVITY_WAIT_FOR_SIPI] = "wait-for-SIPI",
};

static const char *const interruptibility_names[] = {
    "blocking by STI", "blocking by MOV SS",   "blocking by SMI",
    "blocking by NMI", "enclave interruption",
};

static const char *named(const char *const *names, uint64_t count, uint64_t number,
                         const char *otherwise)
{
    if (number >= count || names[number] == NULL) {
        return otherwise;
    }
    return names[number];
}

const char *exit_reason_name(uint32_t basic_reason)
{
    return named(exit_reason_names, ARRAY_LEN(exit_reason_names), basic_reason,
                 "unknown exit reason");
}

const char *vmcs_field_name(uint32_t encoding)
{
    for (unsigned int i = 0; i < ARRAY_LEN(vmcs_fields); i++) {
        if (vmcs_fields[i].encoding == (encoding & ~1u)) {
            return vmcs_fields[i].name;
        }
    }
    return "unknown VMCS field";
}

const char *vmx_instruction_error_name(uint32_t error)
{
    return named(instruction_error_names, ARRAY_LEN(instruction_error_names), error,
                 "unknown VM-instruction error");
}

const char *exception_name(uint8_t vector)
{
    if (vector >= ARRAY_LEN(exception_names)) {
        return "external or software interrupt";
    }
    return named(exception_names, ARRAY_LEN(exception_names), vector, "reserved exception");
}

const char *interruption_type_name(uint32_t type)
{
    return named(interruption_type_names, ARRAY_LEN(interruption_type_names), type,
                 "unknown interruption type");
}

const char *activity_state_name(uint32_t state)
{
    return named(activity_state_names, ARRAY_LEN(activity_state_names), state,
                 "unknown activity state");
}

const char *entry_failure_name(uint32_t basic_reason, uint64_t qualification)
{
    static const char *const guest_state[] = {
        [0] = "a guest-state check failed",
        [2] = "loading the PDPTEs failed",
        [3] = "NMI injection while blocked by STI",
        [4] = "invalid VMCS link pointer",
    };

    switch (basic_reason) {
    case EXIT_REASON_ENTRY_FAILURE_GUEST_STATE:
        return named(guest_state, ARRAY_LEN(guest_state), qualification,
                     "unknown exit qualification");
    case EXIT_REASON_ENTRY_FAILURE_MSR_LOADING:
        return "the VM-entry MSR-load entry of that number could not be loaded";
    case EXIT_REASON_ENTRY_FAILURE_MACHINE_CHECK:
        return "a machine-check event came during VM entry";
    default:
        return "not a VM-entry failure";
    }
}

/* The bits that are set in value, by name, through a callback that names one bit. */
static size_t bits_text(uint32_t value, const char *(*name_of)(const void *, unsigned int),
                        const void *context, char *out, size_t size)
{
    size_t length = 0;

    if (size != 0) {
        out[0] = '\0';
    }
    for (unsigned int bit = 0; bit < 32; bit++) {
        const char *name;
        char *to = length < size ? out + length : NULL;
        size_t room = length < size ? size - length : 0;

        if ((value & BIT32(bit)) == 0) {
            continue;
        }
        name = name_of(context, bit);
        if (name != NULL) {
            length += fmt_print(to, room, "%s%s", length == 0 ? "" : ", ", name);
        } else {
            length += fmt_print(to, room, "%sbit %u", length == 0 ? "" : ", ", bit);
        }
    }
    return length;
}

static const char *control_bit(const void *context, unsigned int bit)
{
    return control_bit_name(*(const enum control_group *)context, bit);
}

size_t control_bits_text(enum control_group group, uint32_t value, char *out, size_t size)
{
    return bits_text(value, control_bit, &group, out, size);
}

static const char *interruptibility_bit(const void *context, unsigned int bit)
{
    (void)context;
    return named(interruptibility_names, ARRAY_LEN(interruptibility_names), bit, NULL);
}

size_t interruptibility_text(uint32_t state, char *out, size_t size)
{
    if (state == 0) {
        return fmt_print(out, size, "none");
    }
    return bits_text(state, interruptibility_bit, NULL, out, size);
}
