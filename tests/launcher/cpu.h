/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_CPU_H
#define LAUNCHER_CPU_H

/* The instructions that the launcher needs and C has no words for. */

#include <stdint.h>

static inline void cpu_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void cpu_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline uint8_t cpu_in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint64_t cpu_rdtsc(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline uint64_t cpu_rdmsr(uint32_t msr)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline void cpu_wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline void cpu_cpuid(uint32_t leaf, uint32_t regs[4])
{
    __asm__ volatile("cpuid"
                     : "=a"(regs[0]), "=b"(regs[1]), "=c"(regs[2]), "=d"(regs[3])
                     : "a"(leaf), "c"(0)
                     : "memory");
}

struct cpu_table_register {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

static inline uint64_t cpu_read_cr0(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr0, %0" : "=r"(value) : : "memory");
    return value;
}

static inline uint64_t cpu_read_cr3(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr3, %0" : "=r"(value) : : "memory");
    return value;
}

static inline uint64_t cpu_read_cr4(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr4, %0" : "=r"(value) : : "memory");
    return value;
}

static inline uint64_t cpu_read_gdt_base(void)
{
    struct cpu_table_register table;

    __asm__ volatile("sgdt %0" : "=m"(table) : : "memory");
    return table.base;
}

static inline uint64_t cpu_read_idt_base(void)
{
    struct cpu_table_register table;

    __asm__ volatile("sidt %0" : "=m"(table) : : "memory");
    return table.base;
}

static inline void cpu_halt(void)
{
    __asm__ volatile("cli; hlt" : : : "memory");
}

#endif
