/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_APIC_IPI_H
#define VMX_APIC_IPI_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * Decodes a guest's write of the interrupt command register and finds its targets. Pure. SDM
 * volume 3, "Issuing Interprocessor Interrupts" and "Extended XAPIC (x2APIC)".
 */

enum apic_delivery {
    APIC_DELIVERY_FIXED = 0,
    APIC_DELIVERY_LOWEST_PRIORITY = 1,
    APIC_DELIVERY_SMI = 2,
    APIC_DELIVERY_RESERVED_3 = 3,
    APIC_DELIVERY_NMI = 4,
    APIC_DELIVERY_INIT = 5,
    APIC_DELIVERY_STARTUP = 6,
    APIC_DELIVERY_RESERVED_7 = 7,
};

enum apic_shorthand {
    APIC_SHORTHAND_NONE = 0,
    APIC_SHORTHAND_SELF = 1,
    APIC_SHORTHAND_ALL = 2,
    APIC_SHORTHAND_ALL_BUT_SELF = 3,
};

struct apic_ipi {
    enum apic_delivery delivery;
    enum apic_shorthand shorthand;
    uint8_t vector;
    bool is_logical;
    bool is_level;  /* trigger mode */
    bool is_assert; /* level */
    bool is_x2apic; /* destination is 32 bits wide */
    uint32_t destination;
};

/* What must be known of an LP's APIC to match it; ldr and dfr as the guest set them. */
struct apic_identity {
    uint32_t apic_id;
    uint32_t ldr; /* xAPIC: the whole register (id in 31:24); x2APIC: cluster 31:16, bits 15:0 */
    uint32_t dfr; /* xAPIC: model in 31:28, flat 0xF, cluster 0 */
    bool is_x2apic;
    bool is_enabled; /* by IA32_APIC_BASE as the guest sees it; software enable does not matter */
};

#define APIC_ICR_DELIVERY_STATUS 0x1000u /* read-only bit of the low half */

/* From the two xAPIC registers at 0x300 and 0x310. Never fails: reserved bits are ignored there. */
void apic_ipi_from_xapic(uint32_t icr_low, uint32_t icr_high, struct apic_ipi *ipi);

/* From a WRMSR to 0x830. False: a reserved bit is set, #GP. */
bool apic_ipi_from_x2apic(uint64_t icr, struct apic_ipi *ipi) MUST_CHECK;

/* Whether it does anything at all: false for INIT level de-assert (ignored by processors since the
 * Pentium 4) and for the reserved delivery modes. */
bool apic_ipi_is_effective(const struct apic_ipi *ipi);

/* Whether delivery in software is ours (INIT, start-up, NMI). The rest goes to the hardware. */
bool apic_ipi_is_software(const struct apic_ipi *ipi);

/* Whether the IPI, sent by sender, addresses candidate. sender_is_candidate: they are the same LP.
 * An APIC that is switched off receives nothing. Lowest priority matches the whole set. */
bool apic_ipi_matches(const struct apic_ipi *ipi, bool sender_is_candidate,
                      const struct apic_identity *candidate);

#endif
