/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_HV_OPS_H
#define VMX_HV_OPS_H

#include "core/flush.h"
#include "core/lp.h"
#include "hyperv/hyperv.h"

/*
 * What hyperv/ and the flush engine need from the hardware, and the page that each LP has for them.
 * The context of all ops is the struct lp that executes.
 */

/* An LP's own: the state of its vCPU in the Microsoft interface, the flush engine's halves of
 * vCPU and LP, and the buffer for the headers of hypercall input and the ranges made of its
 * list. Lies in resident memory, zeroed. */
struct hv_lp {
    struct flush_vcpu flush_vcpu;
    struct hyperv_vp vp;
    struct flush_lp flush_lp;
    ALIGNED(8) uint64_t hypercall_buffer[PAGE_BYTES / sizeof(uint64_t)];
};

extern const struct hyperv_ops hv_ops HIDDEN;
extern const struct flush_ops hv_flush_ops HIDDEN;

#endif
