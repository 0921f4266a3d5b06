/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/stats.h"

static const char *const names[] = {
#define STAT(name, text) text,
#include "core/stats.def"
#undef STAT
};

uint64_t stats_exits_total(const struct stats *stats)
{
    uint64_t total = 0;

    for (uint32_t reason = 0; reason < STATS_EXIT_REASONS; reason++) {
        total += stats->exits[reason];
    }
    return total;
}

const char *stats_name(enum stat stat)
{
    return (unsigned int)stat < STAT_COUNT ? names[stat] : "unknown counter";
}
