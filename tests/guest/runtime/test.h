/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_H
#define GUEST_TEST_H

#include <stdbool.h>

#include "core/compiler.h"

/*
 * Tests in groups. Each test prints one line on COM1:
 *   RESULT group.test PASS|FAIL|SKIP reason
 * (a PASS is followed by the time it took, every single failure by a line NOTE) and the run ends
 * with
 *   GUEST DONE passed=N failed=N
 * followed by power off. Measurements are lines that begin with MEASURE.
 *
 * The load options choose: words, each a group, a group.test, -group or -group.test (left out).
 * Without a positive word all groups run that are not marked is_only_by_name. `off=` chooses how
 * the machine ends: off=s5 (the default), off=8900 (Bochs' shutdown port), off=none (halt).
 */

struct test {
    const char *name;
    void (*run)(void);
};

struct test_group {
    const char *name;
    const struct test *tests;
    unsigned int count;
    bool is_only_by_name; /* the test ends the run: not part of the default */
};

/* Runs what the options choose, prints, and switches the machine off. */
NORETURN void test_run_all(const struct test_group *const *groups, unsigned int count,
                           const char *options);

/* The current test fails; the first reason goes into the result line. Any processor, not in an NMI
 * handler that may have interrupted a print. */
void test_fail(const char *format, ...) PRINTF_LIKE(1, 2);

/* The current test is not applicable here (unless it fails). */
void test_skip(const char *format, ...) PRINTF_LIKE(1, 2);

/* The current test fails and the run ends. */
NORETURN void test_abort(const char *reason);

/* Prints the last line (for tests that end the machine themselves). */
void test_print_done(void);

#define CHECK(condition, ...)       \
    do {                            \
        if (!(condition)) {         \
            test_fail(__VA_ARGS__); \
        }                           \
    } while (0)

/* As CHECK, and the function returns. */
#define REQUIRE(condition, ...)     \
    do {                            \
        if (!(condition)) {         \
            test_fail(__VA_ARGS__); \
            return;                 \
        }                           \
    } while (0)

#define TEST_GROUP(tests_array) .tests = (tests_array), .count = ARRAY_LEN(tests_array)

#endif
