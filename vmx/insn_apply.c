/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/bits.h"
#include "vmx/insn_cursor.h"
#include "vmx/insn_decode.h"

/* The arithmetic of the decoded instructions, flags included (SDM volume 1, "Status Flags"). */

#define FLAG_CF   BIT64(0)
#define FLAG_PF   BIT64(2)
#define FLAG_AF   BIT64(4)
#define FLAG_ZF   BIT64(6)
#define FLAG_SF   BIT64(7)
#define FLAG_OF   BIT64(11)
#define FLAGS_ALL (FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)

/* One operation on numbers of width bytes. */
struct alu {
    uint64_t first, second, result;
    uint64_t flags; /* the flags that the operation defines, and */
    uint64_t mask;  /* which they are */
};

static uint64_t flag(bool is_set, uint64_t bit)
{
    return is_set ? bit : 0;
}

/* SF, ZF, PF of a result that is already cut to its width. */
static uint64_t result_flags(uint64_t result, uint8_t bytes)
{
    uint64_t sign = (insn_mask(bytes) >> 1) + 1;
    uint64_t folded = (result ^ result >> 4) & 0xF;
    bool is_even = (0x9669u >> folded & 1) != 0; /* bit n: n has an even number of ones */

    return flag((result & sign) != 0, FLAG_SF) | flag(result == 0, FLAG_ZF) |
           flag(is_even, FLAG_PF);
}

static void alu_logic(struct alu *alu, uint64_t result, uint8_t bytes)
{
    alu->result = result & insn_mask(bytes);
    alu->flags = result_flags(alu->result, bytes);
    alu->mask = FLAGS_ALL & ~FLAG_AF;
}

static void alu_add(struct alu *alu, uint64_t carry, uint8_t bytes)
{
    uint64_t mask = insn_mask(bytes);
    uint64_t sign = (mask >> 1) + 1;
    uint64_t result = (alu->first + alu->second + carry) & mask;
    uint64_t carries = (alu->first & alu->second) | ((alu->first | alu->second) & ~result);
    uint64_t overflow = ~(alu->first ^ alu->second) & (alu->first ^ result);

    alu->result = result;
    alu->flags = result_flags(result, bytes) | flag((carries & sign) != 0, FLAG_CF) |
                 flag((carries & 8) != 0, FLAG_AF) | flag((overflow & sign) != 0, FLAG_OF);
    alu->mask = FLAGS_ALL;
}

static void alu_subtract(struct alu *alu, uint64_t borrow, uint8_t bytes)
{
    uint64_t mask = insn_mask(bytes);
    uint64_t sign = (mask >> 1) + 1;
    uint64_t result = (alu->first - alu->second - borrow) & mask;
    uint64_t borrows = (~alu->first & alu->second) | (~(alu->first ^ alu->second) & result);
    uint64_t overflow = (alu->first ^ alu->second) & (alu->first ^ result);

    alu->result = result;
    alu->flags = result_flags(result, bytes) | flag((borrows & sign) != 0, FLAG_CF) |
                 flag((borrows & 8) != 0, FLAG_AF) | flag((overflow & sign) != 0, FLAG_OF);
    alu->mask = FLAGS_ALL;
}

static void compute_step(enum insn_operation operation, struct alu *alu, uint8_t bytes)
{
    alu->second = 1;
    if (operation == INSN_INC) {
        alu_add(alu, 0, bytes);
    } else {
        alu_subtract(alu, 0, bytes);
    }
    alu->mask &= ~FLAG_CF;
}

static void compute(enum insn_operation operation, struct alu *alu, uint64_t carry, uint8_t bytes)
{
    switch (operation) {
    case INSN_ADD:
    case INSN_ADC:
        alu_add(alu, operation == INSN_ADC ? carry : 0, bytes);
        break;
    case INSN_SUB:
    case INSN_CMP:
    case INSN_SBB:
        alu_subtract(alu, operation == INSN_SBB ? carry : 0, bytes);
        break;
    case INSN_AND:
    case INSN_TEST:
        alu_logic(alu, alu->first & alu->second, bytes);
        break;
    case INSN_OR:
        alu_logic(alu, alu->first | alu->second, bytes);
        break;
    case INSN_XOR:
        alu_logic(alu, alu->first ^ alu->second, bytes);
        break;
    case INSN_INC:
    case INSN_DEC:
        compute_step(operation, alu, bytes);
        break;
    case INSN_NEG:
        alu->second = alu->first;
        alu->first = 0;
        alu_subtract(alu, 0, bytes);
        break;
    case INSN_NOT:
        alu->result = ~alu->first & insn_mask(bytes);
        break;
    case INSN_MOV:
    case INSN_XCHG:
    default:
        alu->result = alu->second;
        break;
    }
}

/* Puts a value of register_bytes into the 64-bit register, as the processor does: 32-bit results
 * clear the upper half, smaller ones leave the rest alone. */
static uint64_t merge_register(const struct insn *insn, uint64_t old, uint64_t value)
{
    uint64_t mask = insn_mask(insn->register_bytes);

    if (insn->register_bytes >= 4) {
        return value & mask;
    }
    if (insn->is_high_byte) {
        return (old & ~(mask << 8)) | (value & mask) << 8;
    }
    return (old & ~mask) | (value & mask);
}

void insn_apply(const struct insn *insn, const uint64_t registers[16], uint64_t rflags,
                uint64_t memory_value, struct insn_effect *effect)
{
    uint64_t memory = memory_value & insn_mask(insn->width_bytes);
    struct alu alu = {0};
    uint64_t to_register;

    if (insn->sign_extends) {
        memory = insn_sign_extend(memory, insn->width_bytes);
    }
    alu.first = insn->memory_is_destination ? memory : insn->operand;
    alu.second = insn->memory_is_destination ? insn->operand : memory;
    compute(insn->operation, &alu, rflags & FLAG_CF, insn->width_bytes);
    to_register = insn->operation == INSN_XCHG ? memory : alu.result;

    *effect = (struct insn_effect){
        .writes_memory = insn->writes_memory,
        .memory_value = insn->writes_memory ? alu.result & insn_mask(insn->width_bytes) : 0,
        .writes_register = insn->writes_register,
        .register_index = insn->register_index,
        .rflags = (rflags & ~alu.mask) | (alu.flags & alu.mask),
    };
    if (insn->writes_register) {
        effect->register_value = merge_register(insn, registers[insn->register_index], to_register);
    }
}
