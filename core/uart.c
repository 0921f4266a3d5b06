/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/uart.h"

#include "core/bits.h"
#include "core/cpu.h"

enum uart_register {
    UART_DATA = 0, /* THR; divisor low while LCR.DLAB is set */
    UART_IER = 1,  /* divisor high while LCR.DLAB is set */
    UART_FCR = 2,  /* IIR when read */
    UART_LCR = 3,
    UART_MCR = 4,
    UART_LSR = 5,
    UART_SCRATCH = 7,
};

#define UART_LCR_8N1              0x03u
#define UART_LCR_DLAB             0x80u
#define UART_FCR_ENABLE_AND_CLEAR 0x07u
#define UART_IIR_FIFO_MASK        0xC0u
#define UART_MCR_DTR_RTS          0x03u
#define UART_LSR_THR_EMPTY        0x20u
#define UART_LSR_IDLE             0x40u
#define UART_CLOCK_BAUD           115200u
#define UART_FIFO_BYTES           16u

/* One character takes about 90 us at 115200 baud, 9 ms at 1200; a port read is about 1 us. */
#define UART_MAX_POLLS 1000000u

static void uart_put(const struct uart *uart, enum uart_register index, uint8_t value)
{
    cpu_out8((uint16_t)(uart->port + index), value);
}

static uint8_t uart_get(const struct uart *uart, enum uart_register index)
{
    return cpu_in8((uint16_t)(uart->port + index));
}

bool uart_init(struct uart *uart, uint16_t port, uint32_t baud)
{
    uint32_t divisor = UART_CLOCK_BAUD / baud;

    uart->port = port;
    uart_put(uart, UART_SCRATCH, 0x5A);
    uart->is_present = uart_get(uart, UART_SCRATCH) == 0x5A;
    if (!uart->is_present) {
        return false;
    }
    uart_put(uart, UART_IER, 0);
    uart_put(uart, UART_LCR, UART_LCR_DLAB | UART_LCR_8N1);
    uart_put(uart, UART_DATA, (uint8_t)divisor);
    uart_put(uart, UART_IER, (uint8_t)(divisor >> 8));
    uart_put(uart, UART_LCR, UART_LCR_8N1);
    uart_put(uart, UART_FCR, UART_FCR_ENABLE_AND_CLEAR);
    uart->has_fifo = (uart_get(uart, UART_FCR) & UART_IIR_FIFO_MASK) == UART_IIR_FIFO_MASK;
    uart_put(uart, UART_MCR, UART_MCR_DTR_RTS);
    return true;
}

static bool uart_wait(const struct uart *uart, uint8_t line_status)
{
    for (uint32_t poll = 0; poll < UART_MAX_POLLS; poll++) {
        if ((uart_get(uart, UART_LSR) & line_status) != 0) {
            return true;
        }
        cpu_pause();
    }
    return false;
}

/* Sends one character; room counts what the transmitter takes before the next look at it. */
static bool uart_put_character(const struct uart *uart, uint32_t *room, char character)
{
    if (*room == 0) {
        if (!uart_wait(uart, UART_LSR_THR_EMPTY)) {
            return false;
        }
        *room = uart->has_fifo ? UART_FIFO_BYTES : 1;
    }
    uart_put(uart, UART_DATA, (uint8_t)character);
    (*room)--;
    return true;
}

void uart_write(const struct uart *uart, const char *text, size_t bytes)
{
    uint32_t room = 0;

    if (!uart->is_present) {
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n' && !uart_put_character(uart, &room, '\r')) {
            return;
        }
        if (!uart_put_character(uart, &room, text[i])) {
            return;
        }
    }
}

void uart_drain(const struct uart *uart)
{
    if (uart->is_present) {
        (void)uart_wait(uart, UART_LSR_IDLE);
    }
}
