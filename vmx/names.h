/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_NAMES_H
#define VMX_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Words for the numbers of the SDM, for reports. All functions return static text, never NULL, and
 * may be called in any context.
 */

enum control_group { CONTROLS_PIN, CONTROLS_PROC, CONTROLS_PROC2, CONTROLS_EXIT, CONTROLS_ENTRY };

/* The words for a basic exit reason (bits 15:0 of the exit reason). */
const char *exit_reason_name(uint32_t basic_reason);

/* The SDM's name of a VMCS field, by encoding; bit 0 (access to the high half) is ignored. */
const char *vmcs_field_name(uint32_t encoding);

/* SDM volume 3, "VM Instruction Error Numbers". */
const char *vmx_instruction_error_name(uint32_t error);

/* "#GP general protection", ...; vectors of 32 and above are "external or software interrupt". */
const char *exception_name(uint8_t vector);

/* The interruption type of an interruption-information field (0..7, see enum interruption_type). */
const char *interruption_type_name(uint32_t type);

const char *activity_state_name(uint32_t state);

/* What an entry failure's exit qualification says (SDM, "VM-Entry Failures During or After Loading
 * Guest State"). basic_reason is 33, 34 or 41; for 34 the qualification is the number of the entry
 * in the MSR-load area. */
const char *entry_failure_name(uint32_t basic_reason, uint64_t qualification);

/* The name of one control bit (bit 0..31) of a group, or NULL when the SDM names none there. */
const char *control_bit_name(enum control_group group, unsigned int bit);

/* "pin", "proc", "proc2", "exit", "entry". */
const char *control_group_name(enum control_group group);

/* Writes the names of all set bits, separated by ", " ("bit N" for unnamed ones). Returns the
 * length that the whole text has, as fmt_print does; what is written is always terminated. */
size_t control_bits_text(enum control_group group, uint32_t value, char *out, size_t size);

/* The same for the guest interruptibility state ("none" for 0). */
size_t interruptibility_text(uint32_t state, char *out, size_t size);

#endif
