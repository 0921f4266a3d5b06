/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HYPERV_VP_SET_H
#define HYPERV_VP_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "hyperv/tlfs.h"

/*
 * A set of VP indexes as guests name it (TLFS "Virtual Processor Sets"): a mask of 64, a sparse set
 * of up to 64 banks of 64, or all. It is walked bank by bank; nothing is unpacked. A set may name VPs
 * that do not exist: the walk leaves them out.
 */

struct vp_set {
    bool is_all;
    uint64_t valid_banks; /* bit b: bank b, VPs 64b..64b+63, has contents */
    const uint64_t
        *contents; /* one word a set bit of valid_banks, ascending; must outlive the set */
    uint64_t mask; /* storage for the contents of vp_set_of_mask */
};

/* All VPs of the partition. */
void vp_set_of_all(struct vp_set *set);

/* A sparse set; with valid_banks 1 a mask of VPs 0..63. contents holds as many words as valid_banks has
 * bits, and outlives the set. */
void vp_set_of_banks(struct vp_set *set, uint64_t valid_banks, const uint64_t *contents);

/* The number of words in contents for these banks. */
uint32_t vp_set_bank_count(uint64_t valid_banks);

/* Whether vp_index is in the set. Any index may be asked for; those from HV_VP_SET_MAX_VPS on are in
 * a set of all only. */
bool vp_set_has(const struct vp_set *set, uint32_t vp_index);

/* A walk over the banks that name at least one VP below vp_limit. Start with vp_set_walk. */
struct vp_set_cursor {
    const struct vp_set *set;
    uint32_t vp_limit; /* VP indexes are below it */
    uint32_t next_bank;
    uint32_t next_content;
};

/* One bank of the walk: VP index first_vp + n is named when bit n of bits is set. */
struct vp_set_bank {
    uint32_t first_vp;
    uint64_t bits; /* not 0; no VP from vp_limit on */
};

struct vp_set_cursor vp_set_walk(const struct vp_set *set, uint32_t vp_limit);

/* The next bank. False: the walk is over. A set of all walks every bank up to vp_limit, however large
 * that is. */
MUST_CHECK bool vp_set_next(struct vp_set_cursor *cursor, struct vp_set_bank *out);

/* How many VPs below vp_limit the set names. */
uint32_t vp_set_count(const struct vp_set *set, uint32_t vp_limit);

#endif
