/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "hyperv/vp_set.h"

/* By hand: the compiler's own would call its library. */
static uint32_t count_ones(uint64_t word)
{
    word -= (word >> 1) & 0x5555555555555555ull;
    word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return (uint32_t)((word * 0x0101010101010101ull) >> 56);
}

void vp_set_of_all(struct vp_set *set)
{
    set->is_all = true;
    set->valid_banks = 0;
    set->contents = NULL;
}

void vp_set_of_banks(struct vp_set *set, uint64_t valid_banks, const uint64_t *contents)
{
    set->is_all = false;
    set->valid_banks = valid_banks;
    set->contents = contents;
}

uint32_t vp_set_bank_count(uint64_t valid_banks)
{
    return count_ones(valid_banks);
}

bool vp_set_has(const struct vp_set *set, uint32_t vp_index)
{
    uint32_t bank = vp_index / HV_VP_SET_BANK_VPS;
    uint32_t rank;

    if (set->is_all) {
        return true;
    }
    if (bank >= HV_VP_SET_BANKS || (set->valid_banks & BIT64(bank)) == 0) {
        return false;
    }
    /* Contents are packed: those of the lower banks come first. */
    rank = count_ones(set->valid_banks & (BIT64(bank) - 1));
    return (set->contents[rank] & BIT64(vp_index % HV_VP_SET_BANK_VPS)) != 0;
}

struct vp_set_cursor vp_set_walk(const struct vp_set *set, uint32_t vp_limit)
{
    return (struct vp_set_cursor){.set = set, .vp_limit = vp_limit};
}

/* Goes to the next bank that the set has, and gives its number and contents. */
static bool next_bank(struct vp_set_cursor *cursor, uint64_t *bank, uint64_t *bits)
{
    const struct vp_set *set = cursor->set;
    uint64_t left;

    if (set->is_all) {
        *bank = cursor->next_bank++;
        *bits = ~(uint64_t)0;
        return true;
    }
    if (cursor->next_bank >= HV_VP_SET_BANKS) {
        return false;
    }
    left = set->valid_banks >> cursor->next_bank;
    if (left == 0) {
        return false;
    }
    *bank = cursor->next_bank + (uint32_t)__builtin_ctzll(left);
    *bits = set->contents[cursor->next_content++];
    cursor->next_bank = (uint32_t)*bank + 1;
    return true;
}

bool vp_set_next(struct vp_set_cursor *cursor, struct vp_set_bank *out)
{
    uint64_t bank, bits, first_vp, below;

    while (next_bank(cursor, &bank, &bits)) {
        first_vp = bank * HV_VP_SET_BANK_VPS;
        if (first_vp >= cursor->vp_limit) {
            return false;
        }
        below = cursor->vp_limit - first_vp;
        if (below < HV_VP_SET_BANK_VPS) {
            bits &= BIT64(below) - 1;
        }
        if (bits != 0) {
            out->first_vp = (uint32_t)first_vp;
            out->bits = bits;
            return true;
        }
    }
    return false;
}

uint32_t vp_set_count(const struct vp_set *set, uint32_t vp_limit)
{
    struct vp_set_cursor cursor = vp_set_walk(set, vp_limit);
    struct vp_set_bank bank;
    uint32_t count = 0;

    while (vp_set_next(&cursor, &bank)) {
        count += count_ones(bank.bits);
    }
    return count;
}
