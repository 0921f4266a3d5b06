/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: hyperv/vp_set.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hyperv/vp_set.h"

/* A copy of exactly the words that the set may read, so that the sanitizer sees one too many. */
static uint64_t *exact(const uint64_t *words, uint32_t count)
{
    uint64_t *copy = malloc(count == 0 ? 1 : count * sizeof(uint64_t));

    assert_non_null(copy);
    if (count != 0) {
        memcpy(copy, words, count * sizeof(uint64_t));
    }
    return copy;
}

/* What the set is by the plainest reading of the TLFS. */
static bool names_vp(uint64_t valid_banks, const uint64_t *contents, uint32_t vp_index)
{
    uint32_t at = 0;

    for (uint32_t bank = 0; bank < 64; bank++) {
        if ((valid_banks >> bank & 1) == 0) {
            continue;
        }
        if (bank == vp_index / 64) {
            return (contents[at] >> (vp_index % 64) & 1) != 0;
        }
        at++;
    }
    return false;
}

static void check_set(uint64_t valid_banks, const uint64_t *words, uint32_t vp_limit)
{
    uint32_t count = vp_set_bank_count(valid_banks);
    uint64_t *contents = exact(words, count);
    static bool walked[HV_VP_SET_MAX_VPS + 64];
    struct vp_set_cursor cursor;
    struct vp_set_bank bank;
    struct vp_set set;
    uint32_t expected_count = 0;

    memset(walked, 0, sizeof(walked));
    vp_set_of_banks(&set, valid_banks, contents);
    cursor = vp_set_walk(&set, vp_limit);
    while (vp_set_next(&cursor, &bank)) {
        assert_int_equal(bank.first_vp % 64, 0);
        assert_int_not_equal(bank.bits, 0);
        for (uint32_t i = 0; i < 64; i++) {
            if ((bank.bits >> i & 1) != 0) {
                assert_false(walked[bank.first_vp + i]);
                walked[bank.first_vp + i] = true;
            }
        }
    }
    for (uint32_t vp = 0; vp < HV_VP_SET_MAX_VPS + 64; vp++) {
        bool is_named = vp < HV_VP_SET_MAX_VPS && names_vp(valid_banks, contents, vp);

        assert_int_equal(vp_set_has(&set, vp), is_named);
        assert_int_equal(walked[vp], is_named && vp < vp_limit);
        expected_count += is_named && vp < vp_limit;
    }
    assert_int_equal(vp_set_count(&set, vp_limit), expected_count);
    free(contents);
}

static void test_bank_rank(void **context)
{
    static const uint64_t contents[] = {1, 2};
    struct vp_set set;

    (void)context;
    vp_set_of_banks(&set, 0xA, contents);
    assert_true(vp_set_has(&set, 64));
    assert_true(vp_set_has(&set, 193));
    assert_false(vp_set_has(&set, 0));
    assert_false(vp_set_has(&set, 192));
    assert_false(vp_set_has(&set, 128));
    assert_int_equal(vp_set_count(&set, 4096), 2);
    check_set(0xA, contents, 4096);
}

static void test_borders(void **context)
{
    static const uint64_t full[64] = {[0 ... 63] = ~0ull};
    static const uint64_t ends[64] = {[0 ... 63] = 1ull << 63 | 1};
    static const uint64_t none[64];
    static const uint32_t limits[] = {0, 1, 63, 64, 65, 127, 128, 4095, 4096, 5000};

    (void)context;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        check_set(~0ull, full, limits[i]);
        check_set(~0ull, ends, limits[i]);
        check_set(~0ull, none, limits[i]);
        check_set(0, none, limits[i]);
        check_set(1, full, limits[i]);
        check_set(1ull << 63, full, limits[i]);
        check_set(1ull << 63 | 1, ends, limits[i]);
    }
}

static void test_random(void **context)
{
    uint64_t state = 88172645463325252ull;
    uint64_t words[64];

    (void)context;
    for (uint32_t round = 0; round < 300; round++) {
        uint64_t valid;

        for (uint32_t i = 0; i < 64; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            words[i] = round % 3 == 0 ? state & (state >> 11) & (state << 7) : state;
        }
        valid = words[0] & words[1];
        check_set(valid, words, (uint32_t)(words[2] % 4200));
    }
}

static void test_all(void **context)
{
    struct vp_set set;
    struct vp_set_cursor cursor;
    struct vp_set_bank bank;

    (void)context;
    vp_set_of_all(&set);
    assert_true(vp_set_has(&set, 0));
    assert_true(vp_set_has(&set, 0xFFFFFFFF));
    assert_int_equal(vp_set_count(&set, 0), 0);
    assert_int_equal(vp_set_count(&set, 1), 1);
    assert_int_equal(vp_set_count(&set, 64), 64);
    assert_int_equal(vp_set_count(&set, 65), 65);
    assert_int_equal(vp_set_count(&set, 4096), 4096);
    assert_int_equal(vp_set_count(&set, 10000), 10000);
    cursor = vp_set_walk(&set, 65);
    assert_true(vp_set_next(&cursor, &bank));
    assert_int_equal(bank.first_vp, 0);
    assert_int_equal(bank.bits, ~0ull);
    assert_true(vp_set_next(&cursor, &bank));
    assert_int_equal(bank.first_vp, 64);
    assert_int_equal(bank.bits, 1);
    assert_false(vp_set_next(&cursor, &bank));
    assert_false(vp_set_next(&cursor, &bank));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bank_rank),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
