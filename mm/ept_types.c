/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "mm/ept_internal.h"

/*
 * New memory types for a live map, in two passes over all tables: the first counts the tables that
 * splits need, the second, which cannot fail, writes. Entries that are pinned keep their type.
 */

/* The tables below one block that is to be mapped by these types; stops counting above the
 * limit. */
static uint64_t count_block(const struct ept_map *map, const struct mtrr_state *mtrrs,
                            enum ept_level level, uint64_t base)
{
    enum ept_level below = ept_below(level);
    enum mem_type type;
    uint64_t pages = 1;

    if (level == EPT_LEVEL_4K || ept_block_is_leaf(map, mtrrs, level, base, &type)) {
        return 0;
    }
    if (below == EPT_LEVEL_4K) {
        return 1;
    }
    for (unsigned int i = 0; i < EPT_ENTRIES && pages <= EPT_SPLIT_LIMIT; i++) {
        pages += count_block(map, mtrrs, below, base + i * ept_block_bytes(below));
    }
    return pages;
}

/* The tables that new types need below one table; stops counting above the limit. */
static uint64_t count_table(const struct ept_map *map, const struct mtrr_state *mtrrs, hpa_t table,
                            enum ept_level level, uint64_t base)
{
    const uint64_t *entries = ept_table(map, table);
    uint64_t pages = 0;

    if (level == EPT_LEVEL_4K) {
        return 0;
    }
    for (unsigned int i = 0; i < EPT_ENTRIES && pages <= EPT_SPLIT_LIMIT; i++) {
        uint64_t entry = ept_entry_load(&entries[i]);
        uint64_t block = base + i * ept_block_bytes(level);

        if (!ept_entry_is_present(entry)) {
            continue;
        }
        if (ept_entry_is_leaf(entry, level)) {
            pages += count_block(map, mtrrs, level, block);
        } else if (!ept_entry_is_hidden_table(map, entry)) {
            pages += count_table(map, mtrrs, ept_entry_table(entry), ept_below(level), block);
        }
    }
    return pages;
}

/* A pass over the map's live tables, and what came of it. */
struct retyping {
    struct ept_map *map;
    const struct mtrr_state *mtrrs;
    bool is_changed;
};

static void retype_table(struct retyping *pass, hpa_t table, enum ept_level level, uint64_t base);

/* Builds the entry for a whole block: a leaf, or a table with all below it. The first pass has
 * reserved the tables; should that be wrong, the block keeps its old entry, which is safe. */
static uint64_t build_block(struct retyping *pass, enum ept_level level, uint64_t base,
                            uint64_t old_entry)
{
    enum ept_level below = ept_below(level);
    enum mem_type type;
    uint64_t *entries;
    hpa_t table;

    if (ept_block_is_leaf(pass->map, pass->mtrrs, level, base, &type)) {
        return ept_leaf(base, level, EPT_ALL, type);
    }
    if (level == EPT_LEVEL_4K) {
        return old_entry;
    }
    entries = ept_take_table(pass->map, &table);
    if (entries == NULL) {
        return old_entry;
    }
    for (unsigned int i = 0; i < EPT_ENTRIES; i++) {
        uint64_t block = base + i * ept_block_bytes(below);
        uint64_t old = ept_leaf(block, below, EPT_ALL, ept_entry_type(old_entry));

        entries[i] = build_block(pass, below, block, old);
    }
    return ept_link(table);
}

/* Whether 512 entries are what one leaf would say; *type is then its type. */
static bool is_joinable(const uint64_t *entries, enum ept_level level, uint64_t base,
                        enum mem_type *type)
{
    uint64_t first = ept_entry_load(&entries[0]);

    *type = ept_entry_type(first);
    for (unsigned int i = 0; i < EPT_ENTRIES; i++) {
        uint64_t block = base + i * ept_block_bytes(level);

        if (ept_entry_load(&entries[i]) != ept_leaf(block, level, EPT_ALL, *type)) {
            return false;
        }
    }
    return true;
}

/* Gives a table that has become uniform back, if there is room to remember it. */
static void join(struct retyping *pass, uint64_t *slot, enum ept_level level, uint64_t base)
{
    struct ept_map *map = pass->map;
    hpa_t table = ept_entry_table(ept_entry_load(slot));
    enum mem_type type;

    if (!ept_has_level(map, level) || map->retired_count == EPT_RETIRED_MAX ||
        !is_joinable(ept_table(map, table), ept_below(level), base, &type)) {
        return;
    }
    ept_entry_store(slot, ept_leaf(base, level, EPT_ALL, type));
    map->retired[map->retired_count++] = table;
    pass->is_changed = true;
}

static void retype_entry(struct retyping *pass, uint64_t *slot, enum ept_level level, uint64_t base)
{
    uint64_t entry = ept_entry_load(slot);

    if (!ept_entry_is_present(entry)) {
        return;
    }
    if (!ept_entry_is_leaf(entry, level)) {
        if (!ept_entry_is_hidden_table(pass->map, entry)) {
            retype_table(pass, ept_entry_table(entry), ept_below(level), base);
            join(pass, slot, level, base);
        }
        return;
    }
    if ((entry & EPT_ENTRY_PINNED) == 0) {
        uint64_t new_entry = build_block(pass, level, base, entry);

        if (new_entry != entry) {
            ept_entry_store(slot, new_entry);
            pass->is_changed = true;
        }
    }
}

static void retype_table(struct retyping *pass, hpa_t table, enum ept_level level, uint64_t base)
{
    uint64_t *entries = ept_table(pass->map, table);

    for (unsigned int i = 0; i < EPT_ENTRIES; i++) {
        retype_entry(pass, &entries[i], level, base + i * ept_block_bytes(level));
    }
}

enum status ept_set_types(struct ept_map *map, const struct mtrr_state *mtrrs, bool *changed)
{
    struct retyping pass = {map, mtrrs, false};
    unsigned int phys_bits = map->mtrrs.phys_bits;
    unsigned int top = ept_index(map->limit - 1, EPT_LEVEL_512G);
    uint64_t pages = 0;
    enum status status;

    *changed = false;
    if (mtrrs->phys_bits != phys_bits) {
        return STATUS_BAD_ARGUMENT;
    }
    if (mtrr_state_equal(&map->mtrrs, mtrrs)) {
        map->mtrrs = *mtrrs;
        return STATUS_OK;
    }
    for (unsigned int i = 0; i <= top && pages <= EPT_SPLIT_LIMIT; i++) {
        pages += count_table(map, mtrrs, map->pdpt[i], EPT_LEVEL_1G,
                             i * ept_block_bytes(EPT_LEVEL_512G));
    }
    if (pages > EPT_SPLIT_LIMIT) {
        return STATUS_NO_MEMORY;
    }
    status = ept_reserve(map, pages);
    if (status != STATUS_OK) {
        return status;
    }
    for (unsigned int i = 0; i <= top; i++) {
        retype_table(&pass, map->pdpt[i], EPT_LEVEL_1G, i * ept_block_bytes(EPT_LEVEL_512G));
    }
    map->mtrrs = *mtrrs;
    *changed = pass.is_changed;
    return STATUS_OK;
}

void ept_reclaim(struct ept_map *map)
{
    for (unsigned int i = 0; i < map->retired_count; i++) {
        uint64_t *table = ept_table(map, map->retired[i]);

        table[0] = map->reserve.value;
        map->reserve = map->retired[i];
        map->reserve_pages++;
    }
    map->retired_count = 0;
}
