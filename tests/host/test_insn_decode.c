/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/insn_decode.c vmx/insn_cursor.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "vmx/insn_decode.h"

#define RIP 0x400000ull

/* Each register holds a value that names it: high bits set, all bytes different. */
static uint64_t register_value(unsigned int index)
{
    return 0x8877665500000000ull + 0x01000000ull * index + 0x00A1B2C3ull;
}

static void fill(struct insn_input *input, enum insn_mode mode, const char *bytes, size_t count)
{
    assert_true(count <= INSN_MAX_BYTES);
    memset(input, 0, sizeof(*input));
    memcpy(input->bytes, bytes, count);
    input->byte_count = (uint8_t)count;
    input->mode = mode;
    input->rip = RIP;
    for (unsigned int i = 0; i < 16; i++) {
        input->registers[i] = register_value(i);
    }
}

enum { READ = 1, WRITE = 2, REG = 4, MEM_FIRST = 8, LOCK = 16, HIGH = 32, SIGN = 64 };

struct decode_case {
    const char *bytes;
    uint8_t count;
    enum insn_mode mode;
    enum insn_operation operation;
    uint8_t width, reg_bytes, reg;
    unsigned int facts;
    uint64_t operand;
    enum insn_segment segment;
    uint64_t offset;
};

#define B(text)  text, sizeof(text) - 1
#define V(index) (0x8877665500A1B2C3ull + 0x01000000ull * (index))
#define LOW32(x) ((x)&0xFFFFFFFFull)
#define M64      INSN_MODE_64
#define M32      INSN_MODE_32
#define M16      INSN_MODE_16
#define STORE    (WRITE | MEM_FIRST)
#define LOAD     (READ | REG)
#define MODIFY   (READ | WRITE | MEM_FIRST)
#define LOOK     (READ | MEM_FIRST)

/* Assembled with GNU as; the Intel syntax stands beside. */
static const struct decode_case cases[] = {
    /* mov [rdi+0x300], esi */
    {B("\x89\xb7\x00\x03\x00\x00"), M64, INSN_MOV, 4, 4, 6, STORE, LOW32(V(6)), INSN_DS,
     V(7) + 0x300},
    /* mov dword [rax], 0xc4500 */
    {B("\xc7\x00\x00\x45\x0c\x00"), M64, INSN_MOV, 4, 4, 0, STORE, 0xC4500, INSN_DS, V(0)},
    /* mov eax, [rbx+rcx*4+0x20] */
    {B("\x8b\x44\x8b\x20"), M64, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS, V(3) + V(1) * 4 + 0x20},
    /* mov r9d, [r12] */
    {B("\x45\x8b\x0c\x24"), M64, INSN_MOV, 4, 4, 9, LOAD, 0, INSN_DS, V(12)},
    /* mov [r13+0], r14d */
    {B("\x45\x89\x75\x00"), M64, INSN_MOV, 4, 4, 14, STORE, LOW32(V(14)), INSN_DS, V(13)},
    /* mov dword [rip+0x1234], 0x11223344 */
    {B("\xc7\x05\x34\x12\x00\x00\x44\x33\x22\x11"), M64, INSN_MOV, 4, 4, 0, STORE, 0x11223344,
     INSN_DS, RIP + 10 + 0x1234},
    /* mov dword [eip-1], 1 */
    {B("\x67\xc7\x05\xff\xff\xff\xff\x01\x00\x00\x00"), M64, INSN_MOV, 4, 4, 0, STORE, 1, INSN_DS,
     RIP + 11 - 1},
    /* mov rax, [rbp-8] */
    {B("\x48\x8b\x45\xf8"), M64, INSN_MOV, 8, 8, 0, LOAD, 0, INSN_SS, V(5) - 8},
    /* mov eax, [0xfee00020], 64-bit address */
    {B("\xa1\x20\x00\xe0\xfe\x00\x00\x00\x00"), M64, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS,
     0xFEE00020},
    /* mov [rsi], ah */
    {B("\x88\x26"), M64, INSN_MOV, 1, 1, 0, STORE | HIGH, 0xB2, INSN_DS, V(6)},
    /* mov [rsi], spl */
    {B("\x40\x88\x26"), M64, INSN_MOV, 1, 1, 4, STORE, 0xC3, INSN_DS, V(6)},
    /* a REX prefix before another prefix does not count: mov [rsi], sp */
    {B("\x48\x66\x89\x26"), M64, INSN_MOV, 2, 2, 4, STORE, 0xB2C3, INSN_DS, V(6)},
    /* nor for byte registers: mov [rsi], ah */
    {B("\x40\x3e\x88\x26"), M64, INSN_MOV, 1, 1, 0, STORE | HIGH, 0xB2, INSN_DS, V(6)},
    /* movzx eax, byte [rdi] */
    {B("\x0f\xb6\x07"), M64, INSN_MOV, 1, 4, 0, LOAD, 0, INSN_DS, V(7)},
    /* movsx rax, word [rdi] */
    {B("\x48\x0f\xbf\x07"), M64, INSN_MOV, 2, 8, 0, LOAD | SIGN, 0, INSN_DS, V(7)},
    /* movsxd rdx, dword [rsp+0x10] */
    {B("\x48\x63\x54\x24\x10"), M64, INSN_MOV, 4, 8, 2, LOAD | SIGN, 0, INSN_SS, V(4) + 0x10},
    /* and dword [rdi+0xb0], -2 */
    {B("\x83\xa7\xb0\x00\x00\x00\xfe"), M64, INSN_AND, 4, 4, 0, MODIFY, 0xFFFFFFFE, INSN_DS,
     V(7) + 0xB0},
    /* or eax, [rdi] */
    {B("\x0b\x07"), M64, INSN_OR, 4, 4, 0, LOAD, LOW32(V(0)), INSN_DS, V(7)},
    /* sbb [rdi], eax */
    {B("\x19\x07"), M64, INSN_SBB, 4, 4, 0, MODIFY, LOW32(V(0)), INSN_DS, V(7)},
    /* add qword [rax], -1 */
    {B("\x48\x83\x00\xff"), M64, INSN_ADD, 8, 8, 0, MODIFY, ~0ull, INSN_DS, V(0)},
    /* xor word [rax], 0x8001 */
    {B("\x66\x81\x30\x01\x80"), M64, INSN_XOR, 2, 2, 0, MODIFY, 0x8001, INSN_DS, V(0)},
    /* sub byte [rax], 5 */
    {B("\x80\x28\x05"), M64, INSN_SUB, 1, 1, 0, MODIFY, 5, INSN_DS, V(0)},
    /* xchg [rdi], eax; with and without lock */
    {B("\x87\x07"), M64, INSN_XCHG, 4, 4, 0, MODIFY | REG, LOW32(V(0)), INSN_DS, V(7)},
    {B("\xf0\x87\x07"), M64, INSN_XCHG, 4, 4, 0, MODIFY | REG | LOCK, LOW32(V(0)), INSN_DS, V(7)},
    /* lock or dword [rdi], 0x10 */
    {B("\xf0\x83\x0f\x10"), M64, INSN_OR, 4, 4, 0, MODIFY | LOCK, 0x10, INSN_DS, V(7)},
    /* cmp dword [rdi], 5; cmp eax, [rdi] */
    {B("\x83\x3f\x05"), M64, INSN_CMP, 4, 4, 0, LOOK, 5, INSN_DS, V(7)},
    {B("\x3b\x07"), M64, INSN_CMP, 4, 4, 0, READ, LOW32(V(0)), INSN_DS, V(7)},
    /* test byte [rdi], 0x40; test [rdi], ecx */
    {B("\xf6\x07\x40"), M64, INSN_TEST, 1, 1, 0, LOOK, 0x40, INSN_DS, V(7)},
    {B("\x85\x0f"), M64, INSN_TEST, 4, 4, 1, LOOK, LOW32(V(1)), INSN_DS, V(7)},
    /* inc dword [rdi]; dec byte [rdi]; neg word [rdi]; not byte [rdi] */
    {B("\xff\x07"), M64, INSN_INC, 4, 4, 0, MODIFY, 0, INSN_DS, V(7)},
    {B("\xfe\x0f"), M64, INSN_DEC, 1, 1, 0, MODIFY, 0, INSN_DS, V(7)},
    {B("\x66\xf7\x1f"), M64, INSN_NEG, 2, 2, 0, MODIFY, 0, INSN_DS, V(7)},
    {B("\xf6\x17"), M64, INSN_NOT, 1, 1, 0, MODIFY, 0, INSN_DS, V(7)},
    /* mov gs:[rax], ecx; a CS prefix does nothing in 64-bit mode */
    {B("\x65\x89\x08"), M64, INSN_MOV, 4, 4, 1, STORE, LOW32(V(1)), INSN_GS, V(0)},
    {B("\x2e\x89\x08"), M64, INSN_MOV, 4, 4, 1, STORE, LOW32(V(1)), INSN_DS, V(0)},
    /* mov [eax], ecx */
    {B("\x67\x89\x08"), M64, INSN_MOV, 4, 4, 1, STORE, LOW32(V(1)), INSN_DS, LOW32(V(0))},
    /* mov word [rdi], 0x1234; mov qword [rdi], sign-extended */
    {B("\x66\xc7\x07\x34\x12"), M64, INSN_MOV, 2, 2, 0, STORE, 0x1234, INSN_DS, V(7)},
    {B("\x48\xc7\x07\x00\x00\x00\x80"), M64, INSN_MOV, 8, 8, 0, STORE, 0xFFFFFFFF80000000, INSN_DS,
     V(7)},
    /* movnti [rdi], eax; mov eax, [0x1000] by SIB */
    {B("\x0f\xc3\x07"), M64, INSN_MOV, 4, 4, 0, STORE, LOW32(V(0)), INSN_DS, V(7)},
    {B("\x8b\x04\x25\x00\x10\x00\x00"), M64, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS, 0x1000},
    /* 32-bit: mov [0xfee00300], eax; mov dword [0xfee000b0], 0; mov eax, [0xfee00020] */
    {B("\xa3\x00\x03\xe0\xfe"), M32, INSN_MOV, 4, 4, 0, STORE, LOW32(V(0)), INSN_DS, 0xFEE00300},
    {B("\xc7\x05\xb0\x00\xe0\xfe\x00\x00\x00\x00"), M32, INSN_MOV, 4, 4, 0, STORE, 0, INSN_DS,
     0xFEE000B0},
    {B("\xa1\x20\x00\xe0\xfe"), M32, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS, 0xFEE00020},
    /* mov eax, [ebx+esi*2-4]; mov [eax], cx; mov eax, [bx+si]; mov eax, [ebp+4] */
    {B("\x8b\x44\x73\xfc"), M32, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS, LOW32(V(3) + V(6) * 2 - 4)},
    {B("\x66\x89\x08"), M32, INSN_MOV, 2, 2, 1, STORE, 0xB2C3, INSN_DS, LOW32(V(0))},
    {B("\x67\x8b\x00"), M32, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_DS, (0xB2C3 * 2) & 0xFFFF},
    {B("\x8b\x45\x04"), M32, INSN_MOV, 4, 4, 0, LOAD, 0, INSN_SS, LOW32(V(5) + 4)},
    /* mov al, es:[edi]; mov [esp], eax; 82h is an alias of 80h: and byte [eax], 1 */
    {B("\x26\x8a\x07"), M32, INSN_MOV, 1, 1, 0, LOAD, 0, INSN_ES, LOW32(V(7))},
    {B("\x89\x04\x24"), M32, INSN_MOV, 4, 4, 0, STORE, LOW32(V(0)), INSN_SS, LOW32(V(4))},
    {B("\x82\x20\x01"), M32, INSN_AND, 1, 1, 0, MODIFY, 1, INSN_DS, LOW32(V(0))},
    /* 16-bit: mov ax, [bp+2]; mov [bx+di+0x1234], ax; mov [edi], eax; mov al, [0x20] */
    {B("\x8b\x46\x02"), M16, INSN_MOV, 2, 2, 0, LOAD, 0, INSN_SS, 0xB2C5},
    {B("\x89\x81\x34\x12"), M16, INSN_MOV, 2, 2, 0, STORE, 0xB2C3, INSN_DS,
     (0xB2C3 * 2 + 0x1234) & 0xFFFF},
    {B("\x67\x66\x89\x07"), M16, INSN_MOV, 4, 4, 0, STORE, LOW32(V(0)), INSN_DS, LOW32(V(7))},
    {B("\xa0\x20\x00"), M16, INSN_MOV, 1, 1, 0, LOAD, 0, INSN_DS, 0x20},
};

static void check_case(const struct decode_case *want)
{
    struct insn_input input;
    struct insn insn;

    fill(&input, want->mode, want->bytes, want->count);
    assert_int_equal(insn_decode(&input, &insn, NULL), INSN_OK);
    assert_int_equal(insn.length, want->count);
    assert_int_equal(insn.operation, want->operation);
    assert_int_equal(insn.width_bytes, want->width);
    assert_int_equal(insn.register_bytes, want->reg_bytes);
    assert_int_equal(insn.register_index, want->reg);
    assert_int_equal(insn.reads_memory, (want->facts & READ) != 0);
    assert_int_equal(insn.writes_memory, (want->facts & WRITE) != 0);
    assert_int_equal(insn.writes_register, (want->facts & REG) != 0);
    assert_int_equal(insn.memory_is_destination, (want->facts & MEM_FIRST) != 0);
    assert_int_equal(insn.has_lock, (want->facts & LOCK) != 0);
    assert_int_equal(insn.is_high_byte, (want->facts & HIGH) != 0);
    assert_int_equal(insn.sign_extends, (want->facts & SIGN) != 0);
    assert_int_equal(insn.segment, want->segment);
    assert_int_equal(insn.offset, want->offset);
    if (insn.operation != INSN_MOV || insn.writes_memory) {
        assert_int_equal(insn.operand, want->operand);
    }
}

static void forms_are_decoded(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        check_case(&cases[i]);
    }
}

/* Every proper prefix of an instruction asks for more bytes; more bytes than needed do no harm. */
static void truncation_is_reported(void **state)
{
    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(cases); i++) {
        struct insn_input input;
        struct insn insn;

        for (uint8_t count = 0; count < cases[i].count; count++) {
            fill(&input, cases[i].mode, cases[i].bytes, count);
            assert_int_equal(insn_decode(&input, &insn, NULL), INSN_TRUNCATED);
            assert_int_equal(insn.length, 0);
        }
        fill(&input, cases[i].mode, cases[i].bytes, cases[i].count);
        memset(input.bytes + cases[i].count, 0x90, (size_t)(INSN_MAX_BYTES - cases[i].count));
        input.byte_count = INSN_MAX_BYTES;
        assert_int_equal(insn_decode(&input, &insn, NULL), INSN_OK);
        assert_int_equal(insn.length, cases[i].count);
    }
}

static void refusals_have_a_reason(void **state)
{
    static const struct {
        const char *bytes;
        uint8_t count;
        enum insn_mode mode;
        enum insn_status status;
        const char *reason;
    } refused[] = {
        {B("\xf3\xab"), M64, INSN_UNSUPPORTED, "string instruction"},
        {B("\xa5"), M64, INSN_UNSUPPORTED, "string instruction"},
        {B("\x6f"), M64, INSN_UNSUPPORTED, "string instruction"},
        {B("\xff\x37"), M64, INSN_UNSUPPORTED, "jump, call or push"},
        {B("\xfe\x3f"), M64, INSN_INVALID, "jump, call or push"},
        {B("\x8f\x07"), M64, INSN_UNSUPPORTED, "stack instruction"},
        {B("\xc5\xf8\x11\x07"), M64, INSN_UNSUPPORTED, "vector instruction or far pointer load"},
        {B("\xd9\x07"), M64, INSN_UNSUPPORTED, "x87 instruction"},
        {B("\x0f\x11\x07"), M64, INSN_UNSUPPORTED, "two-byte opcode"},
        {B("\xf7\x27"), M64, INSN_UNSUPPORTED, "multiplication or division"},
        {B("\x89\xc0"), M64, INSN_UNSUPPORTED, "no memory operand"},
        {B("\x63\x07"), M32, INSN_UNSUPPORTED, "ARPL"},
        {B("\x90"), M64, INSN_UNSUPPORTED, "opcode"},
        {B("\xc7\x0f\x00\x00\x00\x00"), M64, INSN_INVALID, "undefined opcode in group 11"},
        {B("\x82\x20\x01"), M64, INSN_INVALID, "opcode 82h in 64-bit mode"},
        {B("\x66\x0f\xc3\x07"), M64, INSN_INVALID, "MOVNTI with a prefix"},
        {B("\xf0\x89\x07"), M64, INSN_INVALID, "LOCK prefix not allowed here"},
        {B("\xf0\x8b\x07"), M64, INSN_INVALID, "LOCK prefix not allowed here"},
        {B("\xf0\x0b\x07"), M64, INSN_INVALID, "LOCK prefix not allowed here"},
        {B("\xf0\x83\x3f\x01"), M64, INSN_INVALID, "LOCK prefix not allowed here"},
    };

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(refused); i++) {
        struct insn_input input;
        struct insn insn;
        const char *reason = NULL;

        fill(&input, refused[i].mode, refused[i].bytes, refused[i].count);
        assert_int_equal(insn_decode(&input, &insn, &reason), refused[i].status);
        assert_string_equal(reason, refused[i].reason);
    }
}

static void length_is_limited_to_15_bytes(void **state)
{
    struct insn_input input;
    struct insn insn;
    const char *reason = NULL;
    char bytes[INSN_MAX_BYTES];

    (void)state;
    memset(bytes, 0x3E, sizeof(bytes));
    bytes[13] = (char)0x89;
    bytes[14] = 0x07;
    fill(&input, M64, bytes, sizeof(bytes));
    assert_int_equal(insn_decode(&input, &insn, &reason), INSN_OK);
    assert_int_equal(insn.length, 15);
    bytes[13] = 0x3E;
    bytes[14] = (char)0x89;
    fill(&input, M64, bytes, sizeof(bytes));
    assert_int_equal(insn_decode(&input, &insn, &reason), INSN_INVALID);
    assert_string_equal(reason, "longer than 15 bytes");
    memset(bytes, 0x66, sizeof(bytes));
    fill(&input, M64, bytes, sizeof(bytes));
    assert_int_equal(insn_decode(&input, &insn, &reason), INSN_INVALID);
    input.byte_count = 255; /* a caller's mistake does not read past the array */
    assert_int_equal(insn_decode(&input, &insn, &reason), INSN_INVALID);
}

/* Whatever the bytes are, the result is one of the four and its numbers are in range. */
static void random_bytes_do_no_harm(void **state)
{
    uint64_t seed = 0x9E3779B97F4A7C15ull;
    unsigned int decoded = 0;

    (void)state;
    for (unsigned int round = 0; round < 400000; round++) {
        struct insn_input input;
        struct insn insn;
        const char *reason = NULL;
        enum insn_status status;

        for (unsigned int i = 0; i < sizeof(input); i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            ((uint8_t *)&input)[i] = (uint8_t)(seed >> 24);
        }
        input.byte_count = (uint8_t)(seed % 17);
        input.mode = (enum insn_mode)(seed >> 32 & 0xFF) % 3;
        status = insn_decode(&input, &insn, &reason);
        if (status == INSN_OK) {
            decoded++;
            assert_in_range(insn.length, 1, input.byte_count);
            assert_true(insn.width_bytes == 1 || insn.width_bytes == 2 || insn.width_bytes == 4 ||
                        insn.width_bytes == 8);
            assert_in_range(insn.register_index, 0, 15);
            assert_true(insn.reads_memory || insn.writes_memory);
        } else if (status != INSN_TRUNCATED) {
            assert_non_null(reason);
            assert_string_not_equal(reason, "");
        }
    }
    assert_true(decoded > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_are_decoded),       cmocka_unit_test(truncation_is_reported),
        cmocka_unit_test(refusals_have_a_reason),  cmocka_unit_test(length_is_limited_to_15_bytes),
        cmocka_unit_test(random_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
