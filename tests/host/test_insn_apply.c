/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/insn_apply.c vmx/insn_cursor.c vmx/insn_decode.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "vmx/insn_decode.h"

#define CF    0x001u
#define PF    0x004u
#define AF    0x010u
#define ZF    0x040u
#define SF    0x080u
#define OF    0x800u
#define OTHER 0x202u /* IF and the fixed bit: never touched */

static const uint64_t no_registers[16];

static struct insn_effect apply(enum insn_operation operation, uint8_t bytes, uint64_t memory,
                                uint64_t operand, uint64_t flags)
{
    const struct insn insn = {
        .operation = operation,
        .width_bytes = bytes,
        .register_bytes = bytes,
        .reads_memory = true,
        .writes_memory = operation != INSN_CMP && operation != INSN_TEST,
        .memory_is_destination = true,
        .operand = operand,
    };
    struct insn_effect effect;

    insn_apply(&insn, no_registers, flags, memory, &effect);
    return effect;
}

/* Flags by plain signed and unsigned arithmetic on numbers wider than the operands. */
static uint64_t expected_flags(int wide_unsigned, int wide_signed, int low_nibble)
{
    uint8_t result = (uint8_t)wide_unsigned;
    unsigned int ones = 0;
    uint64_t flags = 0;

    for (unsigned int i = 0; i < 8; i++) {
        ones += (unsigned int)result >> i & 1u;
    }
    flags |= wide_unsigned < 0 || wide_unsigned > 255 ? CF : 0;
    flags |= wide_signed < -128 || wide_signed > 127 ? OF : 0;
    flags |= low_nibble < 0 || low_nibble > 15 ? AF : 0;
    flags |= result == 0 ? ZF : 0;
    flags |= (result & 0x80) != 0 ? SF : 0;
    flags |= ones % 2 == 0 ? PF : 0;
    return flags;
}

static void check_sum(enum insn_operation operation, int a, int b, int carry, int sign)
{
    struct insn_effect effect =
        apply(operation, 1, (uint64_t)a, (uint64_t)b, OTHER | (carry != 0 ? CF : 0));
    bool with_carry = operation == INSN_ADC || operation == INSN_SBB;
    int c = with_carry ? carry : 0;
    uint64_t flags = expected_flags(a + sign * (b + c), (int8_t)a + sign * ((int8_t)b + c),
                                    (a & 15) + sign * ((b & 15) + c));

    assert_int_equal(effect.rflags, OTHER | flags);
    if (operation != INSN_CMP) {
        assert_int_equal(effect.memory_value, (uint8_t)(a + sign * (b + c)));
    }
}

/* All pairs of bytes. */
static void sums_and_differences(void **state)
{
    (void)state;
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            for (int carry = 0; carry < 2; carry++) {
                check_sum(INSN_ADD, a, b, carry, 1);
                check_sum(INSN_ADC, a, b, carry, 1);
                check_sum(INSN_SUB, a, b, carry, -1);
                check_sum(INSN_SBB, a, b, carry, -1);
                check_sum(INSN_CMP, a, b, carry, -1);
            }
        }
    }
}

static void logic_clears_carry_and_overflow(void **state)
{
    const uint64_t before = OTHER | CF | OF | AF;
    struct insn_effect effect;

    (void)state;
    effect = apply(INSN_AND, 4, 0xF0F0F0F0, 0x80000001, before);
    assert_int_equal(effect.memory_value, 0x80000000);
    assert_int_equal(effect.rflags, OTHER | AF | SF | PF);
    effect = apply(INSN_OR, 4, 0x10, 0x1, before);
    assert_int_equal(effect.memory_value, 0x11);
    assert_int_equal(effect.rflags, OTHER | AF | PF);
    effect = apply(INSN_XOR, 8, ~0ull, ~0ull, before);
    assert_int_equal(effect.memory_value, 0);
    assert_int_equal(effect.rflags, OTHER | AF | ZF | PF);
    effect = apply(INSN_TEST, 2, 0x1040, 0x40, before);
    assert_false(effect.writes_memory);
    assert_int_equal(effect.rflags, OTHER | AF);
    effect = apply(INSN_NOT, 2, 0x00FF, 0, before);
    assert_int_equal(effect.memory_value, 0xFF00);
    assert_int_equal(effect.rflags, before);
}

static void steps_keep_the_carry(void **state)
{
    struct insn_effect effect;

    (void)state;
    effect = apply(INSN_INC, 4, 0xFFFFFFFF, 0, OTHER | CF);
    assert_int_equal(effect.memory_value, 0);
    assert_int_equal(effect.rflags, OTHER | CF | ZF | PF | AF);
    effect = apply(INSN_INC, 1, 0x7F, 0, OTHER);
    assert_int_equal(effect.memory_value, 0x80);
    assert_int_equal(effect.rflags, OTHER | SF | OF | AF);
    effect = apply(INSN_DEC, 2, 0, 0, OTHER);
    assert_int_equal(effect.memory_value, 0xFFFF);
    assert_int_equal(effect.rflags, OTHER | SF | PF | AF);
    effect = apply(INSN_NEG, 1, 1, 0, OTHER);
    assert_int_equal(effect.memory_value, 0xFF);
    assert_int_equal(effect.rflags, OTHER | CF | SF | PF | AF);
    effect = apply(INSN_NEG, 8, 0, 0, OTHER);
    assert_int_equal(effect.memory_value, 0);
    assert_int_equal(effect.rflags, OTHER | ZF | PF);
}

/* Decodes and applies; memory is what was there, the registers hold their number in each byte. */
static struct insn_effect run(const char *bytes, size_t count, uint64_t memory)
{
    struct insn_input input = {.mode = INSN_MODE_64, .byte_count = (uint8_t)count};
    struct insn insn;
    struct insn_effect effect;

    memcpy(input.bytes, bytes, count);
    for (unsigned int i = 0; i < 16; i++) {
        input.registers[i] = 0x1111111111111111ull * i;
    }
    assert_int_equal(insn_decode(&input, &insn, NULL), INSN_OK);
    insn_apply(&insn, input.registers, OTHER, memory, &effect);
    return effect;
}

#define RUN(bytes, memory) run(bytes, sizeof(bytes) - 1, memory)

static void assert_register(struct insn_effect effect, uint8_t index, uint64_t value)
{
    assert_true(effect.writes_register);
    assert_int_equal(effect.register_index, index);
    assert_int_equal(effect.register_value, value);
    assert_int_equal(effect.rflags, OTHER);
}

static void loads_fill_registers_as_the_processor_does(void **state)
{
    const uint64_t memory = 0xFEDCBA9876543281ull;

    (void)state;
    assert_register(RUN("\x8a\x18", memory), 3, 0x3333333333333381ull);     /* mov bl, [rax] */
    assert_register(RUN("\x8a\x38", memory), 3, 0x3333333333338133ull);     /* mov bh, [rax] */
    assert_register(RUN("\x66\x8b\x18", memory), 3, 0x3333333333333281ull); /* mov bx, [rax] */
    assert_register(RUN("\x8b\x18", memory), 3, 0x76543281ull);             /* mov ebx, [rax] */
    assert_register(RUN("\x48\x8b\x18", memory), 3, memory);                /* mov rbx, [rax] */
    assert_register(RUN("\x0f\xb6\x18", memory), 3, 0x81);                  /* movzx ebx, byte */
    assert_register(RUN("\x66\x0f\xbe\x18", memory), 3, 0x333333333333FF81ull); /* movsx bx, byte */
    assert_register(RUN("\x0f\xbe\x18", memory), 3, 0xFFFFFF81ull); /* movsx ebx, byte */
    assert_register(RUN("\x48\x0f\xbe\x18", memory), 3,
                    0xFFFFFFFFFFFFFF81ull); /* movsx rbx, byte */
    assert_register(RUN("\x48\x63\x18", 0x80000000), 3, 0xFFFFFFFF80000000ull); /* movsxd rbx, [] */
    assert_register(RUN("\x0f\xb7\x18", memory), 3, 0x3281); /* movzx ebx, word */
}

static void exchanges_and_register_results(void **state)
{
    struct insn_effect effect;

    (void)state;
    effect = RUN("\x87\x1f", 0xABCD); /* xchg [rdi], ebx */
    assert_register(effect, 3, 0xABCD);
    assert_true(effect.writes_memory);
    assert_int_equal(effect.memory_value, 0x33333333);
    effect = RUN("\x2b\x1f", 0x33333334); /* sub ebx, [rdi] */
    assert_false(effect.writes_memory);
    assert_int_equal(effect.register_value, 0xFFFFFFFF);
    assert_int_equal(effect.rflags, OTHER | CF | SF | PF | AF);
    effect = RUN("\x3b\x1f", 0x33333333); /* cmp ebx, [rdi] */
    assert_false(effect.writes_memory || effect.writes_register);
    assert_int_equal(effect.rflags, OTHER | ZF | PF);
    effect = RUN("\x3a\x3f", 0x34); /* cmp bh, [rdi] */
    assert_int_equal(effect.rflags, OTHER | CF | SF | PF | AF);
    effect = RUN("\x89\x1f", 0xABCD); /* mov [rdi], ebx */
    assert_true(effect.writes_memory);
    assert_false(effect.writes_register);
    assert_int_equal(effect.memory_value, 0x33333333);
    assert_int_equal(effect.rflags, OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_differences),
        cmocka_unit_test(logic_clears_carry_and_overflow),
        cmocka_unit_test(steps_keep_the_carry),
        cmocka_unit_test(loads_fill_registers_as_the_processor_does),
        cmocka_unit_test(exchanges_and_register_results),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
