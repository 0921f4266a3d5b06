/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/apic.h"
#include "core/cr_bits.h"
#include "core/gva_section.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/inject.h"
#include "vmx/insn_decode.h"
#include "vmx/kick.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/* EPT violations: writes to the xAPIC page, and addresses that are mapped on first use. */

#define APIC_REGISTER_STEP 16u

static enum insn_mode mode_of_code(void)
{
    uint32_t rights = vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS);
    bool is_long = (vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LMA) != 0;

    if (is_long && (rights & ACCESS_RIGHTS_L) != 0) {
        return INSN_MODE_64;
    }
    return (rights & ACCESS_RIGHTS_DB) != 0 ? INSN_MODE_32 : INSN_MODE_16;
}

/* Reads the instruction at RIP. The bytes are the guest's and may be anything by now. */
static void fetch(struct lp *lp, const struct vcpu *vcpu, struct insn_input *input)
{
    struct guest_paging paging;
    uint64_t linear;

    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        input->registers[i] = vcpu->gpr[i];
    }
    input->registers[GPR_RSP] = vmcs_read(VMCS_GUEST_RSP);
    input->rip = vmcs_read(VMCS_GUEST_RIP);
    input->mode = mode_of_code();
    linear = input->rip;
    if (input->mode != INSN_MODE_64) {
        linear = (linear + vmcs_read(VMCS_GUEST_CS_BASE)) & 0xFFFFFFFF;
    }
    guest_state_paging(&paging);
    gva_begin(lp);
    input->byte_count = (uint8_t)guest_read_linear(&vcpu->partition->memory, &paging, gva(linear),
                                                   input->bytes, INSN_MAX_BYTES);
    gva_end(lp);
}

static void write_gpr(struct vcpu *vcpu, uint8_t index, uint64_t value)
{
    if (index == GPR_RSP) {
        vmcs_write(VMCS_GUEST_RSP, value);
        return;
    }
    vcpu->gpr[index] = value;
}

/* Carries the instruction out with the register at offset as its memory operand. The SDM leaves
 * accesses that are not 32 bits wide and aligned undefined: their writes are dropped. */
static void emulate(struct lp *lp, struct vcpu *vcpu, const struct insn *insn,
                    const struct insn_input *input, uint32_t offset)
{
    bool is_register = insn->width_bytes == 4 && offset % APIC_REGISTER_STEP == 0;
    struct insn_effect effect;
    uint64_t value = 0;

    if (insn->reads_memory && is_register) {
        value = apic_read((enum apic_register)offset);
    }
    insn_apply(insn, input->registers, vmcs_read(VMCS_GUEST_RFLAGS), value, &effect);
    if (effect.writes_register) {
        write_gpr(vcpu, effect.register_index, effect.register_value);
    }
    vmcs_write(VMCS_GUEST_RFLAGS, effect.rflags);
    if (effect.writes_memory && is_register) {
        apic_guest_wrote_page(lp, vcpu, offset, (uint32_t)effect.memory_value);
    }
}

static enum exit_action write_apic_page(struct lp *lp, struct vcpu *vcpu, uint32_t offset)
{
    struct insn_input input = {0};
    const char *reason = "";
    enum insn_status status;
    struct insn insn;

    fetch(lp, vcpu, &input);
    status = insn_decode(&input, &insn, &reason);
    if (status == INSN_TRUNCATED && input.byte_count < INSN_MAX_BYTES) {
        /* Another processor unmapped the code meanwhile: the guest runs it again and faults. */
        return EXIT_ACTION_RESUME;
    }
    if (status != INSN_OK) {
        log_line(LOG_ERROR, "apic", "the write to local APIC register %03x cannot be emulated: %s",
                 offset, reason);
        return EXIT_ACTION_STOP;
    }
    emulate(lp, vcpu, &insn, &input, offset);
    inject_advance_rip(insn.length);
    return EXIT_ACTION_RESUME;
}

/* An address inside the physical address space that is mapped on first use. */
static enum exit_action fill(struct vcpu *vcpu, gpa_t address)
{
    struct partition *partition = vcpu->partition;
    struct ept_translation translation;
    enum status status;

    ept_walk(&partition->ept, address, &translation);
    if (translation.is_mapped && translation.access == EPT_ALL) {
        return EXIT_ACTION_RESUME; /* another LP filled it in meanwhile */
    }
    if (translation.is_mapped) {
        return EXIT_ACTION_STOP;
    }
    spin_lock(&partition->ept_lock);
    status = ept_map_on_violation(&partition->ept, address);
    spin_unlock(&partition->ept_lock);
    if (status != STATUS_OK) {
        log_line(LOG_ERROR, "ept", "guest-physical address %llx cannot be mapped: %s",
                 (unsigned long long)address.value, status_name(status));
        return EXIT_ACTION_STOP;
    }
    stats_count(&vcpu->stats, STAT_LAZY_EPT_FILLS);
    return EXIT_ACTION_RESUME;
}

enum exit_action exit_ept_violation(struct lp *lp, struct vcpu *vcpu)
{
    gpa_t address = gpa(vmcs_read64(VMCS_GUEST_PHYSICAL_ADDRESS));
    struct ept_violation violation;

    exit_decode_ept_violation(vmcs_read(VMCS_EXIT_QUALIFICATION), &violation);
    if (violation.is_nmi_unblocking &&
        (vmcs_read32(VMCS_IDT_VECTORING_INFORMATION) & INTERRUPTION_VALID) == 0) {
        vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE,
                     vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) |
                         INTERRUPTIBILITY_BLOCKING_BY_NMI);
    }
    if (align_down(address.value, PAGE_BYTES) != APIC_PAGE) {
        return fill(vcpu, address);
    }
    if (violation.is_write && violation.is_translated &&
        (vcpu->vmx->event.information & INTERRUPTION_VALID) == 0) {
        return write_apic_page(lp, vcpu, (uint32_t)(address.value & (PAGE_BYTES - 1)));
    }
    return EXIT_ACTION_STOP; /* code, a page table or a stack in the local APIC's page */
}

void mtrr_guest_changed(struct lp *lp, struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    bool has_changed = false;
    enum status status = STATUS_OK;

    spin_lock(&partition->ept_lock);
    if (!mtrr_state_equal(&partition->ept.mtrrs, &vcpu->vmx->mtrrs.state)) {
        status = ept_set_types(&partition->ept, &vcpu->vmx->mtrrs.state, &has_changed);
    }
    spin_unlock(&partition->ept_lock);
    if (status != STATUS_OK) {
        log_line(LOG_WARNING, "mtrr", "the EPT keeps its memory types: %s", status_name(status));
    }
    if (has_changed) {
        kick_all_for_ept(lp, partition);
    }
}
