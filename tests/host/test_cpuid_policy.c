/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/cpuid_policy.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/compiler.h"
#include "core/msr.h"
#include "vmx/cpuid_policy.h"

struct fake_leaf {
    uint32_t leaf, subleaf;
    struct cpuid_regs regs;
};

/* Much as a server part of the 6th generation answers (the fields that matter here). */
static const struct fake_leaf skylake[] = {
    {0x0, 0, {0x16, 0x756E6547, 0x6C65746E, 0x49656E69}},
    {0x1, 0, {0x50654, 0x00100800, 0x7FFEFBFF, 0xBFEBFBFF}},
    {0x2, 0, {0x76036301, 0x00F0B5FF, 0, 0x00C30000}},
    {0x5, 0, {0x40, 0x40, 3, 0x2020}},
    {0x6, 0, {0x80EF7, 2, 9, 0}},
    {0x7, 0, {0, 0xD39FFFFB, 0x8, 0xBC000400}},
    {0xA, 0, {0x07300404, 0, 0, 0x603}},
    {0xB, 0, {1, 2, 0x100, 0}},
    {0xD, 0, {0x2FF, 0xA80, 0xA88, 0}},
    {0xD, 1, {0xF, 0xA08, 0x100, 0}},
    {0xD, 2, {0x100, 0x240, 0, 0}},
    {0xD, 3, {0x40, 0x3C0, 0, 0}},
    {0xD, 4, {0x40, 0x400, 0, 0}},
    {0xD, 5, {0x40, 0x440, 0, 0}},
    {0xD, 6, {0x200, 0x480, 0, 0}},
    {0xD, 7, {0x400, 0x680, 0, 0}},
    {0xD, 8, {0x80, 0, 1, 0}},
    {0xD, 9, {0x8, 0xA80, 0, 0}},
    {0xF, 0, {0, 0xDF, 0, 2}},
    {0x10, 0, {0, 0xA, 0, 0}},
    {0x12, 0, {1, 2, 3, 4}},
    {0x14, 0, {1, 0xF, 7, 0}},
    {0x15, 0, {2, 0xA8, 0, 0}},
    {0x16, 0, {0x834, 0xE74, 0x64, 0}},
    {0x80000000, 0, {0x80000008, 0, 0, 0}},
    {0x80000001, 0, {0, 0, 0x121, 0x2C100800}},
    {0x80000007, 0, {0, 0, 0, 0x100}},
    {0x80000008, 0, {0x302E, 0, 0, 0}},
};

static struct cpuid_regs find(uint32_t leaf, uint32_t subleaf)
{
    const struct cpuid_regs none = {0, 0, 0, 0};

    for (unsigned int i = 0; i < ARRAY_LEN(skylake); i++) {
        if (skylake[i].leaf == leaf && skylake[i].subleaf == subleaf) {
            return skylake[i].regs;
        }
    }
    return none;
}

static void read_skylake(void *context, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    (void)context;
    *out = find(leaf, subleaf);
}

/* A processor of the future: every bit of every leaf is set. */
static void read_ones(void *context, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    (void)context;
    (void)subleaf;
    *out = (struct cpuid_regs){~0u, ~0u, ~0u, ~0u};
    if (leaf == 0xD && subleaf >= 2) {
        *out = (struct cpuid_regs){64, 576 + 64 * subleaf, 0, 0};
    }
}

static const struct vmx_controls all_controls = {
    .shows_rdtscp = true,
    .shows_invpcid = true,
    .shows_xsaves = true,
    .shows_user_wait = true,
    .shows_cet = true,
};
static const struct vmx_controls no_controls = {0};
static const struct cpuid_source skylake_source = {read_skylake, NULL};
static const struct cpuid_source ones_source = {read_ones, NULL};
static const struct cpuid_guest_view running = {
    .cr4 = BIT64(18) | BIT64(22),
    .apic_base = 0xFEE00000 | IA32_APIC_BASE_ENABLE,
    .is_64_bit = true,
};

static struct cpuid_regs shown(const struct cpuid_policy *policy, const struct cpuid_source *source,
                               uint32_t leaf, uint32_t subleaf, const struct cpuid_guest_view *view)
{
    struct cpuid_regs regs;

    source->read(source->context, leaf, subleaf, &regs);
    cpuid_policy_apply(policy, leaf, subleaf, view, &regs);
    return regs;
}

static void assert_regs(struct cpuid_regs regs, uint32_t eax, uint32_t ebx, uint32_t ecx,
                        uint32_t edx)
{
    assert_int_equal(regs.eax, eax);
    assert_int_equal(regs.ebx, ebx);
    assert_int_equal(regs.ecx, ecx);
    assert_int_equal(regs.edx, edx);
}

static void skylake_is_shown_without_what_we_keep(void **state)
{
    struct cpuid_policy policy;
    const struct cpuid_source *source = &skylake_source;

    (void)state;
    cpuid_policy_init(&policy, &all_controls, source);
    assert_regs(shown(&policy, source, 0, 0, &running), 0x16, 0x756E6547, 0x6C65746E, 0x49656E69);
    assert_regs(shown(&policy, source, 1, 0, &running), 0x50654, 0x00100800, 0x7FFEFBFFu & ~0x874u,
                0xBFCBFBFF);
    assert_regs(shown(&policy, source, 7, 0, &running), 0, 0xD19F2FFBu, 0x18, 0xBC000400);
    assert_regs(shown(&policy, source, 6, 0, &running), 0xEF7, 2, 9, 0);
    assert_regs(shown(&policy, source, 0x80000001, 0, &running), 0, 0, 0x121, 0x2C100800);
    assert_regs(shown(&policy, source, 0x80000007, 0, &running), 0, 0, 0, 0x100);
    assert_regs(shown(&policy, source, 0x80000008, 0, &running), 0x302E, 0, 0, 0);
    assert_regs(shown(&policy, source, 0xA, 0, &running), 0x07300404, 0, 0, 0x603);
    assert_regs(shown(&policy, source, 0xB, 0, &running), 1, 2, 0x100, 0);
    assert_regs(shown(&policy, source, 0x15, 0, &running), 2, 0xA8, 0, 0);
    assert_true(policy.shows_pmu && policy.shows_x2apic && policy.shows_xsaves);
    assert_false(policy.shows_cet || policy.shows_user_wait || policy.shows_amx);
}

static void hidden_leaves_are_zero(void **state)
{
    static const uint32_t hidden[] = {
        0x3,        0xF,        0x10,       0x12,       0x14,       0x17,       0x19,
        0x1B,       0x1C,       0x20,       0x23,       0x24,       0x40000000, 0x40000001,
        0x400000FF, 0x40000100, 0x7FFFFFFF, 0x80000009, 0x80860000, 0xC0000000, 0xFFFFFFFF,
    };
    struct cpuid_policy policies[2];

    (void)state;
    cpuid_policy_init(&policies[0], &all_controls, &skylake_source);
    cpuid_policy_init(&policies[1], &all_controls, &ones_source);
    for (unsigned int i = 0; i < ARRAY_LEN(hidden); i++) {
        assert_regs(shown(&policies[0], &skylake_source, hidden[i], 0, &running), 0, 0, 0, 0);
        if (hidden[i] != 0x3 && hidden[i] != 0x17) {
            assert_regs(shown(&policies[1], &ones_source, hidden[i], 0, &running), 0, 0, 0, 0);
        }
    }
}

/* A bit that nobody has put on a list is never shown, whatever the hardware says. */
static void unknown_bits_are_hidden(void **state)
{
    struct cpuid_policy policy;
    const struct cpuid_source *source = &ones_source;
    struct cpuid_regs regs;

    (void)state;
    cpuid_policy_init(&policy, &all_controls, source);
    regs = shown(&policy, source, 1, 0, &running);
    assert_int_equal(regs.ecx &
                         (CPUID_1_ECX_VMX | CPUID_1_ECX_SMX | CPUID_1_ECX_HYPERVISOR |
                          CPUID_1_ECX_DTES64 | CPUID_1_ECX_DS_CPL | CPUID_1_ECX_SDBG | BIT32(16)),
                     0);
    assert_int_equal(regs.edx & (CPUID_1_EDX_DS | CPUID_1_EDX_IA64), 0);
    regs = shown(&policy, source, 7, 0, &running);
    assert_int_equal(regs.eax, 2);
    assert_int_equal(regs.ebx & (CPUID_7_EBX_SGX | CPUID_7_EBX_MPX | CPUID_7_EBX_INTEL_PT |
                                 CPUID_7_EBX_RDT_M | CPUID_7_EBX_RDT_A | BIT32(22)),
                     0);
    assert_int_equal(regs.ecx & (CPUID_7_ECX_PKS | CPUID_7_ECX_ENQCMD | CPUID_7_ECX_SGX_LC |
                                 CPUID_7_ECX_KL | MASK64(21, 17) | BIT32(15)),
                     0);
    assert_int_equal(regs.edx & (CPUID_7_EDX_UINTR | CPUID_7_EDX_PCONFIG | CPUID_7_EDX_ARCH_LBR |
                                 BIT32(0) | BIT32(1)),
                     0);
    regs = shown(&policy, source, 7, 1, &running);
    assert_int_equal(regs.eax & (CPUID_7_1_EAX_LASS | CPUID_7_1_EAX_LAM | CPUID_7_1_EAX_FRED |
                                 CPUID_7_1_EAX_MSRLIST | CPUID_7_1_EAX_HRESET),
                     0);
    assert_int_equal(regs.ecx, 0);
    assert_int_equal(regs.edx & CPUID_7_1_EDX_USER_MSR, 0);
    assert_regs(shown(&policy, source, 7, 3, &running), 0, 0, 0, 0);
    assert_int_equal(shown(&policy, source, 0xA, 0, &running).eax, 0xFFFFFF05);
    assert_int_equal(shown(&policy, source, 0, 0, &running).eax, 0x1F);
    assert_int_equal(shown(&policy, source, 0x80000000, 0, &running).eax, 0x80000008);
}

/* An instruction whose control is not there is not shown. */
static void controls_decide(void **state)
{
    struct cpuid_policy policy;
    const struct cpuid_source *source = &ones_source;
    struct cpuid_regs regs;

    (void)state;
    cpuid_policy_init(&policy, &no_controls, source);
    regs = shown(&policy, source, 7, 0, &running);
    assert_int_equal(regs.ebx & CPUID_7_EBX_INVPCID, 0);
    assert_int_equal(regs.ecx & (CPUID_7_ECX_WAITPKG | CPUID_7_ECX_CET_SS | CPUID_7_ECX_RDPID), 0);
    assert_int_equal(regs.edx & CPUID_7_EDX_CET_IBT, 0);
    assert_int_equal(shown(&policy, source, 7, 1, &running).edx & CPUID_7_1_EDX_CET_SSS, 0);
    regs = shown(&policy, source, 0x80000001, 0, &running);
    assert_int_equal(regs.edx & CPUID_80000001_EDX_RDTSCP, 0);
    regs = shown(&policy, source, 0xD, 1, &running);
    assert_int_equal(regs.eax & CPUID_D_1_EAX_XSAVES, 0);
    assert_int_equal(regs.ecx, 0);
    assert_int_equal(policy.xss_supported, 0);
    assert_int_equal(cr4_allowed(&policy) & BIT64(23), 0);

    cpuid_policy_init(&policy, &all_controls, source);
    regs = shown(&policy, source, 7, 0, &running);
    assert_int_not_equal(regs.ebx & CPUID_7_EBX_INVPCID, 0);
    assert_int_not_equal(regs.ecx & CPUID_7_ECX_WAITPKG, 0);
    assert_int_not_equal(regs.ecx & CPUID_7_ECX_CET_SS, 0);
    assert_int_not_equal(regs.ecx & CPUID_7_ECX_RDPID, 0);
    regs = shown(&policy, source, 0x80000001, 0, &running);
    assert_int_not_equal(regs.edx & CPUID_80000001_EDX_RDTSCP, 0);
    assert_int_equal(policy.xss_supported, XSS_CET_U | XSS_CET_S);
    assert_true(policy.shows_cet && policy.shows_user_wait && policy.shows_amx);
}

/* One control at a time shows just its own instructions. */
static void each_control_shows_its_own(void **state)
{
    static const struct {
        struct vmx_controls controls;
        uint32_t ebx, ecx, edx, extended_edx, xsave_eax;
    } cases[] = {
        {{.shows_rdtscp = true}, 0, CPUID_7_ECX_RDPID, 0, CPUID_80000001_EDX_RDTSCP, 0},
        {{.shows_invpcid = true}, CPUID_7_EBX_INVPCID, 0, 0, 0, 0},
        {{.shows_xsaves = true}, 0, 0, 0, 0, CPUID_D_1_EAX_XSAVES},
        {{.shows_user_wait = true}, 0, CPUID_7_ECX_WAITPKG, 0, 0, 0},
        {{.shows_cet = true}, 0, CPUID_7_ECX_CET_SS, CPUID_7_EDX_CET_IBT, 0, 0},
    };
    struct cpuid_policy none;

    (void)state;
    cpuid_policy_init(&none, &no_controls, &ones_source);
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        struct cpuid_policy policy;

        cpuid_policy_init(&policy, &cases[i].controls, &ones_source);
        assert_int_equal(policy.allow_7_ebx ^ none.allow_7_ebx, cases[i].ebx);
        assert_int_equal(policy.allow_7_ecx ^ none.allow_7_ecx, cases[i].ecx);
        assert_int_equal(policy.allow_7_edx ^ none.allow_7_edx, cases[i].edx);
        assert_int_equal(policy.allow_80000001_edx ^ none.allow_80000001_edx,
                         cases[i].extended_edx);
        assert_int_equal(policy.allow_d_1_eax ^ none.allow_d_1_eax, cases[i].xsave_eax);
    }
}

static void guest_state_is_reflected(void **state)
{
    struct cpuid_policy policy;
    const struct cpuid_source *source = &skylake_source;
    struct cpuid_guest_view early = {.cr4 = 0, .apic_base = 0xFEE00000, .is_64_bit = false};
    struct cpuid_regs regs;

    (void)state;
    cpuid_policy_init(&policy, &all_controls, source);
    regs = shown(&policy, source, 1, 0, &early);
    assert_int_equal(regs.ecx & CPUID_1_ECX_OSXSAVE, 0);
    assert_int_equal(regs.edx & CPUID_1_EDX_APIC, 0);
    assert_int_equal(shown(&policy, source, 7, 0, &early).ecx & CPUID_7_ECX_OSPKE, 0);
    assert_int_equal(shown(&policy, source, 0x80000001, 0, &early).edx, 0x2C100000);
    regs = shown(&policy, source, 1, 0, &running);
    assert_int_not_equal(regs.ecx & CPUID_1_ECX_OSXSAVE, 0);
    assert_int_not_equal(regs.edx & CPUID_1_EDX_APIC, 0);
    assert_int_not_equal(shown(&policy, source, 7, 0, &running).ecx & CPUID_7_ECX_OSPKE, 0);
}

static void xsave_leaves_fit_the_shown_components(void **state)
{
    struct cpuid_policy policy;
    const struct cpuid_source *source = &skylake_source;

    (void)state;
    cpuid_policy_init(&policy, &all_controls, source);
    assert_int_equal(policy.xcr0_supported, 0x2E7);
    assert_regs(shown(&policy, source, 0xD, 0, &running), 0x2E7, 0xA80, 0xA88, 0);
    assert_regs(shown(&policy, source, 0xD, 1, &running), 0xF, 0xA08, 0, 0);
    assert_regs(shown(&policy, source, 0xD, 2, &running), 0x100, 0x240, 0, 0);
    assert_regs(shown(&policy, source, 0xD, 3, &running), 0, 0, 0, 0); /* MPX */
    assert_regs(shown(&policy, source, 0xD, 8, &running), 0, 0, 0, 0); /* Processor Trace */
    assert_regs(shown(&policy, source, 0xD, 9, &running), 8, 0xA80, 0, 0);
    assert_regs(shown(&policy, source, 0xD, 64, &running), 0, 0, 0, 0);
    assert_regs(shown(&policy, source, 0xD, 0xFFFFFFFF, &running), 0, 0, 0, 0);
    cpuid_policy_init(&policy, &all_controls, &ones_source);
    assert_int_equal(policy.xcr0_supported, 0x602E7);
    assert_int_equal(policy.xsave_max_bytes, 576 + 64 * 18 + 64);
    assert_int_equal(shown(&policy, &ones_source, 0xD, 11, &running).eax, 64); /* CET_U */
    assert_int_equal(shown(&policy, &ones_source, 0xD, 17, &running).eax, 64);
    assert_int_equal(shown(&policy, &ones_source, 0xD, 19, &running).eax, 0);
}

static void cr4_follows_the_shown_features(void **state)
{
    struct cpuid_policy policy;

    (void)state;
    cpuid_policy_init(&policy, &all_controls, &skylake_source);
    assert_int_equal(cr4_allowed(&policy), 0x7707FF);
    cpuid_policy_init(&policy, &all_controls, &ones_source);
    assert_int_equal(cr4_allowed(&policy), 0xF71FFF);
    assert_int_equal(cr4_allowed(&policy) & (BIT64(13) | BIT64(14)), 0);
}

static void xsetbv_rules(void **state)
{
    const uint64_t all = 0x602E7;

    (void)state;
    assert_true(xcr0_check(1, all));
    assert_true(xcr0_check(3, all));
    assert_true(xcr0_check(7, all));
    assert_true(xcr0_check(0xE7, all));
    assert_true(xcr0_check(all, all));
    assert_true(xcr0_check(0x201, all));
    assert_false(xcr0_check(0, all));
    assert_false(xcr0_check(2, all));
    assert_false(xcr0_check(5, all));          /* AVX without SSE */
    assert_false(xcr0_check(0xE3, all));       /* AVX-512 without AVX */
    assert_false(xcr0_check(0x67, all));       /* part of AVX-512 */
    assert_false(xcr0_check(0x20007, all));    /* TILECFG without TILEDATA */
    assert_false(xcr0_check(0x1F, all));       /* MPX is not supported */
    assert_false(xcr0_check(0xF, all | 0x18)); /* half of MPX */
    assert_true(xcr0_check(0x1F, all | 0x18));
    assert_false(xcr0_check(0xE7, 7));
    assert_false(xcr0_check(1ull << 63 | 1, all));
}

/* Old processors end at a small leaf: nothing above it is asked for or shown. */
static void read_old(void *context, uint32_t leaf, uint32_t subleaf, struct cpuid_regs *out)
{
    (void)context;
    (void)subleaf;
    assert_true(leaf <= 5 || (leaf >= 0x80000000 && leaf <= 0x80000004));
    *out = (struct cpuid_regs){leaf < 0x80000000 ? 5 : 0x80000004, 0, ~0u, ~0u};
}

static void small_maximum_leaf(void **state)
{
    const struct cpuid_source source = {read_old, NULL};
    struct cpuid_policy policy;
    struct cpuid_regs regs = {1, 2, 3, 4};

    (void)state;
    cpuid_policy_init(&policy, &all_controls, &source);
    assert_int_equal(policy.xcr0_supported, 0);
    cpuid_policy_apply(&policy, 7, 0, &running, &regs);
    assert_regs(regs, 0, 0, 0, 0);
    regs = (struct cpuid_regs){1, 2, 3, 4};
    cpuid_policy_apply(&policy, 0x80000008, 0, &running, &regs);
    assert_regs(regs, 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skylake_is_shown_without_what_we_keep),
        cmocka_unit_test(hidden_leaves_are_zero),
        cmocka_unit_test(unknown_bits_are_hidden),
        cmocka_unit_test(controls_decide),
        cmocka_unit_test(each_control_shows_its_own),
        cmocka_unit_test(guest_state_is_reflected),
        cmocka_unit_test(xsave_leaves_fit_the_shown_components),
        cmocka_unit_test(cr4_follows_the_shown_features),
        cmocka_unit_test(xsetbv_rules),
        cmocka_unit_test(small_maximum_leaf),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
