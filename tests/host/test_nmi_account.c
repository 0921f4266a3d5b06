/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/nmi_account.h"

#define DOUBT_TICKS 1000u

/* One LP: what its kicks have counted, its account, and its TSC. */
struct fixture {
    struct nmi_account account;
    uint64_t started;
    uint64_t issued;
    uint64_t now;
};

static struct fixture make_fixture(uint64_t now)
{
    return (struct fixture){.account = {.doubt_ticks = DOUBT_TICKS}, .now = now};
}

static void kick(struct fixture *fixture)
{
    fixture->started++;
    fixture->issued++;
}

static bool arrive(struct fixture *fixture)
{
    return nmi_account_arrival(&fixture->account, fixture->started, fixture->issued, fixture->now);
}

static void test_kick_is_explained(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    for (uint32_t i = 0; i < 3; i++) {
        kick(&fixture);
        assert_true(arrive(&fixture));
        fixture.now += 10 * DOUBT_TICKS;
    }
    assert_int_equal(fixture.account.unexplained, 0);
}

static void test_without_kick_is_unexplained(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 1);
    /* An unexplained NMI opens no doubt. */
    fixture.now++;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 2);
    /* And takes nothing from a kick that comes later. */
    kick(&fixture);
    assert_true(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 2);
}

/* Two kicks, one NMI: both are accounted for, so that a platform NMI later is not taken for one. */
static void test_merged_kicks(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    kick(&fixture);
    kick(&fixture);
    assert_true(arrive(&fixture));
    fixture.now += DOUBT_TICKS + 1;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 1);
}

/* Kick 1 is taken; kick 2 is issued before the counters are read, so its NMI is latched and comes
 * when everything issued has been accounted for. */
static void test_latched_kick(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    kick(&fixture); /* taken here */
    kick(&fixture); /* latched */
    assert_true(arrive(&fixture));
    fixture.now += DOUBT_TICKS / 2;
    assert_true(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 0);
}

/* The same again while the latched one is handled: its doubt is its own. */
static void test_chain_of_latched_kicks(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    kick(&fixture);
    for (uint32_t i = 0; i < 20; i++) {
        kick(&fixture); /* before the counters are read */
        assert_true(arrive(&fixture));
        fixture.now += DOUBT_TICKS - 1;
    }
    assert_true(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 0);
}

/* The sender is between its two counters: the NMI may come before, or after, it counts the
 * second. */
static void test_sender_between_counters(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    fixture.started++;
    assert_true(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 0);
    fixture.issued++;
    fixture.now += 10 * DOUBT_TICKS;
    kick(&fixture);
    assert_true(arrive(&fixture));
    /* The second arrival has accounted for both. */
    fixture.now += DOUBT_TICKS + 1;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 1);
}

/* A kick issued between the two reads of the reader is in `issued` and not in `started`. */
static void test_kick_between_reads(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    kick(&fixture);
    assert_true(
        nmi_account_arrival(&fixture.account, fixture.started, fixture.issued + 1, fixture.now));
    fixture.started++;
    fixture.issued++;
    fixture.now += 1;
    assert_true(arrive(&fixture));
    fixture.now += DOUBT_TICKS;
    assert_false(arrive(&fixture));
}

/* The window is half open, and an arrival that it explains does not stretch it. */
static void test_end_of_doubt(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    kick(&fixture);
    assert_true(arrive(&fixture));
    fixture.now = 5000 + DOUBT_TICKS - 1;
    assert_true(arrive(&fixture));
    fixture.now = 5000 + DOUBT_TICKS;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 1);
}

static void test_no_doubt(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    fixture.account.doubt_ticks = 0;
    kick(&fixture);
    assert_true(arrive(&fixture));
    assert_false(arrive(&fixture));
}

/* The TSC passes 2^64 inside the window, and after it. */
static void test_tsc_wrap(void **context)
{
    struct fixture fixture = make_fixture(UINT64_MAX - 100);

    (void)context;
    kick(&fixture);
    assert_true(arrive(&fixture));
    fixture.now = UINT64_MAX;
    assert_true(arrive(&fixture));
    fixture.now += 200; /* 199, still in the window */
    assert_true(arrive(&fixture));
    fixture.now = UINT64_MAX - 100 + DOUBT_TICKS;
    assert_false(arrive(&fixture));
    assert_int_equal(fixture.account.unexplained, 1);
}

/* The counters pass 2^64 as well; only their difference counts. */
static void test_counter_wrap(void **context)
{
    struct fixture fixture = make_fixture(5000);

    (void)context;
    fixture.started = UINT64_MAX;
    fixture.issued = UINT64_MAX;
    fixture.account.seen = UINT64_MAX;
    kick(&fixture);
    assert_int_equal(fixture.started, 0);
    assert_true(arrive(&fixture));
    fixture.now += DOUBT_TICKS;
    assert_false(arrive(&fixture));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kick_is_explained),
        cmocka_unit_test(test_without_kick_is_unexplained),
        cmocka_unit_test(test_merged_kicks),
        cmocka_unit_test(test_latched_kick),
        cmocka_unit_test(test_chain_of_latched_kicks),
        cmocka_unit_test(test_sender_between_counters),
        cmocka_unit_test(test_kick_between_reads),
        cmocka_unit_test(test_end_of_doubt),
        cmocka_unit_test(test_no_doubt),
        cmocka_unit_test(test_tsc_wrap),
        cmocka_unit_test(test_counter_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
