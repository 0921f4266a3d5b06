/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_OUT_H
#define LAUNCHER_OUT_H

/* Text on COM1, which the firmware has set up; polled. */

#include <efi.h>

/* Print a string. */
void out_text(const char *text);

/* Print a number in decimal, or in hexadecimal with a 0x in front. */
void out_decimal(uint64_t value);
void out_hex(uint64_t value);

/* Print the name of a firmware status, as "EFI_UNSUPPORTED". */
void out_status(EFI_STATUS status);

/* Print a string on COM2, between the lines of whatever uses it as its console. */
void out_mark(const char *text);

/* Wait until the last character has left the port, at most some milliseconds. */
void out_drain(void);

#endif
