/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/out.h"

#include "tests/launcher/cpu.h"

#define COM1             0x3F8U
#define COM2             0x2F8U
#define LINE_STATUS      5U
#define LINE_STATUS_ROOM 0x20U
#define LINE_STATUS_IDLE 0x40U
#define WAIT_LIMIT       1000000U

static void wait_for(uint16_t port, uint8_t bit)
{
    uint32_t tries;

    for (tries = 0; tries < WAIT_LIMIT; tries++) {
        if ((cpu_in8((uint16_t)(port + LINE_STATUS)) & bit) != 0) {
            return;
        }
    }
}

static void out_char(char character)
{
    wait_for(COM1, LINE_STATUS_ROOM);
    cpu_out8(COM1, (uint8_t)character);
}

void out_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            out_char('\r');
        }
        out_char(*text);
    }
}

static void out_number(uint64_t value, unsigned int base)
{
    char digits[24];
    unsigned int length = 0;

    do {
        digits[length] = "0123456789abcdef"[value % base];
        length++;
        value /= base;
    } while (value != 0);
    while (length > 0) {
        length--;
        out_char(digits[length]);
    }
}

void out_decimal(uint64_t value)
{
    out_number(value, 10);
}

void out_hex(uint64_t value)
{
    out_text("0x");
    out_number(value, 16);
}

void out_status(EFI_STATUS status)
{
    static const struct {
        EFI_STATUS status;
        char name[28];
    } names[] = {
        {EFI_SUCCESS, "EFI_SUCCESS"},
        {EFI_LOAD_ERROR, "EFI_LOAD_ERROR"},
        {EFI_INVALID_PARAMETER, "EFI_INVALID_PARAMETER"},
        {EFI_UNSUPPORTED, "EFI_UNSUPPORTED"},
        {EFI_BAD_BUFFER_SIZE, "EFI_BAD_BUFFER_SIZE"},
        {EFI_BUFFER_TOO_SMALL, "EFI_BUFFER_TOO_SMALL"},
        {EFI_NOT_READY, "EFI_NOT_READY"},
        {EFI_DEVICE_ERROR, "EFI_DEVICE_ERROR"},
        {EFI_OUT_OF_RESOURCES, "EFI_OUT_OF_RESOURCES"},
        {EFI_VOLUME_CORRUPTED, "EFI_VOLUME_CORRUPTED"},
        {EFI_NOT_FOUND, "EFI_NOT_FOUND"},
        {EFI_ACCESS_DENIED, "EFI_ACCESS_DENIED"},
        {EFI_TIMEOUT, "EFI_TIMEOUT"},
        {EFI_NOT_STARTED, "EFI_NOT_STARTED"},
        {EFI_ALREADY_STARTED, "EFI_ALREADY_STARTED"},
        {EFI_ABORTED, "EFI_ABORTED"},
        {EFI_INCOMPATIBLE_VERSION, "EFI_INCOMPATIBLE_VERSION"},
        {EFI_SECURITY_VIOLATION, "EFI_SECURITY_VIOLATION"},
    };
    UINTN row;

    for (row = 0; row < sizeof(names) / sizeof(names[0]); row++) {
        if (names[row].status == status) {
            out_text(names[row].name);
            return;
        }
    }
    out_hex(status);
}

void out_drain(void)
{
    wait_for(COM1, LINE_STATUS_IDLE);
}

void out_mark(const char *text)
{
    for (; *text != '\0'; text++) {
        wait_for(COM2, LINE_STATUS_ROOM);
        cpu_out8(COM2, (uint8_t)*text);
    }
}
