/* SPDX-License-Identifier: BSD-2-Clause */
/* guest.efi: all test groups in one image; the load options choose (runtime/test.h). */
#include "tests/guest/groups.h"
#include "tests/guest/guest_memory.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/setup.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/test_hv.h"

static bool are_all_started;

static void test_all_started(void)
{
    CHECK(are_all_started, "a processor did not start");
}

static const struct test start_tests[] = {
    {"all_processors", test_all_started},
};

static const struct test_group group_start = {.name = "start", TEST_GROUP(start_tests)};

void guest_main(const struct guest_info *info)
{
    /* The groups *_x2 bring the processors into x2APIC mode: on some machines there is no way
     * back. */
    static const struct test_group *const groups[] = {
        &group_start,     &group_cpuid,     &group_msr,        &group_mtrr,         &group_apicbase,
        &group_vmx,       &group_cpu,       &group_memory,     &group_ipi,          &group_init,
        &group_nmi,       &group_modes,     &group_perf,       &group_apicbase_x2,  &group_ipi_x2,
        &group_init_x2,   &group_nmi_x2,    &group_modes_x2,   &group_s5,           &group_triple,
        &group_reset_cf9, &group_reset_kbd, &group_storm_long, &group_hvabsent,     &group_hvoff,
        &group_hvbench,   &group_hv,        &group_hostile,    &group_hostile_open,
    };

    are_all_started = setup_machine(info);
    guest_memory_init(info);
    hv_guest_init(info);
    hostile_init(info);
    print_line("GUEST START cpus=%u sluice=%s signature=%x options=\"%s\"", smp_cpu_count(),
               sluice_is_present() ? "yes" : "no", insn_cpuid(1, 0).eax, info->options);
    test_run_all(groups, ARRAY_LEN(groups), info->options);
}
