/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/memtype.h"

#include "core/addr.h"
#include "core/bits.h"
#include "core/msr.h"

#define FIXED_LIMIT     (1ull << 20)
#define FIXED_64K_LIMIT 0x80000ull
#define FIXED_16K_LIMIT 0xC0000ull

#define UNIFORM_STEPS_MAX 1024u

uint32_t mtrr_fixed_msr(unsigned int index)
{
    if (index == 0) {
        return MSR_IA32_MTRR_FIX64K_00000;
    }
    if (index <= 2) {
        return MSR_IA32_MTRR_FIX16K_80000 + (index - 1);
    }
    if (index < MTRR_FIXED_COUNT) {
        return MSR_IA32_MTRR_FIX4K_C0000 + (index - 3);
    }
    return 0;
}

unsigned int mtrr_variable_count(const struct mtrr_state *state)
{
    unsigned int count = (unsigned int)(state->cap & IA32_MTRRCAP_VCNT_MASK);

    return count < MTRR_VARIABLE_MAX ? count : MTRR_VARIABLE_MAX;
}

bool memtype_is_valid(uint64_t value)
{
    return value == MEM_TYPE_UC || value == MEM_TYPE_WC || value == MEM_TYPE_WT ||
           value == MEM_TYPE_WP || value == MEM_TYPE_WB;
}

const char *memtype_name(enum mem_type type)
{
    switch (type) {
    case MEM_TYPE_UC:
        return "UC";
    case MEM_TYPE_WC:
        return "WC";
    case MEM_TYPE_WT:
        return "WT";
    case MEM_TYPE_WP:
        return "WP";
    case MEM_TYPE_WB:
        return "WB";
    }
    return "??";
}

/* A register's type byte; an encoding that hardware would never have let in counts as UC. */
static enum mem_type type_from(uint64_t byte)
{
    return memtype_is_valid(byte & 0xFF) ? (enum mem_type)(byte & 0xFF) : MEM_TYPE_UC;
}

/* SDM volume 3, "Fixed Range MTRRs": eight ranges a register, low byte first. */
static enum mem_type fixed_type(const struct mtrr_state *state, uint64_t address, uint64_t *end)
{
    uint64_t offset = address;
    unsigned int range = 0; /* number of the type byte */
    unsigned int shift = 16;

    if (address >= FIXED_16K_LIMIT) {
        offset = address - FIXED_16K_LIMIT;
        range = 24;
        shift = 12;
    } else if (address >= FIXED_64K_LIMIT) {
        offset = address - FIXED_64K_LIMIT;
        range = 8;
        shift = 14;
    }
    range += (unsigned int)(offset >> shift);
    *end = align_down(address, BIT64(shift)) + BIT64(shift);
    return type_from(state->fixed[range / 8] >> (8 * (range % 8)));
}

/* SDM volume 3, "MTRR Precedences"; what is undefined there becomes the strictest type. */
static enum mem_type combine(enum mem_type a, enum mem_type b)
{
    if (a == b) {
        return a;
    }
    if ((a == MEM_TYPE_WT && b == MEM_TYPE_WB) || (a == MEM_TYPE_WB && b == MEM_TYPE_WT)) {
        return MEM_TYPE_WT;
    }
    return MEM_TYPE_UC;
}

/*
 * Whether a variable range holds address, and in *order the power of two such that the whole
 * aligned block of that size around address is inside or outside alike. Masks with holes are legal
 * (SDM volume 3, "Example Base and Mask Calculations") and come out right: outside, the highest
 * differing bit under the mask decides; inside, the lowest bit of the mask.
 */
static bool variable_covers(const struct mtrr_state *state, const struct mtrr_variable *range,
                            uint64_t address, unsigned int *order)
{
    uint64_t mask = range->mask & MASK64(state->phys_bits - 1, PAGE_SHIFT);
    uint64_t difference = (address ^ range->base) & mask;

    if (difference != 0) {
        *order = 63 - (unsigned int)__builtin_clzll(difference);
        return false;
    }
    *order = mask != 0 ? (unsigned int)__builtin_ctzll(mask) : state->phys_bits;
    return true;
}

static enum mem_type variable_type(const struct mtrr_state *state, uint64_t address,
                                   unsigned int *order)
{
    unsigned int count = mtrr_variable_count(state);
    enum mem_type type = type_from(state->def_type);
    bool is_covered = false;

    *order = state->phys_bits;
    for (unsigned int i = 0; i < count; i++) {
        const struct mtrr_variable *range = &state->variable[i];
        enum mem_type range_type = type_from(range->base);
        unsigned int range_order;

        if ((range->mask & IA32_MTRR_PHYSMASK_VALID) == 0) {
            continue;
        }
        if (variable_covers(state, range, address, &range_order)) {
            type = is_covered ? combine(type, range_type) : range_type;
            is_covered = true;
        }
        if (range_order < *order) {
            *order = range_order;
        }
    }
    return type;
}

/* UC must win over a WT/WB pair in any order of the registers, and combine() sees to it: UC with
 * anything stays UC, and so does a mix that is undefined. */
enum mem_type memtype_at(const struct mtrr_state *state, uint64_t address, uint64_t *end)
{
    enum mem_type type;
    unsigned int order;

    if ((state->def_type & IA32_MTRR_DEF_TYPE_E) == 0) {
        *end = UINT64_MAX;
        return MEM_TYPE_UC;
    }
    if ((state->def_type & IA32_MTRR_DEF_TYPE_FE) != 0 && address < FIXED_LIMIT) {
        return fixed_type(state, address, end);
    }
    type = variable_type(state, address, &order);
    *end = align_down(address, BIT64(order)) + BIT64(order);
    return type;
}

bool memtype_is_uniform(const struct mtrr_state *state, uint64_t base, uint64_t bytes,
                        enum mem_type *type)
{
    uint64_t limit = base + bytes;
    uint64_t next;

    *type = memtype_at(state, base, &next);
    for (unsigned int step = 0; next < limit; step++) {
        if (step == UNIFORM_STEPS_MAX || memtype_at(state, next, &next) != *type) {
            return false;
        }
    }
    return true;
}

static bool variable_equal(const struct mtrr_variable *a, const struct mtrr_variable *b)
{
    bool a_valid = (a->mask & IA32_MTRR_PHYSMASK_VALID) != 0;
    bool b_valid = (b->mask & IA32_MTRR_PHYSMASK_VALID) != 0;

    if (!a_valid && !b_valid) {
        return true;
    }
    return a->mask == b->mask && a->base == b->base;
}

bool mtrr_state_equal(const struct mtrr_state *a, const struct mtrr_state *b)
{
    static const struct mtrr_variable none = {0, 0};
    unsigned int a_count = mtrr_variable_count(a);
    unsigned int b_count = mtrr_variable_count(b);

    if (a->phys_bits != b->phys_bits) {
        return false;
    }
    if (((a->def_type | b->def_type) & IA32_MTRR_DEF_TYPE_E) == 0) {
        return true;
    }
    if (a->def_type != b->def_type) {
        return false;
    }
    if ((a->def_type & IA32_MTRR_DEF_TYPE_FE) != 0) {
        for (unsigned int i = 0; i < MTRR_FIXED_COUNT; i++) {
            if (a->fixed[i] != b->fixed[i]) {
                return false;
            }
        }
    }
    for (unsigned int i = 0; i < MTRR_VARIABLE_MAX; i++) {
        if (!variable_equal(i < a_count ? &a->variable[i] : &none,
                            i < b_count ? &b->variable[i] : &none)) {
            return false;
        }
    }
    return true;
}
