/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways to end the machine, each a group of its own that runs only when it is named. Each prints
 * what it is about to do; the emulator, and Sluice's log, say whether it came about. A line FAIL
 * follows if nothing happened. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/power.h"
#include "tests/guest/runtime/print.h"

#define GRACE_US 100000u

static void announce(const char *what)
{
    print_line("GUEST END %s", what);
    print_drain();
}

static void test_s5(void)
{
    announce("s5");
    power_s5();
    clock_wait_us(GRACE_US);
    test_fail("still running");
}

static void test_cf9(void)
{
    announce("reset-cf9");
    power_reset_cf9();
    clock_wait_us(GRACE_US);
    test_fail("still running");
}

static void test_keyboard(void)
{
    announce("reset-kbd");
    power_reset_keyboard();
    clock_wait_us(GRACE_US);
    test_fail("still running");
}

/* An empty IDT: the first exception cannot be delivered, nor the double fault after it. */
static void test_triple(void)
{
    static const uint8_t no_idt[10];

    announce("triple");
    insn_lidt(no_idt);
    insn_ud2();
    test_fail("still running");
}

static const struct test s5_tests[] = {{"power_off", test_s5}};
static const struct test cf9_tests[] = {{"reset", test_cf9}};
static const struct test keyboard_tests[] = {{"reset", test_keyboard}};
static const struct test triple_tests[] = {{"fault", test_triple}};

const struct test_group group_s5 = {.name = "s5", TEST_GROUP(s5_tests), .is_only_by_name = true};
const struct test_group group_reset_cf9 = {
    .name = "reset-cf9", TEST_GROUP(cf9_tests), .is_only_by_name = true};
const struct test_group group_reset_kbd = {
    .name = "reset-kbd", TEST_GROUP(keyboard_tests), .is_only_by_name = true};
const struct test_group group_triple = {
    .name = "triple", TEST_GROUP(triple_tests), .is_only_by_name = true};
