/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_SPIN_H
#define CORE_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Ticket lock. In root mode interrupts are off, so the only thing that can break into a holder is
 * an NMI or a machine check, and their handlers take no lock (panic excepted, which uses spin_try).
 * Nothing may be waited for while one is held, other than the next lock in the documented order.
 */
struct spin_lock {
    _Atomic uint32_t next;    /* the next ticket to hand out */
    _Atomic uint32_t serving; /* the ticket that holds the lock */
};

/* Takes the lock, in the order of asking. */
static inline void spin_lock(struct spin_lock *lock)
{
    uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);

    /* Acquire pairs with the release in spin_unlock. */
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != ticket) {
        __builtin_ia32_pause();
    }
}

/* Takes the lock if it is free. Returns whether it was taken. */
static inline bool spin_try(struct spin_lock *lock)
{
    /* Acquire pairs with the release in spin_unlock. */
    uint32_t serving = atomic_load_explicit(&lock->serving, memory_order_acquire);
    uint32_t expected = serving;

    /* Relaxed: nobody publishes anything by next; it only hands out the ticket. */
    return atomic_compare_exchange_strong_explicit(&lock->next, &expected, serving + 1,
                                                   memory_order_relaxed, memory_order_relaxed);
}

/* Gives the lock up. The caller holds it. */
static inline void spin_unlock(struct spin_lock *lock)
{
    uint32_t serving = atomic_load_explicit(&lock->serving, memory_order_relaxed);

    /* Release pairs with the acquire in spin_lock and spin_try. */
    atomic_store_explicit(&lock->serving, serving + 1, memory_order_release);
}

#endif
