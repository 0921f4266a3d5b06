/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_GUEST_ACCESS_H
#define MM_GUEST_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "mm/guest_mem.h"

/*
 * A data access by linear address as the guest's processor makes it: with its rights, its page
 * faults, its accessed and dirty flags (SDM volume 3, "Access Rights" and "Page-Fault Exceptions").
 * Protection keys are not looked at. Pure.
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
 * accessed and dirty flags are set. PAGE_FAULT: *error_code is that of #PF. Between gva_begin and
 * gva_end (core/gva_section.h). */
MUST_CHECK enum guest_access_status guest_walk_access(const struct guest_memory *memory,
                                                      const struct guest_paging *paging,
                                                      gva_t address,
                                                      const struct guest_access *access, gpa_t *out,
                                                      uint32_t *error_code);

#endif
