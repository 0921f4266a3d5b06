/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMX_STATE_H
#define VMX_VMX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/addr.h"
#include "vmx/mtrr_shadow.h"

/*
 * The part of a vCPU that only vmx/ knows. Written by the LP that runs the vCPU; the APIC identity
 * is read by the LPs that send IPIs to it.
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
         * Read by other LPs that send a SIPI. */
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

#endif
