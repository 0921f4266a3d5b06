/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/power.h"

#include <stdbool.h>
#include <stddef.h>

#include "core/string.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"

#define PM1A_CONTROL     0xB004u
#define PM1A_S5          0x2000u /* SLP_EN, SLP_TYP 0 */
#define BOCHS_SHUTDOWN   0x8900u
#define RESET_CONTROL    0xCF9u
#define RESET_HARD       0x06u
#define KEYBOARD_COMMAND 0x64u
#define KEYBOARD_RESET   0xFEu

enum power_way { POWER_S5, POWER_8900, POWER_NONE };

static enum power_way way = POWER_S5;

static bool has_word(const char *options, const char *word)
{
    size_t length = str_length(word, 32);

    for (; *options != '\0'; options++) {
        if (str_length(options, length) == length && memcmp(options, word, length) == 0) {
            return true;
        }
    }
    return false;
}

void power_choose(const char *options)
{
    if (has_word(options, "off=8900")) {
        way = POWER_8900;
    } else if (has_word(options, "off=none")) {
        way = POWER_NONE;
    } else {
        way = POWER_S5;
    }
}

void power_s5(void)
{
    insn_out16(PM1A_CONTROL, PM1A_S5);
}

void power_reset_cf9(void)
{
    insn_out8(RESET_CONTROL, RESET_HARD & 0x02u);
    insn_out8(RESET_CONTROL, RESET_HARD);
}

void power_reset_keyboard(void)
{
    insn_out8(KEYBOARD_COMMAND, KEYBOARD_RESET);
}

static void power_8900(void)
{
    static const char text[] = "Shutdown";

    for (unsigned int i = 0; i + 1 < sizeof(text); i++) {
        insn_out8(BOCHS_SHUTDOWN, (uint8_t)text[i]);
    }
}

void power_off(void)
{
    print_drain();
    if (way == POWER_S5) {
        power_s5();
    }
    if (way != POWER_NONE) {
        power_8900();
    }
    for (;;) {
        insn_cli();
        insn_hlt();
    }
}
