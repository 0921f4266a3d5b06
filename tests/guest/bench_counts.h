/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_BENCH_COUNTS_H
#define GUEST_BENCH_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

/* What Sluice has counted for all VPs together. */
struct bench_counts {
    uint64_t exits, kicks, invvpids;
};

/* Reads them by CPUID, which costs exits itself. False: a counter does not exist. */
bool bench_counts_read(struct bench_counts *counts);

#endif
