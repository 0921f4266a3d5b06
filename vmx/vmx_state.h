/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMX_STATE_H
#define VMX_VMX_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/apic.h"
#include "vmx/mtrr_shadow.h"

/*
 * The part of a vCPU that only vmx/ knows. Written by the LP that runs the vCPU and read there, but
 * for what LPs that send IPIs to it look at: the atomics, reached through the functions below.
 */

/* An event for the next VM entry, as the VM-entry interruption fields want it. */
struct pending_event {
    uint32_t information; /* INTERRUPTION_VALID set: there is one */
    uint32_t error_code;
    uint32_t instruction_length;
};

/* What keeps an entry from its shortest way; looked at as one word there. */
union attention {
    struct {
        bool has_nmi;           /* to be injected as soon as the guest takes NMIs */
        bool has_machine_check; /* to be injected after the event that goes first */
        /* Activity state wait-for-SIPI: INIT came from hardware while not all LPs were virtualised.
         * Read by the LPs that send a SIPI. */
        _Atomic bool is_waiting_in_hardware;
    };
    uint32_t any;
};

struct vmx_state {
    hpa_t vmcs;
    uint64_t eptp;
    uint16_t vpid;

    struct pending_event event; /* not in the VMCS yet */
    union attention attention;
    bool is_triple_fault;    /* an exception could not be delivered: the guest shuts down */
    bool is_nmi_window_open; /* NMI-window exiting is on */
    bool is_pmi_armed;       /* the guest unmasked its LVT PMI register last */
    bool is_pmi_reported;    /* that it has fired since was told to the guest */
    bool is_port61_reported;

    uint64_t apic_base;   /* as the guest reads it */
    uint32_t icr_high;    /* what the guest wrote to its xAPIC ICR_HIGH */
    uint64_t x2apic_icr;  /* what the guest wrote to its x2APIC ICR */
    _Atomic uint32_t ldr; /* as the guest set them, for logical destinations */
    _Atomic uint32_t dfr;
    _Atomic bool is_x2apic;
    _Atomic bool is_apic_enabled;

    struct mtrr_shadow mtrrs;
};

/*
 * The APIC identity. Relaxed: each word stands alone and publishes nothing, and an IPI that races
 * with a change of mode or destination may go by either. The setters are for the vCPU's own LP (or
 * boot/, before its first entry); any LP may read.
 */
static inline bool vmx_state_is_x2apic(const struct vmx_state *vmx)
{
    return atomic_load_explicit(&vmx->is_x2apic, memory_order_relaxed);
}

static inline bool vmx_state_is_apic_enabled(const struct vmx_state *vmx)
{
    return atomic_load_explicit(&vmx->is_apic_enabled, memory_order_relaxed);
}

static inline uint32_t vmx_state_ldr(const struct vmx_state *vmx)
{
    return atomic_load_explicit(&vmx->ldr, memory_order_relaxed);
}

static inline uint32_t vmx_state_dfr(const struct vmx_state *vmx)
{
    return atomic_load_explicit(&vmx->dfr, memory_order_relaxed);
}

static inline void vmx_state_set_apic_mode(struct vmx_state *vmx, bool is_x2apic, bool is_enabled)
{
    atomic_store_explicit(&vmx->is_x2apic, is_x2apic, memory_order_relaxed);
    atomic_store_explicit(&vmx->is_apic_enabled, is_enabled, memory_order_relaxed);
}

static inline void vmx_state_set_ldr(struct vmx_state *vmx, uint32_t ldr)
{
    atomic_store_explicit(&vmx->ldr, ldr, memory_order_relaxed);
}

static inline void vmx_state_set_dfr(struct vmx_state *vmx, uint32_t dfr)
{
    atomic_store_explicit(&vmx->dfr, dfr, memory_order_relaxed);
}

/* What an INIT, or switching the APIC off, makes of the two. */
static inline void vmx_state_reset_destination(struct vmx_state *vmx)
{
    vmx_state_set_ldr(vmx, 0);
    vmx_state_set_dfr(vmx, APIC_DFR_RESET);
}

/* Whether the vCPU is in the hardware's wait-for-SIPI, for a sender that has posted its signal. */
static inline bool vmx_state_is_waiting_in_hardware(const struct vmx_state *vmx)
{
    /* Sequentially consistent: post, then load; pairs with the store below, after which the target
     * looks at its mailbox. One of the two sees the other. */
    return atomic_load_explicit(&vmx->attention.is_waiting_in_hardware, memory_order_seq_cst);
}

/* Says so; the vCPU's own LP, before the look at the mailbox that precedes the entry. */
static inline void vmx_state_set_waiting_in_hardware(struct vmx_state *vmx, bool is_waiting)
{
    /* Sequentially consistent: pairs with the load above. */
    atomic_store_explicit(&vmx->attention.is_waiting_in_hardware, is_waiting, memory_order_seq_cst);
}

#endif
