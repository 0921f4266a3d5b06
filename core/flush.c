/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/flush.h"

#include "core/flush_step.h"

#define BANK_BITS        64u
#define RANGE_MORE_PAGES 0xFFFull /* of an element: pages after the first */

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

static uint32_t range_pages(uint64_t range)
{
    return (uint32_t)(range & RANGE_MORE_PAGES) + 1;
}

/* The sender's side. */

/* Puts a range into a free slot. Returns whether there was one. */
static bool fill_slot(struct flush_pending *pending, uint64_t range)
{
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        uint64_t expected = 0;

        /* Release: the guest's change of its page tables happened before; pairs with the exchange
         * in take_ranges. Nobody else's element is overwritten, since the slot must be free. */
        if (atomic_load_explicit(&pending->slots[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&pending->slots[i], &expected, range,
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

/* Adds the request to a target. Bits are only ever added: a request merges to one that drops at
 * least what each of the two drops. */
static void post(struct flush_vcpu *target, const struct flush_request *request, uint64_t *counters)
{
    uint64_t bits = FLUSH_WORD_ALL;

    if (request->kind == FLUSH_KIND_LIST) {
        bits = fill_slots(&target->pending, request, counters);
    } else if (request->kind == FLUSH_KIND_NON_GLOBAL) {
        bits = FLUSH_WORD_NON_GLOBAL;
    }
    flush_step();
    /* Sequentially consistent, a locked instruction: the full barrier between the request (and the
     * guest's change of its page tables) and the loads of lp, run_seq and gva_seq. Pairs with the
     * increment of run_seq on entry, followed by the load in flush_is_pending. Release for the slots:
     * pairs with the exchange in take. */
    atomic_fetch_or_explicit(&target->pending.word, bits, memory_order_seq_cst);
}

/* Looks where a target is, after everything was posted. */
static void look(struct flush_lp *self, const struct flush_vcpu *caller,
                 const struct flush_vcpu *target, uint64_t *counters)
{
    uint32_t lp;

    counters[FLUSH_COUNTER_TARGETS]++;
    if (target == caller) {
        counters[FLUSH_COUNTER_SELF]++;
        return;
    }
    flush_step();
    /* Sequentially consistent: pairs with the store in flush_arrive. Who arrives after this load
     * makes run_seq odd after it too, and then sees the request. Acquire: pairs with flush_depart. */
    lp = atomic_load_explicit(&target->lp, memory_order_seq_cst);
    if (lp == FLUSH_LP_NONE) {
        counters[FLUSH_COUNTER_NOT_RUNNING]++;
    } else if (flush_wait_add(self, lp - 1) == FLUSH_WHERE_GUEST) {
        counters[FLUSH_COUNTER_WAITED_FOR]++;
    } else {
        counters[FLUSH_COUNTER_IN_ROOT]++;
    }
}

/* Goes through the targets that exist, in ascending order: cost by banks present and set bits. */
struct target_iterator {
    const struct flush_machine *machine;
    const struct flush_targets *targets;
    uint64_t banks_left; /* valid banks that were not begun */
    uint64_t bits_left;  /* of the current bank */
    uint32_t base;       /* VP index of the current bank's bit 0 */
    uint32_t position;   /* words of banks that were begun; or with is_all, the next VP index */
};

static uint32_t lowest_bit(uint64_t bits)
{
    return (uint32_t)__builtin_ctzll(bits);
}

static void iterate(struct target_iterator *iterator, const struct flush_machine *machine,
                    const struct flush_targets *targets)
{
    *iterator = (struct target_iterator){
        .machine = machine, .targets = targets, .banks_left = targets->valid_banks};
}

/* Finds the next VP index that is named. Returns whether there is one. */
static bool next_index(struct target_iterator *iterator, uint32_t *vp_index)
{
    if (iterator->targets->is_all) {
        *vp_index = iterator->position++;
        return *vp_index < iterator->machine->vp_count;
    }
    while (iterator->bits_left == 0) {
        if (iterator->banks_left == 0) {
            return false;
        }
        iterator->base = lowest_bit(iterator->banks_left) * BANK_BITS;
        iterator->banks_left &= iterator->banks_left - 1;
        iterator->bits_left = iterator->targets->banks[iterator->position++];
    }
    *vp_index = iterator->base + lowest_bit(iterator->bits_left);
    iterator->bits_left &= iterator->bits_left - 1;
    return true;
}

/* The next target, or NULL. Indexes that do not exist are passed over. */
static struct flush_vcpu *next_target(struct target_iterator *iterator)
{
    uint32_t vp_index;

    while (next_index(iterator, &vp_index)) {
        if (vp_index < iterator->machine->vp_count && iterator->machine->vps[vp_index] != NULL) {
            return iterator->machine->vps[vp_index];
        }
    }
    return NULL;
}

/* Whether the ranges are too many to be listed, or one cannot be. */
static bool is_too_long(const struct flush_machine *machine, const struct flush_request *request)
{
    uint32_t pages = 0;

    if (request->range_count > FLUSH_SLOTS ||
        (machine->invvpid_types & FLUSH_HAS(FLUSH_INVVPID_ADDRESS)) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < request->range_count; i++) {
        pages += range_pages(request->ranges[i]);
        if (request->ranges[i] == 0 || pages > FLUSH_PAGES_MAX) {
            return true;
        }
    }
    return false;
}

void flush_send(struct flush_lp *self, struct flush_vcpu *caller,
                const struct flush_request *request)
{
    struct flush_request effective = *request;
    struct target_iterator iterator;
    struct flush_vcpu *target;

    if (request->kind == FLUSH_KIND_LIST && is_too_long(self->machine, request)) {
        caller->counters[FLUSH_COUNTER_LISTS_WIDENED]++;
        effective.kind = FLUSH_KIND_ALL;
    }
    iterate(&iterator, self->machine, &effective.targets);
    while ((target = next_target(&iterator)) != NULL) {
        post(target, &effective, caller->counters);
    }
    /* Everything is posted before the first look, so that the kicks go out together. */
    iterate(&iterator, self->machine, &effective.targets);
    while ((target = next_target(&iterator)) != NULL) {
        look(self, caller, target, caller->counters);
    }
    flush_wait_finish(self, caller->counters);
}

/* The target's side. */

struct work {
    uint64_t word;
    uint32_t range_count;
    uint32_t pages;
    uint64_t ranges[FLUSH_SLOTS];
};

static void take_ranges(struct flush_pending *pending, struct work *work)
{
    for (uint32_t i = 0; i < FLUSH_SLOTS; i++) {
        uint64_t range = atomic_load_explicit(&pending->slots[i], memory_order_relaxed);

        if (range == 0) {
            continue;
        }
        /* Acquire: pairs with fill_slot. An element whose sender has not come to the word yet may be
         * among them: it is carried out now, and once more for its bit nothing is found. */
        range = atomic_exchange_explicit(&pending->slots[i], 0, memory_order_acquire);
        work->ranges[work->range_count++] = range;
        work->pages += range_pages(range);
    }
}

/* Takes everything, before it is carried out: what is posted from now on sets the word again. The
 * word goes first, because senders set it last. */
static void take(struct flush_vcpu *vcpu, struct work *work)
{
    work->range_count = 0;
    work->pages = 0;
    flush_step();
    /* Sequentially consistent: acquires from every fetch_or in post that it takes the bits of. The
     * loads of slots stay behind it. */
    work->word = atomic_exchange_explicit(&vcpu->pending.word, 0, memory_order_seq_cst);
    flush_step();
    if ((work->word & FLUSH_WORD_LIST) != 0) {
        take_ranges(&vcpu->pending, work);
    }
    flush_step();
}

static bool has(const struct flush_lp *self, enum flush_invvpid type)
{
    return (self->machine->invvpid_types & FLUSH_HAS(type)) != 0;
}

/* Single context, else all contexts; with VPIDs off the entry does it. */
static void drop_all(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    if (has(self, FLUSH_INVVPID_SINGLE)) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_SINGLE]++;
        self->machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_SINGLE, gva(0));
    } else if (has(self, FLUSH_INVVPID_ALL)) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_ALL]++;
        self->machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_ALL, gva(0));
    }
}

static void drop_range(struct flush_lp *self, struct flush_vcpu *vcpu, uint64_t range)
{
    uint64_t address = range & ~RANGE_MORE_PAGES;

    for (uint32_t page = 0; page < range_pages(range); page++) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_ADDRESS]++;
        self->machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_ADDRESS, gva(address));
        address += PAGE_BYTES;
    }
}

/* Whether the types that retain something are there, and worth it. */
static bool is_partial(const struct flush_lp *self, const struct work *work)
{
    if ((work->word & FLUSH_WORD_ALL) != 0 || work->pages > FLUSH_PAGES_MAX) {
        return false;
    }
    if ((work->word & FLUSH_WORD_NON_GLOBAL) != 0 && !has(self, FLUSH_INVVPID_RETAINING_GLOBALS)) {
        return false;
    }
    return work->range_count == 0 || has(self, FLUSH_INVVPID_ADDRESS);
}

/* A list drops global translations too, so it is never covered by what retains them. */
static void carry_out(struct flush_lp *self, struct flush_vcpu *vcpu, const struct work *work)
{
    if (!is_partial(self, work)) {
        drop_all(self, vcpu);
        return;
    }
    if ((work->word & FLUSH_WORD_NON_GLOBAL) != 0) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_RETAINING]++;
        self->machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_RETAINING_GLOBALS, gva(0));
    }
    for (uint32_t i = 0; i < work->range_count; i++) {
        drop_range(self, vcpu, work->ranges[i]);
    }
}

void flush_serve(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    struct work work;

    vcpu->counters[FLUSH_COUNTER_ROUNDS]++;
    take(vcpu, &work);
    carry_out(self, vcpu, &work);
    flush_step();
}

void flush_serve_published(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    do {
        vcpu->counters[FLUSH_COUNTER_ROUNDS_HELD]++;
        flush_serve(self, vcpu);
    } while (flush_is_pending(vcpu));
    flush_step();
    /* Sequentially consistent: who remembered the old value is let go, and what it has posted since
     * the last look is seen by the caller's next one; pairs with the fetch_or in post and the load in
     * flush_wait_add, as on entry. */
    atomic_fetch_add_explicit(&self->shared->run_seq, 2, memory_order_seq_cst);
    flush_step();
}

void flush_arrive(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    struct work work;

    /* Sequentially consistent, before run_seq is made odd: pairs with the load in look. */
    atomic_store_explicit(&vcpu->lp, self->lp_id + 1, memory_order_seq_cst);
    flush_step();
    if (vcpu->last_lp == self->lp_id + 1) {
        return;
    }
    vcpu->counters[FLUSH_COUNTER_LP_CHANGES]++;
    take(vcpu, &work);
    drop_all(self, vcpu);
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
