/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_APIC_H
#define CORE_APIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/status.h"

/*
 * The LP's own local APIC (SDM volume 3, "Advanced Programmable Interrupt Controller (APIC)"), in
 * whichever of its two modes it is. Registers are named by their offset in the xAPIC page; the
 * x2APIC MSR is 800H + offset / 16.
 */

#define APIC_PAGE 0xFEE00000ull

enum apic_register {
    APIC_ID = 0x020,
    APIC_VERSION = 0x030,
    APIC_TPR = 0x080,
    APIC_EOI = 0x0B0,
    APIC_LDR = 0x0D0,
    APIC_DFR = 0x0E0,
    APIC_SVR = 0x0F0,
    APIC_ISR = 0x100,
    APIC_IRR = 0x200,
    APIC_ESR = 0x280,
    APIC_LVT_CMCI = 0x2F0,
    APIC_ICR_LOW = 0x300,
    APIC_ICR_HIGH = 0x310,
    APIC_LVT_TIMER = 0x320,
    APIC_LVT_THERMAL = 0x330,
    APIC_LVT_PMI = 0x340,
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LINT1 = 0x360,
    APIC_LVT_ERROR = 0x370,
    APIC_TIMER_INITIAL = 0x380,
    APIC_TIMER_DIVIDE = 0x3E0,
};

#define APIC_LVT_MASKED           (1u << 16)
#define APIC_LVT_DELIVERY_MASK    0x700u
#define APIC_LVT_DELIVERY_NMI     0x400u
#define APIC_ICR_DELIVERY_PENDING (1u << 12)
#define APIC_ICR_LEVEL_ASSERT     (1u << 14)
#define APIC_ICR_DELIVERY_NMI     0x400u
#define APIC_BROADCAST_XAPIC      0xFFu
#define APIC_DFR_RESET            0xFFFFFFFFu /* flat model */

/* Whether this LP's APIC is in x2APIC mode now. This and what follows: the executing LP, in root
 * mode or boot context, interrupts off, no lock. */
bool apic_is_x2apic(void);

/* This LP's APIC id, all 32 bits in x2APIC mode. */
uint32_t apic_id(void);

/* Reads and writes a register of this LP's APIC. In x2APIC mode the register must exist there. */
uint32_t apic_read(enum apic_register index);
void apic_write(enum apic_register index, uint32_t value);

/*
 * Sends the interrupt command: low as in the ICR, destination an APIC id or logical destination,
 * by this LP's current mode. Earlier stores are visible before it is sent. In xAPIC mode the
 * previous command is waited for (bounded: STATUS_TIMED_OUT), a destination has 8 bits
 * (STATUS_OUT_OF_RANGE), and ICR_HIGH is left as icr_high_after, which is what
 * the guest believes to have there. SDM volume 3, "Issuing Interprocessor Interrupts".
 */
enum status apic_send(uint32_t low, uint32_t destination, uint32_t icr_high_after);

/* As INIT leaves a local APIC (SDM: "Local APIC State After It Receives an INIT-Deassert ... INIT
 * Reset"): all registers at their reset values but id and mode, nothing requested or in service.
 * Interrupts off; opens a window in which pending interrupts are taken and dropped. */
void apic_reset_by_init(void);

#endif
