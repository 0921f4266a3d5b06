/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: boot/own_image.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot/own_image.h"

#define PE_OFFSET      0x80u
#define OPTIONAL_BYTES 0xF0u
#define TABLE          (PE_OFFSET + 24u + OPTIONAL_BYTES)
#define SECTION_BYTES  40u
#define IMAGE_BYTES    (TABLE + 3u * SECTION_BYTES)

/* The headers of an image with three sections, the last of them ours. */
static void make_image(uint8_t *image)
{
    memset(image, 0, IMAGE_BYTES);
    memcpy(image, "MZ", 2);
    image[60] = PE_OFFSET;
    memcpy(image + PE_OFFSET, "PE\0\0", 4);
    image[PE_OFFSET + 6] = 3;
    image[PE_OFFSET + 20] = OPTIONAL_BYTES;
    memcpy(image + TABLE, ".text", 5);
    memcpy(image + TABLE + SECTION_BYTES, ".data", 5);
    memcpy(image + TABLE + 2 * SECTION_BYTES, ".sluice", 7);
}

/* In memory of exactly that size, so that the sanitizer sees a read beyond it. */
static bool is_own(const uint8_t *image, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1);
    bool answer;

    assert_non_null(copy);
    memcpy(copy + 1, image, bytes); /* at an odd address, too */
    answer = own_image_is(copy + 1, bytes);
    free(copy);
    return answer;
}

static void test_ours(void **context)
{
    uint8_t image[IMAGE_BYTES];

    (void)context;
    make_image(image);
    assert_true(is_own(image, sizeof(image)));
}

static void test_every_shorter_length(void **context)
{
    uint8_t image[IMAGE_BYTES];

    (void)context;
    make_image(image);
    for (size_t bytes = 0; bytes < sizeof(image); bytes++) {
        assert_false(is_own(image, bytes));
    }
}

static void test_other_names(void **context)
{
    static const char names[][9] = {".sluic", ".sluicex", "sluice", ".Sluice", "x.sluice", ""};
    uint8_t image[IMAGE_BYTES];

    (void)context;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        make_image(image);
        memcpy(image + TABLE + 2 * SECTION_BYTES, names[i], 8);
        assert_false(is_own(image, sizeof(image)));
    }
}

static void test_not_in_the_table(void **context)
{
    uint8_t image[IMAGE_BYTES];

    (void)context;
    make_image(image);
    image[PE_OFFSET + 6] = 2;
    assert_false(is_own(image, sizeof(image)));
}

static void test_bad_headers(void **context)
{
    static const struct {
        size_t at;
        uint8_t value;
    } changes[] = {
        {0, 'N'},
        {1, 'z'},
        {60, PE_OFFSET + 1},
        {63, 0xFF},
        {PE_OFFSET, 'Q'},
        {PE_OFFSET + 3, 1},
        {PE_OFFSET + 20, OPTIONAL_BYTES + 1},
        {PE_OFFSET + 21, 0xFF},
    };
    uint8_t image[IMAGE_BYTES];

    (void)context;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        make_image(image);
        image[changes[i].at] = changes[i].value;
        assert_false(is_own(image, sizeof(image)));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours),        cmocka_unit_test(test_every_shorter_length),
        cmocka_unit_test(test_other_names), cmocka_unit_test(test_not_in_the_table),
        cmocka_unit_test(test_bad_headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
