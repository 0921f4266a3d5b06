/* SPDX-License-Identifier: BSD-2-Clause */
/* Path lengths in ticks. On the emulator the TSC counts instructions: no real time is in it. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/sluice.h"

#define SAMPLES 10000u

static uint32_t samples[SAMPLES];

/* Shell sort: no recursion, no library. */
static void sort_samples(void)
{
    for (uint32_t gap = SAMPLES / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < SAMPLES; i++) {
            uint32_t value = samples[i];
            uint32_t at = i;

            while (at >= gap && samples[at - gap] > value) {
                samples[at] = samples[at - gap];
                at -= gap;
            }
            samples[at] = value;
        }
    }
}

/* The cost of the measurement itself: the smallest of some empty ones. */
static uint64_t overhead(void)
{
    uint64_t least = ~0ull;

    for (unsigned int i = 0; i < 100; i++) {
        uint64_t start = insn_rdtsc();
        uint64_t ticks = insn_rdtsc() - start;

        if (ticks < least) {
            least = ticks;
        }
    }
    return least;
}

static void measure(const char *name, uint32_t leaf)
{
    uint64_t empty = overhead();
    uint64_t sum = 0;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint64_t start = insn_rdtsc();
        uint64_t ticks;

        (void)insn_cpuid(leaf, 0);
        ticks = insn_rdtsc() - start;
        samples[i] = (uint32_t)(ticks > empty ? ticks - empty : 0);
        sum += samples[i];
    }
    sort_samples();
    print_line("MEASURE %s mean=%u median=%u max=%u samples=%u", name, (uint32_t)(sum / SAMPLES),
               samples[SAMPLES / 2], samples[SAMPLES - 1], SAMPLES);
    CHECK(sum != 0 || !sluice_is_present(), "nothing was measured");
}

static void test_cpuid_own(void)
{
    measure("cpuid_exit_ticks", SLUICE_LEAF_VENDOR);
}

static void test_cpuid_leaf1(void)
{
    measure("cpuid_leaf1_exit_ticks", 1);
}

static const struct test tests[] = {
    {"cpuid_own", test_cpuid_own},
    {"cpuid_leaf1", test_cpuid_leaf1},
};

const struct test_group group_perf = {.name = "perf", TEST_GROUP(tests)};
