/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_CARRY_H
#define CORE_FLUSH_CARRY_H

#include <stdint.h>

#include "core/flush_request.h"
#include "core/flush_vcpu.h"
#include "core/flush_wait.h"

/* How what a vCPU is owed becomes INVVPIDs: the weakest types that are enough and that the
 * hardware has. Root mode, on the LP that runs the vCPU; each INVVPID is counted. */

/* Drops all of the vCPU's translations on this LP: by its VPID, else those of all VPIDs; with
 * VPIDs off the entry does it. Inline: part of each call. */
static inline void flush_drop_all(struct flush_lp *self, struct flush_vcpu *vcpu)
{
    const struct flush_machine *machine = self->machine;

    if (__builtin_expect((machine->invvpid_types & FLUSH_HAS(FLUSH_INVVPID_SINGLE)) != 0, 1)) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_SINGLE]++;
        machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_SINGLE, gva(0));
    } else if ((machine->invvpid_types & FLUSH_HAS(FLUSH_INVVPID_ALL)) != 0) {
        vcpu->counters[FLUSH_COUNTER_INVVPID_ALL]++;
        machine->ops->invvpid(self->context, vcpu, FLUSH_INVVPID_ALL, gva(0));
    }
}

/* As flush_carry_out, when FLUSH_WORD_ALL is not set. */
void flush_carry_out_part(struct flush_lp *self, struct flush_vcpu *vcpu, uint64_t word,
                          const uint64_t *ranges, uint32_t range_count);

/* Drops what is named: word, the union of some requests (FLUSH_WORD bits), and the ranges of all
 * lists. */
static inline void flush_carry_out(struct flush_lp *self, struct flush_vcpu *vcpu, uint64_t word,
                                   const uint64_t *ranges, uint32_t range_count)
{
    if ((word & FLUSH_WORD_ALL) != 0) {
        flush_drop_all(self, vcpu);
    } else {
        flush_carry_out_part(self, vcpu, word, ranges, range_count);
    }
}

#endif
