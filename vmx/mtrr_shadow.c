/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/mtrr_shadow.h"

#include <stddef.h>

#include "core/addr.h"
#include "core/bits.h"
#include "core/msr.h"

#define VARIABLE_FIRST MSR_IA32_MTRR_PHYSBASE0
#define VARIABLE_LAST  (MSR_IA32_MTRR_PHYSBASE0 + 2 * MTRR_VARIABLE_MAX - 1)

#define DEF_TYPE_BITS (IA32_MTRR_DEF_TYPE_TYPE_MASK | IA32_MTRR_DEF_TYPE_FE | IA32_MTRR_DEF_TYPE_E)

void mtrr_shadow_init(struct mtrr_shadow *shadow, const struct mtrr_state *hardware)
{
    uint64_t flags = hardware->cap & (IA32_MTRRCAP_FIX | IA32_MTRRCAP_WC);

    shadow->state = *hardware;
    shadow->state.cap = flags | mtrr_variable_count(hardware);
}

static bool fixed_index(uint32_t msr, unsigned int *index)
{
    for (unsigned int i = 0; i < MTRR_FIXED_COUNT; i++) {
        if (mtrr_fixed_msr(i) == msr) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* The copy behind a register that can be read and written; NULL: there is no such register. */
static uint64_t *find_register(struct mtrr_state *state, uint32_t msr)
{
    unsigned int index;

    if (msr == MSR_IA32_MTRR_DEF_TYPE) {
        return &state->def_type;
    }
    if (fixed_index(msr, &index)) {
        return (state->cap & IA32_MTRRCAP_FIX) != 0 ? &state->fixed[index] : NULL;
    }
    if (msr < VARIABLE_FIRST || msr > VARIABLE_LAST) {
        return NULL;
    }
    index = (msr - VARIABLE_FIRST) / 2;
    if (index >= mtrr_variable_count(state)) {
        return NULL;
    }
    return msr % 2 == 0 ? &state->variable[index].base : &state->variable[index].mask;
}

bool mtrr_shadow_read(const struct mtrr_shadow *shadow, uint32_t msr, uint64_t *value)
{
    struct mtrr_state state = shadow->state;
    const uint64_t *found = msr == MSR_IA32_MTRRCAP ? &state.cap : find_register(&state, msr);

    *value = found != NULL ? *found : 0;
    return found != NULL;
}

static bool type_is_allowed(const struct mtrr_state *state, uint64_t type)
{
    if (type == MEM_TYPE_WC && (state->cap & IA32_MTRRCAP_WC) == 0) {
        return false;
    }
    return memtype_is_valid(type);
}

static bool def_type_is_allowed(const struct mtrr_state *state, uint64_t value)
{
    if ((value & ~DEF_TYPE_BITS) != 0) {
        return false;
    }
    if ((value & IA32_MTRR_DEF_TYPE_FE) != 0 && (state->cap & IA32_MTRRCAP_FIX) == 0) {
        return false;
    }
    return type_is_allowed(state, value & IA32_MTRR_DEF_TYPE_TYPE_MASK);
}

static bool fixed_is_allowed(const struct mtrr_state *state, uint64_t value)
{
    for (unsigned int shift = 0; shift < 64; shift += 8) {
        if (!type_is_allowed(state, (value >> shift) & 0xFF)) {
            return false;
        }
    }
    return true;
}

/* SDM volume 3, "Variable Range MTRRs": what lies beyond the physical address width is reserved. */
static bool variable_is_allowed(const struct mtrr_state *state, uint32_t msr, uint64_t value)
{
    uint64_t address = MASK64(state->phys_bits - 1, PAGE_SHIFT);

    if (msr % 2 == 0) {
        return (value & ~(address | 0xFF)) == 0 && type_is_allowed(state, value & 0xFF);
    }
    return (value & ~(address | IA32_MTRR_PHYSMASK_VALID)) == 0;
}

bool mtrr_shadow_write(struct mtrr_shadow *shadow, uint32_t msr, uint64_t value, bool *rebuild)
{
    struct mtrr_state *state = &shadow->state;
    uint64_t *found = find_register(state, msr);
    bool is_allowed;
    bool is_change;

    *rebuild = false;
    if (found == NULL) {
        return false;
    }
    if (msr == MSR_IA32_MTRR_DEF_TYPE) {
        is_allowed = def_type_is_allowed(state, value);
    } else if (msr <= VARIABLE_LAST) {
        is_allowed = variable_is_allowed(state, msr, value);
    } else {
        is_allowed = fixed_is_allowed(state, value);
    }
    if (!is_allowed) {
        return false;
    }
    is_change = *found != value;
    *found = value;
    *rebuild = is_change && (state->def_type & IA32_MTRR_DEF_TYPE_E) != 0;
    return true;
}
