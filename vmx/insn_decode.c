/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/insn_decode.h"

#include <stddef.h>

#include "core/bits.h"
#include "vmx/insn_cursor.h"

/* What the opcode says; the ModR/M byte and the immediate follow from it. */
enum form {
    FORM_MEM_REG,   /* r/m is the first operand, the register the second */
    FORM_REG_MEM,   /* the other way round */
    FORM_MEM_IMM8,  /* immediate of 8 bits, sign-extended */
    FORM_MEM_IMM,   /* immediate of operand size, at most 32 bits, sign-extended */
    FORM_MEM_ONLY,  /* one operand */
    FORM_REG_MOFFS, /* accumulator from the address in the instruction */
    FORM_MOFFS_REG,
};

struct opcode {
    enum insn_operation operation;
    enum form form;
    uint8_t width_bytes;    /* of the memory operand */
    uint8_t register_bytes; /* of the register operand */
    bool sign_extends;
};

#define OPERATION_OF_ALU(number) ((enum insn_operation)((number) + INSN_ADD))
#define REFUSE(status, words) \
    do {                      \
        *reason = (words);    \
        return status;        \
    } while (0)

static void set_opcode(struct opcode *opcode, enum insn_operation operation, enum form form,
                       uint8_t bytes)
{
    *opcode = (struct opcode){operation, form, bytes, bytes, false};
}

/* Loads that widen: MOVZX, MOVSX, MOVSXD. */
static void set_extension(struct opcode *opcode, uint8_t width_bytes, uint8_t register_bytes,
                          bool sign_extends)
{
    *opcode = (struct opcode){INSN_MOV, FORM_REG_MEM, width_bytes, register_bytes, sign_extends};
}

/* Opcodes of which bits 5:3 of the ModR/M byte are a part. */
static enum insn_status group_opcode(struct insn_cursor *cursor, uint8_t byte, uint8_t bytes,
                                     struct opcode *opcode, const char **reason)
{
    uint8_t digit = (uint8_t)(insn_cursor_peek(cursor) >> 3 & 7);

    switch (byte) {
    case 0x80:
    case 0x82:
    case 0x83:
        set_opcode(opcode, OPERATION_OF_ALU(digit), FORM_MEM_IMM8, bytes);
        return INSN_OK;
    case 0x81:
        set_opcode(opcode, OPERATION_OF_ALU(digit), FORM_MEM_IMM, bytes);
        return INSN_OK;
    case 0xC6:
    case 0xC7:
        if (digit != 0) {
            REFUSE(INSN_INVALID, "undefined opcode in group 11");
        }
        set_opcode(opcode, INSN_MOV, FORM_MEM_IMM, bytes);
        return INSN_OK;
    case 0xF6:
    case 0xF7:
        if (digit >= 4) {
            REFUSE(INSN_UNSUPPORTED, "multiplication or division");
        }
        if (digit < 2) {
            set_opcode(opcode, INSN_TEST, FORM_MEM_IMM, bytes);
        } else {
            set_opcode(opcode, digit == 2 ? INSN_NOT : INSN_NEG, FORM_MEM_ONLY, bytes);
        }
        return INSN_OK;
    default: /* 0xFE, 0xFF */
        if (digit >= 2) {
            REFUSE(byte == 0xFE ? INSN_INVALID : INSN_UNSUPPORTED, "jump, call or push");
        }
        set_opcode(opcode, digit == 0 ? INSN_INC : INSN_DEC, FORM_MEM_ONLY, bytes);
        return INSN_OK;
    }
}

static enum insn_status two_byte_opcode(struct insn_cursor *cursor, struct opcode *opcode,
                                        const char **reason)
{
    uint8_t byte = insn_cursor_next(cursor);
    uint8_t bytes = cursor->operand_bytes;

    switch (byte) {
    case 0xB6:
    case 0xBE:
        set_extension(opcode, 1, bytes, byte == 0xBE);
        return INSN_OK;
    case 0xB7:
    case 0xBF:
        set_extension(opcode, 2, bytes, byte == 0xBF);
        return INSN_OK;
    case 0xC3:
        if (cursor->has_operand_prefix || cursor->has_repeat) {
            REFUSE(INSN_INVALID, "MOVNTI with a prefix");
        }
        set_opcode(opcode, INSN_MOV, FORM_MEM_REG, bytes);
        return INSN_OK;
    default:
        REFUSE(INSN_UNSUPPORTED, "two-byte opcode");
    }
}

/* Words for opcodes that are known and not emulated. */
static const char *why_unsupported(uint8_t byte)
{
    if ((byte >= 0xA4 && byte <= 0xA7) || (byte >= 0xAA && byte <= 0xAF) ||
        (byte >= 0x6C && byte <= 0x6F)) {
        return "string instruction";
    }
    if (byte == 0x62 || byte == 0xC4 || byte == 0xC5) {
        return "vector instruction or far pointer load";
    }
    if ((byte >= 0x50 && byte <= 0x5F) || byte == 0x8F || byte == 0x68 || byte == 0x6A) {
        return "stack instruction";
    }
    if (byte >= 0xD8 && byte <= 0xDF) {
        return "x87 instruction";
    }
    return "opcode";
}

/* TEST, XCHG and MOV with a register; false: it is none of them. */
static bool move_opcode(uint8_t byte, uint8_t bytes, struct opcode *opcode)
{
    switch (byte & ~1u) {
    case 0x84:
        set_opcode(opcode, INSN_TEST, FORM_MEM_REG, bytes);
        return true;
    case 0x86:
        set_opcode(opcode, INSN_XCHG, FORM_MEM_REG, bytes);
        return true;
    case 0x88:
        set_opcode(opcode, INSN_MOV, FORM_MEM_REG, bytes);
        return true;
    case 0x8A:
        set_opcode(opcode, INSN_MOV, FORM_REG_MEM, bytes);
        return true;
    case 0xA0:
        set_opcode(opcode, INSN_MOV, FORM_REG_MOFFS, bytes);
        return true;
    case 0xA2:
        set_opcode(opcode, INSN_MOV, FORM_MOFFS_REG, bytes);
        return true;
    default:
        return false;
    }
}

static enum insn_status one_byte_opcode(struct insn_cursor *cursor, struct opcode *opcode,
                                        const char **reason)
{
    uint8_t byte = insn_cursor_next(cursor);
    uint8_t bytes = (byte & 1) != 0 ? cursor->operand_bytes : 1;

    if (byte == 0x0F) {
        return two_byte_opcode(cursor, opcode, reason);
    }
    if (byte < 0x40 && (byte & 7) < 4) {
        set_opcode(opcode, OPERATION_OF_ALU(byte >> 3),
                   (byte & 2) != 0 ? FORM_REG_MEM : FORM_MEM_REG, bytes);
        return INSN_OK;
    }
    switch (byte) {
    case 0x63:
        if (cursor->mode != INSN_MODE_64) {
            REFUSE(INSN_UNSUPPORTED, "ARPL");
        }
        set_extension(opcode, cursor->operand_bytes == 2 ? 2 : 4, cursor->operand_bytes, true);
        return INSN_OK;
    case 0x82:
        if (cursor->mode == INSN_MODE_64) {
            REFUSE(INSN_INVALID, "opcode 82h in 64-bit mode");
        }
        return group_opcode(cursor, byte, bytes, opcode, reason);
    case 0x80:
    case 0x81:
    case 0x83:
    case 0xC6:
    case 0xC7:
    case 0xF6:
    case 0xF7:
    case 0xFE:
    case 0xFF:
        return group_opcode(cursor, byte, bytes, opcode, reason);
    default:
        if (move_opcode(byte, bytes, opcode)) {
            return INSN_OK;
        }
        REFUSE(INSN_UNSUPPORTED, why_unsupported(byte));
    }
}

static bool is_compare(enum insn_operation operation)
{
    return operation == INSN_CMP || operation == INSN_TEST;
}

/* LOCK is legal with a memory destination that is read and written. */
static bool may_lock(const struct insn *insn)
{
    return insn->memory_is_destination && insn->reads_memory && insn->writes_memory;
}

/* Fills in what follows from the operation and the order of the operands. */
static void set_directions(const struct opcode *opcode, struct insn *insn)
{
    bool register_first = opcode->form == FORM_REG_MEM || opcode->form == FORM_REG_MOFFS;
    bool is_move = opcode->operation == INSN_MOV;

    insn->operation = opcode->operation;
    insn->width_bytes = opcode->width_bytes;
    insn->register_bytes = opcode->register_bytes;
    insn->sign_extends = opcode->sign_extends;
    insn->memory_is_destination = !register_first;
    insn->reads_memory = register_first || !is_move;
    insn->writes_memory = !register_first && !is_compare(opcode->operation);
    insn->writes_register =
        (register_first && !is_compare(opcode->operation)) || opcode->operation == INSN_XCHG;
}

/* The register operand: which one, and its value as the second (or, REG_MEM, first) operand. */
static void set_register(const struct insn_input *input, const struct insn_cursor *cursor,
                         uint8_t number, struct insn *insn)
{
    uint64_t value;

    insn->is_high_byte = insn->register_bytes == 1 && !cursor->has_rex && number >= 4;
    insn->register_index = insn->is_high_byte ? (uint8_t)(number - 4) : number;
    value = input->registers[insn->register_index] >> (insn->is_high_byte ? 8 : 0);
    insn->operand = value & insn_mask(insn->register_bytes);
}

static uint64_t read_immediate(struct insn_cursor *cursor, enum form form, uint8_t width_bytes)
{
    uint8_t bytes = form == FORM_MEM_IMM8 ? 1 : width_bytes;
    uint64_t value;

    if (bytes > 4) {
        bytes = 4;
    }
    value = insn_cursor_number(cursor, bytes);
    return insn_sign_extend(value, bytes) & insn_mask(width_bytes);
}

/* The operands: ModR/M and what belongs to it, then the immediate. */
static enum insn_status read_operands(const struct insn_input *input, struct insn_cursor *cursor,
                                      enum form form, struct insn *insn, const char **reason)
{
    struct insn_address address = {0};
    uint8_t register_number = 0;

    if (form == FORM_REG_MOFFS || form == FORM_MOFFS_REG) {
        address.segment = INSN_DS;
        address.offset = insn_cursor_number(cursor, cursor->address_bytes);
    } else if (!insn_cursor_address(cursor, input->registers, &address, &register_number)) {
        REFUSE(INSN_UNSUPPORTED, "no memory operand");
    }
    if (form == FORM_MEM_IMM8 || form == FORM_MEM_IMM) {
        insn->operand = read_immediate(cursor, form, insn->width_bytes);
    } else if (form != FORM_MEM_ONLY) {
        set_register(input, cursor, register_number, insn);
    }
    insn->length = cursor->position;
    if (address.is_rip_relative) {
        address.offset += input->rip + insn->length;
    }
    insn->offset = address.offset & insn_mask(cursor->address_bytes);
    insn->segment = cursor->has_segment ? cursor->segment : address.segment;
    return INSN_OK;
}

static enum insn_status decode(const struct insn_input *input, struct insn_cursor *cursor,
                               struct insn *insn, const char **reason)
{
    struct opcode opcode = {INSN_MOV, FORM_MEM_REG, 0, 0, false};
    enum insn_status status;

    insn_cursor_prefixes(cursor);
    status = one_byte_opcode(cursor, &opcode, reason);
    if (status == INSN_OK) {
        set_directions(&opcode, insn);
        insn->has_lock = cursor->has_lock;
        status = read_operands(input, cursor, opcode.form, insn, reason);
    }
    if (cursor->is_too_long) {
        REFUSE(INSN_INVALID, "longer than 15 bytes");
    }
    if (cursor->is_truncated) {
        return INSN_TRUNCATED;
    }
    if (status == INSN_OK && insn->has_lock && !may_lock(insn)) {
        REFUSE(INSN_INVALID, "LOCK prefix not allowed here");
    }
    return status;
}

enum insn_status insn_decode(const struct insn_input *input, struct insn *insn, const char **reason)
{
    struct insn_cursor cursor;
    const char *words = "";
    enum insn_status status;

    *insn = (struct insn){0};
    insn_cursor_init(&cursor, input->bytes, input->byte_count, input->mode);
    status = decode(input, &cursor, insn, &words);
    if (status != INSN_OK) {
        *insn = (struct insn){0};
    }
    if (reason != NULL && status != INSN_OK && status != INSN_TRUNCATED) {
        *reason = words;
    }
    return status;
}
