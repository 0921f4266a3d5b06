/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INSN_CURSOR_H
#define VMX_INSN_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "vmx/insn_decode.h"

/*
 * Reads instruction bytes: prefixes, ModR/M, SIB, displacement, immediates. Inside interface of the
 * decoder (vmx/insn_decode.c). A read past the given bytes yields 0 and is remembered.
 */

struct insn_cursor {
    const uint8_t *bytes;
    uint8_t count;
    uint8_t position;
    bool is_truncated;
    bool is_too_long; /* a 16th byte was asked for */
    enum insn_mode mode;
    bool has_operand_prefix, has_address_prefix, has_repeat, has_lock, has_segment, has_rex;
    enum insn_segment segment; /* by prefix, when has_segment */
    uint8_t rex;
    uint8_t operand_bytes; /* 2, 4, 8 */
    uint8_t address_bytes; /* 2, 4, 8 */
};

struct insn_address {
    enum insn_segment segment; /* the default one */
    uint64_t offset;           /* not yet wrapped to the address size */
    bool is_rip_relative;      /* the address of the next instruction is to be added */
};

/* Starts at the first of count bytes, which stay the caller's. */
void insn_cursor_init(struct insn_cursor *cursor, const uint8_t *bytes, uint8_t count,
                      enum insn_mode mode);

/* The next byte. */
uint8_t insn_cursor_next(struct insn_cursor *cursor);

/* The next byte, which stays to be read. */
uint8_t insn_cursor_peek(struct insn_cursor *cursor);

/* The next 1, 2, 4 or 8 bytes as a number. */
uint64_t insn_cursor_number(struct insn_cursor *cursor, uint8_t bytes);

/* Reads all prefixes and sets operand and address size. */
void insn_cursor_prefixes(struct insn_cursor *cursor);

/* Reads ModR/M, SIB and displacement. False: the operand is a register. register_number: the reg
 * field, with REX.R. */
bool insn_cursor_address(struct insn_cursor *cursor, const uint64_t registers[16],
                         struct insn_address *address, uint8_t *register_number);

/* The mask of a number of 1, 2, 4 or 8 bytes. */
uint64_t insn_mask(uint8_t bytes);

/* A number of 1, 2, 4 or 8 bytes, sign-extended to 64 bits. */
uint64_t insn_sign_extend(uint64_t value, uint8_t bytes);

#endif
