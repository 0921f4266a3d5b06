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

/* Paging as the guest has set it up (SDM volume 3, "Paging Modes and Control Bits"). */
struct guest_paging {
    uint64_t cr0, cr3, cr4, efer;
};

/* Translates a linear address by the guest's own paging structures, without rights and without
 * setting accessed or dirty flags. False: not mapped, or a structure lies outside RAM. Between
 * gva_begin and gva_end (core/gva_section.h) when it is used to touch memory. */
MUST_CHECK bool guest_walk(const struct guest_memory *memory, const struct guest_paging *paging,
                           gva_t address, gpa_t *out);

/* Copies up to bytes from a linear address, each byte read once; stops at what cannot be read.
 * Returns how many were copied. Between gva_begin and gva_end. */
size_t guest_read_linear(const struct guest_memory *memory, const struct guest_paging *paging,
                         gva_t address, void *to, size_t bytes);

#endif
