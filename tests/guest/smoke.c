/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest guest: starts every processor, each says who it is, and off. Made for many boots. */
#include "core/string.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/setup.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

static bool are_all_started;

static void say_hello(void *arg)
{
    const struct cpu *cpu = cpu_this();
    struct cpuid_regs r = insn_cpuid(SLUICE_LEAF_VERSION, 0);

    (void)arg;
    if (sluice_is_present()) {
        print_line("cpu %u apic id %u vp index %u of %u", cpu->index, cpu->apic_id, r.edx, r.ecx);
    } else {
        print_line("cpu %u apic id %u bare", cpu->index, cpu->apic_id);
    }
}

static void test_start(void)
{
    CHECK(are_all_started, "a processor did not start");
    CHECK(smp_call_each(say_hello, NULL), "a processor does not answer");
}

static const struct test smoke_tests[] = {
    {"start", test_start},
};

static const struct test_group smoke_group = {.name = "smoke", TEST_GROUP(smoke_tests)};

void guest_main(const struct guest_info *info)
{
    static const struct test_group *const groups[] = {&smoke_group};

    are_all_started = setup_machine(info);
    test_run_all(groups, ARRAY_LEN(groups), info->options);
}
