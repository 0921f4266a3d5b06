/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/ept.h"

#include <stddef.h>

#include "mm/ept_internal.h"

#define EPTP_WALK_LENGTH_4 (3ull << 3)

#define PHYS_BITS_MIN 32u
#define PHYS_BITS_MAX 52u

/*
 * Room for splits. A variable MTRR has two edges, each of which splits at most two pages; with the
 * fixed ranges, ten pairs come to 42 tables, twice that while a new map replaces an old one. The
 * rest is for hidden memory and single pages. Without 1 GiB pages, device memory high above the RAM
 * is mapped on demand, a table for each GiB that is touched.
 */
#define SPLIT_PAGES     256u
#define ON_DEMAND_PAGES 512u

static unsigned int reach_bits(unsigned int phys_bits)
{
    return phys_bits < EPT_ADDRESS_BITS ? phys_bits : EPT_ADDRESS_BITS;
}

static unsigned int pdpt_count(unsigned int phys_bits)
{
    unsigned int bits = reach_bits(phys_bits);

    return bits <= ept_shift(EPT_LEVEL_512G) ? 1u : 1u << (bits - ept_shift(EPT_LEVEL_512G));
}

static uint64_t blocks_up_to(uint64_t top, uint64_t block_bytes)
{
    return top / block_bytes + (top % block_bytes != 0);
}

uint64_t ept_pages_needed(const struct ept_caps *caps, unsigned int phys_bits, uint64_t memory_top)
{
    uint64_t pages = pdpt_count(phys_bits) + 1ull + SPLIT_PAGES;

    if (!caps->has_1g || !caps->has_2m) {
        pages += blocks_up_to(memory_top, HUGE_PAGE_BYTES) + ON_DEMAND_PAGES;
    }
    if (!caps->has_2m) {
        pages += blocks_up_to(memory_top, LARGE_PAGE_BYTES) + ON_DEMAND_PAGES;
    }
    return pages;
}

bool ept_has_level(const struct ept_map *map, enum ept_level level)
{
    if (level == EPT_LEVEL_1G) {
        return map->caps.has_1g;
    }
    return level == EPT_LEVEL_2M ? map->caps.has_2m : level == EPT_LEVEL_4K;
}

bool ept_block_is_leaf(const struct ept_map *map, const struct mtrr_state *mtrrs,
                       enum ept_level level, uint64_t base, enum mem_type *type)
{
    return ept_has_level(map, level) &&
           memtype_is_uniform(mtrrs, base, ept_block_bytes(level), type);
}

/* A page from the source, not zeroed. */
static uint64_t *alloc_page(struct ept_map *map, hpa_t *out)
{
    uint64_t *page = map->ops->alloc_page(map->context, out);

    if (page != NULL) {
        map->pages++;
    }
    return page;
}

enum status ept_reserve(struct ept_map *map, uint64_t pages)
{
    while (map->reserve_pages < pages) {
        hpa_t page;
        uint64_t *table = alloc_page(map, &page);

        if (table == NULL) {
            return STATUS_NO_MEMORY;
        }
        table[0] = map->reserve.value;
        map->reserve = page;
        map->reserve_pages++;
    }
    return STATUS_OK;
}

uint64_t *ept_take_table(struct ept_map *map, hpa_t *out)
{
    uint64_t *table;

    if (map->reserve_pages != 0) {
        *out = map->reserve;
        table = ept_table(map, map->reserve);
        map->reserve = hpa(table[0]);
        map->reserve_pages--;
    } else {
        table = alloc_page(map, out);
    }
    for (unsigned int i = 0; table != NULL && i < EPT_ENTRIES; i++) {
        table[i] = 0;
    }
    return table;
}

enum status ept_page_range(const struct ept_map *map, gpa_t base, uint64_t bytes, uint64_t *from,
                           uint64_t *to)
{
    if (base.value > map->limit || bytes > map->limit - base.value) {
        return STATUS_OUT_OF_RANGE;
    }
    *from = align_down(base.value, PAGE_BYTES);
    *to = bytes == 0 ? *from : align_up(base.value + bytes, PAGE_BYTES);
    return STATUS_OK;
}

static enum status make_hidden_table(struct ept_map *map)
{
    uint64_t leaf = ept_leaf(map->scratch.value, EPT_LEVEL_4K, EPT_READ | EPT_WRITE, MEM_TYPE_WB);
    uint64_t *table = ept_take_table(map, &map->hidden_table);

    if (table == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (unsigned int i = 0; i < EPT_ENTRIES; i++) {
        table[i] = leaf | EPT_ENTRY_PINNED;
    }
    return STATUS_OK;
}

enum status ept_init(struct ept_map *map, const struct ept_params *params)
{
    unsigned int phys_bits = params->mtrrs->phys_bits;
    enum status status;

    *map = (struct ept_map){0};
    if (phys_bits < PHYS_BITS_MIN || phys_bits > PHYS_BITS_MAX) {
        return STATUS_BAD_ARGUMENT;
    }
    map->ops = params->ops;
    map->context = params->context;
    map->caps = params->caps;
    map->caps.has_1g = params->caps.has_1g && params->caps.has_2m; /* a split goes through 2 MiB */
    map->mtrrs = *params->mtrrs;
    map->scratch = params->scratch;
    map->limit = BIT64(reach_bits(phys_bits));
    if (!is_aligned(map->scratch.value, PAGE_BYTES) || map->scratch.value >= map->limit) {
        return STATUS_BAD_ARGUMENT;
    }
    status = make_hidden_table(map);
    for (unsigned int i = 0; status == STATUS_OK && i < pdpt_count(phys_bits); i++) {
        if (ept_take_table(map, &map->pdpt[i]) == NULL) {
            status = STATUS_NO_MEMORY;
        }
    }
    return status;
}

enum status ept_root_create(struct ept_map *map, hpa_t *root)
{
    uint64_t *table = ept_take_table(map, root);

    if (table == NULL) {
        return STATUS_NO_MEMORY;
    }
    for (unsigned int i = 0; i < pdpt_count(map->mtrrs.phys_bits); i++) {
        ept_entry_store(&table[i], ept_link(map->pdpt[i]));
    }
    return STATUS_OK;
}

/* SDM volume 3, "Extended-Page-Table Pointer (EPTP)". */
uint64_t ept_pointer(hpa_t root)
{
    return root.value | EPTP_WALK_LENGTH_4 | (uint64_t)MEM_TYPE_WB;
}

static enum status map_range(struct ept_map *map, hpa_t table, enum ept_level level, uint64_t from,
                             uint64_t to);

/* The part [from, to) of one block whose entry is not present. */
static enum status map_absent(struct ept_map *map, uint64_t *slot, enum ept_level level,
                              uint64_t from, uint64_t to)
{
    uint64_t base = align_down(from, ept_block_bytes(level));
    enum status status;
    enum mem_type type;
    hpa_t table;

    if (to - from == ept_block_bytes(level) &&
        ept_block_is_leaf(map, &map->mtrrs, level, base, &type)) {
        ept_entry_store(slot, ept_leaf(base, level, EPT_ALL, type));
        return STATUS_OK;
    }
    if (ept_take_table(map, &table) == NULL) {
        return STATUS_NO_MEMORY;
    }
    status = map_range(map, table, ept_below(level), from, to);
    ept_entry_store(slot, ept_link(table)); /* filled first; a part of it does no harm */
    return status;
}

/* Fills what is not present of [from, to), which lies inside what the table covers. Recurses at
 * most two levels deep. */
static enum status map_range(struct ept_map *map, hpa_t table, enum ept_level level, uint64_t from,
                             uint64_t to)
{
    uint64_t *entries = ept_table(map, table);
    uint64_t block_bytes = ept_block_bytes(level);
    enum status status = STATUS_OK;

    while (from < to && status == STATUS_OK) {
        uint64_t *slot = &entries[ept_index(from, level)];
        uint64_t entry = ept_entry_load(slot);
        uint64_t next = align_down(from, block_bytes) + block_bytes;
        uint64_t end = next < to ? next : to;

        if (!ept_entry_is_present(entry)) {
            status = map_absent(map, slot, level, from, end);
        } else if (!ept_entry_is_leaf(entry, level) && !ept_entry_is_hidden_table(map, entry)) {
            status = map_range(map, ept_entry_table(entry), ept_below(level), from, end);
        }
        from = next;
    }
    return status;
}

enum status ept_map_identity(struct ept_map *map, gpa_t base, uint64_t bytes)
{
    uint64_t table_bytes = ept_block_bytes(EPT_LEVEL_512G);
    uint64_t from;
    uint64_t to;
    enum status status = ept_page_range(map, base, bytes, &from, &to);

    while (status == STATUS_OK && from < to) {
        uint64_t next = align_down(from, table_bytes) + table_bytes;

        status = map_range(map, map->pdpt[ept_index(from, EPT_LEVEL_512G)], EPT_LEVEL_1G, from,
                           next < to ? next : to);
        from = next;
    }
    return status;
}

enum status ept_map_on_violation(struct ept_map *map, gpa_t address)
{
    struct ept_translation found;
    enum mem_type type;
    enum ept_level level;
    uint64_t base;

    if (address.value >= map->limit) {
        return STATUS_OUT_OF_RANGE;
    }
    ept_walk(map, address, &found);
    if (found.is_mapped) {
        return STATUS_OK;
    }
    level = found.level;
    base = align_down(address.value, ept_block_bytes(level));
    while (level > EPT_LEVEL_4K && !ept_block_is_leaf(map, &map->mtrrs, level, base, &type)) {
        level = ept_below(level);
        base = align_down(address.value, ept_block_bytes(level));
    }
    return ept_map_identity(map, gpa(base), ept_block_bytes(level));
}

static void walk_from(const struct ept_map *map, hpa_t table, uint64_t address,
                      struct ept_translation *out)
{
    enum ept_level level = EPT_LEVEL_1G;
    uint64_t entry = ept_entry_load(&ept_table(map, table)[ept_index(address, level)]);
    uint64_t offset;

    while (ept_entry_is_present(entry) && !ept_entry_is_leaf(entry, level)) {
        level = ept_below(level);
        table = ept_entry_table(entry);
        entry = ept_entry_load(&ept_table(map, table)[ept_index(address, level)]);
    }
    out->level = level;
    out->entry = entry;
    out->is_mapped = ept_entry_is_present(entry);
    if (out->is_mapped) {
        offset = address & (ept_block_bytes(level) - 1);
        out->hpa = hpa(((entry & EPT_ENTRY_ADDRESS) & ~(ept_block_bytes(level) - 1)) + offset);
        out->access = entry & EPT_ALL;
        out->type = ept_entry_type(entry);
        out->is_identity = (entry & EPT_ENTRY_PINNED) == 0;
    }
}

void ept_walk(const struct ept_map *map, gpa_t address, struct ept_translation *out)
{
    *out = (struct ept_translation){.level = EPT_LEVEL_512G};
    if (address.value < map->limit) {
        walk_from(map, map->pdpt[ept_index(address.value, EPT_LEVEL_512G)], address.value, out);
    }
}

void ept_walk_root(const struct ept_map *map, hpa_t root, gpa_t address,
                   struct ept_translation *out)
{
    *out = (struct ept_translation){.level = EPT_LEVEL_512G};
    if (address.value < BIT64(EPT_ADDRESS_BITS)) {
        out->entry =
            ept_entry_load(&ept_table(map, root)[ept_index(address.value, EPT_LEVEL_512G)]);
        if (ept_entry_is_present(out->entry)) {
            walk_from(map, ept_entry_table(out->entry), address.value, out);
        }
    }
}
