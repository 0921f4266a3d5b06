/* SPDX-License-Identifier: BSD-2-Clause */
/* GDT, IDT, TSS and the per-processor structs. */
#include "core/string.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/traps.h"

#define MSR_GS_BASE 0xC0000101u

#define IST_NMI          1u
#define IST_DOUBLE_FAULT 2u

#define GATE_INTERRUPT      0x8E00u
#define GATE_INTERRUPT_DPL3 0xEE00u

struct pseudo_descriptor {
    uint16_t limit;
    uint64_t base;
} __attribute__((packed));

struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint16_t attributes; /* IST in the low bits */
    uint16_t offset_mid;
    uint32_t offset_high;
    uint32_t reserved;
};

struct cpu cpus[GUEST_MAX_CPUS];

static struct gate idt[256];
static uint64_t gdt[SELECTOR_TSS / 8 + 2 * GUEST_MAX_CPUS] = {
    [SELECTOR_CODE64 / 8] = 0x00AF9B000000FFFFull,
    [SELECTOR_DATA / 8] = 0x00CF93000000FFFFull,
    [SELECTOR_CODE32 / 8] = 0x00CF9B000000FFFFull,
    [SELECTOR_USER_DATA / 8] = 0x00CFF3000000FFFFull,
    [SELECTOR_USER_CODE64 / 8] = 0x00AFFB000000FFFFull,
    [SELECTOR_CODE16 / 8] = 0x00009B000000FFFFull,
    [SELECTOR_DATA16 / 8] = 0x000093000000FFFFull,
};

struct cpu *cpu_this(void)
{
    return (struct cpu *)insn_read_gs_self();
}

uint32_t cpu_gdt_address(void)
{
    return (uint32_t)(uintptr_t)gdt;
}

uint16_t cpu_gdt_limit(void)
{
    return (uint16_t)(sizeof(gdt) - 1);
}

static void set_tss_descriptor(const struct cpu *cpu)
{
    uint64_t base = (uintptr_t)&cpu->tss;
    uint32_t slot = SELECTOR_TSS / 8 + 2 * cpu->index;
    uint64_t low = sizeof(struct tss) - 1;

    low |= (base & 0xFFFFFFull) << 16;
    low |= 0x89ull << 40;
    low |= ((base >> 24) & 0xFFull) << 56;
    gdt[slot] = low;
    gdt[slot + 1] = base >> 32;
}

static void set_gate(unsigned int vector, uint64_t handler)
{
    struct gate *gate = &idt[vector];

    gate->offset_low = (uint16_t)handler;
    gate->offset_mid = (uint16_t)(handler >> 16);
    gate->offset_high = (uint32_t)(handler >> 32);
    gate->selector = SELECTOR_CODE64;
    gate->attributes = vector == VECTOR_BP ? GATE_INTERRUPT_DPL3 : GATE_INTERRUPT;
    if (vector == VECTOR_NMI) {
        gate->attributes |= IST_NMI;
    } else if (vector == VECTOR_DF) {
        gate->attributes |= IST_DOUBLE_FAULT;
    }
}

static void init_cpu(struct cpu *cpu, uint32_t index, uint32_t apic_id)
{
    cpu->self = cpu;
    cpu->index = index;
    cpu->apic_id = apic_id;
    cpu->stack_top = (uintptr_t)(cpu->stack + CPU_STACK_BYTES);
    cpu->tss.rsp[0] = cpu->stack_top;
    cpu->tss.ist[IST_NMI - 1] = (uintptr_t)(cpu->nmi_stack + CPU_IST_BYTES);
    cpu->tss.ist[IST_DOUBLE_FAULT - 1] = (uintptr_t)(cpu->double_fault_stack + CPU_IST_BYTES);
    cpu->tss.io_map_base = sizeof(struct tss);
    set_tss_descriptor(cpu);
}

void cpu_init_all(const struct guest_info *info)
{
    for (unsigned int vector = 0; vector < 256; vector++) {
        set_gate(vector, (uintptr_t)trap_stubs + vector * TRAP_STUB_BYTES);
    }
    for (uint32_t i = 0; i < info->cpu_count; i++) {
        init_cpu(&cpus[i], i, info->apic_ids[i]);
    }
}

void cpu_load_tables(struct cpu *cpu)
{
    struct pseudo_descriptor gdtr = {sizeof(gdt) - 1, (uintptr_t)gdt};
    struct pseudo_descriptor idtr = {sizeof(idt) - 1, (uintptr_t)idt};

    insn_lgdt(&gdtr);
    trap_load_segments();
    insn_lidt(&idtr);
    set_tss_descriptor(cpu); /* clears the busy bit of an earlier start */
    insn_ltr((uint16_t)(SELECTOR_TSS + 16 * cpu->index));
    insn_wrmsr(MSR_GS_BASE, (uintptr_t)cpu);
}
