/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_PROBE_H
#define GUEST_PROBE_H

#include <stdint.h>

#include "core/compiler.h"

/*
 * What a processor found in its registers when it came through LOW_PAGE_PROBE: the state that INIT
 * and SIPI leave. Written by `probe` in trampoline.asm, which knows the offsets.
 */
struct probe_record {
    uint32_t eax, ebx, ecx, edx, esi, edi, ebp, esp;
    uint16_t cs, ds, es, fs, gs, ss;
    uint32_t eflags;
    uint32_t cr0, cr2, cr3, cr4;
    uint32_t dr6, dr7, dr0, dr3;
    uint16_t gdt_limit;
    uint32_t gdt_base;
    uint16_t gdt_padding;
    uint16_t idt_limit;
    uint32_t idt_base;
    uint16_t idt_padding;
    uint16_t ip;
    uint16_t padding[3];
    uint64_t apic_base, efer, fs_base, gs_base, kernel_gs_base, lstar;
    uint64_t sysenter_cs, sysenter_esp, pat, mtrr_def_type, tsc_adjust;
    uint32_t entries;
} PACKED;

STATIC_ASSERT(__builtin_offsetof(struct probe_record, eflags) == 44);
STATIC_ASSERT(__builtin_offsetof(struct probe_record, gdt_limit) == 80);
STATIC_ASSERT(__builtin_offsetof(struct probe_record, idt_limit) == 88);
STATIC_ASSERT(__builtin_offsetof(struct probe_record, ip) == 96);
STATIC_ASSERT(__builtin_offsetof(struct probe_record, apic_base) == 104);
STATIC_ASSERT(__builtin_offsetof(struct probe_record, entries) == 192);

/* The record in the low page; clears it. */
volatile struct probe_record *probe_reset(unsigned int low_page);

#endif
