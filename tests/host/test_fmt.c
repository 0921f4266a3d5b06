/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/fmt.c core/string.c */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/fmt.h"

/* Formats that are wrong on purpose go through here, past the compiler's check. */
static size_t print_unchecked(char *out, size_t size, const char *format, ...)
{
    va_list args;
    size_t length;

    va_start(args, format);
    length = fmt_vprint(out, size, format, args);
    va_end(args);
    return length;
}

/* libc is the model: same text, same length. */
#define SAME(...)                                                   \
    do {                                                            \
        char ours[256];                                             \
        char model[256];                                            \
        size_t length = fmt_print(ours, sizeof(ours), __VA_ARGS__); \
        int expected = snprintf(model, sizeof(model), __VA_ARGS__); \
                                                                    \
        assert_string_equal(ours, model);                           \
        assert_int_equal(length, expected);                         \
    } while (0)

static void test_integers(void **context)
{
    static const long long values[] = {0,   1,       -1,      9,        10,        -10,      255,
                                       256, INT_MAX, INT_MIN, UINT_MAX, LLONG_MAX, LLONG_MIN};

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        long long value = values[i];

        SAME("%lld|%lli", value, value);
        SAME("%llu|%llx|%llX", (unsigned long long)value, (unsigned long long)value,
             (unsigned long long)value);
        SAME("%ld|%lu|%lx", (long)value, (unsigned long)value, (unsigned long)value);
        SAME("%zu|%zx", (size_t)value, (size_t)value);
        SAME("%d|%u|%x|%X", (int)value, (unsigned int)value, (unsigned int)value,
             (unsigned int)value);
        SAME("%hd|%hu|%hx", (short)value, (unsigned short)value, (unsigned short)value);
        SAME("%hhd|%hhu|%hhx", (signed char)value, (unsigned char)value, (unsigned char)value);
    }
}

static void test_length_modifiers_cut(void **context)
{
    char text[64];

    (void)context;
    print_unchecked(text, sizeof(text), "%hhu %hhd %hu %hd", 0x1FF, 0x1FF, 0x1FFFE, 0x1FFFE);
    assert_string_equal(text, "255 -1 65534 -2");
}

static void test_width_and_padding(void **context)
{
    (void)context;
    SAME("[%5d][%-5d][%05d]", 42, 42, 42);
    SAME("[%5d][%-5d][%05d]", -42, -42, -42);
    SAME("[%1d][%01d]", 12345, 12345);
    SAME("[%016llx][%16llx][%-16llx]", 0xABCDull, 0xABCDull, 0xABCDull);
    SAME("[%*d][%*d][%-*d]", 7, 1, -7, 2, 7, 3);
    SAME("[%0*d]", 6, -5);
    SAME("[%30u]", 5u);
}

static void test_dash_wins_over_zero(void **context)
{
    char text[32];

    (void)context;
    print_unchecked(text, sizeof(text), "[%-05d][%0-5d]", 42, 42);
    assert_string_equal(text, "[42   ][42   ]");
}

static void test_text(void **context)
{
    char raw[3] = {'a', 'b', 'c'}; /* without a NUL */
    const char *none = NULL;
    char text[64];

    (void)context;
    SAME("%s|%s|", "", "abc");
    SAME("[%5s][%-5s][%2s]", "abc", "abc", "abc");
    SAME("[%.2s][%.9s][%.0s][%5.1s][%-5.1s]", "abc", "abc", "abc", "abc", "abc");
    SAME("[%.*s][%.*s]", 3, raw, -1, "abc");
    SAME("[%c][%3c][%-3c]", 'x', 'y', 'z');
    SAME("100%%");
    print_unchecked(text, sizeof(text), "%s|%8s", none, none);
    assert_string_equal(text, "(null)|  (null)");
}

static void test_pointer(void **context)
{
    char text[64];

    (void)context;
    SAME("%p|%20p|%-20p|", (void *)text, (void *)text, (void *)text);
    fmt_print(text, sizeof(text), "%p", (void *)0);
    assert_string_equal(text, "0x0");
    print_unchecked(text, sizeof(text), "%018p", (void *)0xBEEF);
    assert_string_equal(text, "0x000000000000beef");
}

static void test_mistakes_show(void **context)
{
    static const char *const formats[] = {"%",   "50%", "%y",   "%5",  "%-",  "%l",
                                          "%ll", "%f",  "%.3d", "%+d", "%#x", "% d",
                                          "%ls", "%zs", "%lc",  "%n",  "%.",  "%5.3"};

    (void)context;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        char text[32];

        assert_int_equal(print_unchecked(text, sizeof(text), formats[i], 1, 2), strlen(formats[i]));
        assert_string_equal(text, formats[i]);
    }
}

static void test_absurd_width_is_bounded(void **context)
{
    char text[8];

    (void)context;
    assert_int_equal(print_unchecked(text, sizeof(text), "%99999999999d", 1), 1000000);
    assert_string_equal(text, "       ");
    assert_int_equal(print_unchecked(text, sizeof(text), "%*d", INT_MIN, 1), 1000000);
    assert_string_equal(text, "1      ");
}

static void test_small_buffers(void **context)
{
    char text[16];

    (void)context;
    for (size_t size = 0; size <= 12; size++) {
        char expected[16] = "0123456789";

        memset(text, '#', sizeof(text));
        assert_int_equal(fmt_print(text, size, "0123%d%s", 456, "789"), 10);
        if (size > 0 && size <= 10) {
            expected[size - 1] = '\0';
        }
        if (size > 0) {
            assert_string_equal(text, expected);
        }
        for (size_t i = size; i < sizeof(text); i++) {
            assert_int_equal(text[i], '#');
        }
    }
    assert_int_equal(fmt_print(NULL, 0, "abc"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_length_modifiers_cut),
        cmocka_unit_test(test_width_and_padding),
        cmocka_unit_test(test_dash_wins_over_zero),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_pointer),
        cmocka_unit_test(test_mistakes_show),
        cmocka_unit_test(test_absurd_width_is_bounded),
        cmocka_unit_test(test_small_buffers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
