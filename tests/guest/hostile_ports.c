/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: the watched ones and their neighbours, of all widths, with odd buffers. */
#include "core/compiler.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"

#define PAGE_BYTES     4096u
#define CONFIG_ADDRESS 0xCF8u
#define RESET_CONTROL  0xCF9u
#define KEYBOARD       0x64u
#define FAST_A20       0x92u
#define SYSTEM_B       0x61u
#define PM1_CONTROL    0xB004u
#define CONSOLE        0x2F8u

static const uint16_t watched[] = {0x2F5, 0x2F6, 0x2F7, 0x2F8,  0x2F9,  0x2FA,  0x2FB,
                                   0x2FC, 0x2FD, 0x2FE, 0x2FF,  0x300,  0x05E,  0x05F,
                                   0x061, 0x062, 0x090, 0x091,  0x093,  0xCF5,  0xCF6,
                                   0xCF7, 0xCF8, 0xCFA, 0xB004, 0xB005, 0xB003, 0xB006};

static _Alignas(4096) uint8_t buffer[GUEST_MAX_CPUS][2 * PAGE_BYTES];

static bool touches(uint16_t port, unsigned int bytes, uint16_t register_port)
{
    return (uint16_t)(register_port - port) < bytes;
}

/* The value without what ends the machine or its keyboard: resets, A20, sleep other than S3. */
static uint32_t harmless(uint16_t port, unsigned int bytes, uint32_t value)
{
    static const struct {
        uint16_t port;
        uint8_t clear, set;
    } rules[] = {
        {RESET_CONTROL, 0x06, 0}, {FAST_A20, 0x01, 0x02}, {PM1_CONTROL + 1, 0x20, 0},
        {0xCFC, 0xFF, 0},         {0xCFD, 0xFF, 0},       {0xCFE, 0xFF, 0},
        {0xCFF, 0xFF, 0},         {SYSTEM_B, 0x03, 0},    {0x60, 0xFF, 0},
    };

    for (unsigned int i = 0; i < ARRAY_LEN(rules); i++) {
        if (touches(port, bytes, rules[i].port)) {
            unsigned int shift = (uint16_t)(rules[i].port - port) * 8u;

            value =
                (value & ~((uint32_t)rules[i].clear << shift)) | ((uint32_t)rules[i].set << shift);
        }
    }
    return value;
}

static uint16_t pick_port(struct hostile_random *random)
{
    return watched[hostile_below(random, ARRAY_LEN(watched))];
}

void hostile_port(struct hostile_random *random)
{
    static const uint8_t forms[6][2] = {{0xEC}, {0x66, 0xED}, {0xED}, {0xEE}, {0x66, 0xEF}, {0xEF}};
    static const uint8_t widths[3] = {1, 2, 4};
    uint32_t form = hostile_below(random, 6);
    uint16_t port = pick_port(random);
    unsigned int bytes = widths[form % 3];
    struct hostile_registers registers = {
        .rdx = port | (hostile_next(random) & ~0xFFFFull),
        .rax = (hostile_next(random) & ~0xFFFFFFFFull) |
               harmless(port, bytes, (uint32_t)hostile_value(random)),
    };

    (void)hostile_execute(&registers, forms[form], form % 3 == 1 ? 2 : 1);
}

static uint64_t pick_address(struct hostile_random *random)
{
    uint64_t own = (uintptr_t)buffer[cpu_this()->index];

    switch (hostile_below(random, 9)) {
    case 0:
        return own + PAGE_BYTES - 1 - hostile_below(random, 4);
    case 1:
        return PAGING_WINDOW * 4 + hostile_below(random, 8); /* not mapped */
    case 2:
        return 0x00007FFFFFFFFFFFull - hostile_below(random, 4);
    case 3:
        return hostile_value(random) | 1ull << 47; /* not canonical, or not mapped */
    case 4:
        return PAGING_USER_BASE + own + hostile_below(random, 8);
    case 5:
        return ~0ull - hostile_below(random, 8);
    default:
        return own + hostile_below(random, PAGE_BYTES);
    }
}

void hostile_port_string(struct hostile_random *random)
{
    static const uint8_t forms[][5] = {
        {0x6C},
        {0x6E},
        {0x66, 0x6D},
        {0x6D},
        {0x66, 0x6F},
        {0x6F},
        {0xF3, 0x6C},
        {0xF3, 0x6E},
        {0xF3, 0x6D},
        {0xF3, 0x6F},
        {0xFD, 0xF3, 0x6C, 0xFC},
        {0xFD, 0xF3, 0x66, 0x6D, 0xFC},
        {0x64, 0xF3, 0x6E},
        {0x67, 0xF3, 0x6E},
        {0xF3, 0x48, 0x6F},
    };
    static const uint8_t counts[] = {1, 1, 2, 1, 2, 1, 2, 2, 2, 2, 4, 5, 3, 3, 3};
    uint32_t form = hostile_below(random, ARRAY_LEN(forms));
    uint8_t *own = buffer[cpu_this()->index];
    uint64_t address = pick_address(random);
    struct hostile_registers registers = {
        .rcx = hostile_below(random, 24),
        .rsi = address,
        .rdi = address,
        .rdx = CONSOLE + hostile_below(random, 8),
    };

    if (forms[form][0] == 0x67) {
        /* Cut to 32 bits some addresses are device memory, which stops the guest. */
        registers.rsi = (uintptr_t)own + PAGE_BYTES - 2;
    }
    /* What goes out is in the buffer: zeros end nothing. */
    if (hostile_below(random, 4) == 0) {
        registers.rdx = SYSTEM_B;
    }
    own[0] = 0;
    (void)hostile_execute(&registers, forms[form], counts[form]);
    for (unsigned int i = 0; i < 2 * PAGE_BYTES; i += 8) {
        *(uint64_t *)(void *)(own + i) = 0;
    }
}
