/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/time.c hyperv/partition.c hyperv/overlay.c hyperv/msr.c hyperv/hypercall.c
 * hyperv/flush_call.c */
#include "hyperv/private.h"
#include "tests/host/hv_fixture.h"

static struct hv_world world;

/* What a guest computes from the page for its TSC. */
static uint64_t page_time(int64_t correction)
{
    uint64_t tsc = world.tsc + (uint64_t)correction;

    return (uint64_t)(((unsigned __int128)tsc * world.page.tsc_scale) >> 64) +
           (uint64_t)world.page.tsc_offset;
}

static uint64_t msr_time(void)
{
    return read_ok(&world, HV_X64_MSR_TIME_REF_COUNT);
}

static void test_scale(void **context)
{
    static const uint64_t rates[] = {10000001,
                                     19200000,
                                     1000000000,
                                     2000000000,
                                     2894561234,
                                     5000000000ull,
                                     0x7FFFFFFFFFFFFFFFull,
                                     0xFFFFFFFFFFFFFFFFull};

    (void)context;
    assert_int_equal(hyperv_scale_of(2000000000), 0x0147AE147AE147AEull);
    for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
        unsigned __int128 exact = ((unsigned __int128)10000000 << 64) / rates[i];

        assert_int_equal(hyperv_scale_of(rates[i]), (uint64_t)exact);
    }
    assert_int_equal(hyperv_units_of(~0ull, ~0ull), ~0ull - 1);
}

static void test_counts(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    assert_int_equal(msr_time(), 0);
    world.tsc += TSC_HZ;
    assert_in_range(msr_time(), 9999999, 10000001);
    world.tsc += 3600ull * 24 * 365 * TSC_HZ;
    assert_in_range(msr_time(), 365ull * 24 * 3600 * 10000000,
                    365ull * 24 * 3600 * 10000000 + 20000000);
}

static void test_strictly_increases(void **context)
{
    uint64_t last, now;

    (void)context;
    world_init(&world, &all_features, &usual_facts);
    world.tsc += 12345678;
    last = msr_time();
    for (uint32_t i = 0; i < 1000; i++) {
        /* An LP whose TSC is a little behind. */
        world.tsc += i % 3 == 0 ? 400 : (uint64_t)-100;
        now = msr_time();
        assert_true(now > last);
        last = now;
    }
}

static void test_page_waits_for_agreement(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    assert_int_equal(world.page.tsc_sequence, 0);
    world.tsc += 777777;
    hyperv_reference_tsc_agree(&world.vp, true, 0);
    assert_int_equal(world.page.tsc_sequence, 1);
    assert_int_equal(world.page.tsc_scale, 0x0147AE147AE147AEull);
    assert_int_equal(page_time(0), msr_time());
    hyperv_reference_tsc_agree(&world.vp, false, 0);
    assert_int_equal(world.page.tsc_sequence, 0);
    hyperv_reference_tsc_agree(&world.vp, true, 0);
    assert_int_equal(world.page.tsc_sequence, 2);
    for (size_t i = 0; i < ARRAY_LEN(world.page.reserved2); i++) {
        assert_int_equal(world.page.reserved2[i], 0);
    }
}

static void test_correction(void **context)
{
    static const int64_t corrections[] = {0, 1000000000, -1000000007 + 5, 1ll << 62, -1, 12345};
    uint64_t before;

    (void)context;
    world_init(&world, &all_features, &usual_facts);
    for (size_t i = 0; i < ARRAY_LEN(corrections); i++) {
        world.tsc += 50000000;
        before = msr_time();
        world.tsc += 2000;
        hyperv_reference_tsc_agree(&world.vp, false, 0);
        world.tsc += 2000;
        hyperv_reference_tsc_agree(&world.vp, true, corrections[i]);
        assert_int_equal(page_time(corrections[i]), msr_time());
        assert_in_range(page_time(corrections[i]), before + 19, before + 21);
        world.tsc += 98765432;
        assert_int_equal(page_time(corrections[i]), msr_time());
    }
}

static void test_sequence_skips_invalid(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    world.partition.tsc_sequence_last = 0xFFFFFFFD;
    hyperv_reference_tsc_agree(&world.vp, true, 0);
    assert_int_equal(world.page.tsc_sequence, 0xFFFFFFFE);
    hyperv_reference_tsc_agree(&world.vp, true, 0);
    assert_int_equal(world.page.tsc_sequence, 1);
}

static void test_no_page_without_invariant_tsc(void **context)
{
    struct hyperv_facts facts = usual_facts;

    (void)context;
    facts.is_tsc_invariant = false;
    world_init(&world, &all_features, &facts);
    hyperv_reference_tsc_agree(&world.vp, true, 0);
    assert_int_equal(world.page.tsc_sequence, 0);
}

static void test_restarts_at_reset(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    hyperv_reference_tsc_agree(&world.vp, true, 1000);
    world.tsc += 50 * TSC_HZ;
    assert_true(msr_time() > 400000000);
    hyperv_partition_reset(&world.vp);
    assert_in_range(msr_time(), 0, 1);
    world.tsc += TSC_HZ;
    assert_int_equal(page_time(1000), msr_time());
    assert_int_equal(world.page.tsc_sequence, 2);
}

static void test_runtime(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    world.tsc += TSC_HZ;
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 0);
    hyperv_vp_run_begin(&world.vp);
    world.tsc += TSC_HZ;
    hyperv_vp_run_begin(&world.vp); /* once more says nothing */
    assert_in_range(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 9999999, 10000000);
    hyperv_vp_run_end(&world.vp);
    hyperv_vp_run_end(&world.vp);
    world.tsc += 5 * TSC_HZ;
    assert_in_range(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 9999999, 10000000);
    hyperv_vp_run_begin(&world.vp);
    world.tsc += TSC_HZ;
    assert_in_range(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 19999999, 20000000);
    hyperv_vp_reset(&world.vp);
    assert_int_equal(read_ok(&world, HV_X64_MSR_VP_RUNTIME), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_strictly_increases),
        cmocka_unit_test(test_page_waits_for_agreement),
        cmocka_unit_test(test_correction),
        cmocka_unit_test(test_sequence_skips_invalid),
        cmocka_unit_test(test_no_page_without_invariant_tsc),
        cmocka_unit_test(test_restarts_at_reset),
        cmocka_unit_test(test_runtime),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
