/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_INSN_H
#define GUEST_INSN_H

#include <stdint.h>

/*
 * The only header of the guests with inline assembly: one wrapper per instruction. Instructions
 * that may fault are called through fault.h; odd ones stand in .asm files.
 */

struct cpuid_regs {
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
};

static inline struct cpuid_regs insn_cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_regs r;

    __asm__ volatile("cpuid"
                     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
                     : "a"(leaf), "c"(subleaf));
    return r;
}

static inline uint64_t insn_rdtsc(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline uint64_t insn_rdmsr(uint32_t msr)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline void insn_wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline void insn_xsetbv(uint32_t index, uint64_t value)
{
    __asm__ volatile("xsetbv"
                     :
                     : "c"(index), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline uint64_t insn_xgetbv(uint32_t index)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
    return ((uint64_t)high << 32) | low;
}

static inline void insn_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void insn_out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void insn_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline uint8_t insn_in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint16_t insn_in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint32_t insn_in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline void insn_outs8(uint16_t port, const void *data, uint64_t count)
{
    __asm__ volatile("rep outsb" : "+S"(data), "+c"(count) : "d"(port) : "memory");
}

static inline void insn_ins8(uint16_t port, void *data, uint64_t count)
{
    __asm__ volatile("rep insb" : "+D"(data), "+c"(count) : "d"(port) : "memory");
}

#define INSN_CONTROL_REGISTER(reg)                                         \
    static inline uint64_t insn_read_##reg(void)                           \
    {                                                                      \
        uint64_t value;                                                    \
                                                                           \
        __asm__ volatile("mov %%" #reg ", %0" : "=r"(value) : : "memory"); \
        return value;                                                      \
    }                                                                      \
                                                                           \
    static inline void insn_write_##reg(uint64_t value)                    \
    {                                                                      \
        __asm__ volatile("mov %0, %%" #reg : : "r"(value) : "memory");     \
    }

INSN_CONTROL_REGISTER(cr0)
INSN_CONTROL_REGISTER(cr2)
INSN_CONTROL_REGISTER(cr3)
INSN_CONTROL_REGISTER(cr4)
INSN_CONTROL_REGISTER(cr8)
INSN_CONTROL_REGISTER(dr0)
INSN_CONTROL_REGISTER(dr3)
INSN_CONTROL_REGISTER(dr6)
INSN_CONTROL_REGISTER(dr7)

static inline void insn_clts(void)
{
    __asm__ volatile("clts" : : : "memory");
}

static inline void insn_lmsw(uint16_t value)
{
    __asm__ volatile("lmsw %0" : : "r"(value) : "memory");
}

static inline uint64_t insn_smsw(void)
{
    uint64_t value;

    __asm__ volatile("smsw %0" : "=r"(value));
    return value;
}

static inline void insn_invlpg(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

static inline void insn_invd(void)
{
    __asm__ volatile("invd" : : : "memory");
}

static inline void insn_wbinvd(void)
{
    __asm__ volatile("wbinvd" : : : "memory");
}

static inline void insn_cli(void)
{
    __asm__ volatile("cli" : : : "memory");
}

static inline void insn_sti(void)
{
    __asm__ volatile("sti" : : : "memory");
}

/* Interrupts on and HLT with no gap between: an interrupt that is pending ends the HLT. */
static inline void insn_sti_hlt_cli(void)
{
    __asm__ volatile("sti; hlt; cli" : : : "memory");
}

static inline void insn_hlt(void)
{
    __asm__ volatile("hlt" : : : "memory");
}

static inline void insn_pause(void)
{
    __asm__ volatile("pause" : : : "memory");
}

static inline void insn_ud2(void)
{
    __asm__ volatile("ud2" : : : "memory");
}

static inline void insn_int3(void)
{
    __asm__ volatile("int3" : : : "memory");
}

static inline uint64_t insn_read_rflags(void)
{
    uint64_t value;

    __asm__ volatile("pushfq; popq %0" : "=r"(value));
    return value;
}

static inline uint64_t insn_read_gs_self(void)
{
    uint64_t value;

    __asm__("movq %%gs:0, %0" : "=r"(value));
    return value;
}

static inline void insn_lgdt(const void *pseudo_descriptor)
{
    __asm__ volatile("lgdt (%0)" : : "r"(pseudo_descriptor) : "memory");
}

static inline void insn_lidt(const void *pseudo_descriptor)
{
    __asm__ volatile("lidt (%0)" : : "r"(pseudo_descriptor) : "memory");
}

static inline void insn_ltr(uint16_t selector)
{
    __asm__ volatile("ltr %0" : : "r"(selector) : "memory");
}

#endif
