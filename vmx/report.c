/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/report.h"

#include "core/cr_bits.h"
#include "core/fmt.h"
#include "core/gva_section.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "mm/guest_walk.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/names.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

#define REPORT_BYTES              15u
#define REPORT_TEXT_CHARS         200u
#define REPORT_CONTROLS_CHARS     340u
#define EXIT_REASON_BASIC(reason) ((reason)&0xFFFFu)

#define LINE(...)   log_line(LOG_ERROR, "report", __VA_ARGS__)
#define WIDE(value) ((unsigned long long)(value))

static void report_task_switch(uint64_t qualification)
{
    static const char *const sources[] = {[TASK_SWITCH_CALL] = "CALL",
                                          [TASK_SWITCH_IRET] = "IRET",
                                          [TASK_SWITCH_JMP] = "JMP",
                                          [TASK_SWITCH_GATE] = "a task gate in the IDT"};
    struct task_switch task;

    exit_decode_task_switch(qualification, &task);
    LINE("task switch to TSS selector %04x by %s", task.selector, sources[task.source]);
}

static void report_reason(void)
{
    uint32_t reason = vmcs_read32(VMCS_EXIT_REASON);
    uint64_t qualification = vmcs_read(VMCS_EXIT_QUALIFICATION);

    LINE("exit: %s%s (exit reason %x), exit qualification %llx",
         exit_reason_name(EXIT_REASON_BASIC(reason)),
         (reason & VM_EXIT_ENTRY_FAILURE) != 0 ? ", the guest has not run" : "", reason,
         WIDE(qualification));
    if ((reason & VM_EXIT_ENTRY_FAILURE) != 0) {
        LINE("entry failure: %s", entry_failure_name(EXIT_REASON_BASIC(reason), qualification));
    }
    if (EXIT_REASON_BASIC(reason) == EXIT_REASON_EPT_VIOLATION ||
        EXIT_REASON_BASIC(reason) == EXIT_REASON_EPT_MISCONFIGURATION) {
        struct ept_violation violation;

        exit_decode_ept_violation(qualification, &violation);
        LINE("guest-physical address %llx, linear address %llx, access: %s%s%s",
             WIDE(vmcs_read64(VMCS_GUEST_PHYSICAL_ADDRESS)),
             WIDE(vmcs_read(VMCS_GUEST_LINEAR_ADDRESS)), violation.is_read ? "read " : "",
             violation.is_write ? "write " : "", violation.is_fetch ? "fetch " : "");
    }
    if (EXIT_REASON_BASIC(reason) == EXIT_REASON_TASK_SWITCH) {
        report_task_switch(qualification);
    }
}

static void report_event(const char *what, uint32_t information, uint32_t error)
{
    struct interruption event;

    exit_decode_interruption(information, &event);
    if (event.is_valid) {
        LINE("%s: %s, vector %u (%s), error code %x", what, interruption_type_name(event.type),
             event.vector, exception_name(event.vector), event.has_error_code ? error : 0);
    }
}

static void report_registers(const struct vcpu *vcpu)
{
    const uint64_t *gpr = vcpu->gpr;

    LINE("RIP %016llx RSP %016llx RFLAGS %08llx", WIDE(vmcs_read(VMCS_GUEST_RIP)),
         WIDE(vmcs_read(VMCS_GUEST_RSP)), WIDE(vmcs_read(VMCS_GUEST_RFLAGS)));
    LINE("RAX %016llx RBX %016llx RCX %016llx RDX %016llx", WIDE(gpr[GPR_RAX]), WIDE(gpr[GPR_RBX]),
         WIDE(gpr[GPR_RCX]), WIDE(gpr[GPR_RDX]));
    LINE("RSI %016llx RDI %016llx RBP %016llx R8  %016llx", WIDE(gpr[GPR_RSI]), WIDE(gpr[GPR_RDI]),
         WIDE(gpr[GPR_RBP]), WIDE(gpr[GPR_R8]));
    LINE("R9  %016llx R10 %016llx R11 %016llx R12 %016llx", WIDE(gpr[GPR_R9]), WIDE(gpr[GPR_R10]),
         WIDE(gpr[GPR_R11]), WIDE(gpr[GPR_R12]));
    LINE("R13 %016llx R14 %016llx R15 %016llx", WIDE(gpr[GPR_R13]), WIDE(gpr[GPR_R14]),
         WIDE(gpr[GPR_R15]));
    LINE("CR0 %llx CR3 %llx CR4 %llx EFER %llx DR7 %llx", WIDE(guest_state_read_cr0()),
         WIDE(vmcs_read(VMCS_GUEST_CR3)), WIDE(guest_state_read_cr4()),
         WIDE(vmcs_read64(VMCS_GUEST_IA32_EFER)), WIDE(vmcs_read(VMCS_GUEST_DR7)));
}

static void report_segment(const char *name, uint32_t step)
{
    LINE("%s %04x base %016llx limit %08x rights %05x", name,
         (uint32_t)vmcs_read_raw(VMCS_GUEST_ES_SELECTOR + step),
         WIDE(vmcs_read_raw(VMCS_GUEST_ES_BASE + step)),
         (uint32_t)vmcs_read_raw(VMCS_GUEST_ES_LIMIT + step),
         (uint32_t)vmcs_read_raw(VMCS_GUEST_ES_ACCESS_RIGHTS + step));
}

static void report_segments(void)
{
    static const char *const names[] = {"ES  ", "CS  ", "SS  ", "DS  ",
                                        "FS  ", "GS  ", "LDTR", "TR  "};

    for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
        report_segment(names[i], i * 2);
    }
    LINE("GDTR base %016llx limit %04x, IDTR base %016llx limit %04x",
         WIDE(vmcs_read(VMCS_GUEST_GDTR_BASE)), vmcs_read32(VMCS_GUEST_GDTR_LIMIT),
         WIDE(vmcs_read(VMCS_GUEST_IDTR_BASE)), vmcs_read32(VMCS_GUEST_IDTR_LIMIT));
}

static void report_control_names(enum control_group group, enum vmcs_field32 field)
{
    uint32_t value = vmcs_read32(field);
    char text[REPORT_CONTROLS_CHARS];

    (void)control_bits_text(group, value, text, sizeof(text));
    LINE("controls: %s %08x: %s", control_group_name(group), value, text);
}

static void report_controls(void)
{
    char text[REPORT_TEXT_CHARS];

    (void)interruptibility_text(vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE), text, sizeof(text));
    LINE("activity: %s; blocking: %s; pending debug exceptions %llx",
         activity_state_name(vmcs_read32(VMCS_GUEST_ACTIVITY_STATE)), text,
         WIDE(vmcs_read(VMCS_GUEST_PENDING_DEBUG_EXCEPTIONS)));
    report_control_names(CONTROLS_PIN, VMCS_PIN_BASED_VM_EXECUTION_CONTROLS);
    report_control_names(CONTROLS_PROC, VMCS_PRIMARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS);
    report_control_names(CONTROLS_PROC2, VMCS_SECONDARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS);
    report_control_names(CONTROLS_ENTRY, VMCS_VM_ENTRY_CONTROLS);
    report_control_names(CONTROLS_EXIT, VMCS_PRIMARY_VM_EXIT_CONTROLS);
}

static void report_bytes(struct lp *lp, const struct vcpu *vcpu)
{
    uint8_t bytes[REPORT_BYTES];
    char text[REPORT_BYTES * 3 + 1] = "";
    struct guest_paging paging;
    gva_t at = guest_state_code_address(vmcs_read(VMCS_GUEST_RIP));
    size_t length = 0;
    size_t count;

    guest_state_paging(&paging);
    gva_begin(lp);
    count = guest_read_linear(&vcpu->partition->memory, &paging, at, bytes, sizeof(bytes));
    gva_end(lp);
    for (size_t i = 0; i < count; i++) {
        length += fmt_print(text + length, sizeof(text) - length, " %02x", bytes[i]);
    }
    LINE("instruction bytes at %llx:%s", WIDE(at.value), count == 0 ? " cannot be read" : text);
}

void report_exit(struct lp *lp, const struct vcpu *vcpu, const char *why)
{
    uint32_t error;

    LINE("VP%03u on LP%02u: %s", vcpu->vp_index, lp->lp_id, why);
    report_reason();
    error = vmcs_read32(VMCS_VM_INSTRUCTION_ERROR);
    if (error != 0) {
        LINE("VM-instruction error %u: %s", error, vmx_instruction_error_name(error));
    }
    report_event("exit event", vmcs_read32(VMCS_VM_EXIT_INTERRUPTION_INFORMATION),
                 vmcs_read32(VMCS_VM_EXIT_INTERRUPTION_ERROR_CODE));
    report_event("while delivering", vmcs_read32(VMCS_IDT_VECTORING_INFORMATION),
                 vmcs_read32(VMCS_IDT_VECTORING_ERROR_CODE));
    report_event("to be injected", vmcs_read32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION),
                 vmcs_read32(VMCS_VM_ENTRY_EXCEPTION_ERROR_CODE));
    report_registers(vcpu);
    report_segments();
    report_controls();
    report_bytes(lp, vcpu);
}

void report_lp_state(struct lp *lp)
{
    uint64_t reason;

    if (lp->vcpu == NULL || !lp_is_virtualised(lp)) {
        return;
    }
    if (vmx_failed(vmx_read(VMCS_EXIT_REASON, &reason))) {
        LINE("there is no current VMCS");
        return;
    }
    report_exit(lp, lp->vcpu, "the state of the guest, for the panic above");
}
