/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_LP_SHARED_H
#define CORE_LP_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * What LPs read and write of each other. Pure, so that the simulation of the flush engine uses the
 * same structure. Laid out by writer: the first line is the LP's own, the second the senders'.
 */

struct vcpu;

struct lp_shared {
    /* Odd while a guest runs on this LP, even in root mode; never reset. Written by this LP alone,
     * with locked instructions; read by senders of kicks (docs/architecture.md, "The life of a
     * kick"). */
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint64_t run_seq;
    /* Odd while root mode uses a guest linear address on this LP (core/gva_section.h). */
    _Atomic uint64_t gva_seq;
    /* The vCPU that runs here, NULL before the first entry. */
    _Atomic(struct vcpu *) running;
    /* The EPT generation that this LP has invalidated up to. */
    _Atomic uint64_t ept_generation_seen;
    /* A guest runs here from its first VM entry on (lp_set_virtualised in core/machine.h). */
    _Atomic bool is_virtualised;

    /* Kick accounting, written by senders: started before the ICR write, issued after it. */
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint64_t kicks_started;
    _Atomic uint64_t kicks_issued;
    /* A run_seq that a kick was sent for, written after the ICR write: who waits for the same value
     * need not kick again. Odd, or 0 before the first. */
    _Atomic uint64_t kicked_seq;
};

STATIC_ASSERT(offsetof(struct lp_shared, kicks_started) == CACHE_LINE_BYTES);
STATIC_ASSERT(sizeof(struct lp_shared) == 2 * CACHE_LINE_BYTES);

#endif
