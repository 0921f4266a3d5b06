/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_POWER_H
#define GUEST_POWER_H

#include "core/compiler.h"

/* Ways to end the machine. Ports of the PIIX4 board that Bochs and QEMU's `pc` emulate. */

/* Looks for off=s5, off=8900 or off=none among the words. */
void power_choose(const char *options);

/* Ends the machine as chosen. */
NORETURN void power_off(void);

/* Single steps, for tests of just these; they return if nothing happened. */
void power_s5(void);
void power_reset_cf9(void);
void power_reset_keyboard(void);

#endif
