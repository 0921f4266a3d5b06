/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_STRING_H
#define CORE_STRING_H

#include <stddef.h>

/*
 * Memory and string functions for freestanding code. The first four carry the standard names since
 * the compiler emits calls to them; hosted builds (SLUICE_HOST) take libc's instead.
 */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

/* Length of a NUL-terminated string, at most limit. */
size_t str_length(const char *text, size_t limit);

#endif
