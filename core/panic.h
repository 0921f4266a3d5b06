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

/* Reports the reason, the state of this LP and of the others, stops all LPs. Root mode. */
NORETURN void panic(const char *format, ...) PRINTF_LIKE(1, 2);

/* As panic, for an exception: with the registers of the frame. */
NORETURN void panic_exception(const struct idt_frame *frame);

/* Parks this LP for good: counts it as stopped and halts with interrupts off. */
NORETURN void panic_park(void);

/* Asks every other LP to park and waits, bounded, until they have. Names those that did not. */
void panic_stop_others(void);

/* Checks what must hold; on in every build. */
#define ASSERT(condition)                                                         \
    do {                                                                          \
        if (!(condition)) {                                                       \
            panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #condition); \
        }                                                                         \
    } while (0)

#endif
