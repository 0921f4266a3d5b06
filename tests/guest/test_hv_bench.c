/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The benchmark behind `make bench`: each row calls many times between two RDTSCs for the mean, and
 * once more one by one for median and maximum, and says by Sluice's counters what a call has cost
 * in exits, kicks and INVVPIDs. Prints
 *   BENCH row calls=N ticks=SUM median=N max=N exits=N ipis=N invvpids=N
 * with sums over all calls of both passes, on all VPs.
 */
#include "tests/guest/bench_counts.h"
#include "tests/guest/groups.h"
#include "tests/guest/measure.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define NULL_CALL  0xBEEFull
#define CALLS      10000u
#define START_US   1000u
#define REST_TURNS 400u

enum target { TARGET_SELF, TARGET_ONE, TARGET_THREE, TARGET_ALL };

struct row {
    const char *name;
    uint64_t control;
    enum target target;
    uint32_t elements; /* of a list: single pages; 512: one range of so many */
};

static const struct row rows_of_one[] = {
    {"unknown_call", NULL_CALL | HV_FAST, TARGET_SELF, 0},
    {"space_self", HV_FLUSH_SPACE, TARGET_SELF, 0},
    {"space_ex_self", HV_FLUSH_SPACE_EX, TARGET_SELF, 0},
    {"space_fast_self", HV_FLUSH_SPACE | HV_FAST, TARGET_SELF, 0},
    {"list_1_self", HV_FLUSH_LIST, TARGET_SELF, 1},
    {"list_8_self", HV_FLUSH_LIST, TARGET_SELF, 8},
    {"list_512_self", HV_FLUSH_LIST, TARGET_SELF, 512},
};

static const struct row rows_of_four[] = {
    {"space_1", HV_FLUSH_SPACE, TARGET_ONE, 0},
    {"space_3", HV_FLUSH_SPACE, TARGET_THREE, 0},
    {"list_8_3", HV_FLUSH_LIST, TARGET_THREE, 8},
    {"space_ex_3", HV_FLUSH_SPACE_EX, TARGET_THREE, 0},
    {"space_all", HV_FLUSH_SPACE, TARGET_ALL, 0},
};

static void read_counts(struct bench_counts *counts)
{
    CHECK(bench_counts_read(counts), "Sluice does not count");
}

/* What reading the counters costs in exits, so that it is not taken for the calls'. */
static uint64_t exits_of_reading(void)
{
    struct bench_counts before, after;

    read_counts(&before);
    read_counts(&after);
    return after.exits - before.exits;
}

/* The counts are what lies between two readings. */
static void print_row(const char *name, uint64_t ticks, uint32_t median, uint32_t max,
                      const struct bench_counts *before, const struct bench_counts *after)
{
    uint64_t reading = exits_of_reading();

    print_line("BENCH %s calls=%u ticks=%lu median=%u max=%u exits=%lu ipis=%lu invvpids=%lu", name,
               CALLS, ticks, median, max, after->exits - before->exits - reading,
               after->kicks - before->kicks, after->invvpids - before->invvpids);
}

static uint64_t mask_of(enum target target)
{
    switch (target) {
    case TARGET_SELF:
        return 1;
    case TARGET_ONE:
        return 2;
    case TARGET_THREE:
        return 0xE;
    case TARGET_ALL:
        break;
    }
    return 0;
}

/* Fills the input; returns the whole control word. */
static uint64_t prepare(const struct row *row, uint64_t *input)
{
    uint64_t list = hv_address(hv_pages);
    uint32_t count = row->elements == 512 ? 1 : row->elements;

    for (uint32_t i = 0; i < HV_EX_BANKS + 1; i++) {
        input[i] = 0;
    }
    if ((row->control & 0xFFFF) == HV_FLUSH_SPACE_EX) {
        input[HV_EX_BANK_MASK] = 1;
        input[HV_EX_BANKS] = mask_of(row->target);
        return row->control | HV_BANKS(1);
    }
    input[HV_FLAGS] = row->target == TARGET_ALL ? HV_FLAG_ALL_PROCESSORS : 0;
    input[HV_MASK] = mask_of(row->target);
    for (uint32_t i = 0; i < count; i++) {
        input[HV_LIST + i] = list + HV_PAGE_BYTES * i + (row->elements == 512 ? 511 : 0);
    }
    return row->control | HV_REPS(count);
}

/* Gives targets the time to be back in guest mode: one that is still in root mode costs a sender
 * nothing. */
static void let_targets_run(enum target target)
{
    for (volatile uint32_t i = 0; target != TARGET_SELF && i < REST_TURNS; i++) {
        /* nothing */
    }
}

/* CALLS calls of the code at page between two RDTSCs. */
static uint64_t call_many(uint64_t page, uint64_t control, const uint64_t *input,
                          enum target target)
{
    uint64_t start = insn_rdtsc();

    for (uint32_t i = 0; i < CALLS; i++) {
        if ((control & HV_FAST) != 0) {
            (void)hv_fast_call(page, control, input);
        } else {
            (void)hv_call_at(page, control, hv_address(input));
        }
        let_targets_run(target);
    }
    return insn_rdtsc() - start;
}

/* The same, less as many calls of code that does nothing. */
static uint64_t time_many(uint64_t control, const uint64_t *input, enum target target)
{
    uint64_t nothing = call_many((uint64_t)(uintptr_t)hv_nothing, control, input, target);

    return call_many(hv_address(hv_pages[0]), control, input, target) - nothing;
}

struct request {
    uint64_t control;
    const uint64_t *input;
    enum target target;
};

/* A call of the page, less a call of code that does nothing. XMM registers keep what
 * hv_fast_call has put there: nothing else uses them. */
static uint64_t time_call(void *arg)
{
    const struct request *request = arg;
    bool is_fast = (request->control & HV_FAST) != 0;
    uint64_t first = is_fast ? request->input[0] : hv_address(request->input);
    uint64_t second = is_fast ? request->input[1] : ~0ull;
    uint64_t page = hv_address(hv_pages[0]);
    uint64_t nothing = (uint64_t)(uintptr_t)hv_nothing;

    let_targets_run(request->target);
    return hv_time_call(page, request->control, first, second) -
           hv_time_call(nothing, request->control, first, second);
}

/* A call that is refused is cheap, and measures nothing. */
static void check_result(const struct row *row, const struct request *request)
{
    uint64_t page = hv_address(hv_pages[0]);
    uint64_t wanted = (row->control & 0xFFFF) == NULL_CALL ? HV_STATUS_INVALID_CODE
                                                           : request->control & HV_REPS(0xFFF);
    uint64_t result = (request->control & HV_FAST) != 0
                          ? hv_fast_call(page, request->control, request->input)
                          : hv_call_at(page, request->control, hv_address(request->input));

    CHECK(result == wanted, "%s gives %lx", row->name, result);
}

static void run_row(const struct row *row)
{
    uint64_t *input = hv_input();
    struct request request = {prepare(row, input), input, row->target};
    struct measured measured;
    struct bench_counts before, after;
    uint64_t ticks;

    (void)time_many(request.control, input, row->target);
    check_result(row, &request);
    read_counts(&before);
    ticks = time_many(request.control, input, row->target);
    measure_quietly(time_call, &request, CALLS, &measured);
    read_counts(&after);
    print_row(row->name, ticks, measured.median, measured.max, &before, &after);
}

static void run_rows(const struct row *rows, uint32_t count)
{
    hv_enable();
    for (uint32_t i = 0; i < count; i++) {
        run_row(&rows[i]);
    }
    hv_disable();
}

/* Exits that are no hypercalls. */
static uint64_t time_cpuid(void *arg)
{
    uint64_t start = insn_rdtsc();

    (void)arg;
    (void)insn_cpuid(HV_LEAF_VENDOR, 0);
    return insn_rdtsc() - start;
}

static uint64_t time_rdmsr(void *arg)
{
    uint64_t start = insn_rdtsc();

    (void)arg;
    (void)insn_rdmsr(HV_MSR_VP_INDEX);
    return insn_rdtsc() - start;
}

static uint64_t time_nothing(void *arg)
{
    uint64_t start = insn_rdtsc();

    (void)arg;
    return insn_rdtsc() - start;
}

static void run_exit(const char *name, uint64_t (*fn)(void *arg))
{
    struct measured empty, measured;
    struct bench_counts before, after;

    measure_quietly(time_nothing, NULL, CALLS, &empty);
    read_counts(&before);
    measure_quietly(fn, NULL, CALLS, &measured);
    read_counts(&after);
    print_row(name, measured.sum - empty.sum, measured.median - empty.median,
              measured.max - empty.median, &before, &after);
}

static void test_alone(void)
{
    if (smp_cpu_count() != 1) {
        test_skip("is for one processor: there a tick is an instruction");
        return;
    }
    run_exit("cpuid", time_cpuid);
    run_exit("rdmsr_vp_index", time_rdmsr);
    run_rows(rows_of_one, ARRAY_LEN(rows_of_one));
}

static atomic_bool is_over;
static _Atomic uint64_t turns[GUEST_MAX_CPUS];

/* Code that computes, and counts how far it comes. */
static void compute(void *arg)
{
    _Atomic uint64_t *count = arg;

    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
}

/* What a full flush takes from a target that computes: how much less far it comes in the same
 * time. A mean only, so median and maximum are 0. */
static void run_taken(void)
{
    const struct row row = {"taken", HV_FLUSH_SPACE, TARGET_THREE, 0};
    uint64_t *input = hv_input();
    uint64_t control = prepare(&row, input);
    uint64_t begin, free_turns, turns_then, ticks, start;
    struct bench_counts before, after;

    read_counts(&before);
    begin = atomic_load(&turns[1]);
    ticks = call_many(hv_address(hv_pages[0]), control, input, TARGET_THREE);
    turns_then = atomic_load(&turns[1]) - begin;
    read_counts(&after);
    begin = atomic_load(&turns[1]);
    start = insn_rdtsc();
    while (insn_rdtsc() - start < ticks) {
        /* the targets run undisturbed */
    }
    free_turns = atomic_load(&turns[1]) - begin;
    CHECK(free_turns > turns_then, "the targets were not disturbed");
    print_row("target_per_flush", ticks * (free_turns - turns_then) / free_turns, 0, 0, &before,
              &after);
}

static void test_targets(void)
{
    if (smp_cpu_count() < 4) {
        test_skip("needs four processors");
        return;
    }
    atomic_store(&is_over, false);
    for (uint32_t i = 1; i < 4; i++) {
        smp_run(&cpus[i], compute, &turns[i]);
    }
    clock_wait_us(START_US);
    run_rows(rows_of_four, ARRAY_LEN(rows_of_four));
    hv_enable();
    run_taken();
    hv_disable();
    atomic_store(&is_over, true);
    for (uint32_t i = 1; i < 4; i++) {
        CHECK(smp_wait(&cpus[i]), "cpu %u does not end", i);
    }
}

static const struct test tests[] = {
    {"alone", test_alone},
    {"targets", test_targets},
};

const struct test_group group_hvbench = {
    .name = "hvbench", TEST_GROUP(tests), .is_only_by_name = true};
