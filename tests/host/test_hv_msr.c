/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/msr.c hyperv/time.c hyperv/partition.c hyperv/overlay.c hyperv/hypercall.c
 * hyperv/flush_call.c */
#include "tests/host/hv_fixture.h"

#define ENABLE  HV_X64_MSR_PAGE_ENABLE
#define LOCKED  HV_X64_MSR_HYPERCALL_LOCKED
#define PAGE(n) (RAM_BASE + (n)*PAGE_BYTES)

static struct hv_world world;

struct access {
    uint32_t msr;
    bool reads;
    bool writes;    /* the value */
    uint64_t value; /* which must be accepted, where writes */
    size_t feature; /* the switch that grants it */
};

#define SWITCH(name) offsetof(struct hyperv_features, name)

static const struct access accesses[] = {
    {HV_X64_MSR_GUEST_OS_ID, true, true, 1, SWITCH(is_on)},
    {HV_X64_MSR_HYPERCALL, true, true, PAGE(1), SWITCH(is_on)},
    {HV_X64_MSR_VP_INDEX, true, false, 0, SWITCH(vpindex)},
    {HV_X64_MSR_RESET, true, true, 0, SWITCH(reset)},
    {HV_X64_MSR_VP_RUNTIME, true, false, 0, SWITCH(runtime)},
    {HV_X64_MSR_TIME_REF_COUNT, true, false, 0, SWITCH(time)},
    {HV_X64_MSR_REFERENCE_TSC, true, true, PAGE(2), SWITCH(time)},
    {HV_X64_MSR_TSC_FREQUENCY, true, false, 0, SWITCH(frequencies)},
    {HV_X64_MSR_APIC_FREQUENCY, true, false, 0, SWITCH(frequencies)},
    {HV_X64_MSR_EOI, false, true, 0, SWITCH(vapic)},
    {HV_X64_MSR_ICR, true, true, 0x0000000300004030, SWITCH(vapic)},
    {HV_X64_MSR_TPR, true, true, 0xFF, SWITCH(vapic)},
    {HV_X64_MSR_VP_ASSIST_PAGE, true, true, PAGE(3), SWITCH(vapic)},
    {HV_X64_MSR_TSC_INVARIANT_CONTROL, true, true, 1, SWITCH(tsc_invariant)},
};

static const struct access *access_of(uint32_t msr)
{
    for (size_t i = 0; i < ARRAY_LEN(accesses); i++) {
        if (accesses[i].msr == msr) {
            return &accesses[i];
        }
    }
    return NULL;
}

/* Every index: those that we have do what the table says, all others fault. */
static void test_all_indexes(void **context)
{
    struct hyperv_features features = all_features;

    (void)context;
    features.reset = true;
    world_init(&world, &features, &usual_facts);
    for (uint32_t msr = 0x40000000; msr < 0x40002000; msr++) {
        const struct access *access = access_of(msr);

        assert_int_equal(reads(&world, msr), access != NULL && access->reads);
        assert_int_equal(writes(&world, msr, access != NULL ? access->value : 0),
                         access != NULL && access->writes);
    }
    assert_false(reads(&world, 0x400FFFFF));
    assert_false(writes(&world, 0x400FFFFF, 0));
}

static void test_switches(void **context)
{
    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(accesses); i++) {
        struct hyperv_features features = all_features;

        features.reset = true;
        *(bool *)((char *)&features + accesses[i].feature) = false;
        world_init(&world, &features, &usual_facts);
        assert_false(reads(&world, accesses[i].msr));
        assert_false(writes(&world, accesses[i].msr, accesses[i].value));
    }
    world_init(&world, &all_features, &usual_facts);
    assert_false(reads(&world, HV_X64_MSR_RESET)); /* off unless asked for */
    assert_false(writes(&world, HV_X64_MSR_RESET, 1));
    assert_int_equal(world.resets, 0);
}

static void test_reset_values(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    assert_int_equal(read_ok(&world, HV_X64_MSR_GUEST_OS_ID), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_INDEX), 5);
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_REFERENCE_TSC), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_TSC_FREQUENCY), TSC_HZ);
    assert_int_equal(read_ok(&world, HV_X64_MSR_APIC_FREQUENCY), APIC_HZ);
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_ASSIST_PAGE), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL), 0);
}

static void set_os_id(uint64_t value)
{
    assert_true(writes(&world, HV_X64_MSR_GUEST_OS_ID, value));
    assert_int_equal(read_ok(&world, HV_X64_MSR_GUEST_OS_ID), value);
}

/* Writes and reads back. */
static void set_page(uint32_t msr, uint64_t value, uint64_t expected)
{
    assert_true(writes(&world, msr, value));
    assert_int_equal(read_ok(&world, msr), expected);
}

static void test_hypercall_needs_os_id(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(1) | ENABLE, PAGE(1));
    assert_int_equal(world.maps, 0);
    set_os_id(~0ull);
    assert_int_equal(world.maps, 0);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(1) | ENABLE, PAGE(1) | ENABLE);
    assert_int_equal(world.seen[1], HYPERV_OVERLAY_HYPERCALL);
    assert_int_equal(world.syncs, 1);
    set_os_id(7); /* another one changes nothing */
    assert_int_equal(world.seen[1], HYPERV_OVERLAY_HYPERCALL);
    set_os_id(0);
    assert_int_equal(world.seen[1], SHOWS_RAM);
    assert_int_equal(world.syncs, 2);
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), PAGE(1));
}

static void test_hypercall_moves(void **context)
{
    (void)context;
    world_init_calls(&world);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_HYPERCALL);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(4) | 0xFFC | ENABLE, PAGE(4) | ENABLE); /* RsvdP bits */
    assert_int_equal(world.seen[0], SHOWS_RAM);
    assert_int_equal(world.seen[4], HYPERV_OVERLAY_HYPERCALL);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(4) | ENABLE, PAGE(4) | ENABLE); /* the same again */
    assert_int_equal(world.maps, 2);
    assert_int_equal(world.syncs, 2);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(4), PAGE(4));
    assert_int_equal(world.seen[4], SHOWS_RAM);
    assert_int_equal(world.syncs, 3);
}

static void test_hypercall_refusals(void **context)
{
    (void)context;
    world_init_calls(&world);
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, 1ull << PHYS_BITS | ENABLE));
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, 1ull << 63));
    world.refuses_maps = true; /* such as hidden memory */
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, PAGE(4) | ENABLE));
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), RAM_BASE | ENABLE);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_HYPERCALL);
    assert_int_equal(world.syncs, 1);
    world.refuses_maps = false;
    assert_true(writes(&world, HV_X64_MSR_HYPERCALL, ((1ull << PHYS_BITS) - PAGE_BYTES) | ENABLE));
}

static void test_hypercall_lock(void **context)
{
    (void)context;
    world_init_calls(&world);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(2) | LOCKED | ENABLE, PAGE(2) | LOCKED | ENABLE);
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, PAGE(2) | LOCKED | ENABLE));
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, 0));
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, PAGE(3) | ENABLE));
    assert_int_equal(world.seen[2], HYPERV_OVERLAY_HYPERCALL);
    set_os_id(0); /* takes the page away all the same; the lock stays */
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), PAGE(2) | LOCKED);
    set_os_id(1);
    assert_false(writes(&world, HV_X64_MSR_HYPERCALL, PAGE(2) | ENABLE));
    hyperv_partition_reset(&world.vp);
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), 0);
    set_os_id(1);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(2) | ENABLE, PAGE(2) | ENABLE);
}

static void test_reference_tsc(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    set_page(HV_X64_MSR_REFERENCE_TSC, PAGE(6) | 0xFFE | ENABLE, PAGE(6) | ENABLE);
    assert_int_equal(world.seen[6], HYPERV_OVERLAY_REFERENCE_TSC);
    assert_int_equal(world.syncs, 1);
    /* Where there is nothing, it is accepted and is nowhere. */
    set_page(HV_X64_MSR_REFERENCE_TSC, 1ull << PHYS_BITS | ENABLE, 1ull << PHYS_BITS | ENABLE);
    assert_int_equal(world.seen[6], SHOWS_RAM);
    set_page(HV_X64_MSR_REFERENCE_TSC, PAGE(7) | ENABLE, PAGE(7) | ENABLE);
    world.refuses_maps = true;
    set_page(HV_X64_MSR_REFERENCE_TSC, PAGE(9) | ENABLE, PAGE(9) | ENABLE);
    assert_int_equal(world.seen[7], SHOWS_RAM);
    set_page(HV_X64_MSR_REFERENCE_TSC, 0, 0);
    assert_int_equal(world.maps, 2);
    assert_int_equal(world.unmaps, 2);
}

/* Both at one address: the hypercall page is seen, whichever came first. */
static void test_overlays_at_one_address(void **context)
{
    (void)context;
    world_init_calls(&world);
    set_page(HV_X64_MSR_REFERENCE_TSC, RAM_BASE | ENABLE, RAM_BASE | ENABLE);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_HYPERCALL);
    set_page(HV_X64_MSR_HYPERCALL, PAGE(1) | ENABLE, PAGE(1) | ENABLE);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_REFERENCE_TSC);
    assert_int_equal(world.seen[1], HYPERV_OVERLAY_HYPERCALL);
    set_page(HV_X64_MSR_HYPERCALL, RAM_BASE | ENABLE, RAM_BASE | ENABLE);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_HYPERCALL);
    assert_int_equal(world.seen[1], SHOWS_RAM);
    set_page(HV_X64_MSR_REFERENCE_TSC, 0, 0);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_HYPERCALL);
    set_page(HV_X64_MSR_REFERENCE_TSC, RAM_BASE | ENABLE, RAM_BASE | ENABLE);
    set_os_id(0);
    assert_int_equal(world.seen[0], HYPERV_OVERLAY_REFERENCE_TSC);
    set_page(HV_X64_MSR_REFERENCE_TSC, 0, 0);
    assert_int_equal(world.seen[0], SHOWS_RAM);
}

static void test_no_table_page_for_the_lower_overlay(void **context)
{
    (void)context;
    world_init_calls(&world);
    set_page(HV_X64_MSR_REFERENCE_TSC, RAM_BASE | ENABLE, RAM_BASE | ENABLE);
    world.refuses_maps = true;
    set_os_id(0);
    assert_int_equal(world.seen[0], SHOWS_RAM);
    set_page(HV_X64_MSR_REFERENCE_TSC, 0, 0); /* nothing left to unmap */
    assert_int_equal(world.unmaps, 1);
}

static void test_vp_assist_page(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    memset(world.ram, 0xAA, sizeof(world.ram));
    set_page(HV_X64_MSR_VP_ASSIST_PAGE, PAGE(3) | 0xFFE | ENABLE, PAGE(3) | ENABLE);
    assert_memory_equal(world.ram + 3 * PAGE_BYTES, "\0\0\0\0\xAA", 5);
    assert_false(writes(&world, HV_X64_MSR_VP_ASSIST_PAGE, PAGE(RAM_HOLE) | ENABLE));
    assert_false(writes(&world, HV_X64_MSR_VP_ASSIST_PAGE, 1ull << PHYS_BITS | ENABLE));
    assert_false(writes(&world, HV_X64_MSR_VP_ASSIST_PAGE, 0xFFFFFFFFFFFFF001ull));
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_ASSIST_PAGE), PAGE(3) | ENABLE);
    set_page(HV_X64_MSR_VP_ASSIST_PAGE, PAGE(RAM_HOLE), PAGE(RAM_HOLE)); /* off: never touched */
    assert_int_equal(world.ram[RAM_HOLE * PAGE_BYTES], 0xAA);
}

static void test_apic(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    assert_true(writes(&world, HV_X64_MSR_EOI, 0x12345678));
    assert_int_equal(world.eoi, 0x12345678);
    assert_false(writes(&world, HV_X64_MSR_EOI, 1ull << 32));
    assert_true(writes(&world, HV_X64_MSR_ICR, 0x05000000000040FDull));
    assert_int_equal(world.icr, 0x05000000000040FDull);
    assert_int_equal(read_ok(&world, HV_X64_MSR_ICR), 0x05000000000040FDull);
    assert_true(writes(&world, HV_X64_MSR_TPR, 0xE0));
    assert_int_equal(read_ok(&world, HV_X64_MSR_TPR), 0xE0);
    assert_false(writes(&world, HV_X64_MSR_TPR, 0x100));
    assert_false(writes(&world, HV_X64_MSR_TPR, 1ull << 63));
    world.refuses_apic = true;
    assert_false(writes(&world, HV_X64_MSR_EOI, 1));
    assert_false(writes(&world, HV_X64_MSR_ICR, ~0ull));
}

static void test_reset(void **context)
{
    struct hyperv_features features = all_features;

    (void)context;
    features.reset = true;
    world_init(&world, &features, &usual_facts);
    assert_true(writes(&world, HV_X64_MSR_RESET, 0));
    assert_false(writes(&world, HV_X64_MSR_RESET, 2));
    assert_false(writes(&world, HV_X64_MSR_RESET, 3));
    assert_int_equal(world.resets, 0);
    assert_true(writes(&world, HV_X64_MSR_RESET, 1));
    assert_int_equal(world.resets, 1);
    assert_int_equal(read_ok(&world, HV_X64_MSR_RESET), 0);
}

static void test_tsc_invariant_control(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    for (uint32_t bit = 1; bit < 64; bit++) {
        assert_false(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 1ull << bit));
    }
    assert_true(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 0));
    assert_true(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 1));
    assert_true(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 1));
    assert_false(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 0));
    assert_int_equal(read_ok(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL), 1);
}

static void test_machine_reset(void **context)
{
    (void)context;
    world_init_calls(&world);
    set_page(HV_X64_MSR_REFERENCE_TSC, PAGE(6) | ENABLE, PAGE(6) | ENABLE);
    set_page(HV_X64_MSR_VP_ASSIST_PAGE, PAGE(3) | ENABLE, PAGE(3) | ENABLE);
    assert_true(writes(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL, 1));
    world.syncs = 0;
    hyperv_partition_reset(&world.vp);
    hyperv_vp_reset(&world.vp);
    for (size_t i = 0; i < RAM_PAGES; i++) {
        assert_int_equal(world.seen[i], SHOWS_RAM);
    }
    assert_int_equal(world.syncs, 1);
    assert_int_equal(read_ok(&world, HV_X64_MSR_GUEST_OS_ID), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_HYPERCALL), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_REFERENCE_TSC), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_ASSIST_PAGE), 0);
    assert_int_equal(read_ok(&world, HV_X64_MSR_TSC_INVARIANT_CONTROL), 0);
    hyperv_partition_reset(&world.vp); /* nothing is left to take away */
    assert_int_equal(world.syncs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_indexes),
        cmocka_unit_test(test_switches),
        cmocka_unit_test(test_reset_values),
        cmocka_unit_test(test_hypercall_needs_os_id),
        cmocka_unit_test(test_hypercall_moves),
        cmocka_unit_test(test_hypercall_refusals),
        cmocka_unit_test(test_hypercall_lock),
        cmocka_unit_test(test_reference_tsc),
        cmocka_unit_test(test_overlays_at_one_address),
        cmocka_unit_test(test_no_table_page_for_the_lower_overlay),
        cmocka_unit_test(test_vp_assist_page),
        cmocka_unit_test(test_apic),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_tsc_invariant_control),
        cmocka_unit_test(test_machine_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
