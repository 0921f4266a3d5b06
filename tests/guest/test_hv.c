/* SPDX-License-Identifier: BSD-2-Clause */
/* Microsoft's interface: the groups, and what is shown. */
#include "tests/guest/test_hv.h"

#include "tests/guest/groups.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

#define CPUID_1_ECX_HYPERVISOR (1u << 31)
#define LAST_SYNTHETIC_LEAF    0x400000FFu

static void expect_leaf(uint32_t leaf, const struct cpuid_regs *wanted)
{
    for (uint32_t subleaf = 0; subleaf < 3; subleaf++) {
        struct cpuid_regs r = insn_cpuid(leaf, subleaf);

        CHECK(r.eax == wanted->eax && r.ebx == wanted->ebx && r.ecx == wanted->ecx &&
                  r.edx == wanted->edx,
              "leaf %x.%u is %x %x %x %x on cpu %u", leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx,
              cpu_this()->index);
    }
}

static void leaves_here(void *arg)
{
    static const struct cpuid_regs zero;
    const struct cpuid_regs wanted[] = {
        {0x40000006, 0x7263694D, 0x666F736F, 0x76482074},
        {0x31237648, 0, 0, 0},
        {0x3839, 0x000A0000, 0, 0},
        {0x8A73, 0x8000, 0, 0x00044110},
        {0x804, 0xFFFFFFFF, 0, 0},
        {4096, smp_cpu_count(), 0, 0},
        {0x0A, 0, 0, 0},
    };

    (void)arg;
    for (uint32_t i = 0; i < ARRAY_LEN(wanted); i++) {
        expect_leaf(HV_LEAF_VENDOR + i, &wanted[i]);
    }
    for (uint32_t leaf = HV_LEAF_HARDWARE + 1; leaf <= LAST_SYNTHETIC_LEAF; leaf++) {
        expect_leaf(leaf, &zero);
    }
    CHECK((insn_cpuid(1, 0).ecx & CPUID_1_ECX_HYPERVISOR) != 0, "no hypervisor bit on cpu %u",
          cpu_this()->index);
}

void test_hv_leaves(void)
{
    CHECK(smp_call_each(leaves_here, NULL), "a processor does not answer");
}

/* Those that cannot be undone come last. */
static const struct test tests[] = {
    {"leaves", test_hv_leaves},
    {"msr_undefined", test_hv_msr_undefined},
    {"msr_read_only", test_hv_msr_read_only},
    {"msr_vp_index", test_hv_msr_vp_index},
    {"msr_vp_runtime", test_hv_msr_vp_runtime},
    {"msr_vp_assist", test_hv_msr_vp_assist},
    {"msr_apic", test_hv_msr_apic},
    {"time_count", test_hv_time_count},
    {"time_frequencies", test_hv_time_frequencies},
    {"time_page", test_hv_time_page},
    {"time_tsc_write", test_hv_time_tsc_write},
    {"page_enable", test_hv_page_enable},
    {"page_move", test_hv_page_move},
    {"page_write", test_hv_page_write},
    {"calls_codes", test_hv_calls_codes},
    {"calls_shape", test_hv_calls_shape},
    {"calls_memory", test_hv_calls_memory},
    {"calls_parameters", test_hv_calls_parameters},
    {"calls_undefined", test_hv_calls_undefined},
    {"calls_compat", test_hv_calls_compat},
    {"calls_good", test_hv_calls_good},
    {"flush_self", test_hv_flush_self},
    {"flush_spin", test_hv_flush_spin},
    {"flush_all_spin", test_hv_flush_all_spin},
    {"flush_halted", test_hv_flush_halted},
    {"flush_sipi", test_hv_flush_sipi},
    {"storm_pairs", test_hv_storm_pairs},
    {"storm_two", test_hv_storm_two},
    {"storm_all", test_hv_storm_all},
    {"time_invariant", test_hv_time_invariant},
    {"page_lock", test_hv_page_lock},
};

const struct test_group group_hv = {.name = "hv", TEST_GROUP(tests), .is_only_by_name = true};
