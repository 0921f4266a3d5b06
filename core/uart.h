/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_UART_H
#define CORE_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A polled 16550 for output only. */
struct uart {
    uint16_t port; /* first of eight I/O ports */
    bool is_present;
    bool has_fifo;
};

/* Sets 8N1, the speed (a divisor of 115200) and the FIFO, after a test of the scratch register.
 * Returns whether a UART answered. Any LP, before others use the port. */
bool uart_init(struct uart *uart, uint16_t port, uint32_t baud);

/* Writes bytes, waiting for room at most a bounded number of polls each (a dead UART loses
 * output, it does not hang the machine). A newline is sent as CR LF. Caller serialises. */
void uart_write(const struct uart *uart, const char *text, size_t bytes);

/* Waits, bounded, until the last bit has left. */
void uart_drain(const struct uart *uart);

#endif
