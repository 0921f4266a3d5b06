/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INSN_DECODE_H
#define VMX_INSN_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * Decodes a guest instruction that touched a page which we emulate (the xAPIC page and the like):
 * the MOV, ALU, TEST and XCHG forms with one memory operand that compilers and firmware emit. The
 * bytes come from the guest and may be anything. SDM volume 2, appendix "Opcode Map".
 */

#define INSN_MAX_BYTES 15u

enum insn_mode { INSN_MODE_16, INSN_MODE_32, INSN_MODE_64 }; /* by CS.L and CS.D */

enum insn_status {
    INSN_OK,
    INSN_TRUNCATED,   /* more bytes are needed than were given */
    INSN_UNSUPPORTED, /* a legal instruction, or one not known here, that is not emulated */
    INSN_INVALID,     /* the processor would raise #UD */
};

enum insn_operation {
    INSN_MOV, /* loads also as MOVZX, MOVSX, MOVSXD */
    INSN_ADD,
    INSN_OR,
    INSN_ADC,
    INSN_SBB,
    INSN_AND,
    INSN_SUB,
    INSN_XOR,
    INSN_CMP,
    INSN_TEST,
    INSN_XCHG,
    INSN_INC,
    INSN_DEC,
    INSN_NOT,
    INSN_NEG,
};

enum insn_segment { INSN_ES, INSN_CS, INSN_SS, INSN_DS, INSN_FS, INSN_GS };

struct insn_input {
    uint8_t bytes[INSN_MAX_BYTES];
    uint8_t byte_count; /* valid bytes, 0..15 */
    enum insn_mode mode;
    uint64_t rip;           /* of the instruction */
    uint64_t registers[16]; /* RAX RCX RDX RBX RSP RBP RSI RDI R8..R15 */
};

struct insn {
    enum insn_operation operation;
    uint8_t length;      /* of the instruction, 1..15 */
    uint8_t width_bytes; /* of the memory access: 1, 2, 4, 8 */
    bool reads_memory;
    bool writes_memory;
    bool memory_is_destination; /* the first operand is memory (CMP, TEST: without being written) */
    bool has_lock;
    /* The other operand: a register's value or the immediate, already fetched, zero-extended from
     * width_bytes. 0 for one-operand instructions. */
    uint64_t operand;
    /* The register that receives a result: loads, "reg op= mem", XCHG. */
    bool writes_register;
    uint8_t register_index;
    bool is_high_byte;      /* AH CH DH BH: register_index is 0..3 */
    uint8_t register_bytes; /* 1, 2, 4, 8; wider than width_bytes for MOVZX, MOVSX */
    bool sign_extends;
    /* The operand's address: offset in the segment, wrapped to the address size. The linear address
     * is this plus the segment base (0 in 64-bit mode save FS and GS). */
    enum insn_segment segment;
    uint64_t offset;
};

/* Decodes. On INSN_UNSUPPORTED and INSN_INVALID *reason (if not NULL) says why, in static words. */
enum insn_status insn_decode(const struct insn_input *input, struct insn *insn,
                             const char **reason) MUST_CHECK;

/* What executing the instruction changes, besides RIP. */
struct insn_effect {
    bool writes_memory;
    uint64_t memory_value; /* width_bytes of it */
    bool writes_register;
    uint8_t register_index;  /* 0..15 */
    uint64_t register_value; /* the whole 64-bit register after the instruction */
    uint64_t rflags;         /* after the instruction */
};

/* Computes the effect; memory_value is what the memory operand held (unused when reads_memory is
 * false). Undefined flags keep their value. */
void insn_apply(const struct insn *insn, const uint64_t registers[16], uint64_t rflags,
                uint64_t memory_value, struct insn_effect *effect);

#endif
