/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/host_pt.h"

#include <stddef.h>

#include "core/bits.h"
#include "mm/page_entry.h"

#define PTE_USED          (PTE_PRESENT | PTE_ACCESSED | PTE_DIRTY)
#define TABLE_FLAGS       (PTE_PRESENT | PTE_WRITE | PTE_ACCESSED)
#define LEAF_READ_WRITE   (PTE_USED | PTE_WRITE | PTE_NO_EXECUTE)
#define TABLE_ENTRIES     512u
#define FIRST_LARGE_LEVEL 3u /* 1 GiB */

/*
 * Each of the two edges of a variable MTRR opens a 1 GiB and a 2 MiB page at most; so do the fixed
 * ranges and the top. A protected range opens both at each end; there are a handful of single pages
 * besides the resident memory.
 */
#define TABLES_FOR_MIXED_TYPES (2u * 2u * MTRR_VARIABLE_MAX + 4u)
#define TABLES_FOR_PROTECTS    32u

static unsigned int shift_of(unsigned int level)
{
    return PAGE_SHIFT + 9 * (level - 1);
}

static uint64_t *table_at(uint64_t entry)
{
    return (uint64_t *)(uintptr_t)(entry & PTE_ADDRESS);
}

/* Makes the entry point at a table; a large page becomes 512 smaller ones with its rights. */
static bool open_table(struct host_pt *tables, uint64_t *entry, unsigned int level)
{
    uint64_t *table;

    if ((*entry & PTE_PRESENT) != 0 && (*entry & PTE_PAGE_SIZE) == 0) {
        return true;
    }
    table = page_pool_take(tables->pool, 1);
    if (table == NULL) {
        return false;
    }
    if ((*entry & PTE_PRESENT) != 0) {
        uint64_t leaf = level == 2 ? *entry & ~PTE_PAGE_SIZE : *entry;

        for (uint64_t i = 0; i < TABLE_ENTRIES; i++) {
            table[i] = leaf + (i << shift_of(level - 1));
        }
    }
    *entry = (uint64_t)(uintptr_t)table | TABLE_FLAGS;
    return true;
}

/* The entry of address at level, with all tables above it opened. */
static uint64_t *entry_at(struct host_pt *tables, uint64_t address, unsigned int level)
{
    uint64_t *table = tables->root;

    for (unsigned int at = 4; at > level; at--) {
        uint64_t *entry = &table[(address >> shift_of(at)) & (TABLE_ENTRIES - 1)];

        if (!open_table(tables, entry, at)) {
            return NULL;
        }
        table = table_at(*entry);
    }
    return &table[(address >> shift_of(level)) & (TABLE_ENTRIES - 1)];
}

static unsigned int largest_level(const struct host_pt *tables, const struct mtrr_state *mtrrs,
                                  uint64_t address, uint64_t top)
{
    for (unsigned int level = tables->has_1g ? FIRST_LARGE_LEVEL : 2; level > 1; level--) {
        uint64_t bytes = BIT64(shift_of(level));
        enum mem_type type;

        if (is_aligned(address, bytes) && top - address >= bytes &&
            memtype_is_uniform(mtrrs, address, bytes, &type)) {
            return level;
        }
    }
    return 1;
}

enum status host_pt_build(struct host_pt *tables, struct page_pool *pool,
                          const struct mtrr_state *mtrrs, uint64_t top, bool has_1g)
{
    if (top > HOST_PT_LIMIT || !is_aligned(top, PAGE_BYTES)) {
        return STATUS_OUT_OF_RANGE;
    }
    tables->pool = pool;
    tables->has_1g = has_1g;
    tables->root = page_pool_take(pool, 1);
    if (tables->root == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (uint64_t address = 0; address < top;) {
        unsigned int level = largest_level(tables, mtrrs, address, top);
        uint64_t *entry = entry_at(tables, address, level);

        if (entry == NULL) {
            return STATUS_NO_MEMORY;
        }
        *entry = address | LEAF_READ_WRITE | (level > 1 ? PTE_PAGE_SIZE : 0);
        address += BIT64(shift_of(level));
    }
    return STATUS_OK;
}

static uint64_t leaf_flags(enum host_pt_rights rights)
{
    switch (rights) {
    case HOST_PT_NONE:
        return 0;
    case HOST_PT_READ:
        return PTE_USED | PTE_NO_EXECUTE;
    case HOST_PT_READ_WRITE:
        return LEAF_READ_WRITE;
    case HOST_PT_READ_EXECUTE:
        return PTE_USED;
    case HOST_PT_DEVICE:
        return LEAF_READ_WRITE | PTE_CACHE_DISABLE | PTE_WRITE_THROUGH;
    }
    return 0;
}

enum status host_pt_protect(struct host_pt *tables, uint64_t base, uint64_t bytes,
                            enum host_pt_rights rights)
{
    for (uint64_t address = align_down(base, PAGE_BYTES); address < base + bytes;
         address += PAGE_BYTES) {
        uint64_t *entry = entry_at(tables, address, 1);

        if (entry == NULL) {
            return STATUS_NO_MEMORY;
        }
        *entry = rights == HOST_PT_NONE ? 0 : address | leaf_flags(rights);
    }
    return STATUS_OK;
}

uint64_t host_pt_pages_needed(uint64_t top, bool has_1g, uint64_t split_bytes)
{
    uint64_t pages = 1 + (top >> shift_of(4)) + 1;

    if (!has_1g) {
        pages += (top >> shift_of(3)) + 1;
    }
    return pages + split_bytes / LARGE_PAGE_BYTES + split_bytes / HUGE_PAGE_BYTES +
           TABLES_FOR_MIXED_TYPES + TABLES_FOR_PROTECTS;
}
