/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/signal.h"

/*
 * All changes are compare-and-swap loops with acquire-release order: the release of a post pairs
 * with the acquire of the take, so that what the sender wrote before (a trampoline page, say) is
 * visible to the target.
 */
static bool replace(_Atomic uint32_t *mailbox, uint32_t *old, uint32_t new)
{
    return atomic_compare_exchange_weak_explicit(mailbox, old, new, memory_order_acq_rel,
                                                 memory_order_acquire);
}

void signal_post_nmi(_Atomic uint32_t *mailbox)
{
    atomic_fetch_or_explicit(mailbox, SIGNAL_NMI, memory_order_acq_rel);
}

void signal_post_init(_Atomic uint32_t *mailbox)
{
    uint32_t old = atomic_load_explicit(mailbox, memory_order_acquire);

    while (!replace(mailbox, &old, SIGNAL_INIT | SIGNAL_WAITING)) {
    }
}

bool signal_post_sipi(_Atomic uint32_t *mailbox, uint8_t vector)
{
    uint32_t old = atomic_load_explicit(mailbox, memory_order_acquire);

    do {
        if ((old & SIGNAL_WAITING) == 0 || (old & SIGNAL_SIPI) != 0) {
            return false;
        }
    } while (!replace(mailbox, &old, (old & ~SIGNAL_VECTOR_MASK) | SIGNAL_SIPI | vector));
    return true;
}

enum signal_action signal_take(_Atomic uint32_t *mailbox, uint8_t *vector)
{
    uint32_t old = atomic_load_explicit(mailbox, memory_order_acquire);
    enum signal_action action;
    uint32_t new;

    do {
        if ((old & SIGNAL_INIT) != 0) {
            action = SIGNAL_ACTION_INIT;
            /* An NMI that came before the INIT is carried out is lost with it: it may be the
             * vCPU's own, sent before the INIT reached it. */
            new = old & ~(SIGNAL_INIT | SIGNAL_NMI);
        } else if ((old & SIGNAL_SIPI) != 0) {
            action = SIGNAL_ACTION_SIPI;
            new = old & ~(SIGNAL_SIPI | SIGNAL_WAITING | SIGNAL_VECTOR_MASK);
        } else if ((old & SIGNAL_NMI) != 0 && (old & SIGNAL_WAITING) == 0) {
            action = SIGNAL_ACTION_NMI;
            new = old & ~SIGNAL_NMI;
        } else {
            return SIGNAL_ACTION_NONE;
        }
    } while (!replace(mailbox, &old, new));
    *vector = (uint8_t)(old & SIGNAL_VECTOR_MASK);
    return action;
}

void signal_clear_waiting(_Atomic uint32_t *mailbox)
{
    uint32_t old = atomic_load_explicit(mailbox, memory_order_acquire);

    while (!replace(mailbox, &old, old & ~(SIGNAL_WAITING | SIGNAL_SIPI | SIGNAL_VECTOR_MASK))) {
    }
}
