/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/measure.h"

#include <stddef.h>

#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"

#define OVERHEAD_SAMPLES 100u

static uint32_t samples[MEASURE_SAMPLES];

/* Shell sort: no recursion, no library. */
static void sort_samples(uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            uint32_t value = samples[i];
            uint32_t at = i;

            while (at >= gap && samples[at - gap] > value) {
                samples[at] = samples[at - gap];
                at -= gap;
            }
            samples[at] = value;
        }
    }
}

static void nothing(void *arg)
{
    (void)arg;
}

static uint64_t ticks_of(void (*fn)(void *arg), void *arg)
{
    uint64_t start = insn_rdtsc();

    fn(arg);
    return insn_rdtsc() - start;
}

/* The cost of the measurement itself: the smallest of some empty ones. */
static uint64_t overhead(void)
{
    uint64_t least = ~0ull;

    for (unsigned int i = 0; i < OVERHEAD_SAMPLES; i++) {
        uint64_t ticks = ticks_of(nothing, NULL);

        if (ticks < least) {
            least = ticks;
        }
    }
    return least;
}

static void sum_up(uint32_t count, struct measured *out)
{
    out->sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        out->sum += samples[i];
    }
    sort_samples(count);
    out->median = samples[count / 2];
    out->max = samples[count - 1];
}

static uint64_t print_samples(const char *name, uint32_t count)
{
    struct measured measured;

    sum_up(count, &measured);
    print_line("MEASURE %s mean=%u median=%u max=%u samples=%u", name,
               (uint32_t)(measured.sum / count), measured.median, measured.max, count);
    return measured.sum;
}

static uint32_t at_most(uint32_t count)
{
    return count < MEASURE_SAMPLES ? count : MEASURE_SAMPLES;
}

uint64_t measure(const char *name, void (*fn)(void *arg), void *arg, uint32_t count)
{
    uint64_t empty = overhead();

    count = at_most(count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t ticks = ticks_of(fn, arg);

        samples[i] = (uint32_t)(ticks > empty ? ticks - empty : 0);
    }
    return print_samples(name, count);
}

void measure_quietly(uint64_t (*fn)(void *arg), void *arg, uint32_t count, struct measured *out)
{
    count = at_most(count);
    for (uint32_t i = 0; i < count; i++) {
        samples[i] = (uint32_t)fn(arg);
    }
    sum_up(count, out);
}
