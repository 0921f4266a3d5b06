/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_PAGING_H
#define GUEST_PAGING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The guest's own page tables: the low 4 GiB mapped identically with 2 MiB pages for the
 * supervisor, the same memory once more for user mode at PAGING_USER_BASE, and one 2 MiB window
 * that tests may point anywhere.
 */

#define PAGING_USER_BASE   0x8000000000ull  /* second PML4 entry */
#define PAGING_WINDOW      0x10000000000ull /* third PML4 entry */
#define PAGING_LARGE_BYTES 0x200000ull

/* Fills the tables. Once, on the boot processor. */
void paging_init(void);

/* Switches the processor that calls to these tables (CR3), with write protection on. */
void paging_load(void);

/* The value for CR3; below 4 GiB. */
uint32_t paging_root(void);

/* Points the window at the 2 MiB that hold physical, on the processor that calls; returns where
 * physical is seen. Others must flush their own TLB. */
volatile void *paging_window(uint64_t physical);

#endif
