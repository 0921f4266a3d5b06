; SPDX-License-Identifier: BSD-2-Clause
bits 64
default rel

section .text

; void hostile_call(void *registers): struct hostile_registers. Stack while the code runs:
; RBX RBP R12-R15, registers, return address.
global hostile_call:function hidden
hostile_call:
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        push    rdi
        push    qword [rdi + 15 * 8]
        mov     rax, [rdi]
        mov     rcx, [rdi + 8]
        mov     rdx, [rdi + 16]
        mov     rbx, [rdi + 24]
        mov     rbp, [rdi + 32]
        mov     rsi, [rdi + 40]
        mov     r8, [rdi + 56]
        mov     r9, [rdi + 64]
        mov     r10, [rdi + 72]
        mov     r11, [rdi + 80]
        mov     r12, [rdi + 88]
        mov     r13, [rdi + 96]
        mov     r14, [rdi + 104]
        mov     r15, [rdi + 112]
        mov     rdi, [rdi + 48]
        call    [rsp]
        add     rsp, 8
        xchg    rdi, [rsp]              ; its RDI on the stack, registers in RDI
        mov     [rdi], rax
        mov     [rdi + 8], rcx
        mov     [rdi + 16], rdx
        mov     [rdi + 24], rbx
        mov     [rdi + 32], rbp
        mov     [rdi + 40], rsi
        pop     qword [rdi + 48]
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret
