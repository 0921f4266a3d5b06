/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/stats.c core/status.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/stats.h"
#include "core/status.h"

static void test_each_counter_is_its_own(void **context)
{
    (void)context;
    for (uint32_t counted = 0; counted < STAT_COUNT; counted++) {
        struct stats stats = {0};

        stats_count(&stats, (enum stat)counted);
        stats_count(&stats, (enum stat)counted);
        for (uint32_t stat = 0; stat < STAT_COUNT; stat++) {
            assert_int_equal(stats.counters[stat], stat == counted ? 2 : 0);
        }
        assert_int_equal(stats_exits_total(&stats), 0);
    }
}

static void test_exits_by_reason(void **context)
{
    struct stats stats = {0};

    (void)context;
    for (uint32_t reason = 0; reason < STATS_EXIT_REASONS; reason++) {
        stats_count_exit(&stats, reason);
        assert_int_equal(stats.exits[reason], 1);
        assert_int_equal(stats_exits_total(&stats), reason + 1);
    }
    for (uint32_t stat = 0; stat < STAT_COUNT; stat++) {
        assert_int_equal(stats.counters[stat], 0);
    }
}

/* Reasons that do not exist yet share the last slot; the largest 32-bit number is one of them. */
static void test_last_exit(void **context)
{
    struct stats stats = {0};

    (void)context;
    stats_count_exit(&stats, STATS_EXIT_REASONS - 1);
    stats_count_exit(&stats, 0);
    assert_int_equal(stats.exits[STATS_EXIT_REASONS - 1], 1);
    assert_int_equal(stats.exits[0], 1);
    assert_int_equal(stats_exits_total(&stats), 2);
}

static void test_total_is_64_bits(void **context)
{
    struct stats stats = {0};

    (void)context;
    stats.exits[0] = UINT32_MAX;
    stats.exits[STATS_EXIT_REASONS - 1] = UINT32_MAX;
    assert_true(stats_exits_total(&stats) == 0x1FFFFFFFEull);
}

static void test_counter_names(void **context)
{
    (void)context;
    assert_string_equal(stats_name(STAT_KICKS_SENT), "kicks sent");
    assert_string_equal(stats_name(STAT_NMIS_UNEXPLAINED), "NMIs that were no kick");
    for (uint32_t stat = 0; stat < STAT_COUNT; stat++) {
        assert_true(strlen(stats_name((enum stat)stat)) > 0);
        assert_string_not_equal(stats_name((enum stat)stat), "unknown counter");
        for (uint32_t other = 0; other < stat; other++) {
            assert_string_not_equal(stats_name((enum stat)stat), stats_name((enum stat)other));
        }
    }
    assert_string_equal(stats_name(STAT_COUNT), "unknown counter");
    assert_string_equal(stats_name((enum stat)0x7FFFFFFF), "unknown counter");
}

static void test_status_names(void **context)
{
    (void)context;
    assert_int_equal(STATUS_OK, 0);
    assert_string_equal(status_name(STATUS_OK), "success");
    assert_string_equal(status_name(STATUS_TIMED_OUT), "timed out");
    for (uint32_t status = 0; status < STATUS_COUNT; status++) {
        assert_true(strlen(status_name((enum status)status)) > 0);
        assert_string_not_equal(status_name((enum status)status), "unknown status");
        for (uint32_t other = 0; other < status; other++) {
            assert_string_not_equal(status_name((enum status)status),
                                    status_name((enum status)other));
        }
    }
    assert_string_equal(status_name(STATUS_COUNT), "unknown status");
    assert_string_equal(status_name((enum status)0x7FFFFFFF), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_counter_is_its_own),
        cmocka_unit_test(test_exits_by_reason),
        cmocka_unit_test(test_last_exit),
        cmocka_unit_test(test_total_is_64_bits),
        cmocka_unit_test(test_counter_names),
        cmocka_unit_test(test_status_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
