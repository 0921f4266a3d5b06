/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/insn_cursor.h"

#include "core/bits.h"

#define REX_B 1u
#define REX_X 2u
#define REX_R 4u
#define REX_W 8u

enum { RBX = 3, RSP = 4, RBP = 5, RSI = 6, RDI = 7 };

uint64_t insn_mask(uint8_t bytes)
{
    return bytes >= 8 ? ~(uint64_t)0 : BIT64(bytes * 8u) - 1;
}

uint64_t insn_sign_extend(uint64_t value, uint8_t bytes)
{
    uint64_t mask = insn_mask(bytes);
    uint64_t sign = (mask >> 1) + 1;

    return (value & sign) != 0 ? value | ~mask : value & mask;
}

void insn_cursor_init(struct insn_cursor *cursor, const uint8_t *bytes, uint8_t count,
                      enum insn_mode mode)
{
    *cursor = (struct insn_cursor){
        .bytes = bytes,
        .count = count < INSN_MAX_BYTES ? count : (uint8_t)INSN_MAX_BYTES,
        .mode = mode,
    };
}

uint8_t insn_cursor_peek(struct insn_cursor *cursor)
{
    if (cursor->position < cursor->count) {
        return cursor->bytes[cursor->position];
    }
    if (cursor->position < INSN_MAX_BYTES) {
        cursor->is_truncated = true;
    } else {
        cursor->is_too_long = true;
    }
    return 0;
}

uint8_t insn_cursor_next(struct insn_cursor *cursor)
{
    uint8_t byte = insn_cursor_peek(cursor);

    if (!cursor->is_truncated && !cursor->is_too_long) {
        cursor->position++;
    }
    return byte;
}

uint64_t insn_cursor_number(struct insn_cursor *cursor, uint8_t bytes)
{
    uint64_t value = 0;

    for (uint8_t i = 0; i < bytes; i++) {
        value |= (uint64_t)insn_cursor_next(cursor) << (8 * i);
    }
    return value;
}

/* CS, DS, ES and SS prefixes do nothing in 64-bit mode. */
static void set_segment(struct insn_cursor *cursor, enum insn_segment segment)
{
    if (cursor->mode == INSN_MODE_64 && segment != INSN_FS && segment != INSN_GS) {
        return;
    }
    cursor->has_segment = true;
    cursor->segment = segment;
}

static bool take_legacy_prefix(struct insn_cursor *cursor, uint8_t byte)
{
    switch (byte) {
    case 0x26:
        set_segment(cursor, INSN_ES);
        return true;
    case 0x2E:
        set_segment(cursor, INSN_CS);
        return true;
    case 0x36:
        set_segment(cursor, INSN_SS);
        return true;
    case 0x3E:
        set_segment(cursor, INSN_DS);
        return true;
    case 0x64:
        set_segment(cursor, INSN_FS);
        return true;
    case 0x65:
        set_segment(cursor, INSN_GS);
        return true;
    case 0x66:
        cursor->has_operand_prefix = true;
        return true;
    case 0x67:
        cursor->has_address_prefix = true;
        return true;
    case 0xF0:
        cursor->has_lock = true;
        return true;
    case 0xF2:
    case 0xF3:
        cursor->has_repeat = true;
        return true;
    default:
        return false;
    }
}

static void set_sizes(struct insn_cursor *cursor)
{
    bool operand_is_small = (cursor->mode == INSN_MODE_16) != cursor->has_operand_prefix;

    cursor->operand_bytes = operand_is_small ? 2 : 4;
    if ((cursor->rex & REX_W) != 0) {
        cursor->operand_bytes = 8;
    }
    if (cursor->mode == INSN_MODE_64) {
        cursor->address_bytes = cursor->has_address_prefix ? 4 : 8;
    } else {
        cursor->address_bytes =
            (cursor->mode == INSN_MODE_16) != cursor->has_address_prefix ? 2 : 4;
    }
}

void insn_cursor_prefixes(struct insn_cursor *cursor)
{
    for (;;) {
        uint8_t byte = insn_cursor_peek(cursor);
        bool is_rex = cursor->mode == INSN_MODE_64 && (byte & 0xF0) == 0x40;

        if (cursor->is_truncated || cursor->is_too_long) {
            break;
        }
        if (is_rex) {
            cursor->has_rex = true;
            cursor->rex = byte;
        } else if (take_legacy_prefix(cursor, byte)) {
            cursor->has_rex = false; /* a REX prefix counts only right before the opcode */
            cursor->rex = 0;
        } else {
            break;
        }
        (void)insn_cursor_next(cursor);
    }
    set_sizes(cursor);
}

/* 16-bit forms: SDM volume 2, table "16-Bit Addressing Forms with the ModR/M Byte". */
static void address_16(struct insn_cursor *cursor, const uint64_t registers[16], uint8_t mod,
                       uint8_t rm, struct insn_address *address)
{
    static const uint8_t base[8] = {RBX, RBX, RBP, RBP, RSI, RDI, RBP, RBX};

    address->segment = INSN_DS;
    if (mod == 0 && rm == 6) {
        address->offset = insn_cursor_number(cursor, 2);
        return;
    }
    address->offset = registers[base[rm]];
    if (rm < 4) {
        address->offset += registers[(rm & 1) != 0 ? RDI : RSI];
    }
    if (base[rm] == RBP) {
        address->segment = INSN_SS;
    }
    if (mod == 1) {
        address->offset += insn_sign_extend(insn_cursor_number(cursor, 1), 1);
    } else if (mod == 2) {
        address->offset += insn_cursor_number(cursor, 2);
    }
}

/* The base and the index of a SIB byte. True: there is no base, a 32-bit displacement follows. */
static bool add_sib(struct insn_cursor *cursor, const uint64_t registers[16], uint8_t mod,
                    struct insn_address *address)
{
    uint8_t sib = insn_cursor_next(cursor);
    uint8_t index = (uint8_t)((sib >> 3 & 7) | ((cursor->rex & REX_X) != 0 ? 8 : 0));
    uint8_t base = sib & 7;

    if (index != RSP) {
        address->offset += registers[index] << (sib >> 6);
    }
    if (base == RBP && mod == 0) {
        return true;
    }
    base = (uint8_t)(base | ((cursor->rex & REX_B) != 0 ? 8 : 0));
    address->offset += registers[base];
    if (base == RSP || base == RBP) {
        address->segment = INSN_SS;
    }
    return false;
}

/* 32-bit and 64-bit forms. */
static void address_32(struct insn_cursor *cursor, const uint64_t registers[16], uint8_t mod,
                       uint8_t rm, struct insn_address *address)
{
    bool has_displacement_32 = mod == 2;

    address->segment = INSN_DS;
    if (rm == RSP) {
        has_displacement_32 |= add_sib(cursor, registers, mod, address);
    } else if (rm == RBP && mod == 0) {
        has_displacement_32 = true;
        address->is_rip_relative = cursor->mode == INSN_MODE_64;
    } else {
        uint8_t base = (uint8_t)(rm | ((cursor->rex & REX_B) != 0 ? 8 : 0));

        address->offset += registers[base];
        address->segment = base == RBP ? INSN_SS : INSN_DS;
    }
    if (mod == 1) {
        address->offset += insn_sign_extend(insn_cursor_number(cursor, 1), 1);
    } else if (has_displacement_32) {
        address->offset += insn_sign_extend(insn_cursor_number(cursor, 4), 4);
    }
}

bool insn_cursor_address(struct insn_cursor *cursor, const uint64_t registers[16],
                         struct insn_address *address, uint8_t *register_number)
{
    uint8_t byte = insn_cursor_next(cursor);
    uint8_t mod = byte >> 6;
    uint8_t rm = byte & 7;

    *register_number = (uint8_t)((byte >> 3 & 7) | ((cursor->rex & REX_R) != 0 ? 8 : 0));
    *address = (struct insn_address){INSN_DS, 0, false};
    if (mod == 3) {
        return false;
    }
    if (cursor->address_bytes == 2) {
        address_16(cursor, registers, mod, rm, address);
    } else {
        address_32(cursor, registers, mod, rm, address);
    }
    return true;
}
