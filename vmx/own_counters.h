/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_OWN_COUNTERS_H
#define VMX_OWN_COUNTERS_H

#include "core/flush_vcpu.h"
#include "core/stats.h"
#include "hyperv/hyperv.h"

/*
 * Counter numbers of CPUID leaf 0x40000102 (vmx/own_leaves.h), one group after another: those of
 * core/stats.def, exits by basic reason, those of core/flush_counters.def, and hypercalls by call
 * (unknown codes first, then the rows of hyperv/hypercalls.def) and outcome (enum hyperv_outcome).
 * Numbers move when a counter is added: programs of the tests are built with this header.
 */
enum own_counter {
    OWN_COUNTER_STATS = 0,
    OWN_COUNTER_EXITS = OWN_COUNTER_STATS + STAT_COUNT,
    OWN_COUNTER_FLUSHES = OWN_COUNTER_EXITS + STATS_EXIT_REASONS,
    OWN_COUNTER_CALLS = OWN_COUNTER_FLUSHES + FLUSH_COUNTER_COUNT,
    OWN_COUNTER_COUNT = OWN_COUNTER_CALLS + (int)HYPERV_CALL_COUNT * (int)HYPERV_OUTCOME_COUNT
};

/* The number of the counter of calls that ended so. */
static inline uint32_t own_counter_of_call(enum hyperv_call call, enum hyperv_outcome outcome)
{
    return (uint32_t)OWN_COUNTER_CALLS + (uint32_t)call * HYPERV_OUTCOME_COUNT + (uint32_t)outcome;
}

#endif
