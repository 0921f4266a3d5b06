/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_PAGE_POOL_H
#define MM_PAGE_POOL_H

#include <stdint.h>

#include "core/addr.h"

/*
 * The resident memory, given out page by page and never taken back. It is identity-mapped by the
 * firmware and by our own page tables, so that a page's address is its pointer. Not locked: boot
 * code runs alone, and afterwards only the EPT takes pages, under its own lock. Pure.
 */
struct page_pool {
    uint64_t next;
    uint64_t end;
};

/* The region [base, base + bytes); both are page-aligned. */
void page_pool_init(struct page_pool *pool, uint64_t base, uint64_t bytes);

/* count zeroed pages, one after another; NULL when so many are not left. The caller owns them;
 * they never come back. */
void *page_pool_take(struct page_pool *pool, uint64_t count);

/* Pages that are left. */
uint64_t page_pool_left(const struct page_pool *pool);

#endif
