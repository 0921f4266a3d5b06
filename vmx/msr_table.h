/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_MSR_TABLE_H
#define VMX_MSR_TABLE_H

#include <stdint.h>

#include "vmx/msr_policy.h"

/*
 * The allow-list itself: inside interface between vmx/msr_table.c (the list) and vmx/msr_policy.c
 * (what it means for one vCPU).
 */

enum msr_condition {
    MSR_WHEN_ALWAYS,
    MSR_WHEN_X2APIC,    /* the guest's APIC is in x2APIC mode */
    MSR_WHEN_PMU,       /* CPUID.0AH is shown */
    MSR_WHEN_CET,       /* CET is shown: its state is switched at entry and exit */
    MSR_WHEN_USER_WAIT, /* UMWAIT and TPAUSE are shown */
    MSR_WHEN_XSAVES,    /* XSAVES is shown */
    MSR_WHEN_BANKS,     /* one per machine-check bank */
    MSR_WHEN_BANKS_4,   /* four per machine-check bank */
};

struct msr_row {
    uint32_t first, last;
    enum msr_action read, write;
    enum msr_handler handler;
    enum msr_condition condition;
};

/* Sorted by number, without overlaps. */
extern const struct msr_row msr_rows[];
extern const unsigned int msr_row_count;

#endif
