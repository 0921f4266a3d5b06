/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_CLOCK_H
#define GUEST_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Time from the TSC, calibrated once against PIT channel 2. Waits are timed on one processor. */

/* Boot processor, once. */
void clock_init(void);

uint64_t clock_ticks_per_us(void);

/* Spins. Interrupts stay as they are. */
void clock_wait_us(uint64_t us);

/* Spins until *word differs from old or the time is over; true if it changed. */
bool clock_wait_change(atomic_uint *word, unsigned int old, uint64_t us);

/* Spins until *word is at least target (as a running count) or the time is over. */
bool clock_wait_count(atomic_uint *word, unsigned int target, uint64_t us);

#endif
