/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/page_pool.h"

#include <stddef.h>

#include "core/string.h"

void page_pool_init(struct page_pool *pool, uint64_t base, uint64_t bytes)
{
    pool->next = base;
    pool->end = base + bytes;
}

void *page_pool_take(struct page_pool *pool, uint64_t count)
{
    uint64_t bytes = count * PAGE_BYTES;
    void *pages;

    if (count == 0 || count > page_pool_left(pool)) {
        return NULL;
    }
    pages = (void *)(uintptr_t)pool->next;
    pool->next += bytes;
    memset(pages, 0, bytes);
    return pages;
}

uint64_t page_pool_left(const struct page_pool *pool)
{
    return (pool->end - pool->next) / PAGE_BYTES;
}
