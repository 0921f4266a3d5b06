/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/state.h"

#include <stdbool.h>

#include "tests/launcher/cpu.h"
#include "tests/launcher/memory.h"
#include "tests/launcher/out.h"

#define MSR_IA32_APIC_BASE       0x1BU
#define MSR_IA32_FEATURE_CONTROL 0x3AU
#define MSR_IA32_PAT             0x277U
#define MSR_IA32_EFER            0xC0000080U
#define CPUID_1_ECX_VMX          (1U << 5)

static const char names[STATE_REGISTERS][16] = {
    [STATE_CR0] = "CR0",
    [STATE_CR3] = "CR3",
    [STATE_CR4] = "CR4",
    [STATE_EFER] = "IA32_EFER",
    [STATE_APIC_BASE] = "IA32_APIC_BASE",
    [STATE_PAT] = "IA32_PAT",
    [STATE_GDT] = "GDT base",
    [STATE_IDT] = "IDT base",
};

/* The firmware runs it on one LP after the other, always in the same order. */
static void EFIAPI read_this_lp(void *argument)
{
    struct state *state = argument;
    uint64_t *registers = state->registers[state->lp_count];
    uint32_t regs[4];

    registers[STATE_CR0] = cpu_read_cr0();
    registers[STATE_CR3] = cpu_read_cr3();
    registers[STATE_CR4] = cpu_read_cr4();
    registers[STATE_EFER] = cpu_rdmsr(MSR_IA32_EFER);
    registers[STATE_APIC_BASE] = cpu_rdmsr(MSR_IA32_APIC_BASE);
    registers[STATE_PAT] = cpu_rdmsr(MSR_IA32_PAT);
    registers[STATE_GDT] = cpu_read_gdt_base();
    registers[STATE_IDT] = cpu_read_idt_base();
    cpu_cpuid(1, regs);
    state->feature_control[state->lp_count] =
        (regs[2] & CPUID_1_ECX_VMX) == 0 ? 0 : cpu_rdmsr(MSR_IA32_FEATURE_CONTROL);
    state->lp_count++;
}

void state_read(EFI_BOOT_SERVICES *services, const struct lps *lps, struct state *state)
{
    state->lp_count = 0;
    lps_each(services, lps, read_this_lp, state);
    state->free_pages = memory_pages(services, EfiConventionalMemory);
    state->reserved_pages = memory_pages(services, EfiReservedMemoryType);
}

static void print_change(const char *name, uint64_t before, uint64_t after)
{
    out_text(name);
    out_text(" ");
    out_hex(before);
    out_text(" -> ");
    out_hex(after);
    out_text("\n");
}

static bool compare_lp(const struct state *before, const struct state *after, UINTN lp)
{
    bool is_same = true;
    UINTN at;

    for (at = 0; at < STATE_REGISTERS; at++) {
        if (before->registers[lp][at] != after->registers[lp][at]) {
            out_text("LAUNCH changed: lp ");
            out_decimal(lp);
            out_text(" ");
            print_change(names[at], before->registers[lp][at], after->registers[lp][at]);
            is_same = false;
        }
    }
    return is_same;
}

void state_compare(const struct state *before, const struct state *after)
{
    bool is_same = before->lp_count == after->lp_count;
    UINTN locked = 0;
    UINTN lp;

    for (lp = 0; lp < before->lp_count && lp < after->lp_count; lp++) {
        is_same = compare_lp(before, after, lp) && is_same;
        locked += before->feature_control[lp] != after->feature_control[lp];
    }
    if (locked > 0) {
        out_text("LAUNCH feature control changed on ");
        out_decimal(locked);
        out_text(" LPs\n");
    }
    if (before->reserved_pages != after->reserved_pages) {
        print_change("LAUNCH changed: reserved pages", before->reserved_pages,
                     after->reserved_pages);
        is_same = false;
    }
    if (before->free_pages > after->free_pages) {
        out_text("LAUNCH free pages less: ");
        out_decimal(before->free_pages - after->free_pages);
        out_text("\n");
    }
    if (is_same) {
        out_text("LAUNCH unchanged\n");
    }
}
