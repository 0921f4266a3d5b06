/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_PORT_WATCH_H
#define VMX_PORT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/boot_info.h"

/*
 * What a guest's write to the platform means: sleep, reset, port 61h; byte by byte, since a wide
 * access reaches every register that it covers. ACPI specification, "ACPI Hardware Specification";
 * the ports not named there are the PC's. Pure.
 */

#define PORT_SYSTEM_CONTROL_B 0x61u
#define PORT_KEYBOARD_COMMAND 0x64u
#define PORT_SYSTEM_CONTROL_A 0x92u
#define PORT_PCI_ADDRESS      0xCF8u /* as an aligned access of 4 bytes; else 4 ports of a byte */
#define PORT_PCI_DATA         0xCFCu
#define PORT_RESET_CONTROL    0xCF9u

struct port_access {
    uint8_t space; /* GAS_IO or GAS_MEMORY */
    uint64_t address;
    uint8_t bytes; /* 1 to 8 */
    uint64_t value;
};

enum port_sleep { PORT_SLEEP_NONE, PORT_SLEEP_OTHER, PORT_SLEEP_S5, PORT_SLEEP_S3 };

struct port_meaning {
    enum port_sleep sleep;
    uint64_t sleep_enable; /* the bits of the value that start it */
    bool is_reset;
    bool has_system_control_b;
    uint8_t system_control_b; /* the byte that goes to port 61h */
};

/* What a write means. Any access is understood; what is not watched means nothing. */
void port_watch_decode(const struct boot_acpi *acpi, const struct port_access *access,
                       struct port_meaning *out);

/* Which bytes of an access to a port go to the count ports from first on: bit i for byte i. */
uint8_t port_watch_overlap(uint16_t first, uint8_t count, uint16_t port, uint8_t bytes);

/* Sets the ports that must exit, the console's apart, in the I/O bitmaps (A, then B): SDM volume 3,
 * "I/O-Bitmap Addresses". Boot context. */
void port_watch_build(const struct boot_acpi *acpi, uint8_t *bitmaps);

/* Sets count more ports from first on. */
void port_watch_add(uint8_t *bitmaps, uint32_t first, uint32_t count);

#endif
