/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/apic.h"
#include "core/cr_bits.h"
#include "core/gva_section.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "mm/guest_walk.h"
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
    if (guest_state_is_64_bit()) {
        return INSN_MODE_64;
    }
    return (vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS) & ACCESS_RIGHTS_DB) != 0 ? INSN_MODE_32
                                                                              : INSN_MODE_16;
}

/* Reads the instruction at RIP. The bytes are the guest's and may be anything by now. */
static void fetch(struct lp *lp, const struct vcpu *vcpu, struct insn_input *input)
{
    struct guest_paging paging;

    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        input->registers[i] = vcpu->gpr[i];
    }
    input->registers[GPR_RSP] = vmcs_read(VMCS_GUEST_RSP);
    input->rip = vmcs_read(VMCS_GUEST_RIP);
    input->mode = mode_of_code();
    guest_state_paging(&paging);
    gva_begin(lp);
    input->byte_count = (uint8_t)guest_read_linear(&vcpu->partition->memory, &paging,
                                                   guest_state_code_address(input->rip),
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
 * accesses that are not 32 bits wide and aligned undefined: their writes are dropped. So are
 * those to the page of an APIC that is off or in x2APIC mode, where nothing answers. */
static void emulate(struct lp *lp, struct vcpu *vcpu, const struct insn *insn,
                    const struct insn_input *input, uint32_t offset)
{
    bool is_xapic = vmx_state_is_apic_enabled(vcpu->vmx) && !vmx_state_is_x2apic(vcpu->vmx);
    bool is_register = is_xapic && insn->width_bytes == 4 && offset % APIC_REGISTER_STEP == 0;
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

/* Whether the guest maps the first byte of the instruction that could not be read: then the code is
 * in memory that is not RAM to us, and running it again would change nothing. Touches no memory of
 * the guest but its page tables. */
static bool is_code_mapped(struct lp *lp, const struct vcpu *vcpu, const struct insn_input *input)
{
    struct guest_paging paging;
    bool is_mapped;
    gpa_t ignored;

    guest_state_paging(&paging);
    gva_begin(lp);
    is_mapped = guest_walk(&vcpu->partition->memory, &paging,
                           guest_state_code_address(input->rip + input->byte_count), &ignored);
    gva_end(lp);
    return is_mapped;
}

static enum exit_action write_apic_page(struct lp *lp, struct vcpu *vcpu, uint32_t offset)
{
    struct insn_input input = {0};
    const char *reason = "";
    enum insn_status status;
    struct insn insn;

    fetch(lp, vcpu, &input);
    status = insn_decode(&input, &insn, &reason);
    if (status == INSN_TRUNCATED && input.byte_count < INSN_MAX_BYTES &&
        !is_code_mapped(lp, vcpu, &input)) {
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

    spin_lock(&partition->ept_lock);
    ept_walk(&partition->ept, address, &translation);
    status = translation.is_mapped ? STATUS_OK : ept_map_on_violation(&partition->ept, address);
    spin_unlock(&partition->ept_lock);
    if (translation.is_mapped) {
        /* Another LP filled it in meanwhile, or the entry does not allow the access: what the
         * guest may not do to an overlay page is #GP (TLFS, "Hypercall Interface"). */
        if (translation.access == EPT_ALL) {
            return EXIT_ACTION_RESUME;
        }
        return hyperv_overlay_covers(&partition->hyperv, address) ? EXIT_ACTION_GP
                                                                  : EXIT_ACTION_STOP;
    }
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

    inject_keep_interrupted_event(vcpu);
    exit_decode_ept_violation(vmcs_read(VMCS_EXIT_QUALIFICATION), &violation);
    inject_keep_nmis_blocked(violation.is_nmi_unblocking);
    if (align_down(address.value, PAGE_BYTES) != APIC_PAGE) {
        return fill(vcpu, address);
    }
    if (violation.is_write && violation.is_translated &&
        (vcpu->vmx->event.information & INTERRUPTION_VALID) == 0) {
        return write_apic_page(lp, vcpu, (uint32_t)(address.value & (PAGE_BYTES - 1)));
    }
    return EXIT_ACTION_STOP; /* code, a page table or a stack in the local APIC's page */
}

/* Tables that a change retired may be walked until every LP has invalidated: the last of the
 * changes that are under way gives them back. */
static void reclaim_when_last(struct partition *partition)
{
    spin_lock(&partition->ept_lock);
    partition->ept_changes_in_flight--;
    if (partition->ept_changes_in_flight == 0) {
        ept_reclaim(&partition->ept);
    }
    spin_unlock(&partition->ept_lock);
}

void mtrr_guest_changed(struct lp *lp, struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;
    bool has_changed = false;
    enum status status = STATUS_OK;

    spin_lock(&partition->ept_lock);
    partition->ept_changes_in_flight++;
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
    reclaim_when_last(partition);
}
