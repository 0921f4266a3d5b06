/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INJECT_H
#define VMX_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cr_bits.h"
#include "core/vcpu.h"
#include "vmx/vmcs.h"

/* Events for the next VM entry (SDM volume 3, "Event Injection"). Root mode, on the vCPU's LP. */

/* Asks for a hardware exception. If another event was being delivered when the exit came, the two
 * are merged by the rules for double faults. error_code counts only for vectors that have one. */
void inject_exception(struct vcpu *vcpu, uint8_t vector, uint32_t error_code);

/* Keeps the event that was being delivered when the exit came, to be delivered again. Called
 * first by the handlers of exits that can come in the middle of a delivery (SDM volume 3,
 * "Information for VM Exits That Occur During Event Delivery"). */
void inject_keep_interrupted_event(struct vcpu *vcpu);

/* The exit came in the middle of an IRET that had already unblocked NMIs, as the exit's own
 * information says: blocks them again (SDM volume 3, "Information About NMI Unblocking Due to
 * IRET"). Not when an event was being delivered: then the bit says nothing. */
void inject_keep_nmis_blocked(bool is_nmi_unblocking);

/* Moves what is pending into the VMCS' VM-entry fields. The last thing before an entry. */
void inject_commit(struct vcpu *vcpu);

/* Takes it back when the entry was not made, since something may now have to be merged with it. */
void inject_take_back(struct vcpu *vcpu);

/* The rare parts of inject_advance_rip. Code outside 64-bit mode has a 32-bit RIP, which matters
 * when the sum crosses 4 GiB; the instruction ends the shadow of STI and MOV SS; a single step
 * traps. */
uint64_t inject_wrap_rip(uint64_t rip);
void inject_end_shadow(void);
void inject_single_step(void);

#define INTERRUPTIBILITY_SHADOW \
    (INTERRUPTIBILITY_BLOCKING_BY_STI | INTERRUPTIBILITY_BLOCKING_BY_MOV_SS)

/* Goes past the instruction that exited, instruction_length bytes long. Inline: it is part of
 * every exit's path. */
static inline void inject_advance_rip(uint64_t instruction_length)
{
    uint64_t rip = vmcs_read(VMCS_GUEST_RIP) + instruction_length;

    /* The sum crossed 4 GiB. */
    if (__builtin_expect((uint32_t)rip < (uint32_t)instruction_length, 0)) {
        rip = inject_wrap_rip(rip);
    }
    vmcs_write(VMCS_GUEST_RIP, rip);
    if (__builtin_expect(
            (vmcs_read32(VMCS_GUEST_INTERRUPTIBILITY_STATE) & INTERRUPTIBILITY_SHADOW) != 0, 0)) {
        inject_end_shadow();
    }
    if (__builtin_expect((vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_TF) != 0, 0)) {
        inject_single_step();
    }
}

#endif
