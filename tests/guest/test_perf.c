/* SPDX-License-Identifier: BSD-2-Clause */
/* Path lengths in ticks. On the emulator the TSC counts instructions: no real time is in it. */
#include "tests/guest/groups.h"
#include "tests/guest/measure.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"

static void read_leaf(void *arg)
{
    (void)insn_cpuid(*(const uint32_t *)arg, 0);
}

static void measure_leaf(const char *name, uint32_t leaf)
{
    uint64_t sum = measure(name, read_leaf, &leaf, MEASURE_SAMPLES);

    CHECK(sum != 0 || !sluice_is_present(), "nothing was measured");
}

static void test_cpuid_own(void)
{
    measure_leaf("cpuid_exit_ticks", SLUICE_LEAF_VENDOR);
}

static void test_cpuid_leaf1(void)
{
    measure_leaf("cpuid_leaf1_exit_ticks", 1);
}

static const struct test tests[] = {
    {"cpuid_own", test_cpuid_own},
    {"cpuid_leaf1", test_cpuid_leaf1},
};

const struct test_group group_perf = {.name = "perf", TEST_GROUP(tests)};
