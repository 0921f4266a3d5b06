/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"
#include "core/string.h"

/*
 * The four memory functions that the compiler may call by itself. A file of its own, since hosted
 * tests link libc's. Each loop moves through a volatile pointer: the compiler must not recognise
 * the loop and turn it into a call of the very function. Words where both sides allow it.
 */

typedef uint64_t __attribute__((may_alias, aligned(1))) word_t;

#define WORD_BYTES sizeof(word_t)

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    return memmove(to, from, bytes);
}

static void copy_up(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t done = 0;

    for (; bytes - done >= WORD_BYTES; done += WORD_BYTES) {
        *(volatile word_t *)(to + done) = *(const word_t *)(from + done);
    }
    for (; done < bytes; done++) {
        *(volatile uint8_t *)(to + done) = from[done];
    }
}

static void copy_down(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (; bytes >= WORD_BYTES; bytes -= WORD_BYTES) {
        *(volatile word_t *)(to + bytes - WORD_BYTES) =
            *(const word_t *)(from + bytes - WORD_BYTES);
    }
    for (; bytes > 0; bytes--) {
        *(volatile uint8_t *)(to + bytes - 1) = from[bytes - 1];
    }
}

/* Up is safe when to lies below from, down in the other case: a word is read whole before it is
 * written, and in either direction no byte is written that is still to be read. */
void *memmove(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to <= (uintptr_t)from) {
        copy_up(to, from, bytes);
    } else {
        copy_down(to, from, bytes);
    }
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    uint64_t pattern = (uint8_t)value * 0x0101010101010101ull;
    size_t done = 0;

    for (; bytes - done >= WORD_BYTES; done += WORD_BYTES) {
        *(volatile word_t *)(at + done) = pattern;
    }
    for (; done < bytes; done++) {
        *(volatile uint8_t *)(at + done) = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *left = a;
    const uint8_t *right = b;

    for (size_t i = 0; i < bytes; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}
