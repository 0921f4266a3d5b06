/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/acpi.h"

/*
 * The packages \_Sx_, found by their bytes: a full AML interpreter would be far more than this
 * needs. The pattern is NameOp, an optional root prefix, the name, PackageOp, and it must then
 * parse as a package of integers (ACPI specification, "AML Grammar Definition").
 */

#define AML_ZERO_OP      0x00u
#define AML_ONE_OP       0x01u
#define AML_NAME_OP      0x08u
#define AML_BYTE_PREFIX  0x0Au
#define AML_WORD_PREFIX  0x0Bu
#define AML_DWORD_PREFIX 0x0Cu
#define AML_QWORD_PREFIX 0x0Eu
#define AML_PACKAGE_OP   0x12u
#define AML_ROOT_CHAR    0x5Cu

#define SLEEP_TYPE_MAX 7u /* SLP_TYP is three bits wide */

/* What is left to read. */
struct cursor {
    const uint8_t *at;
    size_t left;
};

static bool take_byte(struct cursor *cursor, uint8_t *out)
{
    if (cursor->left == 0) {
        return false;
    }
    *out = *cursor->at;
    cursor->at++;
    cursor->left--;
    return true;
}

static bool expect_byte(struct cursor *cursor, unsigned int expected)
{
    uint8_t byte;

    return take_byte(cursor, &byte) && byte == expected;
}

/*
 * PkgLength: bits 7:6 of the first byte tell how many bytes follow; without any, bits 5:0 are the
 * length, else bits 3:0 are its lowest four. It counts itself. The cursor is cut to the package.
 */
static bool enter_package(struct cursor *cursor)
{
    size_t before = cursor->left;
    size_t length;
    size_t used;
    uint8_t lead;
    unsigned int following;

    if (!take_byte(cursor, &lead)) {
        return false;
    }
    following = lead >> 6;
    length = following == 0 ? lead & 0x3Fu : lead & 0x0Fu;
    for (unsigned int i = 0; i < following; i++) {
        uint8_t byte;

        if (!take_byte(cursor, &byte)) {
            return false;
        }
        length |= (size_t)byte << (4 + 8 * i);
    }
    used = before - cursor->left;
    if (length < used || length - used > cursor->left) {
        return false;
    }
    cursor->left = length - used;
    return true;
}

/* A constant integer; anything else (a name, an expression) is not understood. */
static bool take_integer(struct cursor *cursor, uint64_t *out)
{
    uint8_t kind;
    unsigned int bytes;

    *out = 0;
    if (!take_byte(cursor, &kind)) {
        return false;
    }
    switch (kind) {
    case AML_ZERO_OP:
    case AML_ONE_OP:
        *out = kind;
        return true;
    case AML_BYTE_PREFIX:
        bytes = 1;
        break;
    case AML_WORD_PREFIX:
        bytes = 2;
        break;
    case AML_DWORD_PREFIX:
        bytes = 4;
        break;
    case AML_QWORD_PREFIX:
        bytes = 8;
        break;
    default:
        return false;
    }
    for (unsigned int i = 0; i < bytes; i++) {
        uint8_t byte;

        if (!take_byte(cursor, &byte)) {
            return false;
        }
        *out |= (uint64_t)byte << (8 * i);
    }
    return true;
}

/* From NameOp on. */
static bool parse_sleep_package(struct cursor cursor, char state, uint8_t *type_a, uint8_t *type_b)
{
    uint8_t elements;
    uint64_t a;
    uint64_t b;

    if (!expect_byte(&cursor, AML_NAME_OP)) {
        return false;
    }
    if (cursor.left > 0 && *cursor.at == AML_ROOT_CHAR) {
        cursor.at++;
        cursor.left--;
    }
    if (!expect_byte(&cursor, '_') || !expect_byte(&cursor, 'S') ||
        !expect_byte(&cursor, (uint8_t)state) || !expect_byte(&cursor, '_') ||
        !expect_byte(&cursor, AML_PACKAGE_OP) || !enter_package(&cursor) ||
        !take_byte(&cursor, &elements) || elements == 0 || !take_integer(&cursor, &a)) {
        return false;
    }
    if (elements == 1) {
        b = (a >> 8) & 0xFF;
        a &= 0xFF;
    } else if (!take_integer(&cursor, &b)) {
        return false;
    }
    if (a > SLEEP_TYPE_MAX || b > SLEEP_TYPE_MAX) {
        return false;
    }
    *type_a = (uint8_t)a;
    *type_b = (uint8_t)b;
    return true;
}

bool acpi_aml_find_sleep_type(const uint8_t *aml, size_t bytes, char state, uint8_t *type_a,
                              uint8_t *type_b)
{
    for (size_t i = 0; i < bytes; i++) {
        struct cursor cursor = {aml + i, bytes - i};

        if (parse_sleep_package(cursor, state, type_a, type_b)) {
            return true;
        }
    }
    return false;
}
