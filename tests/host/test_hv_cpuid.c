/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/cpuid.c hyperv/partition.c hyperv/hypercall.c hyperv/flush_call.c hyperv/time.c
 * hyperv/overlay.c hyperv/msr.c hyperv/hypercall_page.c */
#include "tests/host/hv_fixture.h"

static struct hv_world world;

static void check_leaf(uint32_t leaf, uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    struct cpuid_regs regs = hyperv_cpuid(&world.partition, leaf);

    assert_int_equal(regs.eax, eax);
    assert_int_equal(regs.ebx, ebx);
    assert_int_equal(regs.ecx, ecx);
    assert_int_equal(regs.edx, edx);
}

static void test_worked_values(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    check_leaf(0x40000000, 0x40000006, 0x7263694D, 0x666F736F, 0x76482074);
    check_leaf(0x40000001, 0x31237648, 0, 0, 0);
    check_leaf(0x40000002, 0x3839, 0x000A0000, 0, 0);
    check_leaf(0x40000003, 0x8A73, 0, 0, 0x00040100);
    check_leaf(0x40000004, 0x804, 0xFFFFFFFF, 0, 0);
    check_leaf(0x40000005, 4096, 8, 0, 0);
    check_leaf(0x40000006, 0xA, 0, 0, 0);
    for (uint32_t leaf = 0x40000007; leaf <= 0x400000FF; leaf++) {
        check_leaf(leaf, 0, 0, 0, 0);
    }
}

static void test_off(void **context)
{
    struct hyperv_features off = all_features;
    struct cpuid_regs regs = {1, 2, 3, 0x104};

    (void)context;
    off.is_on = false;
    world_init(&world, &off, &usual_facts);
    for (uint32_t leaf = 0x40000000; leaf <= 0x400000FF; leaf++) {
        check_leaf(leaf, 0, 0, 0, 0);
    }
    hyperv_cpuid_adjust(&world.partition, 1, &regs);
    hyperv_cpuid_adjust(&world.partition, 0x80000007, &regs);
    assert_int_equal(regs.ecx, 3);
    assert_int_equal(regs.edx, 0x104);
    assert_false(world.partition.features.tlbflush);
}

/* Each switch takes away its bits and no others. */
static void test_switches(void **context)
{
    struct {
        size_t at;
        uint32_t eax3, edx3, eax4;
    } table[] = {
        {offsetof(struct hyperv_features, tlbflush), 0x8A73, 0x40100, 0},
        {offsetof(struct hyperv_features, time), 0x8871, 0x40100, 0x804},
        {offsetof(struct hyperv_features, frequencies), 0x8273, 0x40000, 0x804},
        {offsetof(struct hyperv_features, vapic), 0x8A63, 0x40100, 0x804},
        {offsetof(struct hyperv_features, vpindex), 0x8A33, 0x40100, 0},
        {offsetof(struct hyperv_features, runtime), 0x8A72, 0x40100, 0x804},
        {offsetof(struct hyperv_features, tsc_invariant), 0x0A73, 0x40100, 0x804},
    };

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct hyperv_features features = all_features;

        *(bool *)((char *)&features + table[i].at) = false;
        world_init(&world, &features, &usual_facts);
        check_leaf(0x40000003, table[i].eax3, 0, 0, table[i].edx3);
        check_leaf(0x40000004, table[i].eax4, 0xFFFFFFFF, 0, 0);
    }
}

/* Extended ranges are a bit in EDX and one in EBX, and nothing without the flush calls. */
static void test_input_forms(void **context)
{
    struct hyperv_features features = all_features;

    (void)context;
    features.xmm_input = true;
    world_init(&world, &features, &usual_facts);
    check_leaf(0x40000003, 0x8A73, 0, 0, 0x00040110);
    features.tlbflush_ext = true;
    world_init(&world, &features, &usual_facts);
    check_leaf(0x40000003, 0x8A73, 0x8000, 0, 0x00044110);
    features.tlbflush = false;
    world_init(&world, &features, &usual_facts);
    check_leaf(0x40000003, 0x8A73, 0, 0, 0x00040110);
}

static void test_reset_is_shown(void **context)
{
    struct hyperv_features features = all_features;

    (void)context;
    features.reset = true;
    world_init(&world, &features, &usual_facts);
    check_leaf(0x40000003, 0x8AF3, 0, 0, 0x40100);
}

static void test_what_the_machine_lacks(void **context)
{
    struct hyperv_facts facts = usual_facts;

    (void)context;
    facts.is_tsc_invariant = false;
    world_init(&world, &all_features, &facts);
    check_leaf(0x40000003, 0x0873, 0, 0, 0x40100); /* neither TSC page nor control */
    facts = usual_facts;
    facts.apic_hz = 0;
    world_init(&world, &all_features, &facts);
    check_leaf(0x40000003, 0x8273, 0, 0, 0x40000);
    facts = usual_facts;
    facts.tsc_hz = 0;
    world_init(&world, &all_features, &facts);
    check_leaf(0x40000003, 0x8070, 0, 0, 0x40000);
    facts.tsc_hz = 10000000;
    world_init(&world, &all_features, &facts);
    check_leaf(0x40000003, 0x8870, 0, 0, 0x40100);
}

static uint32_t adjusted_edx(uint32_t edx)
{
    struct cpuid_regs regs = {0, 0, 0, edx};

    hyperv_cpuid_adjust(&world.partition, 0x80000007, &regs);
    return regs.edx;
}

static void test_architectural_leaves(void **context)
{
    struct hyperv_features features = all_features;
    struct cpuid_regs regs = {1, 2, 3, 4};

    (void)context;
    world_init(&world, &all_features, &usual_facts);
    hyperv_cpuid_adjust(&world.partition, 1, &regs);
    assert_int_equal(regs.ecx, 0x80000003);
    hyperv_cpuid_adjust(&world.partition, 7, &regs);
    assert_int_equal(regs.eax, 1);
    assert_int_equal(regs.ebx, 2);
    assert_int_equal(regs.ecx, 0x80000003);
    assert_int_equal(regs.edx, 4);
    assert_int_equal(adjusted_edx(0x101), 1);
    assert_true(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 1));
    assert_int_equal(adjusted_edx(0x101), 0x101);
    assert_int_equal(adjusted_edx(0), 0);
    features.tsc_invariant = false;
    world_init(&world, &features, &usual_facts);
    assert_int_equal(adjusted_edx(0x101), 0x101);
}

static void test_ranges(void **context)
{
    (void)context;
    assert_false(hyperv_has_leaf(0x3FFFFFFF));
    assert_true(hyperv_has_leaf(0x40000000));
    assert_true(hyperv_has_leaf(0x400000FF));
    assert_false(hyperv_has_leaf(0x40000100));
    assert_false(hyperv_has_msr(0x3FFFFFFF));
    assert_true(hyperv_has_msr(0x40000000));
    assert_true(hyperv_has_msr(0x400FFFFF));
    assert_false(hyperv_has_msr(0x40100000));
}

static void test_hypercall_page(void **context)
{
    static uint8_t page[PAGE_BYTES];

    (void)context;
    hyperv_hypercall_page_fill(page);
    assert_memory_equal(page, "\x0F\x01\xC1\xC3", 4);
    for (size_t i = 4; i < PAGE_BYTES; i++) {
        assert_int_equal(page[i], 0xCC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_values),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_input_forms),
        cmocka_unit_test(test_reset_is_shown),
        cmocka_unit_test(test_what_the_machine_lacks),
        cmocka_unit_test(test_architectural_leaves),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_hypercall_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
