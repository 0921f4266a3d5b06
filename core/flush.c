/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/flush.h"

#include "core/flush_carry.h"
#include "core/flush_step.h"

#define BANK_BITS 64u

#ifdef SLUICE_HOST
void (*flush_step_hook)(void);
#endif

const char *flush_counter_name(enum flush_counter counter)
{
    static const char *const names[] = {
#define FLUSH_COUNTER(name, text) [FLUSH_COUNTER_##name] = text,
#include "core/flush_counters.def"
#undef FLUSH_COUNTER
    };

    return (size_t)counter < ARRAY_LEN(names) ? names[counter] : "?";
}

/* The sender's side. */

/* A slot holds a range plus 1, so that 0 means free: page 0 alone is a range that is 0. The sum
 * does not wrap, since the last page has no successor in a range. */
static uint64_t slot_of(uint64_t range)
{
    return range + 1;
}

static uint64_t range_of(uint64_t slot)
{
    return slot - 1;
}

/* Puts a range into a free slot. Returns whether there was one. */
static bool fill_slot(struct flush_pending *pending, uint64_t range)
{
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        uint64_t expected = 0;

        /* Release: the guest's change of its page tables happened before; pairs with the exchange
         * in take_ranges. Nobody else's element is overwritten, since the slot must be free. */
        if (atomic_load_explicit(&pending->slots[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&pending->slots[i], &expected, slot_of(range),
                                                    memory_order_release, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Puts the ranges into slots; returns the bits for the word. */
static uint64_t fill_slots(struct flush_pending *pending, const struct flush_request *request,
                           uint64_t *counters)
{
    for (uint32_t i = 0; i < request->range_count; i++) {
        flush_step();
        if (!fill_slot(pending, request->ranges[i])) {
            counters[FLUSH_COUNTER_OVERFLOWS]++;
            /* LIST too, so that the slots filled before this are emptied. */
            return FLUSH_WORD_ALL | FLUSH_WORD_OVERFLOW | FLUSH_WORD_LIST;
        }
    }
    return FLUSH_WORD_LIST;
}

/* A request on its way. It never leaves flush_send, whose parts are inlined, so that the
 * compiler keeps it in registers: the sender's path is what a guest waits for. */
struct sending {
    struct flush_lp *self;
    const struct flush_machine *machine;
    const struct flush_vcpu *caller;
    uint64_t *counters;
    const struct flush_request *request;
    uint64_t word; /* the bits of pending.word */
    uint64_t targets;
    bool is_caller_named;
};

/* Adds the request to a target. Bits are only ever added: a request merges to one that drops at
 * least what each of the two drops. */
static ALWAYS_INLINE void post(const struct sending *sending, struct flush_vcpu *target)
{
    uint64_t bits = sending->word;

    if (bits == FLUSH_WORD_LIST) {
        bits = fill_slots(&target->pending, sending->request, sending->counters);
    }
    flush_step();
    /* Sequentially consistent, a locked instruction: the full barrier between the request (and
     * the guest's change of its page tables) and the loads of lp, run_seq and gva_seq. Pairs
     * with the increment of run_seq on entry, followed by the load in flush_is_pending. Release
     * for the slots: pairs with the exchange in take. */
    atomic_fetch_or_explicit(&target->pending.word, bits, memory_order_seq_cst);
}

/* Looks where a target is, after the request was posted to it, and remembers what to wait for. */
static ALWAYS_INLINE void look(const struct sending *sending, const struct flush_vcpu *target)
{
    uint32_t lp;

    flush_step();
    /* Sequentially consistent: pairs with the store in flush_arrive. Who arrives after this load
     * makes run_seq odd after it too, and then sees the request. Acquire: pairs with
     * flush_depart. */
    lp = atomic_load_explicit(&target->lp, memory_order_seq_cst);
    if (lp == FLUSH_LP_NONE) {
        sending->counters[FLUSH_COUNTER_NOT_RUNNING]++;
    } else if (flush_wait_add(sending->self, lp - 1) == FLUSH_WHERE_GUEST) {
        sending->counters[FLUSH_COUNTER_WAITED_FOR]++;
    } else {
        sending->counters[FLUSH_COUNTER_IN_ROOT]++;
    }
}

/* To one VP of the set; indexes that do not exist are passed over. */
static ALWAYS_INLINE void send_to(struct sending *sending, uint32_t vp_index)
{
    struct flush_vcpu *target;

    if (vp_index >= sending->machine->vp_count) {
        return;
    }
    target = sending->machine->vps[vp_index];
    if (target == sending->caller) {
        sending->is_caller_named = true;
    } else if (target != NULL) {
        sending->targets++;
        post(sending, target);
        look(sending, target);
    }
}

static ALWAYS_INLINE uint32_t lowest_bit(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

/* Cost by banks present and set bits, not by the size of the partition. */
static ALWAYS_INLINE void send_to_set(struct sending *sending, const struct flush_targets *targets)
{
    const uint64_t *contents = targets->banks;

    for (uint64_t banks = targets->valid_banks; banks != 0; banks &= banks - 1) {
        uint32_t base = lowest_bit(banks) * BANK_BITS;

        for (uint64_t bits = *contents++; bits != 0; bits &= bits - 1) {
            send_to(sending, base + lowest_bit(bits));
        }
    }
}

static ALWAYS_INLINE void send_to_all(struct sending *sending)
{
    uint32_t vp_count = sending->machine->vp_count;

    for (uint32_t vp_index = 0; vp_index < vp_count; vp_index++) {
        send_to(sending, vp_index);
    }
}

/* Whether the request's list can be carried out page by page. */
static ALWAYS_INLINE bool is_listable(const struct flush_machine *machine,
                                      const struct flush_request *request)
{
    return request->range_count <= FLUSH_SLOTS && request->page_count <= machine->pages_max &&
           (machine->invvpid_types & FLUSH_HAS(FLUSH_INVVPID_ADDRESS)) != 0;
}

/* What is to be done on each target, decided once. */
static ALWAYS_INLINE uint64_t word_for(const struct flush_machine *machine,
                                       const struct flush_request *request, uint64_t *counters)
{
    if (request->kind == FLUSH_KIND_NON_GLOBAL) {
        return FLUSH_WORD_NON_GLOBAL;
    }
    if (request->kind == FLUSH_KIND_LIST && is_listable(machine, request)) {
        return FLUSH_WORD_LIST;
    }
    if (request->kind == FLUSH_KIND_LIST || request->is_widened) {
        counters[FLUSH_COUNTER_LISTS_WIDENED]++;
    }
    return FLUSH_WORD_ALL;
}

/* The caller's own part, while the others leave guest mode. It does not run before the call has
 * returned, and what others post to it meanwhile stays pending. */
static ALWAYS_INLINE void serve_caller(struct flush_lp *self, struct flush_vcpu *caller,
                                       const struct flush_request *request, uint64_t word)
{
    flush_step();
    caller->counters[FLUSH_COUNTER_SELF]++;
    flush_carry_out(self, caller, word, request->ranges,
                    word == FLUSH_WORD_LIST ? request->range_count : 0);
}

void flush_send(struct flush_lp *self, struct flush_vcpu *caller,
                const struct flush_request *request)
{
    uint64_t *counters = caller->counters;
    struct sending sending = {
        .self = self,
        .machine = self->machine,
        .caller = caller,
        .counters = counters,
        .request = request,
        .word = word_for(self->machine, request, counters),
    };

    if (request->targets.is_all) {
        send_to_all(&sending);
    } else {
        send_to_set(&sending, &request->targets);
    }
    flush_wait_kick(self, counters);
    if (sending.is_caller_named) {
        sending.targets++;
        serve_caller(self, caller, request, sending.word);
    }
    counters[FLUSH_COUNTER_TARGETS] += sending.targets;
    flush_wait_finish(self, counters);
}

/* The target's side. */

/* Empties the slots into ranges (FLUSH_SLOTS long); returns how many there were. */
static uint32_t take_ranges(struct flush_pending *pending, uint64_t *ranges)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        if (atomic_load_explicit(&pending->slots[i], memory_order_relaxed) == 0) {
            continue;
        }
        /* Acquire: pairs with fill_slot. An element whose sender has not come to the word yet
         * may be among them: it is carried out now, and once more for its bit nothing is found. */
        ranges[count++] =
            range_of(atomic_exchange_explicit(&pending->slots[i], 0, memory_order_acquire));
    }
    return count;
}

/* Takes everything, before it is carried out: what is posted from now on sets the word again. The
 * word goes first, because senders set it last. Returns it. */
static uint64_t take(struct flush_vcpu *vcpu, uint64_t *ranges, uint32_t *range_count)
{
    uint64_t word;

    flush_step();
    /* Sequentially consistent: acquires from every fetch_or in post that it takes the bits of. The
     * loads of slots stay behind it. */
    word = atomic_exchange_explicit(&vcpu->pending.word, 0, memory_order_seq_cst);
    flush_step();
    *range_count = (word & FLUSH_WORD_LIST) != 0 ? take_ranges(&vcpu->pending, ranges) : 0;
    flush_step();
    return word;
}

void flush_serve(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    uint64_t ranges[FLUSH_SLOTS];
    uint32_t range_count;
    uint64_t word;

    vcpu->counters[FLUSH_COUNTER_ROUNDS]++;
    word = take(vcpu, ranges, &range_count);
    flush_carry_out(self, vcpu, word, ranges, range_count);
    flush_step();
}

void flush_serve_published(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    do {
        vcpu->counters[FLUSH_COUNTER_ROUNDS_HELD]++;
        flush_serve(self, vcpu);
    } while (flush_is_pending(vcpu));
    flush_step();
    /* Sequentially consistent: who remembered the old value is let go, and what it has posted
     * since the last look is seen by the caller's next one; pairs with the fetch_or in post and
     * the load in flush_wait_add, as on entry. */
    atomic_fetch_add_explicit(&self->shared->run_seq, 2, memory_order_seq_cst);
    flush_step();
}

void flush_arrive(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    uint64_t ranges[FLUSH_SLOTS];
    uint32_t range_count;

    /* Sequentially consistent, before run_seq is made odd: pairs with the load in look. */
    atomic_store_explicit(&vcpu->lp, self->lp_id + 1, memory_order_seq_cst);
    flush_step();
    if (vcpu->last_lp == self->lp_id + 1) {
        return;
    }
    vcpu->counters[FLUSH_COUNTER_LP_CHANGES]++;
    /* Whatever was asked for is among all. */
    (void)take(vcpu, ranges, &range_count);
    flush_drop_all(self, vcpu);
    vcpu->last_lp = self->lp_id + 1;
}

void flush_depart(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    (void)self;
    flush_step();
    /* Release: pairs with the load in look. What the guest did here happened before the sender goes
     * on. The next arrival publishes anew. */
    atomic_store_explicit(&vcpu->lp, FLUSH_LP_NONE, memory_order_release);
}
