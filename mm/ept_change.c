/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "mm/ept_internal.h"

/*
 * Changes to a live map. Each first finds out how many tables it needs, reserves them, and then
 * cannot fail: there is no half-made change. Tables are filled before they are linked; a table that
 * is unlinked stays as it is until ept_reclaim(), since a walk may still be in it.
 */

/* Replaces an entry that is no table of its own by a table of the level below that means the same:
 * the pieces of a large page, a copy of the hidden table, or nothing at all. */
static enum status split(struct ept_map *map, uint64_t *slot, enum ept_level level)
{
    uint64_t entry = ept_entry_load(slot);
    enum ept_level below = ept_below(level);
    bool is_present = ept_entry_is_present(entry);
    bool is_leaf = is_present && ept_entry_is_leaf(entry, level);
    const uint64_t *model = NULL;
    hpa_t table;
    uint64_t *entries = ept_take_table(map, &table);

    if (entries == NULL) {
        return STATUS_NO_MEMORY;
    }
    if (is_present && !is_leaf) {
        model = ept_table(map, ept_entry_table(entry));
    }
    for (unsigned int i = 0; i < EPT_ENTRIES; i++) {
        if (is_leaf) {
            uint64_t base = (entry & EPT_ENTRY_ADDRESS) + i * ept_block_bytes(below);

            entries[i] = ept_leaf(base, below, entry & EPT_ALL, ept_entry_type(entry));
        } else if (model != NULL) {
            entries[i] = model[i];
        }
    }
    ept_entry_store(slot, ept_link(table));
    return STATUS_OK;
}

/* Whether the entry points at a table that belongs to this place alone. */
static bool is_own_table(const struct ept_map *map, uint64_t entry, enum ept_level level)
{
    return ept_entry_is_present(entry) && !ept_entry_is_leaf(entry, level) &&
           !ept_entry_is_hidden_table(map, entry);
}

static uint64_t *slot_1g(const struct ept_map *map, uint64_t address)
{
    uint64_t *pdpt = ept_table(map, map->pdpt[ept_index(address, EPT_LEVEL_512G)]);

    return &pdpt[ept_index(address, EPT_LEVEL_1G)];
}

/* The 2 MiB entry of an address; NULL while there is no page directory. */
static uint64_t *slot_2m(const struct ept_map *map, uint64_t address)
{
    uint64_t entry = ept_entry_load(slot_1g(map, address));

    if (!is_own_table(map, entry, EPT_LEVEL_1G)) {
        return NULL;
    }
    return &ept_table(map, ept_entry_table(entry))[ept_index(address, EPT_LEVEL_2M)];
}

/* The tables that are missing down to a page table of its own: 0, 1 or 2. */
static unsigned int tables_missing(const struct ept_map *map, uint64_t address)
{
    const uint64_t *slot = slot_2m(map, address);

    if (slot == NULL) {
        return 2;
    }
    return is_own_table(map, ept_entry_load(slot), EPT_LEVEL_2M) ? 0 : 1;
}

static enum status make_slot_2m(struct ept_map *map, uint64_t address, uint64_t **slot)
{
    enum status status = STATUS_OK;

    if (slot_2m(map, address) == NULL) {
        status = split(map, slot_1g(map, address), EPT_LEVEL_1G);
    }
    *slot = slot_2m(map, address);
    return status;
}

static enum status make_slot_4k(struct ept_map *map, uint64_t address, uint64_t **slot)
{
    uint64_t *parent;
    enum status status = make_slot_2m(map, address, &parent);

    if (status != STATUS_OK) {
        return status;
    }
    if (!is_own_table(map, ept_entry_load(parent), EPT_LEVEL_2M)) {
        status = split(map, parent, EPT_LEVEL_2M);
    }
    if (status == STATUS_OK) {
        hpa_t table = ept_entry_table(ept_entry_load(parent));

        *slot = &ept_table(map, table)[ept_index(address, EPT_LEVEL_4K)];
    }
    return status;
}

static enum status set_page(struct ept_map *map, gpa_t page, uint64_t entry)
{
    uint64_t *slot = NULL;
    enum status status;

    if (!is_aligned(page.value, PAGE_BYTES)) {
        return STATUS_BAD_ARGUMENT;
    }
    if (page.value >= map->limit) {
        return STATUS_OUT_OF_RANGE;
    }
    status = ept_reserve(map, tables_missing(map, page.value));
    if (status == STATUS_OK) {
        status = make_slot_4k(map, page.value, &slot);
    }
    if (status == STATUS_OK) {
        ept_entry_store(slot, entry);
    }
    return status;
}

/* SDM volume 3, "EPT Misconfigurations": what the processor would refuse. */
static bool access_is_valid(const struct ept_map *map, uint64_t access)
{
    if (access == 0 || (access & ~EPT_ALL) != 0) {
        return false;
    }
    if ((access & EPT_READ) != 0) {
        return true;
    }
    return access == EPT_EXECUTE && map->caps.has_execute_only;
}

enum status ept_remap_page(struct ept_map *map, gpa_t page, hpa_t target, uint64_t access,
                           enum mem_type type)
{
    if (!access_is_valid(map, access) || !memtype_is_valid((uint64_t)type) ||
        !is_aligned(target.value, PAGE_BYTES)) {
        return STATUS_BAD_ARGUMENT;
    }
    if (target.value >= map->limit) {
        return STATUS_OUT_OF_RANGE;
    }
    return set_page(map, page,
                    ept_leaf(target.value, EPT_LEVEL_4K, access, type) | EPT_ENTRY_PINNED);
}

enum status ept_restore_page(struct ept_map *map, gpa_t page)
{
    uint64_t end;
    enum mem_type type = memtype_at(&map->mtrrs, page.value, &end);

    return set_page(map, page, ept_leaf(page.value, EPT_LEVEL_4K, EPT_ALL, type));
}

static uint64_t next_2m(uint64_t address)
{
    return align_down(address, LARGE_PAGE_BYTES) + LARGE_PAGE_BYTES;
}

/* Whether hiding [from, to), inside one 2 MiB block, can do with the shared hidden table. */
static bool hides_whole_block(uint64_t from, uint64_t to)
{
    return to - from == LARGE_PAGE_BYTES;
}

/* The tables that hiding [from, to) needs at most. */
static uint64_t count_for_hiding(const struct ept_map *map, uint64_t from, uint64_t to)
{
    uint64_t counted_1g = UINT64_MAX; /* the 1 GiB block whose directory is counted already */
    uint64_t pages = 0;

    while (from < to) {
        uint64_t next = next_2m(from);
        unsigned int missing = tables_missing(map, from);

        if (missing == 2 && align_down(from, HUGE_PAGE_BYTES) != counted_1g) {
            counted_1g = align_down(from, HUGE_PAGE_BYTES);
            pages++;
        }
        if (missing != 0 && !hides_whole_block(from, next < to ? next : to)) {
            pages++;
        }
        from = next;
    }
    return pages;
}

/* A part of one 2 MiB block. */
static enum status hide_in_block(struct ept_map *map, uint64_t from, uint64_t to)
{
    uint64_t leaf = ept_leaf(map->scratch.value, EPT_LEVEL_4K, EPT_READ | EPT_WRITE, MEM_TYPE_WB);
    uint64_t *slot = NULL;
    enum status status = make_slot_2m(map, from, &slot);
    uint64_t entry;

    if (status != STATUS_OK) {
        return status;
    }
    entry = ept_entry_load(slot);
    if (ept_entry_is_present(entry) && ept_entry_is_hidden_table(map, entry)) {
        return STATUS_OK;
    }
    if (hides_whole_block(from, to) && !is_own_table(map, entry, EPT_LEVEL_2M)) {
        ept_entry_store(slot, ept_link(map->hidden_table));
        return STATUS_OK;
    }
    status = make_slot_4k(map, from, &slot);
    for (; status == STATUS_OK && from < to; from += PAGE_BYTES) {
        ept_entry_store(slot++, leaf | EPT_ENTRY_PINNED);
    }
    return status;
}

enum status ept_hide(struct ept_map *map, gpa_t base, uint64_t bytes)
{
    uint64_t from;
    uint64_t to;
    enum status status = ept_page_range(map, base, bytes, &from, &to);

    if (status == STATUS_OK) {
        status = ept_reserve(map, count_for_hiding(map, from, to));
    }
    while (status == STATUS_OK && from < to) {
        uint64_t next = next_2m(from);

        status = hide_in_block(map, from, next < to ? next : to);
        from = next;
    }
    return status;
}
