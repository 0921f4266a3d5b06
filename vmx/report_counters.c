/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/fmt.h"
#include "core/log.h"
#include "core/machine.h"
#include "vmx/hv_ops.h"
#include "vmx/names.h"
#include "vmx/report.h"

/* The table of counters: a row a counter, a column a vCPU for the first few, and the sum of all. */

#define COLUMNS_MAX 8u
#define ROW_CHARS   220u
#define NAME_CHARS  64u
#define NAME_WIDTH  44
#define WIDE(value) ((unsigned long long)(value))

/* The rows, one group after another. */
#define ROWS_EXITS   STATS_EXIT_REASONS
#define ROWS_STATS   STAT_COUNT
#define ROWS_FLUSHES FLUSH_COUNTER_COUNT
#define ROWS_CALLS   ((uint32_t)HYPERV_CALL_COUNT * HYPERV_OUTCOME_COUNT)

/* One row: its values, and whether they can be added up. */
struct row {
    enum { ROW_EXIT, ROW_STAT, ROW_FLUSH, ROW_CALL, ROW_GVAS } kind;
    uint32_t index;
};

static uint64_t value_of(const struct vcpu *vcpu, const struct row *row)
{
    const struct hv_lp *hv = vcpu->partition->machine->lps[vcpu->vcpu_id]->hv;

    switch (row->kind) {
    case ROW_EXIT:
        return vcpu->stats.exits[row->index];
    case ROW_STAT:
        return vcpu->stats.counters[row->index];
    case ROW_FLUSH:
        return hv->flush_vcpu.counters[row->index];
    case ROW_CALL:
        return hv->vp.calls[row->index / HYPERV_OUTCOME_COUNT][row->index % HYPERV_OUTCOME_COUNT];
    case ROW_GVAS:
        return hv->vp.gvas_flushed;
    }
    return 0;
}

static void name_of(const struct row *row, char name[NAME_CHARS])
{
    switch (row->kind) {
    case ROW_EXIT:
        (void)fmt_print(name, NAME_CHARS, "exit: %s", exit_reason_name(row->index));
        break;
    case ROW_STAT:
        (void)fmt_print(name, NAME_CHARS, "%s", stats_name((enum stat)row->index));
        break;
    case ROW_FLUSH:
        (void)fmt_print(name, NAME_CHARS, "%s", flush_counter_name((enum flush_counter)row->index));
        break;
    case ROW_CALL:
        (void)fmt_print(
            name, NAME_CHARS, "hypercall: %s, %s",
            hyperv_call_name((enum hyperv_call)(row->index / HYPERV_OUTCOME_COUNT)),
            hyperv_outcome_name((enum hyperv_outcome)(row->index % HYPERV_OUTCOME_COUNT)));
        break;
    case ROW_GVAS:
        (void)fmt_print(name, NAME_CHARS, "pages named by flush lists");
        break;
    }
}

/* The sum over all vCPUs, or the largest value where adding up makes no sense. */
static uint64_t total_of(const struct partition *partition, const struct row *row)
{
    bool is_maximum = row->kind == ROW_FLUSH && row->index == FLUSH_COUNTER_WAIT_TICKS_LONGEST;
    uint64_t total = 0;

    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        uint64_t value = value_of(partition->vcpus[i], row);

        if (!is_maximum) {
            total += value;
        } else if (value > total) {
            total = value;
        }
    }
    return total;
}

static uint32_t columns_of(const struct partition *partition)
{
    return partition->vcpu_count < COLUMNS_MAX ? partition->vcpu_count : COLUMNS_MAX;
}

static void print_header(const struct partition *partition)
{
    char text[ROW_CHARS];
    size_t length = fmt_print(text, sizeof(text), "%-*s %11s", NAME_WIDTH, "counter", "all VPs");

    for (uint32_t i = 0; i < columns_of(partition); i++) {
        length += fmt_print(text + length, sizeof(text) - length, "     VP%03u",
                            partition->vcpus[i]->vp_index);
    }
    log_line(LOG_INFO, "counters", "%s%s", text,
             partition->vcpu_count > COLUMNS_MAX ? "  (the other VPs: in the sum only)" : "");
}

static void print_row(const struct partition *partition, const struct row *row)
{
    uint64_t total = total_of(partition, row);
    char text[ROW_CHARS];
    char name[NAME_CHARS];
    size_t length;

    if (total == 0) {
        return;
    }
    name_of(row, name);
    length = fmt_print(text, sizeof(text), "%-*s %11llu", NAME_WIDTH, name, WIDE(total));
    for (uint32_t i = 0; i < columns_of(partition); i++) {
        length += fmt_print(text + length, sizeof(text) - length, " %9llu",
                            WIDE(value_of(partition->vcpus[i], row)));
    }
    log_line(LOG_INFO, "counters", "%s", text);
}

void report_counters(const struct partition *partition)
{
    static const struct {
        struct row first;
        uint32_t count;
    } groups[] = {
        {{ROW_EXIT, 0}, ROWS_EXITS},    {{ROW_STAT, 0}, ROWS_STATS}, {{ROW_CALL, 0}, ROWS_CALLS},
        {{ROW_FLUSH, 0}, ROWS_FLUSHES}, {{ROW_GVAS, 0}, 1},
    };
    uint64_t total = 0;

    print_header(partition);
    for (uint32_t group = 0; group < ARRAY_LEN(groups); group++) {
        struct row row = groups[group].first;

        for (; row.index < groups[group].count; row.index++) {
            print_row(partition, &row);
        }
    }
    for (uint32_t i = 0; i < partition->vcpu_count; i++) {
        total += stats_exits_total(&partition->vcpus[i]->stats);
    }
    log_line(LOG_INFO, "counters", "exits total %llu", WIDE(total));
}
