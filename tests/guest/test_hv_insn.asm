; SPDX-License-Identifier: BSD-2-Clause
; Hypercalls from code of our own.
bits 64
default rel

section .text

; void hv_direct(void): what the hypercall page holds.
global hv_direct:function hidden
align 16
hv_direct:
        vmcall
        ret

; uint64_t hv_call_at(uint64_t code, uint64_t control, uint64_t input): input value in RCX, address of
; the parameters in RDX, of the results (there are none) in R8.
global hv_call_at:function hidden
align 16
hv_call_at:
        mov     rcx, rsi
        mov     r8, -1
        sub     rsp, 8
        call    rdi
        add     rsp, 8
        ret

; uint64_t hv_fast_call(uint64_t code, uint64_t control, const uint64_t input[14])
%macro load_xmm 1
        movups  xmm%1, [rbx + 16 + 16 * %1]
%endmacro
%macro compare_xmm 1
        movq    rcx, xmm%1
        cmp     rcx, [rbx + 16 + 16 * %1]
        jne     .changed
        movhlps xmm%1, xmm%1
        movq    rcx, xmm%1
        cmp     rcx, [rbx + 24 + 16 * %1]
        jne     .changed
%endmacro

global hv_fast_call:function hidden
align 16
hv_fast_call:
        push    rbx
        mov     rbx, rdx
        mov     rcx, rsi
        mov     rdx, [rbx]
        mov     r8, [rbx + 8]
        load_xmm 0
        load_xmm 1
        load_xmm 2
        load_xmm 3
        load_xmm 4
        load_xmm 5
        call    rdi
        cmp     rdx, [rbx]
        jne     .changed
        cmp     r8, [rbx + 8]
        jne     .changed
        compare_xmm 0
        compare_xmm 1
        compare_xmm 2
        compare_xmm 3
        compare_xmm 4
        compare_xmm 5
        pop     rbx
        ret
.changed:
        mov     rax, -1
        pop     rbx
        ret

; void hv_nothing(void)
global hv_nothing:function hidden
align 16
hv_nothing:
        ret

; uint64_t hv_time_call(uint64_t code, uint64_t control, uint64_t input, uint64_t output): the ticks that a
; call takes, from one RDTSC to the other, with the registers loaded between them as a kernel does.
global hv_time_call:function hidden
align 16
hv_time_call:
        mov     r10, rdx
        mov     r8, rcx
        sub     rsp, 8
        rdtsc
        mov     r9d, eax
        mov     rcx, rsi
        mov     rdx, r10
        call    rdi
        rdtsc
        sub     eax, r9d
        add     rsp, 8
        ret

; void hv_compat_call(void *registers): VMCALL in a 32-bit code segment. struct hv_compat_registers:
; loads all 64 bits of each register, and stores them.
global hv_compat_call:function hidden
align 16
hv_compat_call:
        push    rbx
        push    rbp
        push    r12
        mov     r12, rdi
        sub     rsp, 8
        lea     rax, [.back]
        mov     [rsp], eax              ; for the 32-bit far return
        mov     dword [rsp + 4], 0x08
        lea     rax, [.in32]
        push    0x18
        push    rax
        mov     rax, [r12]
        mov     rbx, [r12 + 8]
        mov     rcx, [r12 + 16]
        mov     rdx, [r12 + 24]
        mov     rsi, [r12 + 32]
        mov     rdi, [r12 + 40]
        retfq
bits 32
.in32:
        vmcall
        retf
bits 64
.back:
        mov     [r12], rax
        mov     [r12 + 8], rbx
        mov     [r12 + 16], rcx
        mov     [r12 + 24], rdx
        mov     [r12 + 32], rsi
        mov     [r12 + 40], rdi
        pop     r12
        pop     rbp
        pop     rbx
        ret
