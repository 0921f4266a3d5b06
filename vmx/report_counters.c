/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/fmt.h"
#include "core/log.h"
#include "vmx/names.h"
#include "vmx/report.h"

/* The table of counters: a row a counter, a column a vCPU for the first few, and the sum of all. */

#define COLUMNS_MAX 8u
#define ROW_CHARS   200u
#define WIDE(value) ((unsigned long long)(value))

/* One counter of a vCPU: exits by reason below STATS_EXIT_REASONS, then the named ones. */
static uint64_t value_of(const struct vcpu *vcpu, uint32_t row)
{
    return row < STATS_EXIT_REASONS ? vcpu->stats.exits[row]
                                    : vcpu->stats.counters[row - STATS_EXIT_REASONS];
}

static uint64_t sum_of(const struct partition *partition, uint32_t row)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        sum += value_of(partition->vcpus[i], row);
    }
    return sum;
}

static uint32_t columns_of(const struct partition *partition)
{
    return partition->vcpu_count < COLUMNS_MAX ? partition->vcpu_count : COLUMNS_MAX;
}

static void print_header(const struct partition *partition)
{
    char text[ROW_CHARS];
    size_t length = fmt_print(text, sizeof(text), "%-34s %11s", "counter", "all VPs");

    for (uint32_t i = 0; i < columns_of(partition); i++) {
        length += fmt_print(text + length, sizeof(text) - length, "     VP%03u",
                            partition->vcpus[i]->vp_index);
    }
    log_line(LOG_INFO, "counters", "%s%s", text,
             partition->vcpu_count > COLUMNS_MAX ? "  (the other VPs: in the sum only)" : "");
}

static void print_row(const struct partition *partition, uint32_t row)
{
    bool is_exit = row < STATS_EXIT_REASONS;
    uint64_t sum = sum_of(partition, row);
    char text[ROW_CHARS];
    size_t length;

    if (sum == 0) {
        return;
    }
    length = fmt_print(
        text, sizeof(text), "%s%-*s %11llu", is_exit ? "exit: " : "", is_exit ? 28 : 34,
        is_exit ? exit_reason_name(row) : stats_name((enum stat)(row - STATS_EXIT_REASONS)),
        WIDE(sum));
    for (uint32_t i = 0; i < columns_of(partition); i++) {
        length += fmt_print(text + length, sizeof(text) - length, " %9llu",
                            WIDE(value_of(partition->vcpus[i], row)));
    }
    log_line(LOG_INFO, "counters", "%s", text);
}

void report_counters(const struct partition *partition)
{
    uint64_t total = 0;

    print_header(partition);
    for (uint32_t row = 0; row < STATS_EXIT_REASONS + STAT_COUNT; row++) {
        print_row(partition, row);
    }
    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        total += stats_exits_total(&partition->vcpus[i]->stats);
    }
    log_line(LOG_INFO, "counters", "exits total %llu", WIDE(total));
}
