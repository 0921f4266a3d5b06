/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_GUEST_WALK_H
#define MM_GUEST_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "mm/guest_mem.h"

/*
 * The guest's own paging structures: 32-bit, PAE, 4-level and 5-level (SDM volume 3, "Paging"). One
 * walk, in two uses: as the hypervisor looks at the guest, and as the guest's processor makes a
 * data access. Pure; between gva_begin and gva_end (core/gva_section.h) where the result is used to
 * touch memory.
 */

/* Paging as the guest has set it up (SDM volume 3, "Paging Modes and Control Bits"). */
struct guest_paging {
    uint64_t cr0, cr3, cr4, efer;
};

/* Translates a linear address without rights, reserved bits, or setting accessed or dirty flags.
 * False: not mapped, or a structure lies outside RAM. */
MUST_CHECK bool guest_walk(const struct guest_memory *memory, const struct guest_paging *paging,
                           gva_t address, gpa_t *out);

/* Copies up to bytes from a linear address, each byte read once; stops at what cannot be read.
 * Returns how many were copied. */
size_t guest_read_linear(const struct guest_memory *memory, const struct guest_paging *paging,
                         gva_t address, void *to, size_t bytes);

/*
 * A data access as the guest's processor makes it: with its rights, its page faults, its accessed
 * and dirty flags (SDM volume 3, "Access Rights" and "Page-Fault Exceptions"). Protection keys are
 * not looked at.
 */

#define PAGE_FAULT_PRESENT  0x1u
#define PAGE_FAULT_WRITE    0x2u
#define PAGE_FAULT_USER     0x4u
#define PAGE_FAULT_RESERVED 0x8u

struct guest_access {
    bool is_write;
    bool is_user; /* CPL 3 */
    bool has_ac;  /* RFLAGS.AC: lets a supervisor through CR4.SMAP */
    uint8_t physical_address_bits;
};

enum guest_access_status {
    GUEST_ACCESS_OK,
    GUEST_ACCESS_PAGE_FAULT,
    GUEST_ACCESS_NOT_CANONICAL,
    GUEST_ACCESS_NOT_RAM, /* a paging structure lies outside RAM */
    GUEST_ACCESS_CHANGED, /* another processor changed an entry meanwhile: begin again */
};

/* Translates the address of one byte. OK: *out is its physical address (which may be no RAM), and
 * accessed and dirty flags are set. PAGE_FAULT: *error_code is that of #PF. */
MUST_CHECK enum guest_access_status guest_walk_access(const struct guest_memory *memory,
                                                      const struct guest_paging *paging,
                                                      gva_t address,
                                                      const struct guest_access *access, gpa_t *out,
                                                      uint32_t *error_code);

#endif
