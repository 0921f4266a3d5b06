/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_HOST_PT_H
#define MM_HOST_PT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "core/status.h"
#include "mm/memtype.h"
#include "mm/page_pool.h"

/*
 * Our own page tables: the whole of memory identity-mapped for reading and writing, never for
 * execution, then the image and the guard pages cut out of it with the rights that they need. SDM
 * volume 3, "4-Level Paging and 5-Level Paging". Pure over the page pool. Built before any LP uses
 * them.
 */

/* The identity map ends where addresses stop being canonical. */
#define HOST_PT_LIMIT (1ull << 47)

struct host_pt {
    struct page_pool *pool;
    uint64_t *root;
    bool has_1g;
};

enum host_pt_rights {
    HOST_PT_NONE, /* a guard page */
    HOST_PT_READ,
    HOST_PT_READ_WRITE,
    HOST_PT_READ_EXECUTE,
    HOST_PT_DEVICE, /* read, write, uncacheable */
};

/* Maps [0, top), at most 2^47 bytes, read-write; a large page is used only where the MTRRs give
 * it one type. STATUS_NO_MEMORY: the pool is empty. STATUS_OUT_OF_RANGE: top is above 2^47
 * (addresses must be canonical) or not a multiple of the page size. */
MUST_CHECK enum status host_pt_build(struct host_pt *tables, struct page_pool *pool,
                                     const struct mtrr_state *mtrrs, uint64_t top, bool has_1g);

/* Gives the pages of [base, base + bytes), which are mapped already, these rights. Large pages are
 * split; what is not named keeps its rights. STATUS_NO_MEMORY: the pool is empty. */
MUST_CHECK enum status host_pt_protect(struct host_pt *tables, uint64_t base, uint64_t bytes,
                                       enum host_pt_rights rights);

/* The pages that host_pt_build takes at most, and host_pt_protect for ranges inside one of
 * split_bytes and some single pages; unless MTRR masks with holes scatter the types. */
uint64_t host_pt_pages_needed(uint64_t top, bool has_1g, uint64_t split_bytes);

#endif
