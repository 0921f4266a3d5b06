/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMCS_SETUP_H
#define VMX_VMCS_SETUP_H

#include <stdint.h>

#include "core/lp.h"
#include "vmx/partition.h"

/*
 * Filling in the current VMCS, one function per group of the SDM's chapter "Virtual Machine Control
 * Structures". Called on the LP that will run the vCPU, before its first VM entry; failures of
 * VMWRITE are noted (vmx/vmcs.h).
 */

/* What the host state needs besides struct lp. */
struct host_environment {
    uint64_t cr3;        /* our page tables */
    uint64_t idt;        /* IDT_VECTORS gates */
    uint64_t exit_entry; /* vmx_exit_entry of the resident image copy */
};

/* The VM-execution, VM-exit and VM-entry controls, with the bitmaps, EPT pointer and VPID of
 * this vCPU. */
void vmcs_setup_controls(const struct partition *partition, const struct vcpu *vcpu);
/* The host-state area: what a VM exit on this LP loads. */
void vmcs_setup_host(const struct lp *lp, const struct host_environment *environment);

#endif
