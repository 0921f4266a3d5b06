/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cpu.h"
#include "core/cr_bits.h"
#include "core/idt.h"
#include "core/msr.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/inv.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/*
 * MOV to CR0 exits when it changes CD, NW or NE, and then often changes much else: Linux switches
 * to long mode with the same instruction that sets NE. SDM volume 2, "MOV--Move to/from Control
 * Registers", and volume 3, "Initializing IA-32e Mode".
 */

#define PDPTE_COUNT          4u
#define PDPTE_PRESENT        BIT64(0)
#define PDPTE_LOW_RESERVED   0x1E6ull /* bits 8:5, 2:1 */
#define ACCESS_TYPE_TSS_BUSY 11u

/* The operand of MOV to a control register: 64 bits wide in 64-bit mode, 32 elsewhere. */
static uint64_t read_operand(const struct vcpu *vcpu, uint8_t index)
{
    uint64_t value = index == GPR_RSP ? vmcs_read(VMCS_GUEST_RSP) : vcpu->gpr[index];

    return guest_state_is_64_bit() ? value : (uint32_t)value;
}

static bool is_cr0_valid(uint64_t value, uint64_t cr4)
{
    if (value >> 32 != 0 || ((value & CR0_PG) != 0 && (value & CR0_PE) == 0) ||
        ((value & CR0_NW) != 0 && (value & CR0_CD) == 0)) {
        return false;
    }
    return (cr4 & CR4_CET) == 0 || (value & CR0_WP) != 0;
}

/* PAE paging without long mode: the processor reads the four PDPTEs when paging goes on. */
static bool load_pdptes(const struct partition *partition)
{
    uint64_t reserved =
        PDPTE_LOW_RESERVED | ~(BIT64(partition->controls.physical_address_bits) - 1);
    uint64_t table = vmcs_read(VMCS_GUEST_CR3) & MASK64(31, 5);
    const volatile uint64_t *from =
        guest_memory_at(&partition->memory, gpa(table), PDPTE_COUNT * sizeof(uint64_t));
    uint64_t entries[PDPTE_COUNT];

    for (uint32_t i = 0; i < PDPTE_COUNT; i++) {
        entries[i] = from == NULL ? 0 : from[i];
        if ((entries[i] & PDPTE_PRESENT) != 0 && (entries[i] & reserved) != 0) {
            return false;
        }
    }
    vmcs_write64(VMCS_GUEST_PDPTE0, entries[0]);
    vmcs_write64(VMCS_GUEST_PDPTE1, entries[1]);
    vmcs_write64(VMCS_GUEST_PDPTE2, entries[2]);
    vmcs_write64(VMCS_GUEST_PDPTE3, entries[3]);
    return true;
}

static void set_long_mode(bool is_on)
{
    uint64_t efer = vmcs_read64(VMCS_GUEST_IA32_EFER);
    uint32_t entry = vmcs_read32(VMCS_VM_ENTRY_CONTROLS);

    efer = is_on ? efer | IA32_EFER_LMA : efer & ~IA32_EFER_LMA;
    entry = is_on ? entry | ENTRY_IA32E_MODE_GUEST : entry & ~ENTRY_IA32E_MODE_GUEST;
    vmcs_write64(VMCS_GUEST_IA32_EFER, efer);
    vmcs_write32(VMCS_VM_ENTRY_CONTROLS, entry);
    if (is_on) {
        uint32_t tr = vmcs_read32(VMCS_GUEST_TR_ACCESS_RIGHTS);

        /* After reset the register holds a 16-bit TSS, which VM entry refuses in long mode. */
        vmcs_write32(VMCS_GUEST_TR_ACCESS_RIGHTS,
                     (tr & ~ACCESS_RIGHTS_TYPE_MASK) | ACCESS_TYPE_TSS_BUSY);
    }
}

static bool turn_paging_on(const struct partition *partition)
{
    uint64_t cr4 = vmcs_read(VMCS_GUEST_CR4);

    if ((vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LME) == 0) {
        return (cr4 & CR4_PAE) == 0 || load_pdptes(partition);
    }
    if ((cr4 & CR4_PAE) == 0 || (vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS) & ACCESS_RIGHTS_L) != 0) {
        return false;
    }
    set_long_mode(true);
    return true;
}

/* With PAE paging on, a change of CD or NW reads the PDPTEs again (SDM volume 3, "PDPTE
 * Registers"). */
static bool reload_pdptes(const struct partition *partition)
{
    bool is_pae = (vmcs_read(VMCS_GUEST_CR0) & CR0_PG) != 0 &&
                  (vmcs_read(VMCS_GUEST_CR4) & CR4_PAE) != 0 &&
                  (vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LMA) == 0;

    return !is_pae || load_pdptes(partition);
}

static bool turn_paging_off(void)
{
    if ((vmcs_read(VMCS_GUEST_CR4) & CR4_PCIDE) != 0) {
        return false;
    }
    if ((vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LMA) != 0) {
        if ((vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS) & ACCESS_RIGHTS_L) != 0) {
            return false;
        }
        set_long_mode(false);
    }
    return true;
}

static enum exit_action write_cr0(struct vcpu *vcpu, uint64_t value)
{
    const struct partition *partition = vcpu->partition;
    uint64_t changed;

    value |= CR0_ET;
    if (!is_cr0_valid(value, vmcs_read(VMCS_GUEST_CR4))) {
        return EXIT_ACTION_GP;
    }
    changed = value ^ guest_state_read_cr0();
    if ((changed & CR0_PG) != 0) {
        if (!((value & CR0_PG) != 0 ? turn_paging_on(partition) : turn_paging_off())) {
            return EXIT_ACTION_GP;
        }
    }
    if ((changed & (CR0_CD | CR0_NW)) != 0 && (changed & CR0_PG) == 0 &&
        !reload_pdptes(partition)) {
        return EXIT_ACTION_GP;
    }
    guest_state_write_cr0(partition, value);
    if ((changed & (CR0_PG | CR0_WP)) != 0) {
        /* The instruction drops translations; run in root mode it does not. */
        inv_vpid_all(partition, vcpu);
    }
    return EXIT_ACTION_ADVANCE;
}

/* Exits only when a bit that the guest may not set is written with another value than it reads. */
static enum exit_action write_cr4(struct vcpu *vcpu, uint64_t value)
{
    const struct partition *partition = vcpu->partition;
    uint64_t shadow = vmcs_read(VMCS_CR4_READ_SHADOW);
    uint64_t must_be_1 = caps_guest_cr4_must_be_1(&partition->controls);

    if ((value & ~partition->cr4_allowed & ~shadow) != 0) {
        return EXIT_ACTION_GP;
    }
    /* What is left: the guest clears a bit that the firmware had set and we do not offer. */
    vmcs_write(VMCS_CR4_READ_SHADOW, value);
    vmcs_write(VMCS_GUEST_CR4, value | must_be_1);
    inv_vpid_all(partition, vcpu);
    return EXIT_ACTION_ADVANCE;
}

enum exit_action exit_cr_access(struct lp *lp, struct vcpu *vcpu)
{
    struct cr_access access;

    (void)lp;
    exit_decode_cr_access(vmcs_read(VMCS_EXIT_QUALIFICATION), &access);
    switch (access.type) {
    case CR_ACCESS_MOV_TO:
        if (access.cr == 0) {
            return write_cr0(vcpu, read_operand(vcpu, access.register_index));
        }
        if (access.cr == 4) {
            return write_cr4(vcpu, read_operand(vcpu, access.register_index));
        }
        break;
    case CR_ACCESS_CLTS:
    case CR_ACCESS_LMSW: /* PE, MP, EM and TS are the guest's own: neither exits */
    case CR_ACCESS_MOV_FROM:
        break;
    }
    return EXIT_ACTION_STOP;
}

/* SDM volume 2, "XSETBV". The CPL check comes before the exit. */
enum exit_action exit_xsetbv(struct lp *lp, struct vcpu *vcpu)
{
    uint64_t value = (uint32_t)vcpu->gpr[GPR_RAX] | (vcpu->gpr[GPR_RDX] << 32);

    (void)lp;
    if ((uint32_t)vcpu->gpr[GPR_RCX] != 0 ||
        !xcr0_check(value, vcpu->partition->cpuid.xcr0_supported) || !safe_write_xcr0(value)) {
        return EXIT_ACTION_GP;
    }
    return EXIT_ACTION_ADVANCE;
}
