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
    self->seen_ids = (uint16_t *)(self->seen + machine->lp_count);
}

static inline void kick(struct flush_lp *self, uint32_t lp_id, uint64_t run_seq, uint64_t *counters)
{
    struct lp_shared *target = self->machine->lps[lp_id];

    flush_step();
    counters[FLUSH_COUNTER_KICKS]++;
    if (self->machine->ops->kick(self->context, lp_id)) {
        flush_step();
        /* Release: after the kick. Pairs with the load in kick_unless_kicked. A slow sender may
         * write an old value over a newer one, which costs a kick and nothing else: each value that
         * stands here was kicked for. */
        atomic_store_explicit(&target->kicked_seq, run_seq, memory_order_release);
    }
}

/* The kick that another sender has issued for the same run_seq ends the same stay in guest mode. */
static inline void kick_unless_kicked(struct flush_lp *self, uint32_t lp_id, uint64_t *counters)
{
    const struct lp_shared *target = self->machine->lps[lp_id];
    uint64_t run_seq = self->seen[lp_id].run_seq;

    if (run_seq == 0) {
        return;
    }
    if (atomic_load_explicit(&target->kicked_seq, memory_order_acquire) == run_seq) {
        counters[FLUSH_COUNTER_KICKS_SPARED]++;
        return;
    }
    kick(self, lp_id, run_seq, counters);
}

/* How often a waiting loop looks at the number before it asks for the time. */
#define LOOKS_PER_TURN 64u

/* Whether the number changes within one turn. Acquire: pairs with the increment on exit, and with
 * gva_end. What the target's guest did in guest mode, or root mode in the section, happened before what
 * our guest does next. */
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
NOINLINE static void wait_for(struct flush_lp *self, const _Atomic uint64_t *number,
                              const struct flush_late *late, uint64_t *counters)
{
    const struct flush_machine *machine = self->machine;
    bool is_reported = false;

    while (!changes_in_turn(number, late->seq)) {
        machine->ops->relax(self->context);
        if (is_reported ||
            machine->ops->now(self->context) - self->wait_begin <= machine->watchdog_ticks) {
            continue;
        }
        is_reported = true;
        counters[FLUSH_COUNTER_WATCHDOGS]++;
        machine->ops->report(self->context, late);
        if (!late->is_gva_section) {
            kick(self, late->lp_id, late->seq, counters);
        }
    }
}

/* Most have left by now. Acquire: as in changes_in_turn. */
static inline bool is_still(const _Atomic uint64_t *number, uint64_t old)
{
    return atomic_load_explicit(number, memory_order_acquire) == old;
}

static inline void wait_for_lp(struct flush_lp *self, uint32_t lp_id, uint64_t *counters)
{
    const struct lp_shared *target = self->machine->lps[lp_id];
    struct flush_seen *seen = &self->seen[lp_id];
    uint64_t run_seq = seen->run_seq;
    uint64_t gva_seq = seen->gva_seq;

    seen->run_seq = 0;
    seen->gva_seq = 0;
    if (run_seq != 0) {
        counters[FLUSH_COUNTER_WAITS]++;
        if (is_still(&target->run_seq, run_seq)) {
            wait_for(self, &target->run_seq,
                     &(struct flush_late){.lp_id = lp_id, .is_gva_section = false, .seq = run_seq},
                     counters);
        }
    }
    if (__builtin_expect(gva_seq != 0, 0)) {
        counters[FLUSH_COUNTER_GVA_WAITS]++;
        if (is_still(&target->gva_seq, gva_seq)) {
            wait_for(self, &target->gva_seq,
                     &(struct flush_late){.lp_id = lp_id, .is_gva_section = true, .seq = gva_seq},
                     counters);
        }
    }
}

void flush_wait_kick_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    uint32_t count = self->seen_count;

    self->wait_begin = self->machine->ops->now(self->context);
    for (uint32_t i = 0; i < count; i++) {
        kick_unless_kicked(self, self->seen_ids[i], counters);
    }
}

void flush_wait_finish_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    uint32_t count = self->seen_count;
    uint64_t ticks;

    for (uint32_t i = 0; i < count; i++) {
        flush_step();
        wait_for_lp(self, self->seen_ids[i], counters);
    }
    self->seen_count = 0;
    ticks = self->machine->ops->now(self->context) - self->wait_begin;
    counters[FLUSH_COUNTER_WAIT_TICKS] += ticks;
    if (ticks > counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST]) {
        counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST] = ticks;
    }
}
