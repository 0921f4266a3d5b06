/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_EFI_CONSOLE_H
#define BOOT_EFI_CONSOLE_H

#include <efi.h>

#include "core/compiler.h"
#include "core/log.h"

/* Messages of the start-up: to the UEFI console and, once it is known, to the serial log. Boot
 * processor only, before or after virtualisation; after it the log belongs to root mode, and only
 * the UEFI console is written. */

/* Before any other call; table is the firmware's. */
void efi_console_init(EFI_SYSTEM_TABLE *table);

/* From now on the log is written too (or no longer). */
void efi_console_use_log(bool is_on);

/* One line, without a newline at the end. Levels above E and W go to the log only. */
void efi_console_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* One line to both, whatever the level. */
void efi_console_banner(const char *format, ...) PRINTF_LIKE(1, 2);

/* The name of a UEFI status code, or its number in a static buffer. */
const char *efi_status_name(EFI_STATUS status);

#endif
