/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMX_INSN_H
#define VMX_VMX_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * The only wrapper of VMX instructions (SDM volume 3, "VMX Instruction Reference"). Each returns
 * the instruction's outcome; nobody may ignore it. VM entry is in entry.asm.
 */

/* VMsucceed, VMfailInvalid (CF: there is no current VMCS) or VMfailValid (ZF: the number is in the
 * current VMCS's VM-instruction error field). */
struct vmx_result {
    bool is_fail_invalid;
    bool is_fail_valid;
};

static inline bool vmx_failed(struct vmx_result result)
{
    return result.is_fail_invalid || result.is_fail_valid;
}

MUST_CHECK static inline struct vmx_result vmx_on(uint64_t region)
{
    struct vmx_result result;

    __asm__ volatile("vmxon %2"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     : "m"(region)
                     : "memory");
    return result;
}

MUST_CHECK static inline struct vmx_result vmx_off(void)
{
    struct vmx_result result;

    __asm__ volatile("vmxoff"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     :
                     : "memory");
    return result;
}

MUST_CHECK static inline struct vmx_result vmx_clear(uint64_t vmcs)
{
    struct vmx_result result;

    __asm__ volatile("vmclear %2"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     : "m"(vmcs)
                     : "memory");
    return result;
}

MUST_CHECK static inline struct vmx_result vmx_load(uint64_t vmcs)
{
    struct vmx_result result;

    __asm__ volatile("vmptrld %2"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     : "m"(vmcs)
                     : "memory");
    return result;
}

MUST_CHECK static inline struct vmx_result vmx_read(uint64_t encoding, uint64_t *value)
{
    struct vmx_result result;

    __asm__ volatile("vmread %3, %2"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid), "=r"(*value)
                     : "r"(encoding)
                     : "memory");
    return result;
}

MUST_CHECK static inline struct vmx_result vmx_write(uint64_t encoding, uint64_t value)
{
    struct vmx_result result;

    __asm__ volatile("vmwrite %3, %2"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     : "r"(encoding), "r"(value)
                     : "memory");
    return result;
}

/* VMREAD and VMWRITE for the exit path: true when the instruction failed, either way. Which way is
 * found out by vmx_read and vmx_write, which fail again. */
MUST_CHECK static inline bool vmx_read_failed(uint64_t encoding, uint64_t *value)
{
    bool is_failed;

    __asm__ volatile("vmread %2, %1"
                     : "=@ccbe"(is_failed), "=r"(*value)
                     : "r"(encoding)
                     : "memory");
    return is_failed;
}

MUST_CHECK static inline bool vmx_write_failed(uint64_t encoding, uint64_t value)
{
    bool is_failed;

    __asm__ volatile("vmwrite %2, %1" : "=@ccbe"(is_failed) : "r"(encoding), "r"(value) : "memory");
    return is_failed;
}

/* Calls vmx_enter (entry.asm), which keeps RSP and RBP only: the compiler saves what it still
 * needs, and nothing is saved twice. Returns RAX, an enum entry_outcome. */
static inline uint64_t vmx_call_entry(void)
{
    uint64_t outcome;

    __asm__ volatile("call vmx_enter"
                     : "=a"(outcome)
                     :
                     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
                       "r14", "r15", "memory", "cc");
    return outcome;
}

enum invept_type { INVEPT_SINGLE_CONTEXT = 1, INVEPT_ALL_CONTEXTS = 2 };

MUST_CHECK static inline struct vmx_result vmx_invept(enum invept_type type, uint64_t eptp)
{
    struct {
        uint64_t eptp;
        uint64_t reserved;
    } descriptor = {eptp, 0};
    struct vmx_result result;

    __asm__ volatile("invept %2, %3"
                     : "=@ccc"(result.is_fail_invalid), "=@ccz"(result.is_fail_valid)
                     : "m"(descriptor), "r"((uint64_t)type)
                     : "memory");
    return result;
}

enum invvpid_type {
    INVVPID_INDIVIDUAL_ADDRESS = 0,
    INVVPID_SINGLE_CONTEXT = 1,
    INVVPID_ALL_CONTEXTS = 2,
    INVVPID_SINGLE_CONTEXT_RETAINING_GLOBALS = 3,
};

/* True when it failed. */
MUST_CHECK static inline bool vmx_invvpid_failed(enum invvpid_type type, uint16_t vpid,
                                                 uint64_t gva)
{
    struct {
        uint64_t vpid;
        uint64_t linear_address;
    } descriptor = {vpid, gva};
    bool is_failed;

    __asm__ volatile("invvpid %1, %2"
                     : "=@ccbe"(is_failed)
                     : "m"(descriptor), "r"((uint64_t)type)
                     : "memory");
    return is_failed;
}

#endif
