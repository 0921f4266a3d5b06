/* SPDX-License-Identifier: BSD-2-Clause */
/* By itself, since the product's headers and those of the guests have some names in common. */
#include "tests/guest/bench_counts.h"

#include "tests/guest/runtime/sluice.h"
#include "vmx/own_counters.h"

static bool add(uint32_t number, uint64_t *sum)
{
    uint64_t value;

    if (!sluice_counter(SUM_OF_ALL_VPS, number, &value)) {
        return false;
    }
    *sum += value;
    return true;
}

bool bench_counts_read(struct bench_counts *counts)
{
    bool is_there = true;

    *counts = (struct bench_counts){0};
    for (uint32_t reason = 0; reason < STATS_EXIT_REASONS; reason++) {
        is_there &= add(OWN_COUNTER_EXITS + reason, &counts->exits);
    }
    is_there &= add(OWN_COUNTER_STATS + STAT_KICKS_SENT, &counts->kicks);
    for (uint32_t type = FLUSH_COUNTER_INVVPID_ADDRESS; type <= FLUSH_COUNTER_INVVPID_RETAINING;
         type++) {
        is_there &= add(OWN_COUNTER_FLUSHES + type, &counts->invvpids);
    }
    return is_there;
}
