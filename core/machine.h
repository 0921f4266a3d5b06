/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/boot_info.h"
#include "core/log.h"
#include "core/lp.h"

/*
 * What there is once: the LPs, the facts of the platform, the log. It lies in the resident memory,
 * is filled in by boot/ before the first LP enters VMX, and is read-only from then on but for the
 * fields that say otherwise.
 */

struct partition;

/* Where the TSC frequency comes from. */
enum tsc_source { TSC_SOURCE_PM_TIMER, TSC_SOURCE_HPET, TSC_SOURCE_FIRMWARE };

struct machine {
    struct lp **lps;
    uint32_t lp_count;
    struct partition *partition;
    struct boot_config config;
    struct boot_acpi acpi;
    bool is_bochs; /* this emulator's faults are worked around (vmx/bochs_quirk.h) */
    uint64_t tsc_hz;
    uint64_t tsc_at_start; /* of the boot processor */
    enum tsc_source tsc_source;

    /* The resident memory: image copy and pool, hidden from the guest. */
    hpa_t resident_base;
    uint64_t resident_bytes;
    uint64_t image_base; /* the running copy; for symbol offsets in reports */
    uint64_t image_bytes;
    uint64_t idt;         /* the two tables of core/idt.h */
    uint64_t leave_entry; /* leave_to_firmware in the firmware's copy (vmx/leave.c) */

    struct log_state log;            /* locked by itself */
    _Atomic bool is_started;         /* every LP runs a guest: INIT signals are software only */
    _Atomic uint32_t stop_requested; /* panic or a stopped guest: every LP parks for good */
};

/* Whether a guest runs on the LP, as any LP may ask. */
static inline bool lp_is_virtualised(const struct lp *lp)
{
    /* Acquire pairs with the release below. */
    return atomic_load_explicit(&lp->shared.is_virtualised, memory_order_acquire);
}

/* This LP says that it runs a guest, right before its first VM entry, or that it no longer does. */
static inline void lp_set_virtualised(struct lp *lp, bool is_virtualised)
{
    /* Release pairs with the acquire above: who sees it sees the LP set up. */
    atomic_store_explicit(&lp->shared.is_virtualised, is_virtualised, memory_order_release);
}

#endif
