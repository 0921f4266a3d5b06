/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/caps.c vmx/caps_equal.c vmx/names.c vmx/control_names.c core/fmt.c core/string.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/compiler.h"
#include "core/cpuid_bits.h"
#include "core/msr.h"
#include "vmx/caps.h"
#include "vmx/vmcs_fields.h"

/* As a Core i7 of the 6th generation reports them. */
static const struct vmx_capability_msrs skylake_msrs = {
    .feature_control = 5,
    .basic = 0x00DA040000000004,
    .pinbased_ctls = 0x0000007F00000016,
    .procbased_ctls = 0xFFF9FFFE0401E172,
    .exit_ctls = 0x01FFFFFF00036DFF,
    .entry_ctls = 0x0003FFFF000011FF,
    .true_pinbased_ctls = 0x0000007F00000016,
    .true_procbased_ctls = 0xFFF9FFFE04006172,
    .true_exit_ctls = 0x01FFFFFF00036DFB,
    .true_entry_ctls = 0x0003FFFF000011FB,
    .procbased_ctls2 = 0x001FFCFF00000000,
    .misc = 0x000000007004C1E7,
    .cr0_fixed0 = 0x80000021,
    .cr0_fixed1 = 0xFFFFFFFF,
    .cr4_fixed0 = 0x2000,
    .cr4_fixed1 = 0x3767FF,
    .ept_vpid_cap = 0x00000F0106734141,
    .vmfunc = 1,
};

static const struct vmx_cpu_features skylake_features = {
    .leaf1_ecx = 0x7FFAFBBF,
    .leaf1_edx = 0xBFEBFBFF,
    .leaf7_ebx = 0x029C6FBF,
    .leafd_1_eax = 0xF,
    .leaf80000001_ecx = 0x121,
    .leaf80000001_edx = 0x2C100800,
    .leaf80000008_eax = 0x3027,
};

static bool has_missing(const struct caps_missing *missing, const char *text)
{
    for (unsigned int i = 0; i < missing->count; i++) {
        if (strcmp(missing->text[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void skylake_is_accepted(void **state)
{
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    assert_true(caps_choose(&skylake_msrs, &skylake_features, &controls, &missing));
    assert_int_equal(missing.count, 0);
    assert_int_equal(controls.pin, 0x16 | 0x28);
    assert_int_equal(controls.proc, 0x04006172 | 0x92000000);
    assert_int_equal(controls.proc2, 0x001010AA);
    assert_int_equal(controls.exit, 0x00036DFB | 0x003C0204);
    assert_int_equal(controls.entry, 0x000011FB | 0x0000C004);
    assert_int_equal(controls.vmcs_revision, 4);
    assert_int_equal(controls.vmcs_bytes, 1024);
    assert_int_equal(controls.physical_address_bits, 39);
    assert_int_equal(controls.preemption_timer_shift, 7);
    assert_true(controls.shows_rdtscp && controls.shows_invpcid && controls.shows_xsaves);
    assert_false(controls.shows_user_wait || controls.shows_cet);
    assert_true(controls.ept_has_2m && controls.ept_has_1g && controls.ept_has_accessed_dirty);
    assert_false(controls.ept_has_5_levels);
    assert_true(controls.has_invept_single && controls.has_invept_all);
    assert_true(controls.has_invvpid_address && controls.has_invvpid_single &&
                controls.has_invvpid_all && controls.has_invvpid_single_globals);
    assert_true(controls.has_activity_hlt && controls.has_activity_wait_for_sipi);
    assert_int_equal(caps_guest_cr0_must_be_1(&controls), 0x20);
    assert_int_equal(caps_guest_cr4_must_be_1(&controls), 0x2000);
}

/* None of the exits that passthrough mode does without is on. */
static void nothing_unwanted_is_on(void **state)
{
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    assert_true(caps_choose(&skylake_msrs, &skylake_features, &controls, &missing));
    assert_int_equal(controls.pin & PIN_EXTERNAL_INTERRUPT_EXITING, 0);
    assert_int_equal(controls.proc &
                         (PROC_HLT_EXITING | PROC_INVLPG_EXITING | PROC_MWAIT_EXITING |
                          PROC_RDPMC_EXITING | PROC_RDTSC_EXITING | PROC_CR3_LOAD_EXITING |
                          PROC_CR3_STORE_EXITING | PROC_USE_TPR_SHADOW | PROC_PAUSE_EXITING |
                          PROC_NMI_WINDOW_EXITING),
                     0);
    assert_int_equal(controls.exit & EXIT_ACKNOWLEDGE_INTERRUPT_ON_EXIT, 0);
    assert_int_equal(controls.entry & ENTRY_IA32E_MODE_GUEST, 0);
}

static void feature_control_is_judged(void **state)
{
    struct vmx_capability_msrs msrs = skylake_msrs;
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    assert_int_equal(caps_feature_control_state(0), CAPS_FEATURE_CONTROL_NEEDS_LOCK);
    assert_int_equal(caps_feature_control_state(4), CAPS_FEATURE_CONTROL_NEEDS_LOCK);
    assert_int_equal(caps_feature_control_state(5), CAPS_FEATURE_CONTROL_READY);
    assert_int_equal(caps_feature_control_state(1), CAPS_FEATURE_CONTROL_LOCKED_OFF);
    assert_int_equal(caps_feature_control_state(3), CAPS_FEATURE_CONTROL_LOCKED_OFF);
    assert_int_equal(caps_feature_control_value(0x100000), 0x100005);
    msrs.feature_control = 1;
    assert_false(caps_choose(&msrs, &skylake_features, &controls, &missing));
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.text[0],
                        "VT-x is switched off and locked by firmware (IA32_FEATURE_CONTROL)");
    msrs.feature_control = 0;
    assert_true(caps_choose(&msrs, &skylake_features, &controls, &missing));
}

static void without_vmx_only_that_is_named(void **state)
{
    const struct vmx_capability_msrs msrs = {0};
    const struct vmx_cpu_features features = {0};
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    assert_false(caps_choose(&msrs, &features, &controls, &missing));
    assert_int_equal(missing.count, 1);
    assert_string_equal(missing.text[0], "VT-x (CPUID.1:ECX.VMX)");
}

/* Each requirement is taken away by itself: exactly that one is named. */
static void each_requirement_is_named(void **state)
{
    static const struct {
        size_t member;
        uint64_t clear;
        const char *text;
    } cases[] = {
        {offsetof(struct vmx_capability_msrs, true_pinbased_ctls), 0x8ull << 32,
         "NMI exiting (pin controls)"},
        {offsetof(struct vmx_capability_msrs, true_pinbased_ctls), 0x20ull << 32,
         "virtual NMIs (pin controls)"},
        {offsetof(struct vmx_capability_msrs, true_procbased_ctls), 1ull << 54,
         "NMI-window exiting (proc controls)"},
        {offsetof(struct vmx_capability_msrs, true_procbased_ctls), 1ull << 57,
         "use I/O bitmaps (proc controls)"},
        {offsetof(struct vmx_capability_msrs, true_procbased_ctls), 1ull << 60,
         "use MSR bitmaps (proc controls)"},
        {offsetof(struct vmx_capability_msrs, true_procbased_ctls), 1ull << 63,
         "activate secondary controls (proc controls)"},
        {offsetof(struct vmx_capability_msrs, procbased_ctls2), 0x2ull << 32,
         "enable EPT (proc2 controls)"},
        {offsetof(struct vmx_capability_msrs, procbased_ctls2), 0x20ull << 32,
         "enable VPID (proc2 controls)"},
        {offsetof(struct vmx_capability_msrs, procbased_ctls2), 0x80ull << 32,
         "unrestricted guest (proc2 controls)"},
        {offsetof(struct vmx_capability_msrs, true_exit_ctls), 1ull << 50,
         "save IA32_PAT (exit controls)"},
        {offsetof(struct vmx_capability_msrs, true_exit_ctls), 1ull << 51,
         "load IA32_PAT (exit controls)"},
        {offsetof(struct vmx_capability_msrs, true_exit_ctls), 1ull << 52,
         "save IA32_EFER (exit controls)"},
        {offsetof(struct vmx_capability_msrs, true_exit_ctls), 1ull << 53,
         "load IA32_EFER (exit controls)"},
        {offsetof(struct vmx_capability_msrs, true_exit_ctls), 1ull << 41,
         "host address-space size (exit controls)"},
        {offsetof(struct vmx_capability_msrs, true_entry_ctls), 1ull << 46,
         "load IA32_PAT (entry controls)"},
        {offsetof(struct vmx_capability_msrs, true_entry_ctls), 1ull << 47,
         "load IA32_EFER (entry controls)"},
        {offsetof(struct vmx_capability_msrs, true_entry_ctls), 1ull << 41,
         "IA-32e mode guest (entry controls)"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 1ull << 6, "EPT with 4 levels"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 1ull << 14,
         "EPT with write-back paging structures"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 1ull << 20,
         "INVEPT of type 1 (single-context) or 2 (all-context)"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 3ull << 25,
         "INVEPT of type 1 (single-context) or 2 (all-context)"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 1ull << 32,
         "INVVPID of type 1 (single-context) or 2 (all-context)"},
        {offsetof(struct vmx_capability_msrs, ept_vpid_cap), 3ull << 41,
         "INVVPID of type 1 (single-context) or 2 (all-context)"},
        {offsetof(struct vmx_capability_msrs, basic), 4ull << 50,
         "write-back VMCS regions (IA32_VMX_BASIC[53:50])"},
        {offsetof(struct vmx_capability_msrs, basic), 0x400ull << 32,
         "VMCS regions of at most 4096 bytes (IA32_VMX_BASIC[44:32])"},
    };

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        struct vmx_capability_msrs msrs = skylake_msrs;
        uint64_t word;
        struct vmx_controls controls;
        struct caps_missing missing;

        memcpy(&word, (char *)&msrs + cases[i].member, sizeof(word));
        assert_int_equal(word & cases[i].clear, cases[i].clear);
        word &= ~cases[i].clear;
        memcpy((char *)&msrs + cases[i].member, &word, sizeof(word));
        assert_false(caps_choose(&msrs, &skylake_features, &controls, &missing));
        assert_int_equal(missing.count, 1);
        assert_string_equal(missing.text[0], cases[i].text);
    }
}

static void one_type_of_invalidation_suffices(void **state)
{
    static const uint64_t cleared[] = {1ull << 25, 1ull << 26, 1ull << 41,
                                       1ull << 42, 1ull << 40, 1ull << 43};

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cleared); i++) {
        struct vmx_capability_msrs msrs = skylake_msrs;
        struct vmx_controls controls;
        struct caps_missing missing;

        msrs.ept_vpid_cap &= ~cleared[i];
        assert_true(caps_choose(&msrs, &skylake_features, &controls, &missing));
    }
}

static void everything_missing_is_listed_at_once(void **state)
{
    struct vmx_capability_msrs msrs = {.feature_control = 1};
    struct vmx_cpu_features features = {.leaf1_ecx = CPUID_1_ECX_VMX};
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    assert_false(caps_choose(&msrs, &features, &controls, &missing));
    assert_true(missing.count > 20 && missing.count < CAPS_MISSING_MAX);
    assert_true(has_missing(&missing, "TRUE control MSRs (IA32_VMX_BASIC[55])"));
    assert_true(has_missing(&missing, "enable VPID (proc2 controls)"));
    assert_true(has_missing(&missing, "EPT with 4 levels"));
    assert_true(has_missing(&missing, "virtual NMIs (pin controls)"));
}

/* Without the TRUE MSRs CR3 exiting cannot be switched off: that is said, too. */
static void forced_controls_are_named(void **state)
{
    struct vmx_capability_msrs msrs = skylake_msrs;
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    msrs.basic &= ~IA32_VMX_BASIC_TRUE_CONTROLS;
    assert_false(caps_choose(&msrs, &skylake_features, &controls, &missing));
    assert_int_equal(missing.count, 3);
    assert_true(has_missing(&missing, "TRUE control MSRs (IA32_VMX_BASIC[55])"));
    assert_true(has_missing(&missing, "CR3-load exiting (proc controls) cannot be switched off"));
    assert_true(has_missing(&missing, "CR3-store exiting (proc controls) cannot be switched off"));
    msrs = skylake_msrs;
    msrs.true_pinbased_ctls |= PIN_EXTERNAL_INTERRUPT_EXITING;
    assert_false(caps_choose(&msrs, &skylake_features, &controls, &missing));
    assert_string_equal(missing.text[0],
                        "external-interrupt exiting (pin controls) cannot be switched off");
}

/* An instruction's control that is absent hides the instruction, and is no reason to refuse. */
static void optional_controls_follow_hardware(void **state)
{
    struct vmx_capability_msrs msrs = skylake_msrs;
    struct vmx_cpu_features features = skylake_features;
    struct vmx_controls controls;
    struct caps_missing missing;

    (void)state;
    msrs.procbased_ctls2 &= ~(
        (uint64_t)(PROC2_ENABLE_RDTSCP | PROC2_ENABLE_INVPCID | PROC2_ENABLE_XSAVES_XRSTORS) << 32);
    assert_true(caps_choose(&msrs, &features, &controls, &missing));
    assert_false(controls.shows_rdtscp || controls.shows_invpcid || controls.shows_xsaves);
    msrs = skylake_msrs;
    features.leaf7_ebx &= ~CPUID_7_EBX_INVPCID;
    assert_true(caps_choose(&msrs, &features, &controls, &missing));
    assert_int_equal(controls.proc2 & PROC2_ENABLE_INVPCID, 0);
    assert_false(controls.shows_invpcid);
    features = skylake_features;
    features.leaf7_ecx |= CPUID_7_ECX_WAITPKG | CPUID_7_ECX_CET_SS;
    msrs.procbased_ctls2 |= (uint64_t)PROC2_ENABLE_USER_WAIT_AND_PAUSE << 32;
    msrs.true_exit_ctls |= (uint64_t)EXIT_LOAD_CET_STATE << 32;
    assert_true(caps_choose(&msrs, &features, &controls, &missing));
    assert_true(controls.shows_user_wait);
    assert_false(controls.shows_cet); /* the entry control is not there */
    assert_int_equal(controls.exit & EXIT_LOAD_CET_STATE, 0);
    msrs.true_entry_ctls |= (uint64_t)ENTRY_LOAD_CET_STATE << 32;
    assert_true(caps_choose(&msrs, &features, &controls, &missing));
    assert_true(controls.shows_cet);
    assert_int_not_equal(controls.exit & EXIT_LOAD_CET_STATE, 0);
    assert_int_not_equal(controls.entry & ENTRY_LOAD_CET_STATE, 0);
}

static void differences_between_lps_are_named(void **state)
{
    struct vmx_capability_msrs msrs = skylake_msrs;
    struct vmx_cpu_features features = skylake_features;
    const char *difference = "none";

    (void)state;
    msrs.feature_control = 0;
    features.leaf1_ecx ^= CPUID_1_ECX_OSXSAVE;
    features.leaf7_ecx ^= CPUID_7_ECX_OSPKE;
    assert_true(caps_equal(&skylake_msrs, &skylake_features, &msrs, &features, &difference));
    assert_string_equal(difference, "none");
    features.leaf80000008_eax ^= 1;
    assert_false(caps_equal(&skylake_msrs, &skylake_features, &msrs, &features, &difference));
    assert_string_equal(difference, "CPUID.80000008H:EAX");
    msrs.ept_vpid_cap ^= 1ull << 43;
    assert_false(caps_equal(&skylake_msrs, &skylake_features, &msrs, &features, &difference));
    assert_string_equal(difference, "IA32_VMX_EPT_VPID_CAP");
    msrs.basic ^= 1;
    assert_false(caps_equal(&skylake_msrs, &skylake_features, &msrs, &features, NULL));
    assert_false(caps_equal(&skylake_msrs, &skylake_features, &msrs, &features, &difference));
    assert_string_equal(difference, "IA32_VMX_BASIC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skylake_is_accepted),
        cmocka_unit_test(nothing_unwanted_is_on),
        cmocka_unit_test(feature_control_is_judged),
        cmocka_unit_test(without_vmx_only_that_is_named),
        cmocka_unit_test(each_requirement_is_named),
        cmocka_unit_test(one_type_of_invalidation_suffices),
        cmocka_unit_test(everything_missing_is_listed_at_once),
        cmocka_unit_test(forced_controls_are_named),
        cmocka_unit_test(optional_controls_follow_hardware),
        cmocka_unit_test(differences_between_lps_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
