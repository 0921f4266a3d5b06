/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_INIT_STATES_H
#define GUEST_INIT_STATES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "tests/guest/runtime/cpu.h"

/* States in which an INIT may meet a processor. */

struct init_state {
    const char *name;
    /* Brings an idle processor into the state; false if that fails. */
    bool (*enter)(struct cpu *cpu);
    bool is_counting; /* the state keeps init_beats moving */
};

extern const struct init_state init_states[];
extern const unsigned int init_state_count;

/* Moved by the states that count. */
extern atomic_uint init_beats;

/* Puts the processor into an endless counting loop in 64-bit mode, interrupts off. */
bool init_enter_spin(struct cpu *cpu);

/* Whether init_beats still moves. */
bool init_is_beating(void);

/* An INIT with the usual pause after it. */
void init_send(struct cpu *cpu);

#endif
