/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: core/string.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/string.h"

/* core/mem.c under other names, beside libc's functions, which are the model. */
#define memcpy  our_memcpy
#define memmove our_memmove
#define memset  our_memset
#define memcmp  our_memcmp
void *our_memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *our_memmove(void *to, const void *from, size_t bytes);
void *our_memset(void *to, int value, size_t bytes);
int our_memcmp(const void *a, const void *b, size_t bytes);
#include "core/mem.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

#define AREA 64u

static void fill(uint8_t *area)
{
    for (unsigned int i = 0; i < AREA; i++) {
        area[i] = (uint8_t)(i * 7 + 3);
    }
}

static void test_length(void **context)
{
    char raw[4] = {'a', 'b', 'c', 'd'};

    (void)context;
    assert_int_equal(str_length("", 10), 0);
    assert_int_equal(str_length("abc", 10), 3);
    assert_int_equal(str_length("abc", 3), 3);
    assert_int_equal(str_length("abc", 2), 2);
    assert_int_equal(str_length("abc", 0), 0);
    assert_int_equal(str_length(raw, sizeof(raw)), 4);
}

/* Every length, distance and direction inside a small area, overlaps included. */
static void test_move_and_copy(void **context)
{
    (void)context;
    for (unsigned int bytes = 0; bytes <= 24; bytes++) {
        for (unsigned int from = 0; from <= 32; from++) {
            for (unsigned int to = 0; to <= 32; to++) {
                uint8_t ours[AREA];
                uint8_t model[AREA];

                fill(ours);
                fill(model);
                assert_ptr_equal(our_memmove(ours + to, ours + from, bytes), ours + to);
                memmove(model + to, model + from, bytes);
                assert_memory_equal(ours, model, AREA);
                fill(ours);
                if (from + bytes <= to || to + bytes <= from) {
                    assert_ptr_equal(our_memcpy(ours + to, ours + from, bytes), ours + to);
                    assert_memory_equal(ours, model, AREA);
                }
            }
        }
    }
}

/* Exact heap blocks: the sanitizer sees a read or write beyond the end. */
static void test_stays_inside(void **context)
{
    (void)context;
    for (size_t bytes = 1; bytes <= 40; bytes++) {
        uint8_t *a = malloc(bytes);
        uint8_t *b = malloc(bytes);

        assert_non_null(a);
        assert_non_null(b);
        our_memset(a, 0x1A5, bytes);
        our_memset(b, 0, bytes);
        our_memcpy(b, a, bytes);
        assert_int_equal(our_memcmp(a, b, bytes), 0);
        assert_int_equal(b[bytes - 1], 0xA5);
        free(a);
        free(b);
    }
}

static void test_set(void **context)
{
    (void)context;
    for (unsigned int bytes = 0; bytes <= 24; bytes++) {
        for (unsigned int to = 0; to <= 9; to++) {
            uint8_t ours[AREA];
            uint8_t model[AREA];

            fill(ours);
            fill(model);
            assert_ptr_equal(our_memset(ours + to, -2, bytes), ours + to);
            memset(model + to, -2, bytes);
            assert_memory_equal(ours, model, AREA);
        }
    }
}

static void test_compare(void **context)
{
    (void)context;
    assert_int_equal(our_memcmp("abc", "abd", 2), 0);
    assert_int_equal(our_memcmp("abc", "xyz", 0), 0);
    assert_true(our_memcmp("abc", "abd", 3) < 0);
    assert_true(our_memcmp("abd", "abc", 3) > 0);
    assert_true(our_memcmp("\x7F", "\x80", 1) < 0); /* bytes count as unsigned */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_length),       cmocka_unit_test(test_move_and_copy),
        cmocka_unit_test(test_stays_inside), cmocka_unit_test(test_set),
        cmocka_unit_test(test_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
