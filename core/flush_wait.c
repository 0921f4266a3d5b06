/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/flush_wait.h"

#include "core/flush_step.h"

void flush_lp_init(struct flush_lp *self, const struct flush_machine *machine, uint32_t lp_id,
                   void *context, void *scratch)
{
    self->machine = machine;
    self->shared = machine->lps[lp_id];
    self->context = context;
    self->lp_id = lp_id;
    self->seen_count = 0;
    self->seen = scratch;
}

static inline void kick(struct flush_lp *self, const struct flush_seen *seen, uint64_t *counters)
{
    flush_step();
    counters[FLUSH_COUNTER_KICKS]++;
    if (self->machine->ops->kick(self->context, seen->lp_id)) {
        flush_step();
        /* Release: after the kick. Pairs with the load in kick_unless_kicked. A slow sender may
         * write an old value over a newer one, which costs a kick and nothing else: each value that
         * stands here was kicked for. */
        atomic_store_explicit(&seen->lp->kicked_seq, seen->run_seq, memory_order_release);
    }
}

/* The kick that was issued for the same run_seq, by another sender or by us for another target
 * on that LP, ends the same stay in guest mode. */
static inline void kick_unless_kicked(struct flush_lp *self, const struct flush_seen *seen,
                                      uint64_t *counters)
{
    if ((seen->run_seq & 1) == 0) {
        return;
    }
    /* Acquire: pairs with the store in kick. */
    if (atomic_load_explicit(&seen->lp->kicked_seq, memory_order_acquire) == seen->run_seq) {
        counters[FLUSH_COUNTER_KICKS_SPARED]++;
        return;
    }
    kick(self, seen, counters);
}

/* How often a waiting loop looks at the number before it asks for the time. */
#define LOOKS_PER_TURN 64u

/* Whether the number changes within one turn. Acquire: pairs with the increment on exit, and
 * with gva_end. What the target's guest did in guest mode, or root mode in the section, happened
 * before what our guest does next. */
static bool changes_in_turn(const _Atomic uint64_t *number, uint64_t old)
{
    for (uint32_t look = 0; look < LOOKS_PER_TURN; look++) {
        if (atomic_load_explicit(number, memory_order_acquire) != old) {
            return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

/* Waits until a sequence number has changed. */
NOINLINE static void wait_for(struct flush_lp *self, const struct flush_seen *seen,
                              bool is_gva_section, uint64_t *counters)
{
    const struct flush_machine *machine = self->machine;
    const _Atomic uint64_t *number = is_gva_section ? &seen->lp->gva_seq : &seen->lp->run_seq;
    struct flush_late late = {.lp_id = seen->lp_id,
                              .is_gva_section = is_gva_section,
                              .seq = is_gva_section ? seen->gva_seq : seen->run_seq};
    bool is_reported = false;

    while (!changes_in_turn(number, late.seq)) {
        machine->ops->relax(self->context);
        if (is_reported ||
            machine->ops->now(self->context) - self->wait_begin <= machine->watchdog_ticks) {
            continue;
        }
        is_reported = true;
        counters[FLUSH_COUNTER_WATCHDOGS]++;
        machine->ops->report(self->context, &late);
        if (!is_gva_section) {
            kick(self, seen, counters);
        }
    }
}

/* Most have left by now. Acquire: as in changes_in_turn. */
static inline bool is_still(const _Atomic uint64_t *number, uint64_t old)
{
    return atomic_load_explicit(number, memory_order_acquire) == old;
}

static inline void wait_for_lp(struct flush_lp *self, const struct flush_seen *seen,
                               uint64_t *counters)
{
    if ((seen->run_seq & 1) != 0) {
        counters[FLUSH_COUNTER_WAITS]++;
        if (is_still(&seen->lp->run_seq, seen->run_seq)) {
            wait_for(self, seen, false, counters);
        }
    }
    if (__builtin_expect((seen->gva_seq & 1) != 0, 0)) {
        counters[FLUSH_COUNTER_GVA_WAITS]++;
        if (is_still(&seen->lp->gva_seq, seen->gva_seq)) {
            wait_for(self, seen, true, counters);
        }
    }
}

void flush_wait_kick_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    const struct flush_seen *end = self->seen + self->seen_count;

    self->wait_begin = self->machine->ops->now(self->context);
    for (const struct flush_seen *seen = self->seen; seen != end; seen++) {
        kick_unless_kicked(self, seen, counters);
    }
}

void flush_wait_finish_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    const struct flush_seen *end = self->seen + self->seen_count;
    uint64_t ticks;

    for (const struct flush_seen *seen = self->seen; seen != end; seen++) {
        flush_step();
        wait_for_lp(self, seen, counters);
    }
    self->seen_count = 0;
    ticks = self->machine->ops->now(self->context) - self->wait_begin;
    counters[FLUSH_COUNTER_WAIT_TICKS] += ticks;
    if (ticks > counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST]) {
        counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST] = ticks;
    }
}
