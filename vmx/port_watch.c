/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/port_watch.h"

#include "core/bits.h"

#define KEYBOARD_PULSE_RESET_MASK 0xF1u /* commands F0h-FFh pulse lines; bit 0 clear: reset */
#define KEYBOARD_PULSE_RESET      0xF0u
#define SYSTEM_CONTROL_A_RESET    0x01u
#define RESET_CONTROL_GO          0x04u

/* Alike in the high byte of PM1 control and in the sleep control register. */
#define SLEEP_ENABLE      0x20u
#define SLEEP_TYPE(value) (((value) >> 2) & 7u)

#define PM1_BYTES     2u
#define PM1_HIGH_BYTE 1u

void port_watch_add(uint8_t *bitmaps, uint32_t first, uint32_t count)
{
    for (uint32_t port = first; port < first + count && port <= UINT16_MAX; port++) {
        bitmaps[port / 8] |= (uint8_t)(1u << (port % 8));
    }
}

static void add_register(uint8_t *bitmaps, const struct boot_register *where, uint32_t bytes)
{
    if (where->address != 0 && where->space == GAS_IO && where->address <= UINT16_MAX) {
        port_watch_add(bitmaps, (uint32_t)where->address, bytes);
    }
}

void port_watch_build(const struct boot_acpi *acpi, uint8_t *bitmaps)
{
    port_watch_add(bitmaps, PORT_SYSTEM_CONTROL_B, 1);
    port_watch_add(bitmaps, PORT_KEYBOARD_COMMAND, 1);
    port_watch_add(bitmaps, PORT_SYSTEM_CONTROL_A, 1);
    port_watch_add(bitmaps, PORT_RESET_CONTROL, 1);
    add_register(bitmaps, &acpi->pm1a_control, PM1_BYTES);
    add_register(bitmaps, &acpi->pm1b_control, PM1_BYTES);
    add_register(bitmaps, &acpi->sleep_control, 1);
    add_register(bitmaps, &acpi->reset, 1);
}

uint8_t port_watch_overlap(uint16_t first, uint8_t count, uint16_t port, uint8_t bytes)
{
    uint8_t mask = 0;

    for (uint8_t i = 0; i < bytes; i++) {
        if ((uint16_t)(port + i - first) < count) {
            mask |= (uint8_t)(1u << i);
        }
    }
    return mask;
}

/* Whether the access writes the byte at address; *index is the byte's place in the value. */
static bool covers(const struct port_access *access, uint8_t space, uint64_t address,
                   uint8_t *index)
{
    uint64_t distance = address - access->address;

    if (access->space != space) {
        return false;
    }
    if (space == GAS_IO) {
        distance &= UINT16_MAX;
        if (access->address == PORT_PCI_ADDRESS && access->bytes == 4) {
            return false;
        }
    }
    *index = (uint8_t)distance;
    return distance < access->bytes;
}

static uint8_t byte_at(const struct port_access *access, uint8_t index)
{
    return (uint8_t)(access->value >> (index * 8));
}

static enum port_sleep sleep_of(const struct boot_acpi *acpi, uint32_t type, bool is_a)
{
    if (acpi->has_s5 && type == (is_a ? acpi->s5_type_a : acpi->s5_type_b)) {
        return PORT_SLEEP_S5;
    }
    if (acpi->has_s3 && type == (is_a ? acpi->s3_type_a : acpi->s3_type_b)) {
        return PORT_SLEEP_S3;
    }
    return PORT_SLEEP_OTHER;
}

/* A register whose byte at offset holds SLP_EN and SLP_TYP. */
static void decode_sleep(const struct boot_acpi *acpi, const struct port_access *access,
                         const struct boot_register *where, uint8_t offset, bool is_a,
                         struct port_meaning *out)
{
    enum port_sleep sleep;
    uint8_t index;
    uint8_t byte;

    if (where->address == 0 || !covers(access, where->space, where->address + offset, &index)) {
        return;
    }
    byte = byte_at(access, index);
    if ((byte & SLEEP_ENABLE) == 0) {
        return;
    }
    sleep = sleep_of(acpi, SLEEP_TYPE(byte), is_a);
    out->sleep = sleep > out->sleep ? sleep : out->sleep;
    out->sleep_enable |= (uint64_t)SLEEP_ENABLE << (index * 8);
}

static bool is_reset(const struct boot_acpi *acpi, const struct port_access *access)
{
    uint8_t index;

    if (covers(access, GAS_IO, PORT_RESET_CONTROL, &index) &&
        (byte_at(access, index) & RESET_CONTROL_GO) != 0) {
        return true;
    }
    if (covers(access, GAS_IO, PORT_KEYBOARD_COMMAND, &index) &&
        (byte_at(access, index) & KEYBOARD_PULSE_RESET_MASK) == KEYBOARD_PULSE_RESET) {
        return true;
    }
    if (covers(access, GAS_IO, PORT_SYSTEM_CONTROL_A, &index) &&
        (byte_at(access, index) & SYSTEM_CONTROL_A_RESET) != 0) {
        return true;
    }
    return acpi->reset.address != 0 &&
           covers(access, acpi->reset.space, acpi->reset.address, &index) &&
           byte_at(access, index) == acpi->reset_value;
}

void port_watch_decode(const struct boot_acpi *acpi, const struct port_access *access,
                       struct port_meaning *out)
{
    uint8_t index;

    *out = (struct port_meaning){0};
    decode_sleep(acpi, access, &acpi->pm1a_control, PM1_HIGH_BYTE, true, out);
    decode_sleep(acpi, access, &acpi->pm1b_control, PM1_HIGH_BYTE, false, out);
    decode_sleep(acpi, access, &acpi->sleep_control, 0, true, out);
    out->is_reset = is_reset(acpi, access);
    if (covers(access, GAS_IO, PORT_SYSTEM_CONTROL_B, &index)) {
        out->has_system_control_b = true;
        out->system_control_b = byte_at(access, index);
    }
}
