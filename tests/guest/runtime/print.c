/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/print.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "core/fmt.h"
#include "tests/guest/runtime/insn.h"

#define COM1           0x3F8u
#define UART_DATA      0u
#define UART_IER       1u
#define UART_FCR       2u
#define UART_LCR       3u
#define UART_MCR       4u
#define UART_LSR       5u
#define UART_LSR_THRE  0x20u
#define UART_LSR_TEMT  0x40u
#define UART_LCR_DLAB  0x80u
#define UART_LCR_8N1   0x03u
#define UART_FIFO_SIZE 16u
#define LINE_BYTES     200u

static atomic_flag print_lock = ATOMIC_FLAG_INIT;

static void write_register(unsigned int offset, uint8_t value)
{
    insn_out8((uint16_t)(COM1 + offset), value);
}

static void wait_for(uint8_t line_status_bit)
{
    while ((insn_in8(COM1 + UART_LSR) & line_status_bit) == 0) {
        insn_pause();
    }
}

void print_init(void)
{
    write_register(UART_IER, 0);
    write_register(UART_LCR, UART_LCR_DLAB);
    write_register(UART_DATA, 1);
    write_register(UART_IER, 0);
    write_register(UART_LCR, UART_LCR_8N1);
    write_register(UART_FCR, 0x07);
    write_register(UART_MCR, 0x03);
}

void print_line(const char *format, ...)
{
    char line[LINE_BYTES];
    size_t length;
    va_list args;

    va_start(args, format);
    length = fmt_vprint(line, sizeof(line) - 2, format, args);
    va_end(args);
    if (length > sizeof(line) - 3) {
        length = sizeof(line) - 3;
    }
    line[length++] = '\r';
    line[length++] = '\n';
    while (atomic_flag_test_and_set(&print_lock)) {
        insn_pause();
    }
    for (size_t i = 0; i < length; i++) {
        if (i % UART_FIFO_SIZE == 0) {
            wait_for(UART_LSR_THRE);
        }
        write_register(UART_DATA, (uint8_t)line[i]);
    }
    atomic_flag_clear(&print_lock);
}

void print_drain(void)
{
    wait_for(UART_LSR_TEMT);
}
