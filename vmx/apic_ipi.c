/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/apic_ipi.h"

#include "core/bits.h"

#define ICR_LOGICAL BIT32(11)
#define ICR_ASSERT  BIT32(14)
#define ICR_LEVEL   BIT32(15)
/* Processors ignore bit 12 (delivery status) in x2APIC mode and refuse the other reserved bits. */
#define ICR_X2APIC_RESERVED (MASK64(31, 20) | MASK64(17, 16) | BIT64(13))

#define XAPIC_BROADCAST  0xFFu
#define X2APIC_BROADCAST 0xFFFFFFFFu
#define DFR_FLAT         0xFu
#define DFR_CLUSTER      0x0u

static void decode_low(uint32_t low, struct apic_ipi *ipi)
{
    ipi->vector = (uint8_t)low;
    ipi->delivery = (enum apic_delivery)bits_get(low, 10, 8);
    ipi->shorthand = (enum apic_shorthand)bits_get(low, 19, 18);
    ipi->is_logical = (low & ICR_LOGICAL) != 0;
    ipi->is_assert = (low & ICR_ASSERT) != 0;
    ipi->is_level = (low & ICR_LEVEL) != 0;
}

void apic_ipi_from_xapic(uint32_t icr_low, uint32_t icr_high, struct apic_ipi *ipi)
{
    decode_low(icr_low, ipi);
    ipi->is_x2apic = false;
    ipi->destination = icr_high >> 24;
}

bool apic_ipi_from_x2apic(uint64_t icr, struct apic_ipi *ipi)
{
    decode_low((uint32_t)icr, ipi);
    ipi->is_x2apic = true;
    ipi->destination = (uint32_t)(icr >> 32);
    return (icr & ICR_X2APIC_RESERVED) == 0;
}

bool apic_ipi_is_effective(const struct apic_ipi *ipi)
{
    switch (ipi->delivery) {
    case APIC_DELIVERY_INIT:
        return ipi->is_assert || !ipi->is_level;
    case APIC_DELIVERY_FIXED:
    case APIC_DELIVERY_LOWEST_PRIORITY:
    case APIC_DELIVERY_SMI:
    case APIC_DELIVERY_NMI:
    case APIC_DELIVERY_STARTUP:
        return true;
    case APIC_DELIVERY_RESERVED_3:
    case APIC_DELIVERY_RESERVED_7:
    default:
        return false;
    }
}

bool apic_ipi_is_software(const struct apic_ipi *ipi)
{
    return ipi->delivery == APIC_DELIVERY_INIT || ipi->delivery == APIC_DELIVERY_STARTUP ||
           ipi->delivery == APIC_DELIVERY_NMI;
}

static bool is_broadcast(const struct apic_ipi *ipi)
{
    return ipi->destination == (ipi->is_x2apic ? X2APIC_BROADCAST : XAPIC_BROADCAST);
}

/* An xAPIC compares 8 bits with its LDR, by the model that its DFR names. */
static bool matches_xapic_logical(uint32_t destination, const struct apic_identity *candidate)
{
    uint32_t own = candidate->ldr >> 24;
    uint32_t model = candidate->dfr >> 28;

    if (destination > 0xFF) {
        return false;
    }
    if (model == DFR_FLAT) {
        return (destination & own) != 0;
    }
    return model == DFR_CLUSTER && destination >> 4 == own >> 4 && (destination & own & 0xF) != 0;
}

static bool matches_x2apic_logical(uint32_t destination, const struct apic_identity *candidate)
{
    return destination >> 16 == candidate->ldr >> 16 &&
           (destination & candidate->ldr & 0xFFFF) != 0;
}

bool apic_ipi_matches(const struct apic_ipi *ipi, bool sender_is_candidate,
                      const struct apic_identity *candidate)
{
    if (!candidate->is_enabled) {
        return false;
    }
    switch (ipi->shorthand) {
    case APIC_SHORTHAND_SELF:
        return sender_is_candidate;
    case APIC_SHORTHAND_ALL:
        return true;
    case APIC_SHORTHAND_ALL_BUT_SELF:
        return !sender_is_candidate;
    case APIC_SHORTHAND_NONE:
    default:
        break;
    }
    if (is_broadcast(ipi)) {
        return true;
    }
    if (!ipi->is_logical) {
        return candidate->apic_id == ipi->destination;
    }
    if (candidate->is_x2apic) {
        return matches_x2apic_logical(ipi->destination, candidate);
    }
    return matches_xapic_logical(ipi->destination, candidate);
}
