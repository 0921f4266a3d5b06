/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_GUEST_MEM_H
#define MM_GUEST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"

/*
 * The guest's memory as root mode sees it: RAM only, never a device, never our own pages. In
 * passthrough mode a guest-physical address is the host-physical one. Pure.
 */

#define GUEST_MEMORY_RANGES_MAX 512u

struct guest_memory_range {
    uint64_t base;
    uint64_t bytes;
};

struct guest_memory {
    struct guest_memory_range ranges[GUEST_MEMORY_RANGES_MAX]; /* RAM, ascending, merged */
    uint32_t range_count;
    struct guest_memory_range hidden; /* ours */
    /* From a host-physical address to a pointer; NULL: they are the same (the hypervisor). Tests
     * give a base to add. */
    uint8_t *host_base;
};

/* Adds RAM; ranges come in ascending order, adjacent ones are merged. False: the table is full.
 * Boot context. */
MUST_CHECK bool guest_memory_add(struct guest_memory *memory, gpa_t base, uint64_t bytes);

/* The pointer to bytes of guest RAM at address, which may not cross a page; NULL when any of it is
 * not RAM, or is hidden. The guest may change what is there at any time: read it once. Any LP. */
void *guest_memory_at(const struct guest_memory *memory, gpa_t address, size_t bytes);

#endif
