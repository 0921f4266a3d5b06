/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOST_ACPI_IMAGE_H
#define TESTS_HOST_ACPI_IMAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot/acpi.h"

/*
 * A piece of physical memory with ACPI tables for the tests. The reader hands out heap copies of
 * exactly the bytes that were asked for, so that the sanitizer sees any access beyond them.
 */

#define IMAGE_BASE  0xE0000ull
#define IMAGE_BYTES 0x4000u
#define COPIES_MAX  4096u

struct acpi_image {
    uint8_t memory[IMAGE_BYTES];
    uint32_t used;
    uint32_t end; /* of what can be read */
    void *copies[COPIES_MAX];
    unsigned int copy_count;
};

static inline const void *image_map(void *context, uint64_t address, uint64_t bytes)
{
    struct acpi_image *image = context;
    uint8_t *copy;

    if (address < IMAGE_BASE || address - IMAGE_BASE > image->end ||
        bytes > image->end - (address - IMAGE_BASE)) {
        return NULL;
    }
    assert_in_range(bytes, 1, IMAGE_BYTES);
    assert_true(image->copy_count < COPIES_MAX);
    copy = malloc(bytes);
    assert_non_null(copy);
    memcpy(copy, image->memory + (address - IMAGE_BASE), bytes);
    image->copies[image->copy_count++] = copy;
    return copy;
}

static inline struct acpi_reader image_reader(struct acpi_image *image)
{
    return (struct acpi_reader){image_map, image};
}

static inline void image_release(struct acpi_image *image)
{
    while (image->copy_count > 0) {
        free(image->copies[--image->copy_count]);
    }
}

static inline void image_reset(struct acpi_image *image)
{
    image_release(image);
    memset(image, 0, sizeof(*image));
    image->end = IMAGE_BYTES;
}

static inline void put_value(uint8_t *at, uint64_t value, unsigned int bytes)
{
    for (unsigned int i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static inline void fix_checksum(uint8_t *bytes, uint32_t count, uint32_t where)
{
    uint8_t sum = 0;

    bytes[where] = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    bytes[where] = (uint8_t)(0 - sum);
}

static inline uint8_t *image_at(struct acpi_image *image, uint64_t address)
{
    return image->memory + (address - IMAGE_BASE);
}

/* Adds a table of a header and a body, with a right checksum. Returns its address. */
static inline uint64_t add_table(struct acpi_image *image, const char *signature, const void *body,
                                 uint32_t bytes)
{
    uint8_t *table = image->memory + image->used;
    uint64_t address = IMAGE_BASE + image->used;

    assert_true(36 + bytes <= IMAGE_BYTES - image->used);
    memcpy(table, signature, 4);
    put_value(table + 4, 36 + bytes, 4);
    memcpy(table + 36, body, bytes);
    fix_checksum(table, 36 + bytes, 9);
    image->used += (36 + bytes + 15) & ~15u;
    return address;
}

/* Adds an XSDT (pointer_bytes 8) or RSDT (4) and an RSDP for it. Returns the RSDP's address. */
static inline uint64_t add_root(struct acpi_image *image, const uint64_t *tables, size_t count,
                                unsigned int pointer_bytes)
{
    uint8_t body[256];
    uint8_t *rsdp;
    uint64_t list;
    uint64_t address;

    assert_true(count * pointer_bytes <= sizeof(body));
    for (size_t i = 0; i < count; i++) {
        put_value(body + i * pointer_bytes, tables[i], pointer_bytes);
    }
    list = add_table(image, pointer_bytes == 8 ? "XSDT" : "RSDT", body,
                     (uint32_t)(count * pointer_bytes));
    address = IMAGE_BASE + image->used;
    rsdp = image_at(image, address);
    image->used += 48;
    memcpy(rsdp, "RSD PTR ", 8);
    if (pointer_bytes == 8) {
        rsdp[15] = 2;
        put_value(rsdp + 20, 36, 4);
        put_value(rsdp + 24, list, 8);
    } else {
        put_value(rsdp + 16, list, 4);
    }
    fix_checksum(rsdp, 20, 8);
    if (pointer_bytes == 8) {
        fix_checksum(rsdp, 36, 32);
    }
    return address;
}

#endif
