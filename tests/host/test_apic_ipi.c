/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/apic_ipi.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "vmx/apic_ipi.h"

static struct apic_ipi from_x2apic(uint64_t icr)
{
    struct apic_ipi ipi;

    assert_true(apic_ipi_from_x2apic(icr, &ipi));
    return ipi;
}

static struct apic_ipi from_xapic(uint32_t low, uint32_t high)
{
    struct apic_ipi ipi;

    apic_ipi_from_xapic(low, high, &ipi);
    return ipi;
}

/* What Linux and EDK II write to start a processor, and the fixed IPI. */
static void icr_values_are_decoded(void **state)
{
    struct apic_ipi ipi = from_xapic(0x0000C500, 0x03000000);

    (void)state;
    assert_int_equal(ipi.delivery, APIC_DELIVERY_INIT);
    assert_true(ipi.is_assert && ipi.is_level);
    assert_int_equal(ipi.destination, 3);
    assert_int_equal(ipi.shorthand, APIC_SHORTHAND_NONE);
    ipi = from_xapic(0x000C4687, 0);
    assert_int_equal(ipi.delivery, APIC_DELIVERY_STARTUP);
    assert_int_equal(ipi.vector, 0x87);
    assert_int_equal(ipi.shorthand, APIC_SHORTHAND_ALL_BUT_SELF);
    ipi = from_xapic(0x00000400, 0x01FFFFFF);
    assert_int_equal(ipi.delivery, APIC_DELIVERY_NMI);
    assert_int_equal(ipi.destination, 1);
    assert_false(ipi.is_x2apic);
    ipi = from_x2apic(0x00010002000008FD);
    assert_int_equal(ipi.delivery, APIC_DELIVERY_FIXED);
    assert_int_equal(ipi.vector, 0xFD);
    assert_true(ipi.is_logical && ipi.is_x2apic);
    assert_int_equal(ipi.destination, 0x00010002);
}

static void reserved_bits_fault_in_x2apic(void **state)
{
    struct apic_ipi ipi;

    (void)state;
    for (unsigned int bit = 0; bit < 64; bit++) {
        bool is_reserved = bit == 13 || bit == 16 || bit == 17 || (bit >= 20 && bit < 32);

        assert_int_equal(apic_ipi_from_x2apic(1ull << bit, &ipi), !is_reserved);
    }
    /* In xAPIC mode they are ignored. */
    ipi = from_xapic(0xFFF33400, 0);
    assert_int_equal(ipi.delivery, APIC_DELIVERY_NMI);
}

static void only_some_are_effective_or_ours(void **state)
{
    static const struct {
        uint32_t low;
        bool is_effective, is_software;
    } cases[] = {
        {0xC500, true, true},   {0x8500, false, true},  {0x4500, true, true},
        {0x0500, true, true},   {0x0610, true, true},   {0x0400, true, true},
        {0x00FD, true, false},  {0x01FD, true, false},  {0x0200, true, false},
        {0x0300, false, false}, {0x0700, false, false},
    };

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        struct apic_ipi ipi = from_xapic(cases[i].low, 0);

        assert_int_equal(apic_ipi_is_effective(&ipi), cases[i].is_effective);
        assert_int_equal(apic_ipi_is_software(&ipi), cases[i].is_software);
    }
}

static struct apic_identity xapic(uint32_t apic_id, uint32_t ldr, uint32_t dfr)
{
    return (struct apic_identity){apic_id, ldr, dfr, false, true};
}

static struct apic_identity x2apic(uint32_t apic_id)
{
    return (struct apic_identity){apic_id, apic_id >> 4 << 16 | 1u << (apic_id & 15), 0, true,
                                  true};
}

static void shorthands_go_by_the_sender(void **state)
{
    static const struct {
        uint32_t low;
        bool to_self, to_others;
    } cases[] = {{0x40400, true, false}, {0x80400, true, true}, {0xC0400, false, true}};
    struct apic_identity apic = xapic(2, 0, 0xFFFFFFFF);

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        struct apic_ipi ipi = from_xapic(cases[i].low, 0x09000000);

        apic.is_enabled = true;
        assert_int_equal(apic_ipi_matches(&ipi, true, &apic), cases[i].to_self);
        assert_int_equal(apic_ipi_matches(&ipi, false, &apic), cases[i].to_others);
        apic.is_enabled = false;
        assert_false(apic_ipi_matches(&ipi, true, &apic) || apic_ipi_matches(&ipi, false, &apic));
    }
}

static void physical_destinations(void **state)
{
    struct apic_identity two = xapic(2, 0, 0xFFFFFFFF);
    struct apic_identity big = x2apic(0x102);
    struct apic_ipi to_2 = from_xapic(0x400, 0x02000000);
    struct apic_ipi to_all = from_xapic(0x400, 0xFF000000);
    struct apic_ipi wide_to_102 = from_x2apic(0x0000010200000400);
    struct apic_ipi wide_to_ff = from_x2apic(0x000000FF00000400);
    struct apic_ipi wide_to_all = from_x2apic(0xFFFFFFFF00000400);

    (void)state;
    assert_true(apic_ipi_matches(&to_2, false, &two));
    assert_true(apic_ipi_matches(&to_2, true, &two));
    assert_false(apic_ipi_matches(&to_2, false, &big));
    assert_true(apic_ipi_matches(&to_all, false, &two));
    assert_true(apic_ipi_matches(&to_all, true, &two));
    assert_true(apic_ipi_matches(&wide_to_102, false, &big));
    assert_false(apic_ipi_matches(&wide_to_102, false, &two));
    assert_false(apic_ipi_matches(&wide_to_ff, false, &two));
    assert_false(apic_ipi_matches(&wide_to_ff, false, &big));
    assert_true(apic_ipi_matches(&wide_to_all, false, &big));
}

static void flat_and_cluster_models(void **state)
{
    struct apic_ipi to_6 = from_xapic(0xCFD, 0x06000000);
    struct apic_ipi to_12 = from_xapic(0xCFD, 0x12000000);
    struct apic_ipi to_ff = from_xapic(0xCFD, 0xFF000000);
    struct apic_identity flat = xapic(1, 0x02000000, 0xFFFFFFFF);
    struct apic_identity other = xapic(3, 0x08000000, 0xFFFFFFFF);
    struct apic_identity cluster = xapic(1, 0x12000000, 0x0FFFFFFF);
    struct apic_identity far_cluster = xapic(1, 0x22000000, 0x0FFFFFFF);
    struct apic_identity reset = xapic(1, 0, 0xFFFFFFFF);
    struct apic_identity odd_model = xapic(1, 0x12000000, 0x7FFFFFFF);

    (void)state;
    assert_true(apic_ipi_matches(&to_6, false, &flat));
    assert_false(apic_ipi_matches(&to_6, false, &other));
    assert_false(apic_ipi_matches(&to_6, false, &reset));
    assert_true(apic_ipi_matches(&to_12, false, &cluster));
    assert_false(apic_ipi_matches(&to_12, false, &far_cluster));
    assert_false(apic_ipi_matches(&to_6, false, &cluster));
    assert_false(apic_ipi_matches(&to_12, false, &odd_model));
    assert_true(apic_ipi_matches(&to_ff, false, &reset));
    assert_true(apic_ipi_matches(&to_ff, false, &far_cluster));
}

static void x2apic_clusters(void **state)
{
    struct apic_ipi ipi = from_x2apic(0x00020005000008FD); /* cluster 2, processors 0 and 2 */
    struct apic_ipi to_all = from_x2apic(0xFFFFFFFF000008FD);

    (void)state;
    for (uint32_t apic_id = 0; apic_id < 0x200; apic_id++) {
        struct apic_identity candidate = x2apic(apic_id);

        assert_int_equal(apic_ipi_matches(&ipi, false, &candidate),
                         apic_id == 0x20 || apic_id == 0x22);
        assert_true(apic_ipi_matches(&to_all, false, &candidate));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(icr_values_are_decoded),
        cmocka_unit_test(reserved_bits_fault_in_x2apic),
        cmocka_unit_test(only_some_are_effective_or_ours),
        cmocka_unit_test(shorthands_go_by_the_sender),
        cmocka_unit_test(physical_destinations),
        cmocka_unit_test(flat_and_cluster_models),
        cmocka_unit_test(x2apic_clusters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
