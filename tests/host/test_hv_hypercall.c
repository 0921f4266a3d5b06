/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/hypercall.c hyperv/flush_call.c hyperv/report.c
 * hyperv/msr.c hyperv/time.c hyperv/partition.c hyperv/overlay.c */
#include "tests/host/hv_fixture.h"

static struct hv_world world;
static const struct hyperv_caller kernel = {0, true, true};

static uint64_t *input_words(void)
{
    return (uint64_t *)(void *)(world.ram + (INPUT - RAM_BASE));
}

/* A call in 64-bit code that is not #UD; returns the result value. */
static uint64_t call_at(uint64_t control, uint64_t address)
{
    uint64_t gpr[GPR_COUNT], before[GPR_COUNT];

    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        gpr[i] = 0x1111111111111111ull * i;
    }
    gpr[GPR_RCX] = control;
    gpr[GPR_RDX] = address;
    memcpy(before, gpr, sizeof(gpr));
    assert_int_equal(hyperv_hypercall(&world.vp, &kernel, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal(world.buffer[512], 0x5AFE5AFE5AFE5AFEull);
    assert_memory_equal(gpr + 1, before + 1, sizeof(gpr) - sizeof(gpr[0]));
    assert_int_equal(gpr[GPR_RAX] & ~0x00000FFF0000FFFFull, 0);
    return gpr[GPR_RAX];
}

static uint64_t call(uint64_t control)
{
    return call_at(control, INPUT);
}

static bool is_undefined(const struct hyperv_caller *caller, uint64_t control)
{
    uint64_t gpr[GPR_COUNT] = {0};
    uint64_t before[GPR_COUNT];
    bool is_ud;

    gpr[GPR_RCX] = control;
    gpr[GPR_RAX] = control;
    gpr[GPR_RDX] = INPUT;
    memcpy(before, gpr, sizeof(gpr));
    is_ud = hyperv_hypercall(&world.vp, caller, gpr, world.buffer) == HYPERV_RESULT_UD;
    if (is_ud) {
        assert_memory_equal(gpr, before, sizeof(gpr));
    }
    return is_ud;
}

static void test_modes(void **context)
{
    (void)context;
    world_init_calls(&world);
    for (uint8_t cpl = 0; cpl < 4; cpl++) {
        for (uint32_t bits = 0; bits < 4; bits++) {
            struct hyperv_caller caller = {cpl, (bits & 1) != 0, (bits & 2) != 0};

            assert_int_equal(is_undefined(&caller, 0xBEEF), cpl != 0 || (bits & 1) == 0);
        }
    }
    assert_true(writes(&world, HV_X64_MSR_HYPERCALL, RAM_BASE));
    assert_true(is_undefined(&kernel, 2));
    world_init(&world, &all_features, &usual_facts);
    assert_true(is_undefined(&kernel, 2));
    assert_int_equal(world.lookups + world.flushes, 0);
}

static void test_reserved_bits(void **context)
{
    static const uint32_t bits[] = {27, 28, 29, 30, 31, 44, 45, 46, 47, 60, 61, 62, 63};

    (void)context;
    world_init_calls(&world);
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        assert_int_equal(call(0x2 | 1ull << bits[i]), 3);
        assert_int_equal(call(0x100000003ull | 1ull << bits[i]), 3);
        assert_int_equal(call(0xBEEF | 1ull << bits[i]), 3);  /* before the code */
        assert_int_equal(call(0x1000B | 1ull << bits[i]), 3); /* before the privilege */
    }
    assert_int_equal(world.lookups + world.flushes, 0);
}

static void test_codes(void **context)
{
    static const uint16_t known[] = {2, 3, 8, 0xB, 0x13, 0x14, 0x15, 0x5C, 0x5D, 0x8001};
    static const uint16_t offered[] = {2, 3, 0x13, 0x14};

    (void)context;
    world_init_calls(&world);
    for (uint32_t code = 0; code < 0x10000; code++) {
        uint64_t expected = 2;

        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
            expected = known[i] == code ? 6 : expected;
        }
        for (size_t i = 0; i < ARRAY_LEN(offered); i++) {
            expected = offered[i] == code ? (code == 3 || code == 0x14 ? 3 : 0) : expected;
        }
        assert_int_equal(call(code), expected);
    }
}

/* Without the privilege it is 6, whatever else is wrong; a bad shape comes after it. */
static void test_flush_is_off(void **context)
{
    static const uint64_t controls[] = {0x2,  0x10002, 0x100000003ull, 0x3,
                                        0x13, 0x40013, 0x500050014ull};
    struct hyperv_features features = all_features;

    (void)context;
    features.tlbflush = false;
    world_init(&world, &features, &usual_facts);
    assert_true(writes(&world, HV_X64_MSR_GUEST_OS_ID, 1));
    assert_true(writes(&world, HV_X64_MSR_HYPERCALL, RAM_BASE | 1));
    for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
        assert_int_equal(call(controls[i]), 6);
    }
    assert_int_equal(world.lookups + world.flushes, 0);
}

struct shape {
    uint64_t control;
    uint64_t result;
};

static void test_shapes(void **context)
{
    static const struct shape table[] = {
        {0x0000000100000002ull, 3}, /* repetitions of a simple call */
        {0x0001000000000002ull, 3},
        {0x0001000200000002ull, 3},
        {0x0000000100000013ull, 3},
        {0x0000000000000003ull, 3}, /* no element */
        {0x0001000100000003ull, 3}, /* start = count */
        {0x0FFF000100000003ull, 3},
        {0x0000000000020002ull, 3}, /* variable header of a call without */
        {0x0000000100020003ull, 3},
        {0x0000000007FE0002ull, 3},
        {0x000001FE00000003ull, 3}, /* 510 elements: 4104 bytes */
        {0x00000FFF00000003ull, 3},
        {0x000001FD00000014ull, 3}, /* 509 */
        {0x000001FC00020014ull, 3}, /* 508 and a bank */
        {0x0000000004000013ull, 3}, /* 512 banks: the field's highest bit alone */
        {0x0000000007FE0013ull, 3}, /* 1023 banks */
        {0x00000FFF07FE0014ull, 3},
        {0x0000000C00010003ull, 3}, /* fast: 12 elements, 120 bytes */
        {0x0000000000170013ull, 3}, /* fast: 11 banks */
        {0x0000000600170014ull, 3},
        {0x000001FD00000003ull, 0x000001FD00000000ull}, /* 509 elements: a whole page */
        {0x01FC01FD00000003ull, 0x000001FD00000000ull}, /* the last of them */
    };

    (void)context;
    world_init_calls(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(call(table[i].control), table[i].result);
    }
    assert_int_equal(world.flushes, 2);
}

static void test_fast_is_undefined(void **context)
{
    static const uint64_t controls[] = {0x10002, 0x100010003ull, 0xB00010003ull,
                                        0x10013, 0x150013,       0x500050014ull};

    (void)context;
    world_init_calls(&world);
    for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
        assert_true(is_undefined(&kernel, controls[i]));
    }
    assert_int_equal(world.lookups + world.flushes, 0);
}

/* hyperv-interface's samples. */
static void test_samples(void **context)
{
    uint64_t *words = input_words();

    (void)context;
    world_init_calls(&world);
    memset(words, 0, PAGE_BYTES);
    assert_int_equal(call(0x0000000000000002ull), 0);
    assert_true(is_undefined(&kernel, 0x0000000000010002ull));
    assert_int_equal(call(0x0000000300000003ull), 0x0000000300000000ull);
    assert_int_equal(call(0x0002000300000003ull), 0x0000000300000000ull);
    assert_int_equal(call(0x0000000000040013ull), 3);
    words[3] = 0xA;
    assert_int_equal(call(0x0000000000040013ull), 0);
    assert_true(is_undefined(&kernel, 0x0000000500050014ull));
    assert_int_equal(call(0x000000000001000Bull), 6);
    assert_int_equal(call(0x0000000000030015ull), 6);
    assert_int_equal(call(0x0000000500040014ull), 0x0000000500000000ull);
}

static void test_addresses(void **context)
{
    uint64_t top = RAM_BASE + 2 * PAGE_BYTES;

    (void)context;
    world_init_calls(&world);
    for (uint64_t low = 1; low < 8; low++) {
        assert_int_equal(call_at(2, INPUT + low), 4);
    }
    assert_int_equal(call_at(2, top - 16), 4); /* crosses by 8 bytes */
    assert_int_equal(call_at(2, top - 8), 4);
    assert_int_equal(call_at(0x1FD00000003ull, INPUT + 8), 4);
    assert_int_equal(call_at(2, 1ull << PHYS_BITS), 4);
    assert_int_equal(call_at(2, ~0ull - 7), 4);
    assert_int_equal(call_at(2, RAM_BASE), 4); /* the hypercall page */
    assert_int_equal(world.lookups, 0);
    assert_int_equal(call_at(2, RAM_BASE + RAM_HOLE * PAGE_BYTES), 4);
    assert_int_equal(call_at(2, RAM_END), 4);
    assert_int_equal(world.lookups, 2);
    assert_true(writes(&world, HV_X64_MSR_REFERENCE_TSC, INPUT | 1));
    assert_int_equal(call_at(2, INPUT + 64), 4);
    assert_true(writes(&world, HV_X64_MSR_REFERENCE_TSC, INPUT));
    assert_int_equal(world.flushes, 0);
    assert_int_equal(call_at(2, INPUT + 64), 0);
    assert_int_equal(call_at(2, top - 24), 0);
    assert_int_equal(world.flushes, 2);
    /* A page that was found is not looked up again. */
    assert_int_equal(world.lookups, 3);
}

/* A guest in 32-bit code: pairs of registers, whose upper halves are not looked at. */
static void test_32_bit(void **context)
{
    struct hyperv_caller caller = {0, true, false};
    uint64_t rubbish = 0xDEADBEEF00000000ull;
    uint64_t gpr[GPR_COUNT];

    (void)context;
    world_init_calls(&world);
    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        gpr[i] = rubbish | i;
    }
    gpr[GPR_RDX] = rubbish | 0x00010003;
    gpr[GPR_RAX] = rubbish | 0x00000003;
    gpr[GPR_RBX] = rubbish;
    gpr[GPR_RCX] = rubbish | (uint32_t)INPUT;
    assert_int_equal(hyperv_hypercall(&world.vp, &caller, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal(gpr[GPR_RAX], 0);
    assert_int_equal(gpr[GPR_RDX], 3);
    assert_int_equal(gpr[GPR_RCX], rubbish | (uint32_t)INPUT);
    assert_int_equal(world.request.range_count, 2); /* from element 1 on */
    assert_int_equal(world.last_lookup, INPUT);
    /* EBX is the upper half. */
    gpr[GPR_RDX] = 0;
    gpr[GPR_RAX] = 2;
    gpr[GPR_RBX] = 0x7F;
    assert_int_equal(hyperv_hypercall(&world.vp, &caller, gpr, world.buffer), HYPERV_RESULT_DONE);
    assert_int_equal(gpr[GPR_RAX], 4);
    assert_int_equal(gpr[GPR_RDX], 0);
    assert_int_equal(world.last_lookup, 0x7Full << 32 | INPUT);
}

static void test_counters(void **context)
{
    struct hyperv_caller user = {3, true, true};
    uint64_t sum = 0;

    (void)context;
    world_init_calls(&world);
    assert_int_equal(call(2), 0);
    assert_int_equal(call(2), 0);
    assert_int_equal(call(0x100000002ull), 3);
    assert_int_equal(call_at(3 | 1ull << 32, INPUT + 1), 4);
    assert_int_equal(call(0xBEEF), 2);
    assert_int_equal(call(0x5C), 6);
    input_words()[1] = 8;
    assert_int_equal(call(2), 5);
    assert_true(is_undefined(&user, 2));
    assert_int_equal(world.vp.calls[HYPERV_CALL_FLUSH_SPACE][HYPERV_OUTCOME_SUCCESS], 2);
    assert_int_equal(world.vp.calls[HYPERV_CALL_FLUSH_SPACE][HYPERV_OUTCOME_INVALID_INPUT], 1);
    assert_int_equal(world.vp.calls[HYPERV_CALL_FLUSH_SPACE][HYPERV_OUTCOME_INVALID_PARAMETER], 1);
    assert_int_equal(world.vp.calls[HYPERV_CALL_FLUSH_LIST][HYPERV_OUTCOME_INVALID_ALIGNMENT], 1);
    assert_int_equal(world.vp.calls[HYPERV_CALL_UNKNOWN][HYPERV_OUTCOME_INVALID_CODE], 1);
    assert_int_equal(world.vp.calls[HYPERV_CALL_POST_MESSAGE][HYPERV_OUTCOME_ACCESS_DENIED], 1);
    assert_int_equal(world.vp.calls[HYPERV_CALL_UNKNOWN][HYPERV_OUTCOME_UNDEFINED], 1);
    assert_int_equal(hyperv_calls_total(&world.vp, HYPERV_CALL_FLUSH_SPACE), 4);
    assert_int_equal(hyperv_calls_failed(&world.vp, HYPERV_CALL_FLUSH_SPACE), 2);
    assert_int_equal(hyperv_calls_total(&world.vp, HYPERV_CALL_COUNT), 8);
    assert_int_equal(hyperv_calls_failed(&world.vp, HYPERV_CALL_COUNT), 6);
    for (uint32_t row = 0; row < HYPERV_CALL_COUNT; row++) {
        sum += hyperv_calls_total(&world.vp, (enum hyperv_call)row);
    }
    assert_int_equal(sum, 8);
    assert_string_equal(hyperv_call_name(HYPERV_CALL_FLUSH_LIST_EX), "FLUSH_LIST_EX");
    assert_string_equal(hyperv_call_name(HYPERV_CALL_UNKNOWN), "UNKNOWN");
    assert_string_equal(hyperv_call_name(HYPERV_CALL_COUNT), "?");
    assert_string_equal(hyperv_outcome_name(HYPERV_OUTCOME_UNDEFINED), "#UD");
    assert_string_equal(hyperv_outcome_name(HYPERV_OUTCOME_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),   cmocka_unit_test(test_reserved_bits),
        cmocka_unit_test(test_codes),   cmocka_unit_test(test_flush_is_off),
        cmocka_unit_test(test_shapes),  cmocka_unit_test(test_fast_is_undefined),
        cmocka_unit_test(test_samples), cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_32_bit),  cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
