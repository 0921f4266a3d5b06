/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_GUEST_STATE_H
#define VMX_GUEST_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/guest_walk.h"
#include "vmx/partition.h"

/*
 * The guest-state area of the current VMCS: captured from the firmware, or as INIT and SIPI leave a
 * processor (SDM volume 3, "Processor State After Reset", column INIT).
 */

/* Guest state := this processor's state now, but for RSP, RIP and RFLAGS (entry_launch_here). Boot
 * context on the LP that will run the vCPU. */
void guest_state_capture(const struct partition *partition, struct vcpu *vcpu);

/* The vCPU as after INIT; the local APIC is not touched. Root mode, on the vCPU's LP. */
void guest_state_init(const struct partition *partition, struct vcpu *vcpu);

/* A start-up IPI after INIT: real mode at vector << 12 (SDM volume 3, "MP Initialization"). Root
 * mode, on the vCPU's LP, as all that follows. */
void guest_state_start(uint8_t vector);

/* Guest CR0 := value as the guest sees it: the bits that are ours go to the read shadow. CR0.PE and
 * PG transitions are the caller's business (vmx/exit_cr.c). */
void guest_state_write_cr0(const struct partition *partition, uint64_t value);

/* CR0 and CR4 as the guest reads them (SDM volume 3, "Guest/Host Masks and Read Shadows"). */
uint64_t guest_state_read_cr0(void);
uint64_t guest_state_read_cr4(void);

/* Whether the guest's code runs in 64-bit mode (SDM volume 3, "Operating Modes"). */
bool guest_state_is_64_bit(void);

/* The linear address of code at this RIP. */
gva_t guest_state_code_address(uint64_t rip);

/* How the guest pages now, for walks. */
void guest_state_paging(struct guest_paging *paging);

#endif
