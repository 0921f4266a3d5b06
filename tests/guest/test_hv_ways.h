/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_HV_WAYS_H
#define GUEST_TEST_HV_WAYS_H

#include <stdbool.h>
#include <stdint.h>

/* The four flush calls in the forms that guests use. */

/* Ways to name one VP, or all. */
enum hv_way {
    HV_WAY_SPACE,
    HV_WAY_SPACE_NON_GLOBAL,
    HV_WAY_SPACE_ALL,
    HV_WAY_SPACE_EMPTY_MASK,
    HV_WAY_LIST,
    HV_WAY_LIST_RANGE,
    HV_WAY_LIST_LONG,
    HV_WAY_LIST_ALL,
    HV_WAY_EX,
    HV_WAY_EX_TWO_BANKS,
    HV_WAY_EX_ALL,
    HV_WAY_EX_NON_GLOBAL,
    HV_WAY_LIST_EX,
    HV_WAY_LIST_EX_TWO_BANKS,
    HV_WAY_LIST_EX_ALL,
    /* Input in registers. */
    HV_WAY_FAST_SPACE,
    HV_WAY_FAST_LIST,
    HV_WAY_FAST_EX,
    HV_WAY_FAST_LIST_EX,
    /* Extended ranges: pages of 4 KiB, of 2 MiB, of 1 GiB. */
    HV_WAY_RANGE_4K,
    HV_WAY_RANGE_2M,
    HV_WAY_RANGE_1G,
    HV_WAY_COUNT
};

/* Whether translations of global pages may stay. */
bool hv_spares_globals(enum hv_way way);

/* Flushes the page at address (and whatever else the form flushes) on the VPs of mask, below 64,
 * or on all where the form names all. The current test fails unless the result is that of
 * success. */
void hv_flush(enum hv_way way, uint64_t address, uint64_t mask);

#endif
