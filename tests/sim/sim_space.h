/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_SIM_SPACE_H
#define TESTS_SIM_SIM_SPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"

/*
 * The guest's page tables: two address spaces (PCIDs), each with a region of 1 GiB at the same
 * addresses, and one region of the kernel's, in both. A region has four tables of 2 MiB, a table
 * four pages of 4 KiB; every table and region may be mapped as one large page instead. Entries hold
 * generation numbers. Even tables of the kernel's region, and even pages of them, are global.
 */

#define SIM_SPACES       2u
#define SIM_KERNEL       2u /* its region's number */
#define SIM_REGIONS      3u
#define SIM_TABLES       4u /* of a region */
#define SIM_TABLE_PAGES  4u
#define SIM_REGION_PAGES (SIM_TABLES * SIM_TABLE_PAGES)
#define SIM_PAGES        (SIM_REGIONS * SIM_REGION_PAGES)

enum sim_level { SIM_LEVEL_1_GIB, SIM_LEVEL_2_MIB, SIM_LEVEL_4_KIB, SIM_LEVELS };

/* Entries of the page tables by number: regions, tables, pages. */
#define SIM_ENTRIES (SIM_REGIONS + SIM_REGIONS * SIM_TABLES + SIM_PAGES)

/* Entry of a level that a page's translation goes through. */
static inline uint32_t sim_entry_of(enum sim_level level, uint32_t page)
{
    if (level == SIM_LEVEL_1_GIB) {
        return page / SIM_REGION_PAGES;
    }
    return level == SIM_LEVEL_2_MIB ? SIM_REGIONS + page / SIM_TABLE_PAGES
                                    : SIM_REGIONS + SIM_REGIONS * SIM_TABLES + page;
}

static inline uint32_t sim_region_of(uint32_t page)
{
    return page / SIM_REGION_PAGES;
}

/* Whether a leaf at this level of the page's translation is global. */
static inline bool sim_is_global(enum sim_level level, uint32_t page)
{
    return sim_region_of(page) == SIM_KERNEL && level != SIM_LEVEL_1_GIB &&
           page / SIM_TABLE_PAGES % 2 == 0 && (level == SIM_LEVEL_2_MIB || page % 2 == 0);
}

/* Pages, as bits, below an entry of this level. */
static inline uint64_t sim_pages_below(enum sim_level level, uint32_t page)
{
    if (level == SIM_LEVEL_1_GIB) {
        return ((1ull << SIM_REGION_PAGES) - 1) << (page / SIM_REGION_PAGES * SIM_REGION_PAGES);
    }
    return level == SIM_LEVEL_2_MIB
               ? ((1ull << SIM_TABLE_PAGES) - 1) << (page / SIM_TABLE_PAGES * SIM_TABLE_PAGES)
               : 1ull << page;
}

#define SIM_BYTES_2_MIB (512 * PAGE_BYTES)
#define SIM_BYTES_1_GIB (512 * SIM_BYTES_2_MIB)
#define SIM_BASE_SPACE  0x00007F0000000000ull
#define SIM_BASE_KERNEL 0xFFFF888040000000ull

/* Linear address. Both spaces have the same addresses. */
static inline uint64_t sim_address_of(uint32_t page)
{
    uint64_t base = sim_region_of(page) == SIM_KERNEL ? SIM_BASE_KERNEL : SIM_BASE_SPACE;

    return base + page / SIM_TABLE_PAGES % SIM_TABLES * SIM_BYTES_2_MIB +
           page % SIM_TABLE_PAGES * PAGE_BYTES;
}

/* What a translation was made of: the generation of the entry at each level, 0 below a large
 * page. */
struct sim_path {
    uint32_t generation[SIM_LEVELS];
};

struct sim_space {
    _Atomic uint32_t entries[SIM_ENTRIES]; /* generation * 2, plus 1 for a large page */
};

void sim_space_init(struct sim_space *space);

/* Walks from the first level that *path has no generation of. Returns the level of the leaf. */
enum sim_level sim_space_walk(const struct sim_space *space, uint32_t page, struct sim_path *path);

/* Changes an entry, to a large page or a table as is_large says. Returns the new generation.
 * Entries of the last level are no large pages. */
uint32_t sim_space_change(struct sim_space *space, uint32_t entry, bool is_large);

#endif
