/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/sim_tlb.h"

static uint32_t slot_of_leaf(enum sim_level level, uint32_t page)
{
    if (level == SIM_LEVEL_1_GIB) {
        return SIM_SLOT_REGIONS + page / SIM_REGION_PAGES;
    }
    return level == SIM_LEVEL_2_MIB ? SIM_SLOT_TABLES + page / SIM_TABLE_PAGES : page;
}

static uint32_t slot_of_part(enum sim_level level, uint32_t page)
{
    return level == SIM_LEVEL_1_GIB ? SIM_SLOT_PART_REGIONS + page / SIM_REGION_PAGES
                                    : SIM_SLOT_PART_TABLES + page / SIM_TABLE_PAGES;
}

static uint64_t pages_of_slot(uint32_t slot)
{
    if (slot < SIM_SLOT_TABLES) {
        return sim_pages_below(SIM_LEVEL_4_KIB, slot);
    }
    if (slot < SIM_SLOT_REGIONS) {
        return sim_pages_below(SIM_LEVEL_2_MIB, (slot - SIM_SLOT_TABLES) * SIM_TABLE_PAGES);
    }
    if (slot < SIM_SLOT_PART_TABLES) {
        return sim_pages_below(SIM_LEVEL_1_GIB, (slot - SIM_SLOT_REGIONS) * SIM_REGION_PAGES);
    }
    if (slot < SIM_SLOT_PART_REGIONS) {
        return sim_pages_below(SIM_LEVEL_2_MIB, (slot - SIM_SLOT_PART_TABLES) * SIM_TABLE_PAGES);
    }
    return sim_pages_below(SIM_LEVEL_1_GIB, (slot - SIM_SLOT_PART_REGIONS) * SIM_REGION_PAGES);
}

static bool is_filled(const struct sim_path *slot)
{
    return slot->generation[SIM_LEVEL_1_GIB] != 0;
}

const struct sim_path *sim_tlb_find(const struct sim_tlb *tlb, uint32_t pcid, uint32_t page,
                                    uint32_t dice)
{
    for (uint32_t try = 0; try < 2 * SIM_LEVELS; try++) {
        uint32_t choice = (try + dice) % (2 * SIM_LEVELS);
        enum sim_level level = (enum sim_level)(choice / 2);
        uint32_t tag = choice % 2 == 0 ? pcid : SIM_TAG_GLOBAL;
        const struct sim_path *slot = &tlb->slots[tag][slot_of_leaf(level, page)];

        if (is_filled(slot)) {
            return slot;
        }
    }
    return NULL;
}

struct sim_path sim_tlb_begin(const struct sim_tlb *tlb, uint32_t pcid, uint32_t page,
                              uint32_t dice)
{
    const struct sim_path *table = &tlb->slots[pcid][slot_of_part(SIM_LEVEL_2_MIB, page)];
    const struct sim_path *region = &tlb->slots[pcid][slot_of_part(SIM_LEVEL_1_GIB, page)];

    if (dice % 4 != 0 && is_filled(table)) {
        return *table;
    }
    if (dice % 4 != 1 && is_filled(region)) {
        return *region;
    }
    return (struct sim_path){.generation = {0}};
}

static void put(struct sim_tlb *tlb, uint32_t tag, uint32_t slot, const struct sim_path *path)
{
    tlb->filled[tag] += !is_filled(&tlb->slots[tag][slot]);
    tlb->slots[tag][slot] = *path;
}

void sim_tlb_fill(struct sim_tlb *tlb, uint32_t pcid, uint32_t page, enum sim_level leaf,
                  const struct sim_path *path, uint32_t dice)
{
    struct sim_path part = {.generation = {0}};
    enum sim_level piece = leaf;

    for (enum sim_level level = SIM_LEVEL_1_GIB; level < leaf; level++) {
        part.generation[level] = path->generation[level];
        if ((dice >> level & 1) != 0) {
            put(tlb, pcid, slot_of_part(level, page), &part);
        }
    }
    if ((dice >> 2 & 3) == 0) {
        return;
    }
    if ((dice >> 4 & 1) != 0 && piece < SIM_LEVEL_4_KIB) {
        piece++;
    }
    if ((dice >> 5 & 1) != 0 && piece < SIM_LEVEL_4_KIB) {
        piece++;
    }
    put(tlb, sim_is_global(leaf, page) ? SIM_TAG_GLOBAL : pcid, slot_of_leaf(piece, page), path);
}

struct drop {
    struct sim_tlb *tlb;
    sim_dropped *dropped;
    void *context;
};

static void drop(const struct drop *how, uint32_t tag, uint32_t slot)
{
    if (is_filled(&how->tlb->slots[tag][slot])) {
        how->dropped(how->context, tag, pages_of_slot(slot));
        how->tlb->slots[tag][slot] = (struct sim_path){.generation = {0}};
        how->tlb->filled[tag]--;
    }
}

static void drop_tag(const struct drop *how, uint32_t tag)
{
    for (uint32_t slot = 0; slot < SIM_SLOTS && how->tlb->filled[tag] != 0; slot++) {
        drop(how, tag, slot);
    }
}

/* All tags, global or not, all sizes, and what a walk to the address would use. */
static void drop_address(const struct drop *how, uint32_t region, uint64_t offset)
{
    uint32_t first = region * SIM_REGION_PAGES;
    uint64_t table = offset / SIM_BYTES_2_MIB;
    uint64_t index = offset % SIM_BYTES_2_MIB / PAGE_BYTES;

    for (uint32_t tag = 0; tag < SIM_TAGS; tag++) {
        drop(how, tag, slot_of_leaf(SIM_LEVEL_1_GIB, first));
        drop(how, tag, slot_of_part(SIM_LEVEL_1_GIB, first));
        if (table >= SIM_TABLES) {
            continue;
        }
        drop(how, tag, slot_of_leaf(SIM_LEVEL_2_MIB, first + (uint32_t)table * SIM_TABLE_PAGES));
        drop(how, tag, slot_of_part(SIM_LEVEL_2_MIB, first + (uint32_t)table * SIM_TABLE_PAGES));
        if (index < SIM_TABLE_PAGES) {
            drop(how, tag, first + (uint32_t)table * SIM_TABLE_PAGES + (uint32_t)index);
        }
    }
}

void sim_tlb_invalidate(struct sim_tlb *tlb, enum flush_invvpid type, uint64_t address,
                        sim_dropped *dropped, void *context)
{
    struct drop how = {.tlb = tlb, .dropped = dropped, .context = context};

    if (type == FLUSH_INVVPID_ADDRESS) {
        for (uint32_t region = 0; region < SIM_REGIONS; region++) {
            uint64_t base = sim_address_of(region * SIM_REGION_PAGES);

            if (address >= base && address - base < SIM_BYTES_1_GIB) {
                drop_address(&how, region, address - base);
            }
        }
        return;
    }
    for (uint32_t tag = 0; tag < SIM_TAGS; tag++) {
        if (tag != SIM_TAG_GLOBAL || type != FLUSH_INVVPID_RETAINING_GLOBALS) {
            drop_tag(&how, tag);
        }
    }
}
