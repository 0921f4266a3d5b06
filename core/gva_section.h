/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_GVA_SECTION_H
#define CORE_GVA_SECTION_H

#include <stdatomic.h>

#include "core/lp.h"

/*
 * Root mode uses a guest linear address only between gva_begin and gva_end. A sender that has
 * changed a translation may otherwise see this LP out of guest mode, go on, and have the old frame
 * read or written afterwards. Senders wait until gva_seq is even or has changed. Inside, nothing
 * waits, logs or takes a lock. Whoever needs the address again after gva_end walks again.
 */

/* Opens the section. This LP, root mode, interrupts off, not nested. */
static inline void gva_begin(struct lp *lp)
{
    /* Sequentially consistent: the store must be visible before any page-table read that follows;
     * pairs with the sender's full barrier between its change and its load of gva_seq. */
    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_seq_cst);
}

/* Closes it. */
static inline void gva_end(struct lp *lp)
{
    /* Release: all accesses of the section happen before a sender sees it closed (its acquire load
     * of gva_seq). */
    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_release);
}

#endif
