/* SPDX-License-Identifier: BSD-2-Clause */
/* What is not shown is refused: all switches off (group hvoff, by name), the interface off (group
 * hvabsent, wherever it is). */
#include "core/string.h"
#include "tests/guest/groups.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define FEATURES_OFF      0x20u    /* only the hypercall MSRs are left */
#define FEATURES_EDX_OFF  0x40000u /* and their lock */
#define LEAF_POWER        0x80000007u
#define EDX_INVARIANT_TSC (1u << 8)

static void off_here(void *arg)
{
    static const uint32_t refused[] = {
        HV_MSR_VP_INDEX,
        HV_MSR_VP_RUNTIME,
        HV_MSR_TIME_REF_COUNT,
        HV_MSR_REFERENCE_TSC,
        HV_MSR_TSC_FREQUENCY,
        HV_MSR_APIC_FREQUENCY,
        HV_MSR_EOI,
        HV_MSR_ICR,
        HV_MSR_TPR,
        HV_MSR_VP_ASSIST_PAGE,
        HV_MSR_TSC_INVARIANT,
    };
    struct cpuid_regs features = insn_cpuid(HV_LEAF_FEATURES, 0);
    struct cpuid_regs hints = insn_cpuid(HV_LEAF_HINTS, 0);

    (void)arg;
    CHECK(features.eax == FEATURES_OFF && features.ebx == 0 && features.ecx == 0 &&
              features.edx == FEATURES_EDX_OFF,
          "leaf 3 is %x %x %x %x", features.eax, features.ebx, features.ecx, features.edx);
    CHECK(hints.eax == 0 && hints.ebx == ~0u, "leaf 4 is %x %x", hints.eax, hints.ebx);
    for (unsigned int i = 0; i < ARRAY_LEN(refused); i++) {
        hv_expect_gp_read(refused[i]);
        hv_expect_gp_write(refused[i], 0);
        hv_expect_gp_write(refused[i], 1);
    }
    CHECK((insn_cpuid(LEAF_POWER, 0).edx & EDX_INVARIANT_TSC) != 0, "the invariant TSC is hidden");
}

static void test_off_msrs(void)
{
    REQUIRE(hv_is_on(), "the interface is not there");
    CHECK(smp_call_each(off_here, NULL), "a processor does not answer");
}

static void off_calls_here(void *arg)
{
    static const uint64_t controls[] = {
        HV_FLUSH_SPACE,    HV_FLUSH_LIST | HV_REPS(1),
        HV_FLUSH_SPACE_EX, HV_FLUSH_LIST_EX | HV_REPS(1),
        HV_FLUSH_LIST,     HV_FLUSH_SPACE | HV_FAST,
    };
    uint64_t input = hv_address(hv_input());

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(controls); i++) {
        uint64_t result = hv_call(controls[i], input);

        CHECK(result == HV_STATUS_ACCESS_DENIED, "call %lx gives %lx", controls[i], result);
    }
    CHECK(hv_call(0xBEEF, input) == HV_STATUS_INVALID_CODE, "call BEEF is known");
}

static void test_off_calls(void)
{
    REQUIRE(hv_is_on(), "the interface is not there");
    hv_enable();
    CHECK(smp_call_each(off_calls_here, NULL), "a processor does not answer");
    hv_disable();
}

static const struct test off_tests[] = {
    {"msrs", test_off_msrs},
    {"calls", test_off_calls},
};

const struct test_group group_hvoff = {
    .name = "hvoff", TEST_GROUP(off_tests), .is_only_by_name = true};

static void absent_here(void *arg)
{
    struct hv_outcome outcome;

    (void)arg;
    for (uint32_t leaf = 0x40000000u; leaf <= 0x400000FFu; leaf++) {
        struct cpuid_regs r = insn_cpuid(leaf, 0);

        CHECK((r.eax | r.ebx | r.ecx | r.edx) == 0, "leaf %x is %x %x %x %x", leaf, r.eax, r.ebx,
              r.ecx, r.edx);
    }
    for (uint32_t msr = HV_MSR_GUEST_OS_ID; msr <= HV_MSR_TSC_INVARIANT; msr++) {
        hv_expect_gp_read(msr);
        hv_expect_gp_write(msr, 0);
    }
    outcome = hv_try((uintptr_t)hv_direct, 0xBEEF, 0);
    CHECK(outcome.vector == HV_UD && outcome.rip == (uintptr_t)hv_direct, "VMCALL gives %d at %lx",
          outcome.vector, outcome.rip);
}

static void test_absent(void)
{
    if (hv_is_on() || !sluice_is_present()) {
        test_skip("only under Sluice with hv=off");
        return;
    }
    CHECK(smp_call_each(absent_here, NULL), "a processor does not answer");
}

static const struct test absent_tests[] = {
    {"absent", test_absent},
};

const struct test_group group_hvabsent = {.name = "hvabsent", TEST_GROUP(absent_tests)};
