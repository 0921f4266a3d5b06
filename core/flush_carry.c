/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/flush_carry.h"

static bool has(const struct flush_machine *machine, enum flush_invvpid type)
{
    return (machine->invvpid_types & FLUSH_HAS(type)) != 0;
}

static void drop_range(struct flush_lp *self, struct flush_vcpu *vcpu, uint64_t range)
{
    const struct flush_machine *machine = self->machine;
    uint64_t address = flush_range_start(range).value;
    uint32_t pages = flush_range_pages(range);

    vcpu->counters[FLUSH_COUNTER_INVVPID_ADDRESS] += pages;
    for (uint32_t page = 0; page < pages; page++) {
        machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_ADDRESS, gva(address));
        address += PAGE_BYTES;
    }
}

/* Whether the types that retain something are there, and worth it. */
static bool is_partial(const struct flush_machine *machine, uint64_t word, const uint64_t *ranges,
                       uint32_t range_count)
{
    uint32_t pages = 0;

    if ((word & FLUSH_WORD_NON_GLOBAL) != 0 && !has(machine, FLUSH_INVVPID_RETAINING_GLOBALS)) {
        return false;
    }
    for (uint32_t i = 0; i < range_count; i++) {
        pages += flush_range_pages(ranges[i]);
    }
    return pages <= machine->pages_max && (range_count == 0 || has(machine, FLUSH_INVVPID_ADDRESS));
}

/* A list drops global translations too, so it is never covered by what retains them. */
void flush_carry_out_part(struct flush_lp *self, struct flush_vcpu *vcpu, uint64_t word,
                          const uint64_t *ranges, uint32_t range_count)
{
    if (!is_partial(self->machine, word, ranges, range_count)) {
        flush_drop_all(self, vcpu);
        return;
    }
    if ((word & FLUSH_WORD_NON_GLOBAL) != 0) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_RETAINING]++;
        self->machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_RETAINING_GLOBALS, gva(0));
    }
    for (uint32_t i = 0; i < range_count; i++) {
        drop_range(self, vcpu, ranges[i]);
    }
}
