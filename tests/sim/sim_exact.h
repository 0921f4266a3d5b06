/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_SIM_EXACT_H
#define TESTS_SIM_SIM_EXACT_H

#include <stdatomic.h>
#include <stdint.h>

#include "tests/sim/sim_tlb.h"

/*
 * Exactness: of what an INVVPID drops, how much did requests name? A sender says what it is about
 * to ask for before the call. When the call has returned, what it named is owed by the targets
 * until they have next taken their requests. So what a request named never counts as unnamed; the
 * other way round an entry may pass as named by a request that has just been served.
 */

/* What requests name, of one VP. Bits of pages and of PCIDs. */
struct sim_named {
    uint64_t pages;
    uint64_t spaces;     /* all of their entries, and global ones */
    uint64_t non_global; /* all but global ones */
};

/* The same, written by many. */
struct sim_owed {
    _Atomic uint64_t pages, spaces, non_global;
};

/* A VP's own call while it lasts; targets are vCPUs by number, 0 when there is no call. */
struct sim_call_record {
    _Atomic uint64_t targets;
    struct sim_owed named;
};

/* Causes, one row each of the table that is printed: the types of INVVPID, and the change of LP. */
#define SIM_CAUSE_LP_CHANGE 4u
#define SIM_CAUSES          5u

/* Why an entry was dropped. */
enum sim_reason {
    SIM_REASON_NAMED,
    SIM_REASON_OTHER_SPACE, /* named but for the address space, which no INVVPID of ours looks at */
    SIM_REASON_GLOBAL,      /* global entries should have stayed */
    SIM_REASON_UNNAMED,
    SIM_REASON_OTHER_VP, /* all contexts */
    SIM_REASONS
};

struct sim_exactness {
    uint64_t executed[SIM_CAUSES];
    uint64_t dropped[SIM_CAUSES][SIM_REASONS];
};

void sim_owed_add(struct sim_owed *owed, const struct sim_named *named);
/* Takes what is owed, for a round of service that begins now. */
void sim_owed_take(struct sim_owed *owed, struct sim_named *named);
/* Adds what is owed, without taking it. */
void sim_owed_look(struct sim_owed *owed, struct sim_named *named);

enum sim_reason sim_reason_of(const struct sim_named *named, uint32_t tag, uint64_t pages);

/* Prints a row for each cause, with the ratio of entries dropped to entries named. */
void sim_exactness_print(const struct sim_exactness *exactness);

#endif
