/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/test_hv_ways.h"

#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

static bool names_all(enum hv_way way)
{
    return way == HV_WAY_SPACE_ALL || way == HV_WAY_SPACE_EMPTY_MASK || way == HV_WAY_LIST_ALL ||
           way == HV_WAY_EX_ALL || way == HV_WAY_LIST_EX_ALL;
}

bool hv_spares_globals(enum hv_way way)
{
    return way == HV_WAY_SPACE_NON_GLOBAL || way == HV_WAY_EX_NON_GLOBAL;
}

/* The forms with a mask. Returns the input value; repetitions are added by the caller. */
static uint64_t prepare_mask(enum hv_way way, uint64_t *input, uint64_t page, uint64_t mask)
{
    unsigned int count = 0;

    input[HV_MASK] = names_all(way) ? 0 : mask;
    input[HV_FLAGS] = way == HV_WAY_SPACE_ALL || way == HV_WAY_LIST_ALL ? HV_FLAG_ALL_PROCESSORS
                      : hv_spares_globals(way)                          ? HV_FLAG_NON_GLOBAL
                                                                        : 0;
    switch ((unsigned int)way) {
    case HV_WAY_LIST:
    case HV_WAY_LIST_ALL:
        input[HV_LIST] = page;
        return HV_FLUSH_LIST | HV_REPS(1);
    case HV_WAY_LIST_RANGE: /* its last page is meant */
        input[HV_LIST] = 0x1000;
        input[HV_LIST + 1] = (page - 8 * HV_PAGE_BYTES) | 8;
        return HV_FLUSH_LIST | HV_REPS(2);
    case HV_WAY_LIST_LONG:
        for (count = 0; count < 508; count++) {
            input[HV_LIST + count] = 0x1000ull * count;
        }
        input[HV_LIST + count] = page;
        return HV_FLUSH_LIST | HV_REPS(509);
    default:
        return HV_FLUSH_SPACE;
    }
}

static uint64_t prepare_set(enum hv_way way, uint64_t *input, uint64_t page, uint64_t mask)
{
    unsigned int banks = 0;

    if (way == HV_WAY_EX_ALL || way == HV_WAY_LIST_EX_ALL) {
        input[HV_EX_FORMAT] = 1;
    } else {
        input[HV_EX_BANKS] = mask;
        banks = 1;
    }
    if (way == HV_WAY_EX_TWO_BANKS || way == HV_WAY_LIST_EX_TWO_BANKS) {
        input[HV_EX_BANKS + 1] = ~0ull;
        banks = 2;
    }
    input[HV_EX_BANK_MASK] = (1ull << banks) - 1;
    input[HV_EX_FLAGS] = hv_spares_globals(way) ? HV_FLAG_NON_GLOBAL : 0;
    if (way >= HV_WAY_LIST_EX) {
        input[HV_EX_BANKS + banks] = page;
        return HV_FLUSH_LIST_EX | HV_BANKS(banks) | HV_REPS(1);
    }
    return HV_FLUSH_SPACE_EX | HV_BANKS(banks);
}

/* The form in memory that a fast form or one with extended ranges is like. */
static enum hv_way base_of(enum hv_way way)
{
    static const enum hv_way bases[] = {
        [HV_WAY_FAST_SPACE] = HV_WAY_SPACE, [HV_WAY_FAST_LIST] = HV_WAY_LIST,
        [HV_WAY_FAST_EX] = HV_WAY_EX,       [HV_WAY_FAST_LIST_EX] = HV_WAY_LIST_EX,
        [HV_WAY_RANGE_4K] = HV_WAY_LIST,    [HV_WAY_RANGE_2M] = HV_WAY_LIST,
        [HV_WAY_RANGE_1G] = HV_WAY_LIST,
    };

    return way < HV_WAY_FAST_SPACE ? way : bases[way];
}

static void use_extended_range(enum hv_way way, uint64_t *input, uint64_t page)
{
    input[HV_FLAGS] |= HV_FLAG_EXTENDED;
    if (way == HV_WAY_RANGE_2M) {
        input[HV_LIST] = (page & ~(HV_2_MIB - 1)) | HV_RANGE_LARGE;
    } else if (way == HV_WAY_RANGE_1G) {
        input[HV_LIST] = (page & ~(HV_1_GIB - 1)) | HV_RANGE_LARGE | HV_RANGE_1_GIB;
    }
}

void hv_flush(enum hv_way way, uint64_t address, uint64_t mask)
{
    uint64_t *input = hv_input();
    enum hv_way base = base_of(way);
    uint64_t control = base < HV_WAY_EX ? prepare_mask(base, input, address, mask)
                                        : prepare_set(base, input, address, mask);
    uint64_t wanted = control & HV_REPS(0xFFF);
    uint64_t result;

    if (way >= HV_WAY_RANGE_4K) {
        use_extended_range(way, input, address);
    }
    if (way >= HV_WAY_FAST_SPACE && way <= HV_WAY_FAST_LIST_EX) {
        result = hv_fast_call(hv_address(hv_pages[0]), control | HV_FAST, input);
    } else {
        result = hv_call(control, hv_address(input));
    }
    CHECK(result == wanted, "way %u: call %lx gives %lx", way, control, result);
}
