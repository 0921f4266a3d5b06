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
    uint64_t tsc_hz;
    uint64_t tsc_at_start; /* of the boot processor */
    enum tsc_source tsc_source;

    /* The resident memory: image copy and pool, hidden from the guest. */
    hpa_t resident_base;
    uint64_t resident_bytes;
    uint64_t image_base; /* the running copy; for symbol offsets in reports */
    uint64_t image_bytes;
    uint64_t leave_entry; /* leave_to_firmware in the firmware's copy (vmx/leave.c) */

    struct log_state log;            /* locked by itself */
    _Atomic uint32_t online;         /* LPs that run a guest; counted up by each after its entry */
    _Atomic bool is_started;         /* every LP runs a guest: INIT signals are software only */
    _Atomic uint32_t stop_requested; /* panic or a stopped guest: every LP parks for good */
    _Atomic uint32_t stopped;        /* LPs that have parked */
};

#endif
