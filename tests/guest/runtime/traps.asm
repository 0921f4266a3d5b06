; SPDX-License-Identifier: BSD-2-Clause
; Exception and interrupt entry, and the call that survives an exception.
;
; Stack of trap_common, from high to low addresses (struct trap_frame in cpu.h):
;   SS RSP RFLAGS CS RIP | error vector | RAX RBX RCX RDX RSI RDI RBP R8..R15  <- RSP
bits 64
default rel

extern trap_handle

global trap_stubs:data hidden
global trap_load_segments:function hidden
global fault_try:function hidden

SELECTOR_CODE64 equ 0x08
SELECTOR_DATA   equ 0x10

section .text

align 16
trap_stubs:
%assign vector 0
%rep 256
align 16
%if vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21
%else
        push    0               ; no error code: a zero in its place
%endif
        push    vector
        jmp     near trap_common
%assign vector vector + 1
%endrep

align 16
trap_common:
        push    rax
        push    rbx
        push    rcx
        push    rdx
        push    rsi
        push    rdi
        push    rbp
        push    r8
        push    r9
        push    r10
        push    r11
        push    r12
        push    r13
        push    r14
        push    r15
        cld
        mov     rdi, rsp
        mov     rbx, rsp
        and     rsp, -16
        call    trap_handle
        mov     rsp, rbx
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rbp
        pop     rdi
        pop     rsi
        pop     rdx
        pop     rcx
        pop     rbx
        pop     rax
        add     rsp, 16
        iretq

; void trap_load_segments(void)
trap_load_segments:
        pop     rax
        push    SELECTOR_CODE64
        push    rax
        mov     eax, SELECTOR_DATA
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        xor     eax, eax
        mov     fs, eax
        mov     gs, eax
        retfq

; uint64_t fault_try(void (*fn)(void *), void *arg, struct trap_recovery *recovery)
; Stack while fn runs: return address, RBX RBP R12 R13 R14 R15 RFLAGS <- recovery->rsp
fault_try:
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        pushfq
        mov     [rdx], rsp
        lea     rax, [.faulted]
        mov     [rdx + 8], rax
        mov     rax, rdi
        mov     rdi, rsi
        call    rax
        xor     eax, eax
        jmp     .out
.faulted:
        mov     eax, 1
.out:
        popfq
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret
