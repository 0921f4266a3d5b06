/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/console_shadow.h"

enum { DATA = 0, IER = 1, IIR = 2, LCR = 3, MCR = 4, LSR = 5, MSR = 6, SCRATCH = 7 };

#define LCR_DLAB              0x80u
#define IIR_NO_INTERRUPT      0x01u
#define LSR_TRANSMITTER_EMPTY 0x60u
#define MCR_LOOP              0x10u
#define MCR_RTS               0x02u
#define MCR_DTR               0x01u
#define MCR_OUT1              0x04u
#define MCR_OUT2              0x08u

/* In loop-back the modem lines read what MCR drives (a 16550's self-test). */
static uint8_t modem_status(uint8_t mcr)
{
    uint8_t status = 0;

    if ((mcr & MCR_LOOP) == 0) {
        return 0;
    }
    status |= (mcr & MCR_RTS) != 0 ? 0x10 : 0;
    status |= (mcr & MCR_DTR) != 0 ? 0x20 : 0;
    status |= (mcr & MCR_OUT1) != 0 ? 0x40 : 0;
    status |= (mcr & MCR_OUT2) != 0 ? 0x80 : 0;
    return status;
}

/* Relaxed throughout: each register stands alone, and a guest that races with itself gets either
 * value. */
static uint8_t get(const struct console_shadow *shadow, uint8_t index)
{
    return atomic_load_explicit(&shadow->registers[index], memory_order_relaxed);
}

uint8_t console_shadow_read(struct console_shadow *shadow, uint8_t index)
{
    switch (index) {
    case DATA:
    case IER:
        if ((get(shadow, LCR) & LCR_DLAB) != 0) {
            return atomic_load_explicit(&shadow->divisor[index], memory_order_relaxed);
        }
        return index == DATA ? 0 : get(shadow, IER);
    case IIR:
        return IIR_NO_INTERRUPT;
    case LSR:
        return LSR_TRANSMITTER_EMPTY;
    case MSR:
        return modem_status(get(shadow, MCR));
    default:
        return get(shadow, index);
    }
}

void console_shadow_write(struct console_shadow *shadow, uint8_t index, uint8_t value)
{
    if (index <= IER && (get(shadow, LCR) & LCR_DLAB) != 0) {
        atomic_store_explicit(&shadow->divisor[index], value, memory_order_relaxed);
        return;
    }
    if (index == IER) {
        value &= 0x0F;
    }
    atomic_store_explicit(&shadow->registers[index], value, memory_order_relaxed);
}
