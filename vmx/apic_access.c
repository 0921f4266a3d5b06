/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/apic.h"
#include "core/cpu.h"
#include "core/idt.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/msr.h"
#include "vmx/apic_ipi.h"
#include "vmx/exits.h"
#include "vmx/kick.h"
#include "vmx/nmi.h"
#include "vmx/signal.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/*
 * What the guest writes to its local APIC. INIT, SIPI and NMI are delivered in software, to any set
 * of targets: hardware would lose a SIPI while its target is in root mode. The rest goes on to the
 * hardware as it came.
 */

#define APIC_BASE_RESERVED_LOW (MASK64(7, 0) | BIT64(9))
#define X2APIC_LDR_OF(id)      ((((id)&0xFFFF0u) << 12) | (1u << ((id)&0xFu)))

static void identity_of(const struct vcpu *vcpu, struct apic_identity *identity)
{
    const struct vmx_state *vmx = vcpu->vmx;

    identity->apic_id = vcpu->apic_id;
    identity->is_x2apic = vmx_state_is_x2apic(vmx);
    identity->is_enabled = vmx_state_is_apic_enabled(vmx);
    identity->dfr = vmx_state_dfr(vmx);
    identity->ldr = identity->is_x2apic ? X2APIC_LDR_OF(vcpu->apic_id) : vmx_state_ldr(vmx);
}

static bool post(struct vcpu *target, const struct apic_ipi *ipi)
{
    switch (ipi->delivery) {
    case APIC_DELIVERY_INIT:
        signal_post_init(&target->signals);
        return true;
    case APIC_DELIVERY_STARTUP:
        return signal_post_sipi(&target->signals, ipi->vector);
    case APIC_DELIVERY_NMI:
        signal_post_nmi(&target->signals);
        return true;
    case APIC_DELIVERY_FIXED:
    case APIC_DELIVERY_LOWEST_PRIORITY:
    case APIC_DELIVERY_SMI:
    case APIC_DELIVERY_RESERVED_3:
    case APIC_DELIVERY_RESERVED_7:
        break;
    }
    return false;
}

/* A vCPU that waits in the hardware's state takes no NMI: its SIPI is a real one. */
static void wake(struct lp *lp, struct vcpu *target, const struct apic_ipi *ipi)
{
    struct lp *target_lp = lp->machine->lps[target->vcpu_id];

    if (vmx_state_is_waiting_in_hardware(target->vmx) && ipi->delivery == APIC_DELIVERY_STARTUP) {
        (void)apic_send(((uint32_t)APIC_DELIVERY_STARTUP << 8) | APIC_ICR_LEVEL_ASSERT |
                            ipi->vector,
                        target_lp->apic_id, lp->vcpu->vmx->icr_high);
        return;
    }
    kick_lp(lp, target_lp);
}

static void deliver(struct lp *lp, struct vcpu *sender, const struct apic_ipi *ipi)
{
    struct partition *partition = sender->partition;

    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        struct vcpu *target = partition->vcpus[i];
        struct apic_identity identity;

        identity_of(target, &identity);
        if (!apic_ipi_matches(ipi, target == sender, &identity)) {
            continue;
        }
        if (ipi->delivery == APIC_DELIVERY_NMI) {
            stats_count(&sender->stats, STAT_NMIS_POSTED);
        }
        /* The target looks at its mailbox after the kick; the sender itself before its next
         * entry. */
        if ((post(target, ipi) || vmx_state_is_waiting_in_hardware(target->vmx)) &&
            target != sender) {
            wake(lp, target, ipi);
        }
    }
}

/* Returns whether the command went to software; otherwise the caller sends it as it is. */
static bool handle_ipi(struct lp *lp, struct vcpu *vcpu, const struct apic_ipi *ipi)
{
    stats_count(&vcpu->stats, STAT_ICR_WRITES);
    if (!apic_ipi_is_effective(ipi)) {
        return true;
    }
    if (!apic_ipi_is_software(ipi)) {
        return false;
    }
    deliver(lp, vcpu, ipi);
    return true;
}

enum exit_action apic_guest_wrote_x2apic_icr(struct lp *lp, struct vcpu *vcpu, uint64_t value)
{
    struct apic_ipi ipi;

    if (!vmx_state_is_x2apic(vcpu->vmx) || !apic_ipi_from_x2apic(value, &ipi)) {
        return EXIT_ACTION_GP;
    }
    vcpu->vmx->x2apic_icr = value & ~(uint64_t)APIC_ICR_DELIVERY_STATUS;
    if (!handle_ipi(lp, vcpu, &ipi)) {
        cpu_fence_before_x2apic();
        if (!safe_write_msr(MSR_IA32_X2APIC_ICR, value)) {
            return EXIT_ACTION_GP;
        }
    }
    return EXIT_ACTION_ADVANCE;
}

static void write_icr_low(struct lp *lp, struct vcpu *vcpu, uint32_t value)
{
    uint32_t high = vcpu->vmx->icr_high;
    struct apic_ipi ipi;

    apic_ipi_from_xapic(value, high, &ipi);
    if (handle_ipi(lp, vcpu, &ipi)) {
        return;
    }
    if (apic_send(value, high >> 24, high) != STATUS_OK) {
        log_line(LOG_ERROR, "apic", "the local APIC did not take the guest's command %08x", value);
    }
}

void apic_guest_wrote_page(struct lp *lp, struct vcpu *vcpu, uint32_t offset, uint32_t value)
{
    stats_count(&vcpu->stats, STAT_APIC_WRITES);
    switch (offset) {
    case APIC_ID:
        return; /* kicks go by the id: the guest does not change it */
    case APIC_ICR_LOW:
        write_icr_low(lp, vcpu, value);
        return;
    case APIC_ICR_HIGH:
        vcpu->vmx->icr_high = value & 0xFF000000;
        break;
    case APIC_LDR:
        vmx_state_set_ldr(vcpu->vmx, value & 0xFF000000);
        break;
    case APIC_DFR:
        vmx_state_set_dfr(vcpu->vmx, value | 0x0FFFFFFF);
        break;
    case APIC_LVT_PMI:
        nmi_guest_wrote_lvt_pmi(vcpu, value);
        break;
    default:
        break;
    }
    apic_write((enum apic_register)offset, value);
}

static uint64_t mode_of(uint64_t base)
{
    return base & (IA32_APIC_BASE_ENABLE | IA32_APIC_BASE_EXTD);
}

/* SDM volume 3, "x2APIC State Transitions". */
static bool is_transition_legal(uint64_t from, uint64_t to)
{
    uint64_t x2apic = IA32_APIC_BASE_ENABLE | IA32_APIC_BASE_EXTD;

    if (to == IA32_APIC_BASE_EXTD) {
        return false;
    }
    if (from == x2apic) {
        return to == x2apic || to == 0;
    }
    return from != 0 || to != x2apic;
}

/*
 * The hardware follows a change of mode, but is never left switched off: kicks must arrive. From
 * x2APIC there is no way to xAPIC but through "disabled"; a kick that is lost in that moment had
 * its reason stored before it, and that is looked at before the next entry.
 */
static bool follow_mode(uint64_t from_hardware, uint64_t to, uint64_t value)
{
    if (to == 0 || mode_of(from_hardware) == to) {
        return true;
    }
    if (mode_of(from_hardware) == (IA32_APIC_BASE_ENABLE | IA32_APIC_BASE_EXTD) &&
        !safe_write_msr(MSR_IA32_APIC_BASE,
                        value & ~(IA32_APIC_BASE_ENABLE | IA32_APIC_BASE_EXTD))) {
        return false;
    }
    return safe_write_msr(MSR_IA32_APIC_BASE, value);
}

static void take_mode(struct vcpu *vcpu, uint64_t value)
{
    struct partition *partition = vcpu->partition;
    bool is_x2apic = (value & IA32_APIC_BASE_EXTD) != 0;
    const uint8_t *bitmap = is_x2apic ? partition->msr_bitmap_x2apic : partition->msr_bitmap_xapic;

    if (((value ^ vcpu->vmx->apic_base) & IA32_APIC_BASE_ENABLE) != 0) {
        /* Switched off and on again an APIC is as after reset. Ours is never off, so it is reset at
         * both ends: going off, and coming on, for what the hardware accepted in between. */
        apic_reset_by_init();
        vmx_state_reset_destination(vcpu->vmx);
        vcpu->vmx->icr_high = 0;
        vcpu->vmx->is_pmi_armed = false;
    }
    if (is_x2apic && !vmx_state_is_x2apic(vcpu->vmx)) {
        vcpu->vmx->x2apic_icr = 0;
    }
    vcpu->vmx->apic_base = value;
    vmx_state_set_apic_mode(vcpu->vmx, is_x2apic, (value & IA32_APIC_BASE_ENABLE) != 0);
    vmcs_write64(VMCS_MSR_BITMAP_ADDRESS, (uint64_t)(uintptr_t)bitmap);
}

enum exit_action apic_guest_wrote_base(struct lp *lp, struct vcpu *vcpu, uint64_t value)
{
    uint64_t old = vcpu->vmx->apic_base;
    uint64_t reserved =
        APIC_BASE_RESERVED_LOW | ~(BIT64(vcpu->partition->controls.physical_address_bits) - 1);

    if ((value & reserved) != 0 || !is_transition_legal(mode_of(old), mode_of(value)) ||
        ((value & IA32_APIC_BASE_EXTD) != 0 && !vcpu->partition->cpuid.shows_x2apic)) {
        return EXIT_ACTION_GP;
    }
    if (((value ^ old) & MASK64(51, 12)) != 0) {
        log_line(LOG_WARNING, "apic",
                 "the guest would move its local APIC to %llx: refused with #GP",
                 (unsigned long long)(value & MASK64(51, 12)));
        return EXIT_ACTION_GP;
    }
    /* Which processor the boot processor is, is the hardware's. */
    value = (value & ~IA32_APIC_BASE_BSP) | (old & IA32_APIC_BASE_BSP);
    /* As if an NMI had come: follow_mode may lose one. */
    lp->nmi_arrived = true;
    lp->restart = 1;
    if (!follow_mode(cpu_read_msr(MSR_IA32_APIC_BASE), mode_of(value), value)) {
        return EXIT_ACTION_GP;
    }
    take_mode(vcpu, value);
    return EXIT_ACTION_ADVANCE;
}
