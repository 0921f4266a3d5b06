/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_PARTITION_H
#define VMX_PARTITION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/flush_wait.h"
#include "core/machine.h"
#include "core/spin.h"
#include "core/vcpu.h"
#include "hyperv/hyperv.h"
#include "mm/ept.h"
#include "mm/guest_mem.h"
#include "mm/page_pool.h"
#include "vmx/caps.h"
#include "vmx/console_shadow.h"
#include "vmx/cpuid_policy.h"
#include "vmx/msr_policy.h"
#include "vmx/mtrr_shadow.h"
#include "vmx/own_leaves.h"

/*
 * One guest: its vCPUs, its memory, and what it is shown. Filled in by boot/ before the first VM
 * entry; read-only afterwards but for what says otherwise.
 */

struct partition {
    struct machine *machine;
    struct vcpu **vcpus;
    uint32_t vcpu_count;

    struct vmx_controls controls;
    struct cpuid_policy cpuid;
    struct own_leaves own_leaves;
    uint64_t cr4_allowed;
    struct guest_memory memory;

    /* MSR bitmaps and policies by the guest's APIC mode. */
    struct msr_policy_context msr_xapic, msr_x2apic;
    uint8_t *msr_bitmap_xapic, *msr_bitmap_x2apic;
    uint8_t *io_bitmaps; /* A, then B */

    /* ept_lock guards ept and the MTRR state that it was built for. Any LP in root mode; nothing
     * else is taken or waited for while it is held. */
    struct spin_lock ept_lock;
    struct ept_map ept;
    uint32_t ept_changes_in_flight; /* changed, but not yet invalidated by every LP */
    struct page_pool pool;          /* where its tables come from */
    /* Counted up after a change that takes rights or types away; each LP compares it with what it
     * has invalidated, on every entry, after making run_seq odd. */
    _Atomic uint64_t ept_generation;

    /* The Microsoft interface and its two overlay pages; the flush engine and its tables. */
    struct hyperv_partition hyperv;
    uint8_t *hypercall_page;
    struct hv_reference_tsc_page *reference_tsc_page;
    struct flush_machine flush;
    struct lp_shared **flush_lps;
    struct flush_vcpu **flush_vps;

    struct console_shadow console;
    /* The report before the machine goes down: 0, then being written, then done. */
    _Atomic uint32_t end_report;
};

#endif
