/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/hypercall.c hyperv/flush_call.c hyperv/report.c
 * hyperv/msr.c hyperv/time.c hyperv/partition.c hyperv/overlay.c */
#include "tests/host/hv_fixture.h"

#include "hyperv/private.h"

/* The same refusals to 32-bit and to 64-bit code, whose paths the compiler keeps apart, and ways
 * that no guest goes by itself. */

static struct hv_world world;

#define UNDEFINED (~0ull) /* for #UD */

/* A call from 64-bit or 32-bit kernel code; returns the result value. */
static uint64_t call_from(bool is_64_bit, uint64_t control, uint64_t address)
{
    struct hyperv_caller caller = {0, true, is_64_bit};
    uint64_t gpr[GPR_COUNT] = {0};

    gpr[GPR_RCX] = is_64_bit ? control : (uint32_t)address;
    gpr[GPR_RDX] = is_64_bit ? address : control >> 32;
    gpr[GPR_RAX] = (uint32_t)control;
    gpr[GPR_RBX] = address >> 32;
    if (hyperv_hypercall(&world.vp, &caller, gpr, world.buffer) == HYPERV_RESULT_UD) {
        return UNDEFINED;
    }
    return is_64_bit ? gpr[GPR_RAX] : gpr[GPR_RDX] << 32 | gpr[GPR_RAX];
}

struct row {
    uint64_t control;
    uint64_t address;
    uint64_t result;
};

static void test_refusals(void **context)
{
    static const struct row table[] = {
        {0x2, INPUT, 0},
        {0x100000003ull, INPUT, 0x100000000ull},
        {0xBEEF, INPUT, 2},
        {0x8001, INPUT, 6},
        {0x5C, INPUT, 6},
        {0x800000000000BEEFull, INPUT, 3}, /* a reserved bit */
        {0x8000000000000002ull, INPUT, 3}, /* of a known call */
        {0x800000000000005Cull, INPUT, 3}, /* of one that is not granted */
        {0x100000002ull, INPUT, 3},        /* repetitions of a simple call */
        {0x3, INPUT, 3},                   /* none of a list */
        {0x0001000100000003ull, INPUT, 3}, /* start = count */
        {0x13, INPUT, 0},
        {0x0000000004000013ull, INPUT, 3}, /* larger than a page */
        {0x000001FE00000003ull, INPUT, 3},
        {0x2, INPUT + 4, 4},
        {0x2, INPUT + PAGE_BYTES - 16, 4},
        {0x2, RAM_BASE, 4}, /* the hypercall page */
        {0x2, RAM_BASE + RAM_HOLE * PAGE_BYTES, 4},
        {0x2, RAM_BASE + RAM_HOLE * PAGE_BYTES, 4}, /* asked for anew */
        {0x2, 1ull << PHYS_BITS, 4},
        {0x2, INPUT, 0},
        {0x2, INPUT, 0},
        {0x10002, INPUT, UNDEFINED},
    };

    (void)context;
    for (uint32_t is_64_bit = 0; is_64_bit < 2; is_64_bit++) {
        world_init_calls(&world);
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
            uint64_t result = call_from(is_64_bit != 0, table[i].control, table[i].address);

            if (result != table[i].result) {
                fail_msg("row %zu, %s bit: %llx", i, is_64_bit != 0 ? "64" : "32",
                         (unsigned long long)result);
            }
        }
        assert_int_equal(hyperv_calls_total(&world.vp, HYPERV_CALL_COUNT), ARRAY_LEN(table));
    }
}

/* The page with the input is remembered; each of the reasons to look again. */
static void test_page_is_remembered(void **context)
{
    (void)context;
    for (uint32_t is_64_bit = 0; is_64_bit < 2; is_64_bit++) {
        world_init_calls(&world);
        assert_int_equal(call_from(is_64_bit != 0, 2, INPUT), 0);
        assert_int_equal(call_from(is_64_bit != 0, 2, INPUT + 8), 0);
        assert_int_equal(world.lookups, 1);
        assert_int_equal(call_from(is_64_bit != 0, 2, INPUT + PAGE_BYTES), 0);
        assert_int_equal(world.lookups, 2);
        assert_int_equal(call_from(is_64_bit != 0, 2, RAM_END), 4);
        assert_int_equal(call_from(is_64_bit != 0, 2, RAM_END), 4);
        assert_int_equal(world.lookups, 4);
    }
}

/* Were a call of a feature that does not exist granted by mistake, it would still be refused. */
static void test_never_offered(void **context)
{
    (void)context;
    world_init_calls(&world);
    world.partition.privileges |= HV_POST_MESSAGES;
    world.partition.calls_granted = hyperv_find_granted_calls(&world.partition);
    assert_int_equal(call_from(true, 0x5C, INPUT), HV_STATUS_ACCESS_DENIED);
    assert_int_equal(call_from(false, 0x5C, INPUT), HV_STATUS_ACCESS_DENIED);
    assert_int_equal(world.vp.calls[HYPERV_CALL_POST_MESSAGE][HYPERV_OUTCOME_ACCESS_DENIED], 2);
    assert_int_equal(world.lookups, 1);
}

/* The sequence of the reference TSC page is never one of the two that mean nothing. */
static void test_sequence_wraps(void **context)
{
    static const uint32_t last[] = {UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX, 0};
    static const uint32_t next[] = {UINT32_MAX - 1, 1, 1, 1};

    (void)context;
    world_init_calls(&world);
    for (size_t i = 0; i < ARRAY_LEN(last); i++) {
        world.partition.tsc_sequence_last = last[i];
        hyperv_reference_tsc_agree(&world.vp, true, 0);
        assert_int_equal(atomic_load(&world.page.tsc_sequence), next[i]);
    }
}

/* A machine reset with nothing to take away waits for nobody. */
static void test_reset_of_nothing(void **context)
{
    (void)context;
    world_init(&world, &all_features, &usual_facts);
    hyperv_partition_reset(&world.vp);
    assert_int_equal(world.syncs, 0);
    world_init_calls(&world);
    world.syncs = 0;
    hyperv_partition_reset(&world.vp);
    assert_int_equal(world.syncs, 1);
}

/* The APIC may refuse a TPR too. */
static bool refuse_tpr(void *context, uint64_t value)
{
    (void)context;
    (void)value;
    return false;
}

static void test_tpr_refused(void **context)
{
    struct hyperv_ops ops = world_ops;

    (void)context;
    world_init_calls(&world);
    assert_true(writes(&world, HV_X64_MSR_TPR, 0x20));
    ops.apic_write_tpr = refuse_tpr;
    world.partition.ops = &ops;
    assert_false(writes(&world, HV_X64_MSR_TPR, 0x20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),         cmocka_unit_test(test_page_is_remembered),
        cmocka_unit_test(test_never_offered),    cmocka_unit_test(test_sequence_wraps),
        cmocka_unit_test(test_reset_of_nothing), cmocka_unit_test(test_tpr_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
