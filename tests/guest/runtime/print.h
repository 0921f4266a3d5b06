/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_PRINT_H
#define GUEST_PRINT_H

#include "core/compiler.h"

/* Output on COM1 (0x3F8, polled). Any processor, any context; whole lines do not mix. */

/* Sets the UART up: 115200 baud, 8N1, no interrupts. Once. */
void print_init(void);

/* One line; the line feed is added. Longer than 200 characters is cut. */
void print_line(const char *format, ...) PRINTF_LIKE(1, 2);

/* Waits until the last character has left the UART. */
void print_drain(void);

#endif
