/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FMT_H
#define CORE_FMT_H

#include <stdarg.h>
#include <stddef.h>

#include "core/compiler.h"

/*
 * A small printf formatter for freestanding code. Conversions: %d %i %u %x %X %c %s %p %%, with the
 * length modifiers hh h l ll z, the flags '0' and '-', a field width and, for %s, a precision ('*'
 * allowed for both). Anything else is copied to the output as it stands, so that a mistake is seen.
 * Takes no lock, allocates nothing, may be called in any context.
 */

/* Writes at most size bytes, the terminating NUL included (size 0: nothing is written). Returns the
 * length that the whole text has, without the NUL, as snprintf does. A NULL %s prints "(null)". */
size_t fmt_vprint(char *out, size_t size, const char *format, va_list args);

/* As fmt_vprint, with the arguments in the call. */
size_t fmt_print(char *out, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
