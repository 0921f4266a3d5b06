/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_SIGNAL_H
#define VMX_SIGNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The mailbox of a vCPU for INIT, SIPI and NMI: one 32-bit word, so that any number of senders and
 * the one target agree without a lock. Pure.
 *
 *   bits 7:0   vector of the pending SIPI
 *   SIGNAL_NMI, SIGNAL_INIT, SIGNAL_SIPI   pending
 *   SIGNAL_WAITING   the vCPU waits for SIPI, or will once the pending INIT is carried out
 *
 * Rules, as a processor has them: an INIT undoes a SIPI that came before it, and an NMI that came
 * before it is carried out; a SIPI counts only while waiting, and the first one counts; NMIs
 * collapse into one, and one that comes while waiting is held until the vCPU runs.
 */

#define SIGNAL_VECTOR_MASK 0xFFu
#define SIGNAL_NMI         (1u << 8)
#define SIGNAL_INIT        (1u << 9)
#define SIGNAL_SIPI        (1u << 10)
#define SIGNAL_WAITING     (1u << 11)

/* Posts to a mailbox. The caller then sends a kick, whatever the state of the target is: the kick
 * ends guest mode, a halt in root mode, or makes an entry begin again. Any LP. signal_post_sipi
 * returns false when the SIPI does not count. */
void signal_post_nmi(_Atomic uint32_t *mailbox);
void signal_post_init(_Atomic uint32_t *mailbox);
bool signal_post_sipi(_Atomic uint32_t *mailbox, uint8_t vector);

/* What the target does next. */
enum signal_action {
    SIGNAL_ACTION_NONE, /* nothing is pending that can be carried out now */
    SIGNAL_ACTION_INIT, /* reset the vCPU, then wait for SIPI (boot processor: run) */
    SIGNAL_ACTION_SIPI, /* start at *vector; the vCPU no longer waits */
    SIGNAL_ACTION_NMI,  /* deliver an NMI */
};

/* Takes one pending signal in the order that the rules give. The LP that runs the vCPU only. */
enum signal_action signal_take(_Atomic uint32_t *mailbox, uint8_t *vector);

/* Whether the vCPU waits for SIPI, by the mailbox. */
static inline bool signal_is_waiting(const _Atomic uint32_t *mailbox)
{
    /* Relaxed: only the target's LP acts on it, and it clears the bit itself. */
    return (atomic_load_explicit(mailbox, memory_order_relaxed) & SIGNAL_WAITING) != 0;
}

/* Ends the waiting of a vCPU that an INIT does not make wait (the boot processor). */
void signal_clear_waiting(_Atomic uint32_t *mailbox);

#endif
