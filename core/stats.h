/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_STATS_H
#define CORE_STATS_H

#include <stdint.h>

/*
 * Counters of one vCPU. Only the LP that runs the vCPU writes them, with plain increments; others
 * read them for reports and may see a value that is one behind.
 */
enum stat {
#define STAT(name, text) STAT_##name,
#include "core/stats.def"
#undef STAT
    STAT_COUNT
};

/* Exits are counted by basic exit reason, which is below this (SDM volume 3, appendix "VMX Basic
 * Exit Reasons"). */
#define STATS_EXIT_REASONS 128u

struct stats {
    uint64_t counters[STAT_COUNT];
    uint64_t exits[STATS_EXIT_REASONS];
};

/* Counts one. The LP that runs the vCPU, not in an NMI handler. */
static inline void stats_count(struct stats *stats, enum stat stat)
{
    stats->counters[stat]++;
}

/* Counts an exit; reason is below STATS_EXIT_REASONS. Likewise. */
static inline void stats_count_exit(struct stats *stats, uint32_t reason)
{
    stats->exits[reason]++;
}

/* Sum of the exits for all reasons. Any LP. */
uint64_t stats_exits_total(const struct stats *stats);

/* The text of a counter, for tables: static, never NULL for one below STAT_COUNT. Any context. */
const char *stats_name(enum stat stat);

#endif
