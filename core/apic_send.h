/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_APIC_SEND_H
#define CORE_APIC_SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/apic.h"
#include "core/cpu.h"
#include "core/msr.h"
#include "core/status.h"

/* Sending by the local APIC for who knows this LP's mode: inline, since kicks are what a flush
 * waits for. The contract is that of apic_send. SDM volume 3, "Issuing Interprocessor
 * Interrupts". */

#define APIC_SEND_POLLS 1000000u

static inline volatile uint32_t *apic_page_register(uint32_t offset)
{
    return (volatile uint32_t *)(uintptr_t)(APIC_PAGE + offset);
}

static inline bool apic_wait_until_sent(void)
{
    for (uint32_t poll = 0; poll < APIC_SEND_POLLS; poll++) {
        if ((*apic_page_register(APIC_ICR_LOW) & APIC_ICR_DELIVERY_PENDING) == 0) {
            return true;
        }
        cpu_pause();
    }
    return false;
}

static inline void apic_send_x2apic(uint32_t low, uint32_t destination)
{
    /* WRMSR of the ICR is not serialising. */
    cpu_fence_before_x2apic();
    cpu_write_msr(MSR_IA32_X2APIC_ICR, ((uint64_t)destination << 32) | low);
}

static inline enum status apic_send_xapic(uint32_t low, uint32_t destination,
                                          uint32_t icr_high_after)
{
    if (destination > APIC_BROADCAST_XAPIC) {
        return STATUS_OUT_OF_RANGE;
    }
    if (!apic_wait_until_sent()) {
        return STATUS_TIMED_OUT;
    }
    *apic_page_register(APIC_ICR_HIGH) = destination << 24;
    /* Stores to the uncached page are in program order with earlier ones, which are visible
     * first. */
    *apic_page_register(APIC_ICR_LOW) = low;
    if (!apic_wait_until_sent()) {
        return STATUS_TIMED_OUT;
    }
    *apic_page_register(APIC_ICR_HIGH) = icr_high_after;
    return STATUS_OK;
}

#endif
