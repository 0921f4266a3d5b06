/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_CPU_H
#define CORE_CPU_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The only wrapper of MSRs, control registers, CPUID, port I/O and the other instructions that C
 * cannot express (VMX instructions: vmx/vmx_insn.h). One instruction per function; SDM volume 2
 * has each under its own name. None of them checks its arguments.
 */

/* Writes `OFFSET:name value` into the assembly text that the compiler makes: vmx/asm_offsets.c. */
#define CPU_ASM_CONSTANT(name, value) __asm__ volatile("/* OFFSET:" #name " %0 */" : : "i"(value))

struct cpu_descriptor_table {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

static inline uint64_t cpu_read_msr(uint32_t msr)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr) : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline void cpu_write_msr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr"
                     :
                     : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
                     : "memory");
}

static inline void cpu_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t *eax, uint32_t *ebx,
                             uint32_t *ecx, uint32_t *edx)
{
    __asm__ volatile("cpuid"
                     : "=a"(*eax), "=b"(*ebx), "=c"(*ecx), "=d"(*edx)
                     : "a"(leaf), "c"(subleaf));
}

static inline uint64_t cpu_read_tsc(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return ((uint64_t)high << 32) | low;
}

static inline uint64_t cpu_read_cr0(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr0, %0" : "=r"(value) : : "memory");
    return value;
}

static inline void cpu_write_cr0(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr0" : : "r"(value) : "memory");
}

static inline uint64_t cpu_read_cr2(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr2, %0" : "=r"(value));
    return value;
}

static inline void cpu_write_cr2(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr2" : : "r"(value));
}

static inline uint64_t cpu_read_cr3(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr3, %0" : "=r"(value) : : "memory");
    return value;
}

static inline void cpu_write_cr3(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr3" : : "r"(value) : "memory");
}

static inline uint64_t cpu_read_cr4(void)
{
    uint64_t value;

    __asm__ volatile("mov %%cr4, %0" : "=r"(value) : : "memory");
    return value;
}

static inline void cpu_write_cr4(uint64_t value)
{
    __asm__ volatile("mov %0, %%cr4" : : "r"(value) : "memory");
}

static inline uint64_t cpu_read_dr6(void)
{
    uint64_t value;

    __asm__ volatile("mov %%dr6, %0" : "=r"(value));
    return value;
}

static inline void cpu_write_dr6(uint64_t value)
{
    __asm__ volatile("mov %0, %%dr6" : : "r"(value));
}

static inline uint64_t cpu_read_dr7(void)
{
    uint64_t value;

    __asm__ volatile("mov %%dr7, %0" : "=r"(value));
    return value;
}

static inline void cpu_write_dr7(uint64_t value)
{
    __asm__ volatile("mov %0, %%dr7" : : "r"(value));
}

/* DR0..DR3 := 0, as INIT does. */
static inline void cpu_clear_breakpoint_addresses(void)
{
    __asm__ volatile("mov %0, %%dr0; mov %0, %%dr1; mov %0, %%dr2; mov %0, %%dr3" : : "r"(0ull));
}

/* Needs CR4.OSXSAVE. A value that the processor does not accept raises #GP. */
static inline uint8_t cpu_in8(uint16_t port)
{
    uint8_t value;

    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint16_t cpu_in16(uint16_t port)
{
    uint16_t value;

    __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline uint32_t cpu_in32(uint16_t port)
{
    uint32_t value;

    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port) : "memory");
    return value;
}

static inline void cpu_out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void cpu_out16(uint16_t port, uint16_t value)
{
    __asm__ volatile("outw %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void cpu_out32(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" : : : "memory");
}

static inline void cpu_disable_interrupts(void)
{
    __asm__ volatile("cli" : : : "memory");
}

static inline void cpu_enable_interrupts(void)
{
    __asm__ volatile("sti" : : : "memory");
}

/* Whether RFLAGS.IF is set. */
static inline bool cpu_interrupts_are_on(void)
{
    uint64_t flags;

    __asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
    return (flags & (1u << 9)) != 0;
}

/* Lets pending interrupts in and shuts the door again: the STI shadow covers the first NOP. */
static inline void cpu_take_pending_interrupts(void)
{
    __asm__ volatile("sti; nop; nop; cli" : : : "memory");
}

/* Halts with interrupts off: only an NMI, an SMI, INIT or a machine check ends it. */
static inline void cpu_halt(void)
{
    __asm__ volatile("hlt" : : : "memory");
}

/* Orders earlier stores and loads before a following WRMSR to an x2APIC register, which is not
 * serialising (SDM volume 3, "MSR Access in x2APIC Mode"). */
static inline void cpu_fence_before_x2apic(void)
{
    __asm__ volatile("mfence; lfence" : : : "memory");
}

static inline void cpu_write_back_invalidate_caches(void)
{
    __asm__ volatile("wbinvd" : : : "memory");
}

static inline void cpu_load_idt(const struct cpu_descriptor_table *table)
{
    __asm__ volatile("lidt %0" : : "m"(*table) : "memory");
}

static inline void cpu_store_gdt(struct cpu_descriptor_table *table)
{
    __asm__ volatile("sgdt %0" : "=m"(*table));
}

static inline void cpu_store_idt(struct cpu_descriptor_table *table)
{
    __asm__ volatile("sidt %0" : "=m"(*table));
}

static inline uint16_t cpu_store_task_register(void)
{
    uint16_t selector;

    __asm__ volatile("str %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_store_ldt(void)
{
    uint16_t selector;

    __asm__ volatile("sldt %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_cs(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%cs, %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_ss(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%ss, %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_ds(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%ds, %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_es(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%es, %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_fs(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%fs, %0" : "=r"(selector));
    return selector;
}

static inline uint16_t cpu_read_gs(void)
{
    uint16_t selector;

    __asm__ volatile("mov %%gs, %0" : "=r"(selector));
    return selector;
}

/* Access rights as LAR gives them (bits 23:8); 0 when the selector cannot be loaded. */
static inline uint32_t cpu_load_access_rights(uint16_t selector)
{
    uint32_t rights;
    bool is_valid;

    __asm__ volatile("larl %2, %0" : "=r"(rights), "=@ccz"(is_valid) : "r"((uint32_t)selector));
    return is_valid ? rights : 0;
}

/* Segment limit in bytes as LSL gives it; 0 when the selector cannot be loaded. */
static inline uint32_t cpu_load_segment_limit(uint16_t selector)
{
    uint32_t limit;
    bool is_valid;

    __asm__ volatile("lsll %2, %0" : "=r"(limit), "=@ccz"(is_valid) : "r"((uint32_t)selector));
    return is_valid ? limit : 0;
}

/* The first member of the structure that GS base points at: a pointer to itself (core/lp.h). */
static inline void *cpu_read_gs_self(void)
{
    void *self;

    __asm__("mov %%gs:0, %0" : "=r"(self));
    return self;
}

/* As cpu_read_gs_self, but read anew each time: where no register survives, the compiler shall not
 * keep an earlier value on the stack. */
static inline void *cpu_reload_gs_self(void)
{
    void *self;

    __asm__ volatile("mov %%gs:0, %0" : "=r"(self));
    return self;
}

/* XMM0 to XMM5, low halves first. We do not use them, so they are the guest's. Root mode:
 * CR4.OSFXSR is set, CR0.EM and CR0.TS are clear (vmx/vmcs_setup.c). */
static inline void cpu_read_xmm0_to_5(uint64_t words[12])
{
    __asm__ volatile("movups %%xmm0, 0(%0)\n\t"
                     "movups %%xmm1, 16(%0)\n\t"
                     "movups %%xmm2, 32(%0)\n\t"
                     "movups %%xmm3, 48(%0)\n\t"
                     "movups %%xmm4, 64(%0)\n\t"
                     "movups %%xmm5, 80(%0)"
                     :
                     : "r"(words)
                     : "memory");
}

static inline uint64_t cpu_read_rbp(void)
{
    uint64_t value;

    __asm__ volatile("mov %%rbp, %0" : "=r"(value));
    return value;
}

#endif
