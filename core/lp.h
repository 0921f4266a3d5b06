/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_LP_H
#define CORE_LP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "core/cpu.h"
#include "core/lp_shared.h"
#include "core/nmi_account.h"
#include "core/vcpu.h"

/*
 * A logical processor. struct lp is reached through GS base while in root mode and is written by
 * its own LP only; struct lp_shared holds what the others read and write. (tsc_correction and
 * is_parked are read by others too, and so atomic.)
 */

#define LP_GDT_ENTRIES 5u
#define LP_STACK_BYTES 0x4000u

enum lp_selector { LP_SELECTOR_CODE = 0x08, LP_SELECTOR_DATA = 0x10, LP_SELECTOR_TSS = 0x18 };

/* 64-bit TSS (SDM volume 3, "Task Management in 64-bit Mode"). */
struct lp_tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map_base;
} PACKED;

struct hv_lp;
struct machine;

struct lp {
    struct lp *self;    /* must stay first: this_lp() reads it through GS */
    struct vcpu *vcpu;  /* the vCPU that entry.asm loads and saves */
    uint64_t saved_rsp; /* the host stack while a guest runs */
    /* Set by the NMI and machine-check handlers, cleared before the checks that precede an entry;
     * entry.asm tests it. Only this LP touches it, so that ordering is that of the program. */
    volatile uint32_t restart;
    uint32_t lp_id;     /* dense */
    uint32_t apic_id;   /* of the hardware */
    uint32_t mp_number; /* the firmware's number for this processor */
    struct machine *machine;
    struct hv_lp *hv; /* Microsoft interface and flush engine (vmx/hv_ops.h) */

    /* NMI accounting (core/nmi_account.h), written by the NMI handler and on NMI exits. */
    struct nmi_account nmi_account;
    volatile bool nmi_arrived;           /* guest sources of NMIs are still to be looked at */
    volatile uint32_t kicks_in_root;     /* NMIs since the last look; counted by the run loop */
    volatile bool machine_check_pending; /* to be given to the guest at the next entry */
    /* VMXON done. The boot processor reads it too, but only once MP services have said that this LP
     * has finished (boot/virtualise.c), which orders the two. */
    bool is_in_vmx;
    _Atomic bool is_parked;         /* stopped for good; written by this LP, see core/panic.c */
    _Atomic int64_t tsc_correction; /* what guest writes have added to this LP's TSC */

    uint64_t firmware_cr0, firmware_cr4; /* before VMX, for going back */
    uint64_t vmxon_region;               /* host-physical addresses of the VMX regions */
    uint64_t stack_top;
    uint64_t nmi_stack_top;
    uint64_t fault_stack_top;
    struct lp_tss tss;
    ALIGNED(16) uint64_t gdt[LP_GDT_ENTRIES];

    struct lp_shared shared;
};

STATIC_ASSERT(offsetof(struct lp, self) == 0);
STATIC_ASSERT(offsetof(struct lp, shared) % CACHE_LINE_BYTES == 0);

/* The LP that executes this. Root mode only: GS base is loaded by each VM exit. */
static inline struct lp *this_lp(void)
{
    return cpu_read_gs_self();
}

/* What its guest's writes have added to this LP's TSC. On the LP itself. */
static inline int64_t lp_tsc_correction(const struct lp *lp)
{
    /* Relaxed: this LP's own last store. Others see it by vmx/exit_msr.c. */
    return atomic_load_explicit(&lp->tsc_correction, memory_order_relaxed);
}

/* Fills in ids, GDT and TSS (SDM volume 3, "Segment Descriptors"). The stacks and regions are set
 * already; lp is zero otherwise. Boot context, before the LP enters VMX operation. */
void lp_init(struct lp *lp, struct machine *machine, uint32_t lp_id, uint32_t apic_id);

#endif
