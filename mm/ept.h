/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_EPT_H
#define MM_EPT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/bits.h"
#include "core/compiler.h"
#include "core/status.h"
#include "mm/memtype.h"

/*
 * Four-level EPT structures (SDM volume 3, "The Extended Page Table Mechanism (EPT)"): one set of
 * lower tables, and one root (PML4) per vCPU whose entries all point at them. Pure over a page
 * source. Callers of everything that changes a map hold one lock; LPs may walk the tables at the
 * same time. INVEPT after a change is the caller's.
 */

#define EPT_ADDRESS_BITS 48u /* reach of four levels */
#define EPT_RETIRED_MAX  128u
#define EPT_SPLIT_LIMIT  1024u /* tables that one change of types may add */

#define EPT_READ    BIT64(0)
#define EPT_WRITE   BIT64(1)
#define EPT_EXECUTE BIT64(2)
#define EPT_ALL     (EPT_READ | EPT_WRITE | EPT_EXECUTE)

enum ept_level { EPT_LEVEL_4K = 1, EPT_LEVEL_2M = 2, EPT_LEVEL_1G = 3, EPT_LEVEL_512G = 4 };

/* Where tables come from. The pages need not be zeroed. */
struct ept_pages_ops {
    void *(*alloc_page)(void *context, hpa_t *out); /* NULL: none left */
    void *(*page_at)(void *context, hpa_t page);    /* the pointer of a page given out before */
};

/* What IA32_VMX_EPT_VPID_CAP says. */
struct ept_caps {
    bool has_2m;
    bool has_1g;
    bool has_execute_only;
};

struct ept_params {
    const struct ept_pages_ops *ops;
    void *context; /* first argument of the ops */
    struct ept_caps caps;
    const struct mtrr_state *mtrrs; /* the first types; copied; its phys_bits bound the map */
    hpa_t scratch; /* the page behind hidden addresses; not used for anything else */
};

/* The shared lower tables. Private to mm/ept*.c, save that readers may look at mtrrs and pages. */
struct ept_map {
    const struct ept_pages_ops *ops;
    void *context;
    struct ept_caps caps;
    struct mtrr_state mtrrs; /* the types as they are in the tables now */
    hpa_t scratch;
    hpa_t
        hidden_table; /* a page table full of scratch entries, shared by all hidden 2 MiB blocks */
    uint64_t limit;   /* first address beyond the physical address space, at most 2^48 */
    hpa_t pdpt[512];  /* by bits 47:39; all those below limit exist from the start */
    hpa_t reserve;    /* chain of free tables, linked by their first entry; value 0: none */
    uint64_t reserve_pages;
    hpa_t retired[EPT_RETIRED_MAX]; /* unlinked tables that a walk may still use: left untouched */
    unsigned int retired_count;
    uint64_t pages; /* taken from the page source so far, roots included */
};

/* What is behind an address. */
struct ept_translation {
    bool is_mapped;
    enum ept_level level; /* of entry: the leaf, or where the walk ended */
    uint64_t entry;       /* as it is in the table */
    hpa_t hpa;            /* of the byte that was asked for; only when is_mapped */
    uint64_t access;      /* EPT_READ, EPT_WRITE, EPT_EXECUTE; only when is_mapped */
    enum mem_type type;   /* only when is_mapped */
    bool is_identity;     /* not hidden and not remapped; only when is_mapped */
};

/*
 * An upper estimate of the pages that a map takes from its source, without roots (one each): all
 * PDPTs, identity tables up to memory_top where large pages are missing, and room for splits by
 * memory types and for ordinary remapping. Any context.
 */
uint64_t ept_pages_needed(const struct ept_caps *caps, unsigned int phys_bits, uint64_t memory_top);

/*
 * Makes an empty map for the physical address space of params->mtrrs->phys_bits (32 to 52), at most
 * 48 bits. STATUS_BAD_ARGUMENT: another width, or a scratch page outside the space or unaligned.
 * STATUS_NO_MEMORY: the pages ran out, those already taken are lost to the caller.
 */
MUST_CHECK enum status ept_init(struct ept_map *map, const struct ept_params *params);

/* Makes a root. It is never changed afterwards: what happens to the map shows in all roots.
 * STATUS_NO_MEMORY: no page left. */
MUST_CHECK enum status ept_root_create(struct ept_map *map, hpa_t *root);

/* The EPT pointer (VMCS field) for a root: write-back, four levels, no accessed and dirty flags.
 * SDM volume 3, "Extended-Page-Table Pointer (EPTP)". Any context. */
uint64_t ept_pointer(hpa_t root);

/*
 * Maps what is not mapped yet of [base, base + bytes), enlarged to whole pages, to itself, with all
 * rights and the types of the MTRRs, by the largest pages that have one type. Addresses that are
 * hidden or remapped already stay so. STATUS_OUT_OF_RANGE: reaches beyond the physical address
 * space. STATUS_NO_MEMORY: a part may have been mapped, which is harmless.
 */
MUST_CHECK enum status ept_map_identity(struct ept_map *map, gpa_t base, uint64_t bytes);

/*
 * For an EPT violation: maps the largest block around address that has one type and lies in nothing
 * mapped yet. STATUS_OK also when address is mapped meanwhile. STATUS_OUT_OF_RANGE: the address is
 * outside the physical address space. The caller has seen that the violation is for a not-present
 * entry (ept_walk) and not for rights.
 */
MUST_CHECK enum status ept_map_on_violation(struct ept_map *map, gpa_t address);

/*
 * Puts the scratch page, readable and writable, behind every page of [base, base + bytes), enlarged
 * to whole pages. On STATUS_NO_MEMORY or STATUS_OUT_OF_RANGE nothing has changed.
 */
MUST_CHECK enum status ept_hide(struct ept_map *map, gpa_t base, uint64_t bytes);

/*
 * Maps the 4 KiB page at page to target with the given rights and type, whatever was there, and
 * protects it against ept_set_types(). STATUS_BAD_ARGUMENT: rights that EPT does not have (none,
 * write without read, execute-only without the capability), a bad type, an unaligned address. On
 * STATUS_BAD_ARGUMENT, STATUS_OUT_OF_RANGE and STATUS_NO_MEMORY nothing has changed.
 */
MUST_CHECK enum status ept_remap_page(struct ept_map *map, gpa_t page, hpa_t target,
                                      uint64_t access, enum mem_type type);

/* Maps the 4 KiB page at page to itself again, all rights, type by the MTRRs. Errors as above. */
MUST_CHECK enum status ept_restore_page(struct ept_map *map, gpa_t page);

/*
 * Gives all identity pages the types of these MTRRs: splits where a page has no longer one type,
 * and joins tables that have become uniform (they are retired: see ept_reclaim). *changed tells
 * whether any entry was written. STATUS_NO_MEMORY: no pages, or a map so scattered that it needs
 * more than EPT_SPLIT_LIMIT new tables; nothing has changed.
 */
MUST_CHECK enum status ept_set_types(struct ept_map *map, const struct mtrr_state *mtrrs,
                                     bool *changed);

/* Lets retired tables be used again. Only after every LP has executed INVEPT for its root since
 * they were retired (after the return of the ept_set_types() call in question). */
void ept_reclaim(struct ept_map *map);

/* Walks the shared tables. An address outside the map's reach is not mapped. Any context, no lock
 * needed; the answer is one moment's. */
void ept_walk(const struct ept_map *map, gpa_t address, struct ept_translation *out);

/* As ept_walk, from a root, as the processor does it: what tests hold the map against. */
void ept_walk_root(const struct ept_map *map, hpa_t root, gpa_t address,
                   struct ept_translation *out);

#endif
