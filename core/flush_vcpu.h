/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_VCPU_H
#define CORE_FLUSH_VCPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * The flush engine's part of a vCPU: its requests, where it runs, its counters. All zero is the
 * state of a vCPU that never ran. Aligned to cache lines by writer.
 */

/* Ranges that a vCPU can be owed; more become a flush of all. */
#define FLUSH_SLOTS 16u
/* Pages that are invalidated one by one in a round, unless configured otherwise; more become a
 * flush of all. */
#define FLUSH_PAGES_DEFAULT 32u
#define FLUSH_PAGES_LIMIT   4096u /* that can be configured */

/* Bits of the word. */
#define FLUSH_WORD_ALL        1ull
#define FLUSH_WORD_NON_GLOBAL 2ull
#define FLUSH_WORD_LIST       4ull /* slots may be filled */
#define FLUSH_WORD_OVERFLOW   8ull /* a range found no slot; only together with ALL; for reports */

/*
 * Any LP adds, the LP that runs the vCPU takes. A slot is free when 0; senders fill it by
 * compare-and-swap and set FLUSH_WORD_LIST after that; the taker clears the word and then the
 * slots. An element is one word, so it cannot be torn.
 */
struct flush_pending {
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint64_t word;
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint64_t slots[FLUSH_SLOTS];
};

enum flush_counter {
#define FLUSH_COUNTER(name, text) FLUSH_COUNTER_##name,
#include "core/flush_counters.def"
#undef FLUSH_COUNTER
    FLUSH_COUNTER_COUNT
};

#define FLUSH_LP_NONE 0u

struct flush_vcpu {
    struct flush_pending pending;
    /* The LP that runs the vCPU: lp_id + 1, or FLUSH_LP_NONE. Written by that LP, read by
     * senders. */
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint32_t lp;
    /* The LP whose translations are current: lp_id + 1, or FLUSH_LP_NONE. Touched only by the LP
     * that runs the vCPU. */
    uint32_t last_lp;
    /* Written by the LP that runs the vCPU, with plain increments. */
    uint64_t counters[FLUSH_COUNTER_COUNT];
};

STATIC_ASSERT(offsetof(struct flush_vcpu, lp) % CACHE_LINE_BYTES == 0);

/* The text of a counter, for tables. */
const char *flush_counter_name(enum flush_counter counter);

#endif
