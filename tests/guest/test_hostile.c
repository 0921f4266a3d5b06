/* SPDX-License-Identifier: BSD-2-Clause */
/* Hostile input, on all processors at once. Afterwards guest and hypervisor must be as alive as
 * before. */
#include "tests/guest/groups.h"
#include "tests/guest/hostile.h"
#include "tests/guest/hostile_events.h"
#include "tests/guest/hostile_memory.h"
#include "tests/guest/runtime/smp.h"

static void test_instructions(void)
{
    hostile_storm(hostile_instruction, 1);
}

static void test_msrs(void)
{
    hostile_storm(hostile_msr, 1);
}

static void test_control(void)
{
    hostile_storm(hostile_control, 1);
}

static void test_cpuid(void)
{
    hostile_storm(hostile_cpuid, 1);
}

static void test_ports(void)
{
    hostile_storm(hostile_port, 1);
}

static void test_port_strings(void)
{
    hostile_storm(hostile_port_string, 2);
}

static void test_apic_page(void)
{
    hostile_storm(hostile_apic_page, 1);
}

static void test_tsc(void)
{
    hostile_storm(hostile_tsc, 4);
}

static void test_icr(void)
{
    hostile_storm(hostile_icr, 1);
    (void)smp_call_each(hostile_quiet, NULL);
}

static void test_apic_mode(void)
{
    hostile_storm(hostile_apic_mode, 4);
}

static void test_mtrr(void)
{
    (void)smp_call_each(hostile_mtrrs_save, NULL);
    hostile_storm(hostile_mtrr, 32);
    (void)smp_call_each(hostile_mtrrs_restore, NULL);
    hostile_check_alive();
}

static const struct test tests[] = {
    {"instructions", test_instructions},
    {"msrs", test_msrs},
    {"control", test_control},
    {"cpuid", test_cpuid},
    {"ports", test_ports},
    {"port_strings", test_port_strings},
    {"apic_page", test_apic_page},
    {"tsc", test_tsc},
    {"icr", test_icr},
    {"apic_mode", test_apic_mode},
    {"edges", hostile_test_edges},
    {"debug_loop", hostile_test_debug_loop},
    {"nmi_forever", hostile_test_nmi_forever},
    {"alignment_loop", hostile_test_alignment_loop},
    {"real", hostile_test_real},
    {"starts", hostile_test_starts},
    {"mtrr", test_mtrr},
};

const struct test_group group_hostile = {
    .name = "hostile", TEST_GROUP(tests), .is_only_by_name = true};
