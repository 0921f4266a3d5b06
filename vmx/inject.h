/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INJECT_H
#define VMX_INJECT_H

#include <stdint.h>

#include "core/vcpu.h"

/* Events for the next VM entry (SDM volume 3, "Event Injection"). Root mode, on the vCPU's LP. */

/* Asks for a hardware exception. If another event was being delivered when the exit came, the two
 * are merged by the rules for double faults. error_code counts only for vectors that have one. */
void inject_exception(struct vcpu *vcpu, uint8_t vector, uint32_t error_code);

/* Keeps the event that was being delivered when the exit came, to be delivered again. Called once
 * per exit that can come in the middle of a delivery, before the exit is handled. */
void inject_keep_interrupted_event(struct vcpu *vcpu);

/* Writes what is pending into the VMCS. The last thing before an entry. */
void inject_commit(struct vcpu *vcpu);

/* Goes past the instruction that exited: RIP, the interrupt shadow, and the single-step trap. */
void inject_advance_rip(uint32_t instruction_length);

#endif
