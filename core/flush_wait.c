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

enum flush_where flush_wait_add(struct flush_lp *self, uint32_t lp_id)
{
    struct lp_shared *target = self->machine->lps[lp_id];
    struct flush_seen *seen = &self->seen[lp_id];
    bool is_new = (seen->run_seq | seen->gva_seq) == 0;
    uint64_t run_seq, gva_seq;

    flush_step();
    /* Sequentially consistent, after the caller's read-modify-write: pairs with the increment of
     * run_seq on entry, which precedes the load of what the caller has changed. An even value
     * acquires what the guest did before its exit. */
    run_seq = atomic_load_explicit(&target->run_seq, memory_order_seq_cst);
    flush_step();
    /* Sequentially consistent: pairs with gva_begin in the same manner. A section that opens after
     * this load reads page tables that hold the guest's change. */
    gva_seq = atomic_load_explicit(&target->gva_seq, memory_order_seq_cst);
    if ((run_seq & 1) != 0) {
        /* An LP that was added before has left guest mode since, or has the same value. */
        seen->run_seq = run_seq;
    }
    if ((gva_seq & 1) != 0) {
        seen->gva_seq = gva_seq;
    }
    if (is_new && (seen->run_seq | seen->gva_seq) != 0) {
        self->seen_ids[self->seen_count++] = (uint16_t)lp_id;
    }
    return (run_seq & 1) != 0 ? FLUSH_WHERE_GUEST : FLUSH_WHERE_ROOT;
}

static void kick(struct flush_lp *self, uint32_t lp_id, uint64_t run_seq, uint64_t *counters)
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
static void kick_unless_kicked(struct flush_lp *self, uint32_t lp_id, uint64_t *counters)
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

/* Waits until a sequence number has changed. `begin` is when the waiting for all of them began. */
static void wait_for(struct flush_lp *self, const _Atomic uint64_t *number,
                     const struct flush_late *late, uint64_t begin, uint64_t *counters)
{
    const struct flush_machine *machine = self->machine;
    bool is_reported = false;

    /* Acquire: pairs with the increment on exit, and with gva_end. What the target's guest did in
     * guest mode, or root mode in the section, happened before what our guest does next. */
    while (atomic_load_explicit(number, memory_order_acquire) == late->seq) {
        machine->ops->relax(self->context);
        if (is_reported || machine->ops->now(self->context) - begin <= machine->watchdog_ticks) {
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

static void wait_for_lp(struct flush_lp *self, uint32_t lp_id, uint64_t begin, uint64_t *counters)
{
    struct lp_shared *target = self->machine->lps[lp_id];
    struct flush_seen *seen = &self->seen[lp_id];
    struct flush_late late = {.lp_id = lp_id, .is_gva_section = false, .seq = seen->run_seq};

    if (seen->run_seq != 0) {
        counters[FLUSH_COUNTER_WAITS]++;
        wait_for(self, &target->run_seq, &late, begin, counters);
    }
    if (seen->gva_seq != 0) {
        counters[FLUSH_COUNTER_GVA_WAITS]++;
        late.is_gva_section = true;
        late.seq = seen->gva_seq;
        wait_for(self, &target->gva_seq, &late, begin, counters);
    }
    *seen = (struct flush_seen){0};
}

void flush_wait_finish(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    const struct flush_machine *machine = self->machine;
    uint64_t begin, ticks;

    if (self->seen_count == 0) {
        return;
    }
    begin = machine->ops->now(self->context);
    for (uint32_t i = 0; i < self->seen_count; i++) {
        kick_unless_kicked(self, self->seen_ids[i], counters);
    }
    for (uint32_t i = 0; i < self->seen_count; i++) {
        flush_step();
        wait_for_lp(self, self->seen_ids[i], begin, counters);
    }
    self->seen_count = 0;
    ticks = machine->ops->now(self->context) - begin;
    counters[FLUSH_COUNTER_WAIT_TICKS] += ticks;
    if (ticks > counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST]) {
        counters[FLUSH_COUNTER_WAIT_TICKS_LONGEST] = ticks;
    }
}
