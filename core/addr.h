/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_ADDR_H
#define CORE_ADDR_H

#include <stdint.h>

/*
 * Addresses by kind, as one-member structs, so that a guest-physical address cannot be passed
 * where a host-physical one is meant. The guest sees the machine identity-mapped in passthrough
 * mode; the conversion is a named function all the same.
 */

typedef struct {
    uint64_t value;
} gva_t;

typedef struct {
    uint64_t value;
} gpa_t;

typedef struct {
    uint64_t value;
} hpa_t;

#define PAGE_BYTES       4096ull
#define PAGE_SHIFT       12u
#define LARGE_PAGE_BYTES (2ull << 20)
#define HUGE_PAGE_BYTES  (1ull << 30)

/* A plain number becomes an address of its kind; the number is the caller's word for it. */
static inline gva_t gva(uint64_t value)
{
    return (gva_t){value};
}

static inline gpa_t gpa(uint64_t value)
{
    return (gpa_t){value};
}

static inline hpa_t hpa(uint64_t value)
{
    return (hpa_t){value};
}

#endif
