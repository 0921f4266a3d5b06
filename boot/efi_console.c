/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"

#include <stdarg.h>

#include "core/fmt.h"

#define LINE_CHARS 400u
#define WIDE_CHUNK 64u

static EFI_SYSTEM_TABLE *system_table;
static bool has_log;

void efi_console_init(EFI_SYSTEM_TABLE *table)
{
    system_table = table;
}

void efi_console_use_log(bool is_on)
{
    has_log = is_on;
}

static void put_wide(const char *text)
{
    CHAR16 wide[WIDE_CHUNK];

    if (system_table->ConOut == NULL) {
        return;
    }
    while (*text != '\0') {
        UINTN length = 0;

        while (*text != '\0' && length < WIDE_CHUNK - 1) {
            wide[length++] = (CHAR16)(unsigned char)*text++;
        }
        wide[length] = 0;
        system_table->ConOut->OutputString(system_table->ConOut, wide);
    }
}

static void write_line(enum log_level level, bool on_console, const char *format, va_list args)
{
    char text[LINE_CHARS];

    (void)fmt_vprint(text, sizeof(text), format, args);
    if (has_log) {
        log_boot(level, "boot", LOG_LP_NONE, "%s", text);
    }
    if (on_console) {
        put_wide("Sluice: ");
        put_wide(text);
        put_wide("\r\n");
    }
}

void efi_console_line(enum log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(level, level <= LOG_WARNING, format, args);
    va_end(args);
}

void efi_console_banner(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(LOG_INFO, true, format, args);
    va_end(args);
}

const char *efi_status_name(EFI_STATUS status)
{
    static char number[24];
    static const struct {
        EFI_STATUS status;
        const char *name;
    } names[] = {
        {EFI_SUCCESS, "success"},
        {EFI_LOAD_ERROR, "load error"},
        {EFI_INVALID_PARAMETER, "invalid parameter"},
        {EFI_UNSUPPORTED, "unsupported (not a UEFI image for this machine?)"},
        {EFI_BUFFER_TOO_SMALL, "buffer too small"},
        {EFI_NOT_READY, "not ready"},
        {EFI_DEVICE_ERROR, "device error"},
        {EFI_OUT_OF_RESOURCES, "out of resources"},
        {EFI_VOLUME_CORRUPTED, "volume corrupted"},
        {EFI_NOT_FOUND, "not found"},
        {EFI_ACCESS_DENIED, "access denied"},
        {EFI_TIMEOUT, "timed out"},
        {EFI_NOT_STARTED, "not started"},
        {EFI_ABORTED, "aborted"},
        {EFI_SECURITY_VIOLATION, "security violation (Secure Boot)"},
    };

    for (UINTN i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].status == status) {
            return names[i].name;
        }
    }
    (void)fmt_print(number, sizeof(number), "status %llx", (unsigned long long)status);
    return number;
}
