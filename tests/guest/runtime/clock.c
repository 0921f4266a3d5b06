/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/clock.h"

#include "tests/guest/runtime/insn.h"

#define PIT_HZ           1193182u
#define PIT_CHANNEL2     0x42u
#define PIT_COMMAND      0x43u
#define PIT_MODE0_CH2    0xB0u
#define PORT61           0x61u
#define PORT61_GATE2     0x01u
#define PORT61_SPEAKER   0x02u
#define PORT61_OUT2      0x20u
#define CALIBRATION_PITS 2386u /* 2 ms */

static uint64_t ticks_per_us = 100;

void clock_init(void)
{
    uint8_t port61 = insn_in8(PORT61) & (uint8_t) ~(PORT61_SPEAKER | PORT61_GATE2);
    uint64_t start;
    uint64_t ticks;

    insn_out8(PORT61, port61 | PORT61_GATE2);
    insn_out8(PIT_COMMAND, PIT_MODE0_CH2);
    insn_out8(PIT_CHANNEL2, (uint8_t)(CALIBRATION_PITS & 0xFFu));
    insn_out8(PIT_CHANNEL2, (uint8_t)(CALIBRATION_PITS >> 8));
    start = insn_rdtsc();
    while ((insn_in8(PORT61) & PORT61_OUT2) == 0) {
        insn_pause();
    }
    ticks = insn_rdtsc() - start;
    insn_out8(PORT61, port61);
    ticks_per_us = ticks * PIT_HZ / CALIBRATION_PITS / 1000000u;
    if (ticks_per_us == 0) {
        ticks_per_us = 1;
    }
}

uint64_t clock_ticks_per_us(void)
{
    return ticks_per_us;
}

void clock_wait_us(uint64_t us)
{
    uint64_t start = insn_rdtsc();

    while (insn_rdtsc() - start < us * ticks_per_us) {
        insn_pause();
    }
}

bool clock_wait_change(atomic_uint *word, unsigned int old, uint64_t us)
{
    uint64_t start = insn_rdtsc();

    while (atomic_load(word) == old) {
        if (insn_rdtsc() - start >= us * ticks_per_us) {
            return atomic_load(word) != old;
        }
        insn_pause();
    }
    return true;
}

bool clock_wait_count(atomic_uint *word, unsigned int target, uint64_t us)
{
    uint64_t start = insn_rdtsc();

    while ((int)(atomic_load(word) - target) < 0) {
        if (insn_rdtsc() - start >= us * ticks_per_us) {
            return (int)(atomic_load(word) - target) >= 0;
        }
        insn_pause();
    }
    return true;
}
