/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_HOSTILE_MEMORY_H
#define GUEST_HOSTILE_MEMORY_H

#include <stdint.h>

/* Keep and bring back the MTRRs of the processor that calls. */
void hostile_mtrrs_save(void *arg);
void hostile_mtrrs_restore(void *arg);

/* Points the window of the processor that calls at physical; returns where it is seen. */
volatile void *hostile_window(uint64_t physical);

#endif
