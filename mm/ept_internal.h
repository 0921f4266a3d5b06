/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_EPT_INTERNAL_H
#define MM_EPT_INTERNAL_H

#include "mm/ept.h"

/*
 * Entries and tables, shared by mm/ept.c (building, walking) and mm/ept_change.c (everything that
 * alters what is mapped). Nobody else includes this.
 */

#define EPT_ENTRIES          512u
#define EPT_ENTRY_TYPE_SHIFT 3u
#define EPT_ENTRY_LARGE      BIT64(7)
#define EPT_ENTRY_PINNED     BIT64(11) /* the processor ignores it: hidden or remapped, keep */
#define EPT_ENTRY_ADDRESS    MASK64(EPT_ADDRESS_BITS - 1, PAGE_SHIFT)

static inline unsigned int ept_shift(enum ept_level level)
{
    return PAGE_SHIFT + 9 * ((unsigned int)level - 1);
}

/* What one entry of a table of this level covers. */
static inline uint64_t ept_block_bytes(enum ept_level level)
{
    return BIT64(ept_shift(level));
}

static inline enum ept_level ept_below(enum ept_level level)
{
    return (enum ept_level)((unsigned int)level - 1);
}

static inline unsigned int ept_index(uint64_t address, enum ept_level level)
{
    return (unsigned int)(address >> ept_shift(level)) & (EPT_ENTRIES - 1);
}

/* Pairs with ept_entry_store: what an entry points at is seen as it was before the store. */
static inline uint64_t ept_entry_load(const uint64_t *slot)
{
    return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

/* One 64-bit store: a walk on another LP sees the old entry or the new one. Release pairs with the
 * acquire above and with the loads of the processors' own walks. */
static inline void ept_entry_store(uint64_t *slot, uint64_t entry)
{
    __atomic_store_n(slot, entry, __ATOMIC_RELEASE);
}

static inline bool ept_entry_is_present(uint64_t entry)
{
    return (entry & EPT_ALL) != 0;
}

/* Whether a present entry of this level maps memory, rather than pointing at a table. */
static inline bool ept_entry_is_leaf(uint64_t entry, enum ept_level level)
{
    return level == EPT_LEVEL_4K || (entry & EPT_ENTRY_LARGE) != 0;
}

static inline enum mem_type ept_entry_type(uint64_t entry)
{
    return (enum mem_type)(bits_get(entry, 5, 3));
}

static inline uint64_t ept_leaf(uint64_t address, enum ept_level level, uint64_t access,
                                enum mem_type type)
{
    uint64_t large = level == EPT_LEVEL_4K ? 0 : EPT_ENTRY_LARGE;

    return address | access | large | ((uint64_t)type << EPT_ENTRY_TYPE_SHIFT);
}

static inline uint64_t ept_link(hpa_t table)
{
    return table.value | EPT_ALL;
}

static inline hpa_t ept_entry_table(uint64_t entry)
{
    return hpa(entry & EPT_ENTRY_ADDRESS);
}

/* Whether a present entry above the 4 KiB level points at the shared table of hidden pages; a large
 * page at that table's own address does not. */
static inline bool ept_entry_is_hidden_table(const struct ept_map *map, uint64_t entry)
{
    return (entry & (EPT_ENTRY_ADDRESS | EPT_ENTRY_LARGE)) == map->hidden_table.value;
}

static inline uint64_t *ept_table(const struct ept_map *map, hpa_t table)
{
    return map->ops->page_at(map->context, table);
}

/* Whether the processor has leaves of this level. */
bool ept_has_level(const struct ept_map *map, enum ept_level level);

/* Whether the whole block can be one leaf by these MTRRs; *type is then its type. */
bool ept_block_is_leaf(const struct ept_map *map, const struct mtrr_state *mtrrs,
                       enum ept_level level, uint64_t base, enum mem_type *type);

/* Makes sure that pages many tables can be taken without failing. */
MUST_CHECK enum status ept_reserve(struct ept_map *map, uint64_t pages);

/* A table of zeros, from the reserve or the page source. NULL: none left. */
uint64_t *ept_take_table(struct ept_map *map, hpa_t *out);

/* Rounds a range to whole pages. STATUS_OUT_OF_RANGE: it is not inside the map's reach. */
MUST_CHECK enum status ept_page_range(const struct ept_map *map, gpa_t base, uint64_t bytes,
                                      uint64_t *from, uint64_t *to);

#endif
