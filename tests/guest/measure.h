/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_MEASURE_H
#define GUEST_MEASURE_H

#include <stdint.h>

/* Calls fn(arg) many times (at most MEASURE_SAMPLES) and prints
 *   MEASURE name mean=N median=N max=N samples=N
 * in TSC ticks, less those of a function that does nothing. Returns their sum. One processor at a
 * time. */
#define MEASURE_SAMPLES 10000u
uint64_t measure(const char *name, void (*fn)(void *arg), void *arg, uint32_t count);

struct measured {
    uint64_t sum;
    uint32_t median, max;
};

/* The same without a line, for a function that has measured itself and returns its ticks. */
void measure_quietly(uint64_t (*fn)(void *arg), void *arg, uint32_t count, struct measured *out);

#endif
