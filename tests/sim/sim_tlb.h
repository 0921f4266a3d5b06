/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_SIM_TLB_H
#define TESTS_SIM_SIM_TLB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/flush_wait.h"
#include "tests/sim/sim_space.h"

/*
 * What one LP caches of one VPID, in the worst manner that the architecture allows: nothing is ever
 * evicted, several entries for one page may stand beside each other and any of them may be used,
 * large pages may be cached in pieces, each of which INVVPID by address has to name (SDM volume 3,
 * "Caching Translation Information" of the chapters "Paging" and "VMX Support for Address
 * Translation").
 */

/* Tags: the PCIDs, and global. Paging-structure entries are never global. */
#define SIM_TAGS       3u
#define SIM_TAG_GLOBAL SIM_SPACES

/* Slots of a tag: leaves of pages (pieces of large ones too), of tables, of regions; then the
 * paging-structure entries: those of tables and of regions. */
#define SIM_SLOT_TABLES       SIM_PAGES
#define SIM_SLOT_REGIONS      (SIM_SLOT_TABLES + SIM_REGIONS * SIM_TABLES)
#define SIM_SLOT_PART_TABLES  (SIM_SLOT_REGIONS + SIM_REGIONS)
#define SIM_SLOT_PART_REGIONS (SIM_SLOT_PART_TABLES + SIM_REGIONS * SIM_TABLES)
#define SIM_SLOTS             (SIM_SLOT_PART_REGIONS + SIM_REGIONS)

/* A slot is empty when its first generation is 0. */
struct sim_tlb {
    struct sim_path slots[SIM_TAGS][SIM_SLOTS];
    uint32_t filled[SIM_TAGS];
};

/* Looks for a leaf of the page that this PCID may use, in an order that dice decides. */
const struct sim_path *sim_tlb_find(const struct sim_tlb *tlb, uint32_t pcid, uint32_t page,
                                    uint32_t dice);

/* Begins a walk: at a cached paging-structure entry when there is one and dice lets it be used. */
struct sim_path sim_tlb_begin(const struct sim_tlb *tlb, uint32_t pcid, uint32_t page,
                              uint32_t dice);

/* Caches the outcome of a walk, with the paging-structure entries it went through; dice decides
 * what of it, and whether a large page is cached in pieces. */
void sim_tlb_fill(struct sim_tlb *tlb, uint32_t pcid, uint32_t page, enum sim_level leaf,
                  const struct sim_path *path, uint32_t dice);

/* A slot that is about to be dropped: the pages that it serves. */
typedef void sim_dropped(void *context, uint32_t tag, uint64_t pages);

/* INVVPID, on this VPID. */
void sim_tlb_invalidate(struct sim_tlb *tlb, enum flush_invvpid type, uint64_t address,
                        sim_dropped *dropped, void *context);

#endif
