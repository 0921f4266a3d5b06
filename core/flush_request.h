/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_REQUEST_H
#define CORE_FLUSH_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"

/* What is asked of the flush engine: by hyperv/, which has decoded it, through an ops structure. */

/* The VPs that a request is for. It may name VPs that do not exist: they are passed over. */
struct flush_targets {
    bool is_all; /* every VP; the rest is not looked at */
    /* Bit b: bank b, VP indexes 64 * b to 64 * b + 63, has a word in banks. The words stand in
     * ascending order, packed, and lie where no guest can write. */
    uint64_t valid_banks;
    const uint64_t *banks;
};

/* What to drop. ranges, range_count and page_count count for a list only. */
enum flush_kind {
    FLUSH_KIND_ALL,        /* every translation */
    FLUSH_KIND_NON_GLOBAL, /* global translations may stay */
    FLUSH_KIND_LIST        /* those of the listed pages, global ones too */
};

struct flush_request {
    struct flush_targets targets;
    enum flush_kind kind;
    bool is_widened; /* a list that has become ALL, for the counter */
    uint32_t range_count;
    /* FLUSH_KIND_LIST: bits 63:12 first page, 11:0 number of pages after it (TLFS, "Translation
     * Lookaside Buffer Flush"). Every page is canonical and no range wraps: whoever decodes has
     * clipped them. */
    const uint64_t *ranges;
    uint64_t page_count;    /* of all ranges */
    uint64_t address_space; /* as the guest named it: for traces, never to filter by */
};

#define FLUSH_RANGE_MORE_PAGES 0xFFFull /* of a range: pages after the first */

static inline gva_t flush_range_start(uint64_t range)
{
    return gva(range & ~FLUSH_RANGE_MORE_PAGES);
}

static inline uint32_t flush_range_pages(uint64_t range)
{
    return (uint32_t)(range & FLUSH_RANGE_MORE_PAGES) + 1;
}

#endif
