/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_SLUICE_H
#define GUEST_SLUICE_H

#include <stdbool.h>
#include <stdint.h>

/* Sluice's own CPUID block: are we under it, and what does it count? */

#define SLUICE_LEAF_VENDOR   0x40000100u
#define SLUICE_LEAF_VERSION  0x40000101u /* version, mode, VP count, VP index */
#define SLUICE_LEAF_COUNTERS 0x40000102u
#define SLUICE_LAST_LEAF     SLUICE_LEAF_COUNTERS

/* True under Sluice, on the processor that calls. */
bool sluice_is_present(void);

#define SUM_OF_ALL_VPS 0xFFFFFFFFu /* as VP index: the leaf takes the index + 1, and 0 is the sum */

/* One counter of one VP, or of all. Returns false if the VP or the number does not exist. */
bool sluice_counter(uint32_t vp_index, uint32_t number, uint64_t *value);

/* How many counters there are. */
uint32_t sluice_counter_count(void);

#endif
