/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HYPERV_PRIVATE_H
#define HYPERV_PRIVATE_H

#include "hyperv/hyperv.h"

/* What the files of hyperv/ share among themselves. */

/* A privilege that no partition has. */
#define HYPERV_NEVER BIT64(63)

/* Input comes in words. */
#define HYPERV_WORD_BYTES 8u

/* A hypercall whose control word has been checked against its table row. The headers are copied;
 * the list is not. */
struct hyperv_input {
    struct hyperv_vp *vp;
    uint64_t *words; /* fixed header and variable header, and room for the list; ours alone */
    /* The list. The guest may change it at any time: each element is read once. */
    const volatile uint64_t *list;
    uint32_t var_words; /* size of the variable header */
    uint32_t rep_count; /* of the whole list; 0 for simple calls */
    uint32_t rep_start; /* below rep_count */
};

/* Serves a call. Reps completed are all or none (hypercall.c). */
typedef hv_status_t hyperv_handler(const struct hyperv_input *input);

/* The flush calls; the Ex forms have their own. A call with a list is told by rep_count. */
hyperv_handler flush_handle, flush_handle_ex;
/* For calls of features that are never offered. */
hyperv_handler hyperv_refuse;

/* The calls that the partition's privileges and recommendations allow, for
 * partition->calls_granted. */
uint32_t hyperv_find_granted_calls(const struct hyperv_partition *partition);

/* 10^7 * 2^64 / tsc_hz, rounded down. tsc_hz is above 10^7. */
uint64_t hyperv_scale_of(uint64_t tsc_hz);
/* Ticks to 100 ns units. */
uint64_t hyperv_units_of(uint64_t ticks, uint64_t scale);
/* Reference time becomes 0 at tsc. The partition's lock is held, or nobody else knows it yet. */
void hyperv_time_restart(struct hyperv_partition *partition, uint64_t tsc);
/* How long the VP has run, in 100 ns units. */
uint64_t hyperv_vp_runtime(const struct hyperv_vp *vp);

/* Lays an overlay at page (guest-physical address | HYPERV_OVERLAY_MAPPED) or, with 0, nowhere.
 * The partition's lock is held. False: refused, nothing changed. *needs_sync is set when
 * ops.overlay_sync is due once the lock is released; it is never cleared. */
MUST_CHECK bool hyperv_overlay_move(struct hyperv_vp *vp, enum hyperv_overlay overlay,
                                    uint64_t page, bool *needs_sync);

/* Whether the address is below the physical limit. */
static inline bool hyperv_gpa_exists(const struct hyperv_partition *partition, uint64_t address)
{
    return address >> partition->facts.physical_bits == 0;
}

#endif
