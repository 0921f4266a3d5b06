/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/console_shadow.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vmx/console_shadow.h"

enum { DATA, IER, IIR, LCR, MCR, LSR, MSR, SCRATCH };

static void test_output_is_swallowed(void **context)
{
    struct console_shadow shadow = {0};

    (void)context;
    for (uint32_t i = 0; i < 256; i++) {
        console_shadow_write(&shadow, DATA, (uint8_t)i);
        assert_int_equal(console_shadow_read(&shadow, LSR), 0x60); /* empty, nothing received */
        assert_int_equal(console_shadow_read(&shadow, DATA), 0);
        assert_int_equal(console_shadow_read(&shadow, IIR), 0x01); /* no interrupt */
    }
}

static void test_divisor(void **context)
{
    struct console_shadow shadow = {0};

    (void)context;
    console_shadow_write(&shadow, IER, 0xFF);
    assert_int_equal(console_shadow_read(&shadow, IER), 0x0F);
    console_shadow_write(&shadow, LCR, 0x83);
    console_shadow_write(&shadow, DATA, 0x34);
    console_shadow_write(&shadow, IER, 0x12);
    assert_int_equal(console_shadow_read(&shadow, DATA), 0x34);
    assert_int_equal(console_shadow_read(&shadow, IER), 0x12);
    console_shadow_write(&shadow, LCR, 0x03);
    assert_int_equal(console_shadow_read(&shadow, LCR), 0x03);
    assert_int_equal(console_shadow_read(&shadow, DATA), 0);
    assert_int_equal(console_shadow_read(&shadow, IER), 0x0F);
}

static void test_plain_registers(void **context)
{
    struct console_shadow shadow = {0};

    (void)context;
    console_shadow_write(&shadow, SCRATCH, 0xA5);
    console_shadow_write(&shadow, MCR, 0x0B);
    console_shadow_write(&shadow, IIR, 0xC7); /* FIFO control: not read back */
    console_shadow_write(&shadow, LSR, 0xFF);
    console_shadow_write(&shadow, MSR, 0xFF);
    assert_int_equal(console_shadow_read(&shadow, SCRATCH), 0xA5);
    assert_int_equal(console_shadow_read(&shadow, MCR), 0x0B);
    assert_int_equal(console_shadow_read(&shadow, IIR), 0x01);
    assert_int_equal(console_shadow_read(&shadow, LSR), 0x60);
    assert_int_equal(console_shadow_read(&shadow, MSR), 0);
}

/* In loop-back DTR, RTS, OUT1 and OUT2 are DSR, CTS, RI and DCD. */
static void test_loop(void **context)
{
    static const uint8_t status[4] = {0x20, 0x10, 0x40, 0x80};
    struct console_shadow shadow = {0};

    (void)context;
    for (uint32_t bit = 0; bit < 4; bit++) {
        console_shadow_write(&shadow, MCR, (uint8_t)(0x10 | 1u << bit));
        assert_int_equal(console_shadow_read(&shadow, MSR), status[bit]);
        console_shadow_write(&shadow, MCR, (uint8_t)(1u << bit));
        assert_int_equal(console_shadow_read(&shadow, MSR), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_is_swallowed),
        cmocka_unit_test(test_divisor),
        cmocka_unit_test(test_plain_registers),
        cmocka_unit_test(test_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
