/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_APIC_H
#define GUEST_APIC_H

#include <stdbool.h>
#include <stdint.h>

/* The local APIC in both modes. Registers are named by their xAPIC offset. */

#define MSR_APIC_BASE     0x1Bu
#define APIC_BASE_BSP     (1u << 8)
#define APIC_BASE_EXTD    (1u << 10)
#define APIC_BASE_EN      (1u << 11)
#define APIC_BASE_ADDRESS 0xFEE00000u
#define MSR_X2APIC_BASE   0x800u

#define APIC_ID          0x020u
#define APIC_VERSION     0x030u
#define APIC_TPR         0x080u
#define APIC_PPR         0x0A0u
#define APIC_EOI         0x0B0u
#define APIC_LDR         0x0D0u
#define APIC_DFR         0x0E0u
#define APIC_SVR         0x0F0u
#define APIC_ISR         0x100u
#define APIC_IRR         0x200u
#define APIC_ESR         0x280u
#define APIC_ICR         0x300u
#define APIC_ICR_HIGH    0x310u
#define APIC_LVT_TIMER   0x320u
#define APIC_LVT_LINT0   0x350u
#define APIC_LVT_LINT1   0x360u
#define APIC_LVT_ERROR   0x370u
#define APIC_TIMER_INIT  0x380u
#define APIC_TIMER_COUNT 0x390u
#define APIC_TIMER_DIV   0x3E0u
#define APIC_SELF_IPI    0x3F0u /* x2APIC only */

#define APIC_LVT_MASKED     (1u << 16)
#define APIC_SVR_ENABLE     (1u << 8)
#define APIC_DFR_FLAT       0xFFFFFFFFu
#define APIC_DFR_CLUSTER    0x0FFFFFFFu
#define APIC_TIMER_DIV_1    0x0Bu
#define APIC_TIMER_PERIODIC (1u << 17)

#define ICR_FIXED           0x000u
#define ICR_LOWEST          0x100u
#define ICR_NMI             0x400u
#define ICR_INIT            0x500u
#define ICR_SIPI            0x600u
#define ICR_LOGICAL         0x0800u
#define ICR_PENDING         0x1000u
#define ICR_ASSERT          0x4000u
#define ICR_LEVEL           0x8000u
#define ICR_TO_SELF         0x40000u
#define ICR_TO_ALL          0x80000u
#define ICR_TO_ALL_BUT_SELF 0xC0000u

#define APIC_BROADCAST_X  0xFFu
#define APIC_BROADCAST_X2 0xFFFFFFFFu

enum apic_mode { APIC_OFF, APIC_XAPIC, APIC_X2APIC };

/* The mode of the processor that calls, from IA32_APIC_BASE. */
enum apic_mode apic_current_mode(void);

/* True if CPUID shows x2APIC. */
bool apic_has_x2apic(void);

/* Brings the processor that calls into the mode by legal steps and enables its APIC there. */
void apic_set_mode(enum apic_mode mode);

/* Software-enables the APIC: SVR, TPR 0, LINT0 masked, LINT1 NMI. */
void apic_enable(void);

uint32_t apic_read(uint32_t offset);
void apic_write(uint32_t offset, uint32_t value);
void apic_eoi(void);
uint32_t apic_id(void);

/* Writes the ICR: destination as an id (shifted into place here for xAPIC), command as the low
 * word. In xAPIC mode waits until the APIC has taken it. */
void apic_send(uint32_t destination, uint32_t command);

#endif
