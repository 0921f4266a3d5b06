/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_COMPILER_H
#define CORE_COMPILER_H

/* Attributes and static checks that all folders use. No code. */

#define MUST_CHECK __attribute__((warn_unused_result))
#define NORETURN   __attribute__((noreturn))
#define PRINTF_LIKE(format_index, first_arg) \
    __attribute__((format(printf, format_index, first_arg)))
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
/* For declarations of objects: reached directly, not through the global offset table. */
#define HIDDEN __attribute__((visibility("hidden")))

#define PACKED __attribute__((packed))

/* ALWAYS_INLINE: for parts of a path whose length is measured, and for code that a caller with
 * constant arguments shall specialise. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE      __attribute__((noinline))

#define CACHE_LINE_BYTES 64u

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#define STATIC_ASSERT(condition) _Static_assert(condition, #condition)

#endif
