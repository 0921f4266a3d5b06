/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_GUEST_INFO_H
#define GUEST_GUEST_INFO_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What the guest learns from the firmware before it takes the machine over. Filled by efi_entry.c,
 * read-only afterwards.
 */

#define GUEST_MAX_CPUS      16u
#define GUEST_MAX_RANGES    64u
#define GUEST_OPTIONS_BYTES 256u

/* Pages below 0xA0000 that hold 16-bit code. Each is a SIPI vector of its own. */
#define GUEST_LOW_PAGES 4u

struct guest_range {
    uint64_t start;
    uint64_t bytes;
};

struct guest_info {
    uint32_t cpu_count;
    uint32_t apic_ids[GUEST_MAX_CPUS]; /* [0] is the boot processor */
    uint64_t low_base;                 /* GUEST_LOW_PAGES pages */
    uint64_t ram_top;                  /* end of the highest memory that is not reserved */
    uint32_t reserved_count;
    struct guest_range reserved[GUEST_MAX_RANGES]; /* EfiReservedMemoryType, below ram_top */
    char options[GUEST_OPTIONS_BYTES];             /* load options, one space between words */
};

/* The guest proper. Called on the boot processor after ExitBootServices, interrupts off, on the
 * firmware's stack and page tables. Does not return. */
__attribute__((noreturn)) void guest_main(const struct guest_info *info);

#endif
