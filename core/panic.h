/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_PANIC_H
#define CORE_PANIC_H

#include <stdbool.h>

#include "core/compiler.h"
#include "core/idt.h"

/*
 * The end: our own bug, or hardware that contradicts its capability MSRs. Guest input never leads
 * here. Takes no lock, allocates nothing.
 */

/* Reports the reason (a line of up to 300 characters), the state of this LP and of the others,
 * stops all LPs. Root mode, on an LP of ours; interrupts off. When another LP panics already,
 * this one parks. */
NORETURN void panic(const char *format, ...) PRINTF_LIKE(1, 2);

/* As panic, for an exception: with the registers of the frame. */
NORETURN void panic_exception(const struct idt_frame *frame);

/* Parks this LP for good: notes it as parked and halts with interrupts off. Root mode, also from
 * the NMI handler. */
NORETURN void panic_park(void);

/* Asks every other LP that runs a guest to park (an NMI each), and waits, bounded, until they
 * have; says how many did not; true: all have. machine->stop_requested is set and the log is
 * seized. Root mode. */
bool panic_stop_others(void);

/* Checks what must hold; on in every build. */
#define ASSERT(condition)                                                         \
    do {                                                                          \
        if (!(condition)) {                                                       \
            panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #condition); \
        }                                                                         \
    } while (0)

#endif
