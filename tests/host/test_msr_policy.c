/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/msr_policy.c vmx/msr_table.c vmx/msr_bitmap.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/bits.h"
#include "core/compiler.h"
#include "core/msr.h"
#include "vmx/msr_bitmap.h"
#include "vmx/msr_policy.h"

static struct msr_policy_context full_context(void)
{
    struct cpuid_policy cpuid = {
        .shows_x2apic = true,
        .shows_pmu = true,
        .shows_cet = true,
        .shows_user_wait = true,
        .shows_xsaves = true,
        .xss_supported = XSS_CET_U | XSS_CET_S,
    };
    struct msr_policy_context context;

    msr_policy_context_init(&context, &cpuid, 0x0F000C0A);
    return context;
}

static struct msr_policy_context bare_context(void)
{
    struct cpuid_policy cpuid = {0};
    struct msr_policy_context context;

    msr_policy_context_init(&context, &cpuid, 0);
    return context;
}

static void assert_rule(const struct msr_policy_context *context, uint32_t msr,
                        enum msr_action read, enum msr_action write, enum msr_handler handler)
{
    struct msr_rule rule = msr_policy_lookup(context, msr);

    assert_int_equal(rule.read, read);
    assert_int_equal(rule.write, write);
    assert_int_equal(rule.handler, handler);
}

static void table_is_sorted_and_sound(void **state)
{
    struct msr_policy_context context = full_context();
    struct msr_range range;
    uint32_t next = 0;
    unsigned int i;

    (void)state;
    context.mc_banks = 255; /* the largest that the MSR can hold */
    for (i = 0; msr_policy_range(&context, i, &range); i++) {
        bool emulates = range.rule.read == MSR_EMULATE || range.rule.write == MSR_EMULATE;

        assert_true(range.first >= next);
        assert_true(range.last >= range.first);
        assert_true(range.last <= 0x1FFF || range.first >= 0xC0000000);
        assert_int_equal(emulates, range.rule.handler != MSR_HANDLER_NONE);
        next = range.last + 1;
    }
    assert_true(i > 60);
}

static void what_is_not_listed_faults(void **state)
{
    static const uint32_t refused[] = {
        MSR_IA32_SMM_MONITOR_CTL,
        0x09E,
        MSR_IA32_VMX_BASIC,
        MSR_IA32_VMX_VMFUNC,
        MSR_IA32_VMX_LAST,
        MSR_IA32_DS_AREA,
        MSR_IA32_PEBS_ENABLE,
        0x3F2,
        0x560,
        0x570,
        0x580,
        0x08C,
        0x0ED,
        0x7A5,
        0xD93,
        0x17D0,
        0x17D1,
        0x6E1,
        0x14CE,
        0x1200,
        0x985,
        0xC90,
        MSR_IA32_SMRR_PHYSBASE,
        MSR_IA32_SMRR_PHYSMASK,
        0x40000000,
        0x40000001,
        0x400000FF,
        0xC0000085,
        0xC0000104,
        0xC0010010,
        0x2000,
        0xBFFFFFFF,
        0xFFFFFFFF,
        0x840,
        0x8FF,
        0x801,
    };
    struct msr_policy_context context = full_context();

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(refused); i++) {
        assert_rule(&context, refused[i], MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
    }
}

static void listed_ones_have_their_rule(void **state)
{
    struct msr_policy_context c = full_context();

    (void)state;
    assert_rule(&c, MSR_IA32_TIME_STAMP_COUNTER, MSR_PASS, MSR_EMULATE, MSR_HANDLER_TSC);
    assert_rule(&c, MSR_IA32_TSC_ADJUST, MSR_PASS, MSR_EMULATE, MSR_HANDLER_TSC_ADJUST);
    assert_rule(&c, MSR_IA32_APIC_BASE, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_APIC_BASE);
    assert_rule(&c, MSR_IA32_FEATURE_CONTROL, MSR_EMULATE, MSR_FAULT, MSR_HANDLER_FEATURE_CONTROL);
    assert_rule(&c, MSR_IA32_BIOS_UPDT_TRIG, MSR_FAULT, MSR_EMULATE, MSR_HANDLER_SWALLOW);
    assert_rule(&c, MSR_IA32_MTRRCAP, MSR_EMULATE, MSR_FAULT, MSR_HANDLER_MTRR);
    assert_rule(&c, 0x20F, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_MTRR);
    assert_rule(&c, 0x26B, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_MTRR);
    assert_rule(&c, MSR_IA32_MTRR_DEF_TYPE, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_MTRR);
    assert_rule(&c, MSR_IA32_PAT, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_DEBUGCTL, MSR_PASS, MSR_EMULATE, MSR_HANDLER_DEBUGCTL);
    assert_rule(&c, MSR_IA32_MISC_ENABLE, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_FILTER);
    assert_rule(&c, MSR_IA32_ARCH_CAPABILITIES, MSR_EMULATE, MSR_FAULT, MSR_HANDLER_FILTER);
    assert_rule(&c, MSR_IA32_XSS, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_FILTER);
    assert_rule(&c, MSR_IA32_EFER, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_KERNEL_GS_BASE, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_TSC_AUX, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_TSC_DEADLINE, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, 0x0CE, MSR_PASS, MSR_FAULT, MSR_HANDLER_NONE);
    assert_rule(&c, 0x610, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, 0x611, MSR_PASS, MSR_FAULT, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_X2APIC_EOI, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_X2APIC_SELF_IPI, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, MSR_IA32_X2APIC_ICR, MSR_EMULATE, MSR_EMULATE, MSR_HANDLER_X2APIC_ICR);
    assert_rule(&c, MSR_IA32_X2APIC_LVT_PMI, MSR_PASS, MSR_EMULATE, MSR_HANDLER_X2APIC_LVT_PMI);
    assert_rule(&c, 0x835, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&c, 0x831, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
}

static void conditions_decide(void **state)
{
    static const uint32_t conditional[] = {
        MSR_IA32_PMC0, MSR_IA32_PERFEVTSEL0,    MSR_IA32_PERF_GLOBAL_CTRL, 0x309, 0x4C1, 0x680,
        0x6A0,         MSR_IA32_UMWAIT_CONTROL, MSR_IA32_X2APIC_ICR,       0x802, 0x280, 0x400,
    };
    struct msr_policy_context full = full_context();
    struct msr_policy_context bare = bare_context();

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(conditional); i++) {
        assert_int_not_equal(msr_policy_lookup(&full, conditional[i]).read, MSR_FAULT);
        assert_rule(&bare, conditional[i], MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
    }
    assert_rule(&bare, MSR_IA32_XSS, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
    full.icr_passes = true;
    assert_rule(&full, MSR_IA32_X2APIC_ICR, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    full.x2apic_passes = false;
    assert_rule(&full, MSR_IA32_X2APIC_ICR, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
}

static void machine_check_banks_are_counted(void **state)
{
    struct msr_policy_context context = full_context();

    (void)state;
    assert_int_equal(context.mc_banks, 10);
    assert_rule(&context, 0x400 + 39, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&context, 0x400 + 40, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
    assert_rule(&context, 0x289, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&context, 0x28A, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
    context.mc_banks = 255;
    assert_rule(&context, 0x47F, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE);
    assert_rule(&context, MSR_IA32_VMX_BASIC, MSR_FAULT, MSR_FAULT, MSR_HANDLER_NONE);
}

static void filters_hide_and_refuse(void **state)
{
    struct msr_policy_context context = full_context();
    uint64_t out = 0;

    (void)state;
    assert_int_equal(msr_filter_read(&context, MSR_IA32_ARCH_CAPABILITIES, ~0ull) & BIT64(16), 0);
    assert_int_equal(msr_filter_read(&context, MSR_IA32_ARCH_CAPABILITIES, 0x2B), 0x2B);
    assert_int_equal(msr_filter_read(&context, MSR_IA32_PERF_CAPABILITIES, 0x33C5), 0x3005);
    assert_int_equal(msr_filter_read(&context, MSR_IA32_MISC_ENABLE, 0x850089), 0x851889);
    assert_int_equal(msr_filter_read(&context, MSR_IA32_XSS, ~0ull), XSS_CET_U | XSS_CET_S);
    assert_true(msr_filter_write(&context, MSR_IA32_XSS, XSS_CET_U, 0, &out));
    assert_int_equal(out, XSS_CET_U);
    assert_false(msr_filter_write(&context, MSR_IA32_XSS, XSS_PT, 0, &out));
    assert_false(msr_filter_write(&context, MSR_IA32_PERF_CAPABILITIES, 0, 0, &out));
    assert_true(
        msr_filter_write(&context, MSR_IA32_MISC_ENABLE, 0x851889 & ~BIT64(0), 0x850089, &out));
    assert_int_equal(out, 0x850088); /* only the guest's bits change */
    assert_true(msr_filter_write(&context, MSR_IA32_MISC_ENABLE, BIT64(34), 0, &out));
    assert_int_equal(out, 0); /* NX cannot be switched off, */
    assert_true(msr_filter_write(&context, MSR_IA32_MISC_ENABLE, 0, BIT64(34), &out));
    assert_int_equal(out, 0); /* but on */
}

static void debugctl_cannot_trace_to_memory(void **state)
{
    (void)state;
    assert_true(msr_debugctl_check(0));
    assert_true(msr_debugctl_check(0x1801));
    assert_false(msr_debugctl_check(BIT64(6)));
    assert_false(msr_debugctl_check(BIT64(7)));
    assert_false(msr_debugctl_check(BIT64(8)));
    assert_false(msr_debugctl_check(BIT64(63)));
}

/* What the processor does with the page (SDM volume 3, "MSR-Bitmap Address"). */
static bool exits(const uint8_t *page, uint32_t msr, bool is_write)
{
    uint32_t bit = msr & 0x1FFF;
    uint32_t part = (is_write ? 2048u : 0u) + (msr >= 0xC0000000 ? 1024u : 0u);

    return (page[part + bit / 8] >> (bit % 8) & 1) != 0;
}

/* Every MSR of both ranges: the bitmap says what the policy says. */
static void bitmap_follows_the_policy(void **state)
{
    struct msr_policy_context contexts[2] = {full_context(), bare_context()};
    static uint8_t page[MSR_BITMAP_BYTES];

    (void)state;
    for (unsigned int c = 0; c < 2; c++) {
        msr_bitmap_build(page, &contexts[c]);
        for (uint32_t i = 0; i < 0x4000; i++) {
            uint32_t msr = i < 0x2000 ? i : 0xC0000000 + i - 0x2000;
            struct msr_rule rule = msr_policy_lookup(&contexts[c], msr);

            assert_int_equal(exits(page, msr, false), rule.read != MSR_PASS);
            assert_int_equal(exits(page, msr, true), rule.write != MSR_PASS);
        }
    }
}

/* The layout of the page, SDM "MSR-Bitmap Address". */
static void bitmap_bits_are_where_the_sdm_puts_them(void **state)
{
    static const struct {
        uint32_t msr;
        bool is_write;
        unsigned int byte;
        uint8_t mask;
    } bits[] = {
        {0x0, false, 0, 0x01},           {0x1FFF, false, 1023, 0x80},
        {0xC0000000, false, 1024, 0x01}, {0xC0001FFF, false, 2047, 0x80},
        {0x1B, true, 2048 + 3, 0x08},    {0xC0000080, true, 3072 + 16, 0x01},
    };
    static uint8_t page[MSR_BITMAP_BYTES];

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(bits); i++) {
        memset(page, 0, sizeof(page));
        msr_bitmap_set(page, bits[i].msr, bits[i].is_write, true);
        assert_int_equal(page[bits[i].byte], bits[i].mask);
        page[bits[i].byte] = 0xFF;
        msr_bitmap_set(page, bits[i].msr, bits[i].is_write, false);
        assert_int_equal(page[bits[i].byte], (uint8_t)~bits[i].mask);
    }
    memset(page, 0, sizeof(page));
    msr_bitmap_set(page, 0x2000, false, true);
    msr_bitmap_set(page, 0xC0002000, true, true);
    msr_bitmap_set(page, 0x40000000, true, true);
    for (unsigned int i = 0; i < sizeof(page); i++) {
        assert_int_equal(page[i], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sorted_and_sound),
        cmocka_unit_test(what_is_not_listed_faults),
        cmocka_unit_test(listed_ones_have_their_rule),
        cmocka_unit_test(conditions_decide),
        cmocka_unit_test(machine_check_banks_are_counted),
        cmocka_unit_test(filters_hide_and_refuse),
        cmocka_unit_test(debugctl_cannot_trace_to_memory),
        cmocka_unit_test(bitmap_follows_the_policy),
        cmocka_unit_test(bitmap_bits_are_where_the_sdm_puts_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
