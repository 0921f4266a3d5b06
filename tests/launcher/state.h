/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_STATE_H
#define LAUNCHER_STATE_H

/*
 * What a program that was refused must leave as it was: control registers and MSRs of every LP, and
 * the firmware's memory.
 */

#include <efi.h>

#include "tests/launcher/lps.h"

enum state_register {
    STATE_CR0,
    STATE_CR3,
    STATE_CR4,
    STATE_EFER,
    STATE_APIC_BASE,
    STATE_PAT,
    STATE_GDT,
    STATE_IDT,
    STATE_REGISTERS
};

struct state {
    UINTN lp_count;
    uint64_t registers[LPS_MAX][STATE_REGISTERS]; /* in MP Services' order, calling LP first */
    uint64_t feature_control[LPS_MAX];            /* zero where the LP has no VMX */
    uint64_t free_pages;
    uint64_t reserved_pages; /* EfiReservedMemoryType */
};

/* Fill *state. */
void state_read(EFI_BOOT_SERVICES *services, const struct lps *lps, struct state *state);

/*
 * Print one line for each register that differs, one for LPs whose IA32_FEATURE_CONTROL became
 * locked, one for memory that is gone, and "LAUNCH unchanged" when registers and reserved memory
 * are as they were.
 */
void state_compare(const struct state *before, const struct state *after);

#endif
