/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_VCPU_H
#define CORE_VCPU_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/compiler.h"
#include "core/stats.h"

/*
 * A vCPU: what belongs to the guest's processor wherever it runs. It is never the same thing as an
 * LP, though in passthrough mode each has the other for life.
 */

/* General registers in the order of their encoding (SDM volume 2, ModR/M). */
enum gpr {
    GPR_RAX,
    GPR_RCX,
    GPR_RDX,
    GPR_RBX,
    GPR_RSP, /* lives in the VMCS: this slot is filled only where a decoder needs all registers */
    GPR_RBP,
    GPR_RSI,
    GPR_RDI,
    GPR_R8,
    GPR_R9,
    GPR_R10,
    GPR_R11,
    GPR_R12,
    GPR_R13,
    GPR_R14,
    GPR_R15,
    GPR_COUNT
};

struct partition;
struct vmx_state;

struct vcpu {
    /* Written by the LP that runs the vCPU, in entry.asm and in the exit handlers. */
    uint64_t gpr[GPR_COUNT];
    uint64_t is_launched; /* 1: VMRESUME, 0: VMLAUNCH; read by entry.asm */
    struct vmx_state *vmx;
    struct partition *partition;
    uint32_t vcpu_id;  /* index into partition->vcpus */
    uint32_t vp_index; /* the TLFS number; what a guest knows this vCPU by */
    uint32_t apic_id;  /* of the guest's local APIC */
    struct stats stats;

    /* What any LP may write: the mailbox for INIT, SIPI and NMI (vmx/signal.h). */
    ALIGNED(CACHE_LINE_BYTES) _Atomic uint32_t signals;
};

#endif
