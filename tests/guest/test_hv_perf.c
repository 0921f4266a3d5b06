/* SPDX-License-Identifier: BSD-2-Clause */
/* What a hypercall costs. With one processor a tick is an instruction on the emulator; with more they take
 * turns, and the ticks of all of them pass (docs/testing.md). */
#include "tests/guest/groups.h"
#include "tests/guest/measure.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define NULL_CALL    (0xBEEFull | HV_FAST) /* nothing is looked at but the code */
#define SAMPLES      10000u
#define SAMPLES_SMP  2000u
#define TARGETS_MASK 0xEull /* three */
#define START_US     1000u
#define REST_TURNS   400u

struct request {
    uint64_t control;
    uint64_t input;
};

/* A call of the page, less a call of code that does nothing. Before it, targets get the time to be back
 * in guest mode: one that is still in root mode costs a sender nothing. */
static uint64_t time_call(void *arg)
{
    const struct request *request = arg;
    uint64_t page = hv_address(hv_pages[0]);
    uint64_t nothing = (uint64_t)(uintptr_t)hv_nothing;

    for (volatile uint32_t i = 0; smp_cpu_count() > 1 && i < REST_TURNS; i++) {
        /* nothing */
    }
    return hv_time_call(page, request->control, request->input) -
           hv_time_call(nothing, request->control, request->input);
}

static void measure_call(const char *name, uint64_t control, const uint64_t *input, uint32_t count)
{
    struct request request = {control, hv_address(input)};

    CHECK(measure_ticks(name, time_call, &request, count) != 0, "nothing was measured");
}

static void test_null(void)
{
    hv_enable();
    measure_call("hv_null_ticks", NULL_CALL, hv_input(), SAMPLES);
    hv_disable();
}

static void test_self(void)
{
    uint64_t *input = hv_input();

    hv_enable();
    input[HV_MASK] = 1;
    measure_call("hv_flush_self_ticks", HV_FLUSH_SPACE, input, SAMPLES);
    input[HV_LIST] = hv_address(hv_pages);
    measure_call("hv_flush_list_self_ticks", HV_FLUSH_LIST | HV_REPS(1), input, SAMPLES);
    hv_disable();
}

static atomic_bool is_over;

static void run_until_over(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        /* as code that computes */
    }
}

static void test_three(void)
{
    uint64_t *input = hv_input();

    if (smp_cpu_count() < 4) {
        test_skip("needs four processors");
        return;
    }
    atomic_store(&is_over, false);
    for (uint32_t i = 1; i < 4; i++) {
        smp_run(&cpus[i], run_until_over, NULL);
    }
    clock_wait_us(START_US);
    hv_enable();
    input[HV_MASK] = TARGETS_MASK;
    measure_call("hv_flush_three_ticks", HV_FLUSH_SPACE, input, SAMPLES_SMP);
    input[HV_LIST] = hv_address(hv_pages);
    measure_call("hv_flush_list_three_ticks", HV_FLUSH_LIST | HV_REPS(1), input, SAMPLES_SMP);
    hv_disable();
    atomic_store(&is_over, true);
    for (uint32_t i = 1; i < 4; i++) {
        CHECK(smp_wait(&cpus[i]), "cpu %u does not end", i);
    }
}

static const struct test tests[] = {
    {"null", test_null},
    {"self", test_self},
    {"three", test_three},
};

const struct test_group group_hvperf = {
    .name = "hvperf", TEST_GROUP(tests), .is_only_by_name = true};
