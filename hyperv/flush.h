/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HYPERV_FLUSH_H
#define HYPERV_FLUSH_H

#include <stdint.h>

#include "core/addr.h"
#include "core/bits.h"

/*
 * What a flush call asks of each of its targets, decoded: vmx/ gets it through hyperv_ops.flush.
 */

enum hyperv_flush_kind {
    HYPERV_FLUSH_ALL,             /* every translation, globals too */
    HYPERV_FLUSH_ALL_BUT_GLOBALS, /* global translations may stay */
    HYPERV_FLUSH_RANGES,          /* those of the ranges, globals too */
};

/*
 * A range in one word: page number (63:12) and how many pages follow the first (11:0), as in the
 * TLFS; every page of it is canonical and it does not wrap.
 */
typedef struct {
    uint64_t value;
} flush_range_t;

#define FLUSH_RANGE_MAX_PAGES 4096u

static inline gva_t flush_range_start(flush_range_t range)
{
    return gva(align_down(range.value, PAGE_BYTES));
}

static inline uint32_t flush_range_pages(flush_range_t range)
{
    return (uint32_t)(range.value & (PAGE_BYTES - 1)) + 1;
}

struct hyperv_flush_request {
    enum hyperv_flush_kind kind;
    uint32_t range_count;        /* HYPERV_FLUSH_RANGES: 1..509 */
    const flush_range_t *ranges; /* in the caller's buffer: good until ops.flush returns */
    uint64_t page_count;         /* of all ranges */
    uint64_t address_space;      /* as the guest named it: for traces, never to filter by */
};

#endif
