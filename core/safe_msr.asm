; SPDX-License-Identifier: BSD-2-Clause
;
; MSR and XCR0 accesses that may fault. The #GP handler (core/idt.c) looks the faulting RIP up in
; safe_access_table and goes on at `refused`, which returns false.

default rel
bits 64

section .text

; bool safe_read_msr(uint32_t msr, uint64_t *value)
global safe_read_msr:function hidden
safe_read_msr:
    mov ecx, edi
at_rdmsr:
    rdmsr
    shl rdx, 32
    or rax, rdx
    mov [rsi], rax
    mov eax, 1
    ret

; bool safe_write_msr(uint32_t msr, uint64_t value)
global safe_write_msr:function hidden
safe_write_msr:
    mov ecx, edi
    mov eax, esi
    mov rdx, rsi
    shr rdx, 32
at_wrmsr:
    wrmsr
    mov eax, 1
    ret

; bool safe_write_xcr0(uint64_t value)
global safe_write_xcr0:function hidden
safe_write_xcr0:
    xor ecx, ecx
    mov eax, edi
    mov rdx, rdi
    shr rdx, 32
at_xsetbv:
    xsetbv
    mov eax, 1
    ret

refused:
    xor eax, eax
    ret

section .data.rel.ro progbits alloc noexec write align=8

global safe_access_table:data hidden
safe_access_table:
    dq at_rdmsr, at_wrmsr, at_xsetbv, 0
global safe_access_refused:data hidden
safe_access_refused:
    dq refused
