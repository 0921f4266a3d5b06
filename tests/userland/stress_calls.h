/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_USERLAND_STRESS_CALLS_H
#define TESTS_USERLAND_STRESS_CALLS_H

#include <stdint.h>

/* Flush calls of all processors that Sluice has served so far; 0 without Sluice. */
uint64_t flush_calls_served(void);

#endif
