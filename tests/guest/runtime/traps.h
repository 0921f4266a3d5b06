/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TRAPS_H
#define GUEST_TRAPS_H

#include <stdint.h>

#include "tests/guest/runtime/cpu.h"

/* Exceptions and interrupts: entry stubs, dispatch. */

#define VECTOR_DE  0u
#define VECTOR_DB  1u
#define VECTOR_NMI 2u
#define VECTOR_BP  3u
#define VECTOR_UD  6u
#define VECTOR_NM  7u
#define VECTOR_DF  8u
#define VECTOR_GP  13u
#define VECTOR_PF  14u

/* Interrupt vectors of the guests. */
#define VECTOR_WAKE     0x40u /* ends the HLT of an idle processor */
#define VECTOR_TEST     0x50u /* free for tests, and the 15 after it */
#define VECTOR_TIMER    0x60u
#define VECTOR_SPURIOUS 0xFFu

#define TRAP_STUB_BYTES 16u

/* 256 entry points, TRAP_STUB_BYTES apart (traps.asm). */
extern const uint8_t trap_stubs[];

/* Reloads CS, SS, DS, ES, FS, GS from the GDT (traps.asm). */
void trap_load_segments(void);

/* Common handler, called by the stubs with interrupts off. */
void trap_handle(struct trap_frame *frame);

#endif
