/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/test.h"

#include <stdarg.h>

#include "core/fmt.h"
#include "core/string.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/power.h"
#include "tests/guest/runtime/print.h"

#define REASON_BYTES 120u
#define MAX_NOTES    8u /* failures of one test that are printed at once */
#define NAME_BYTES   64u

static char current_name[NAME_BYTES];
static char reason[REASON_BYTES];
static unsigned int failures; /* of the current test */
static bool is_skipped;
static unsigned int passed;
static unsigned int failed;

void test_fail(const char *format, ...)
{
    va_list args;

    char text[REASON_BYTES];
    unsigned int number = __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);

    if (number >= MAX_NOTES) {
        return;
    }
    va_start(args, format);
    fmt_vprint(text, sizeof(text), format, args);
    va_end(args);
    print_line("NOTE %s: %s", current_name, text);
    if (number == 0) {
        memcpy(reason, text, sizeof(reason));
    }
}

void test_skip(const char *format, ...)
{
    va_list args;

    if (failures != 0) {
        return;
    }
    is_skipped = true;
    va_start(args, format);
    fmt_vprint(reason, sizeof(reason), format, args);
    va_end(args);
}

void test_print_done(void)
{
    print_line("GUEST DONE passed=%u failed=%u", passed, failed);
    print_drain();
}

void test_abort(const char *text)
{
    print_line("RESULT %s FAIL %s", current_name, text);
    failed++;
    test_print_done();
    power_off();
}

/* Whether word[0..length) is the group's name, or group.test. */
static bool word_matches(const char *word, size_t length, const char *group, const char *name)
{
    size_t group_length = str_length(group, NAME_BYTES);
    size_t name_length = str_length(name, NAME_BYTES);

    if (length == group_length) {
        return memcmp(word, group, length) == 0;
    }
    return length == group_length + 1 + name_length && memcmp(word, group, group_length) == 0 &&
           word[group_length] == '.' && memcmp(word + group_length + 1, name, name_length) == 0;
}

/* Walks the words of the options; the last one that matches decides. */
static bool is_chosen(const struct test_group *group, const char *name, const char *options)
{
    bool has_positive = false;
    bool chosen = false;
    bool excluded = false;

    while (*options != '\0') {
        size_t length = 0;

        while (options[length] != '\0' && options[length] != ' ') {
            length++;
        }
        if (options[0] == '-') {
            excluded = excluded || word_matches(options + 1, length - 1, group->name, name);
        } else if (length != 0 && (length < 4 || memcmp(options, "off=", 4) != 0)) {
            has_positive = true;
            chosen = chosen || word_matches(options, length, group->name, name);
        }
        options += length;
        if (*options == ' ') {
            options++;
        }
    }
    if (!has_positive) {
        chosen = !group->is_only_by_name;
    }
    return chosen && !excluded;
}

static void run_one(const struct test_group *group, const struct test *test)
{
    uint64_t start;
    unsigned int ms;

    fmt_print(current_name, sizeof(current_name), "%s.%s", group->name, test->name);
    failures = 0;
    is_skipped = false;
    reason[0] = '\0';
    start = insn_rdtsc();
    test->run();
    ms = (unsigned int)((insn_rdtsc() - start) / clock_ticks_per_us() / 1000u);
    if (failures != 0) {
        print_line("RESULT %s FAIL %s (%u failures)", current_name, reason, failures);
        failed++;
    } else if (is_skipped) {
        print_line("RESULT %s SKIP %s", current_name, reason);
    } else {
        print_line("RESULT %s PASS %u ms", current_name, ms);
        passed++;
    }
}

void test_run_all(const struct test_group *const *groups, unsigned int count, const char *options)
{
    power_choose(options);
    for (unsigned int g = 0; g < count; g++) {
        for (unsigned int t = 0; t < groups[g]->count; t++) {
            if (is_chosen(groups[g], groups[g]->tests[t].name, options)) {
                run_one(groups[g], &groups[g]->tests[t]);
            }
        }
    }
    if (passed + failed == 0) {
        print_line("no test was chosen by \"%s\"", options);
        failed++;
    }
    test_print_done();
    power_off();
}
