/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_H
#define CORE_FLUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "core/flush_request.h"
#include "core/flush_vcpu.h"
#include "core/flush_wait.h"

/*
 * The flush engine. A request belongs to a vCPU and is carried out by the LP that runs it, before
 * the vCPU's next entry. Leaving guest mode is the acknowledgment. Pure: the hardware is reached
 * through struct flush_ops (core/flush_wait.h).
 */

/*
 * Posts the request to all targets that exist, has those in guest mode leave it, and returns when
 * they all have, and when no root-mode use of a guest linear address that began before is still
 * going on. Never waits for an LP in root mode otherwise, never returns early. If the caller is a
 * target its own request is carried out too.
 *
 * Root mode, interrupts off, run_seq even, no lock held, outside of gva_begin/gva_end.
 */
void flush_send(struct flush_lp *self, struct flush_vcpu *caller,
                const struct flush_request *request);

/* A vCPU is about to run on this LP: publishes that. When it ran elsewhere last, or never, drops
 * what its VPID may have cached here long ago. Root mode, run_seq even; before any entry and any
 * gva_begin. */
void flush_arrive(struct flush_lp *self, struct flush_vcpu *vcpu);

/* The vCPU will not run for a while (descheduled, halted, waits for SIPI): senders leave this LP
 * alone. Root mode, run_seq even, outside of gva_begin/gva_end. */
void flush_depart(struct flush_lp *self, struct flush_vcpu *vcpu);

/* Carries out what is pending, one round. Root mode, run_seq even: nobody waits for this LP, nobody
 * kicks it. To be called before run_seq is made odd, when flush_is_pending says so. */
void flush_serve(struct flush_lp *self, struct flush_vcpu *vcpu);

/*
 * Carries out what is pending after run_seq was made odd, then makes it 2 larger, which is still
 * odd. On return everything that precedes an entry and depends on run_seq (pending, the EPT
 * generation) is to be checked again, without making run_seq odd again.
 *
 * Ends after at most as many rounds as there are other LPs, plus one: run_seq keeps its value from
 * the first round to the last, and who posts and reads that value waits until it has changed.
 */
void flush_serve_published(struct flush_lp *self, struct flush_vcpu *vcpu);

/* Whether the vCPU has requests. On the LP that runs it; after run_seq was made odd, for the check
 * that decides. */
static inline bool flush_is_pending(const struct flush_vcpu *vcpu)
{
    /* Sequentially consistent, after the increment of run_seq, which is so too: pairs with
     * flush_send, which changes the word and then loads run_seq. One of the two sees the other. */
    return atomic_load_explicit(&vcpu->pending.word, memory_order_seq_cst) != 0;
}

#endif
