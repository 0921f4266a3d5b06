/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BITS_H
#define CORE_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Bit and mask helpers. All are total: no argument makes them undefined. */

#define BIT32(n) ((uint32_t)1u << (n))
#define BIT64(n) ((uint64_t)1u << (n))

/* Mask of bits high..low, both included; 63 >= high >= low. */
#define MASK64(high, low) ((~(uint64_t)0 >> (63 - (high))) & (~(uint64_t)0 << (low)))

/* The field high..low of value, shifted down. */
static inline uint64_t bits_get(uint64_t value, unsigned int high, unsigned int low)
{
    return (value & MASK64(high, low)) >> low;
}

/* value without its last, incomplete unit. */
static inline uint64_t align_down(uint64_t value, uint64_t power_of_two)
{
    return value & ~(power_of_two - 1);
}

/* The next multiple, or value itself. Wraps to 0 when value lies in the last, incomplete unit. */
static inline uint64_t align_up(uint64_t value, uint64_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

/* Whether value is a multiple. */
static inline bool is_aligned(uint64_t value, uint64_t power_of_two)
{
    return (value & (power_of_two - 1)) == 0;
}

#endif
