/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_CONSOLE_SHADOW_H
#define VMX_CONSOLE_SHADOW_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The console's port as the guest sees it: a 16550 whose transmitter is always empty and whose
 * receiver never gets anything. Output is swallowed. Pure; any number of vCPUs at once.
 */

#define CONSOLE_SHADOW_PORTS 8u

struct console_shadow {
    _Atomic uint8_t registers[CONSOLE_SHADOW_PORTS];
    _Atomic uint8_t divisor[2];
};

/* One byte in or out; index is the port's distance from the first, below CONSOLE_SHADOW_PORTS. */
uint8_t console_shadow_read(struct console_shadow *shadow, uint8_t index);
void console_shadow_write(struct console_shadow *shadow, uint8_t index, uint8_t value);

#endif
