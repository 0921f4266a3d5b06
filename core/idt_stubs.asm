; SPDX-License-Identifier: BSD-2-Clause
;
; Entry stubs of the host IDT, one per vector. The stack when idt_dispatch is called, from low to
; high addresses (struct idt_frame):
;
;   r15 r14 r13 r12 r11 r10 r9 r8 rdi rsi rbp rbx rdx rcx rax   pushed by `save_and_dispatch`
;   vector, error code (0 where the processor pushes none)       pushed by the stub
;   rip cs rflags rsp ss                                         pushed by the processor

default rel
bits 64

extern idt_dispatch

section .text

%macro stub 1
stub_%1:
%if !(%1 == 8 || (%1 >= 10 && %1 <= 14) || %1 == 17 || %1 == 21 || %1 == 29 || %1 == 30)
    push qword 0
%endif
    push qword %1
    jmp save_and_dispatch
%endmacro

%assign vector 0
%rep 256
    stub %[vector]
%assign vector vector + 1
%endrep

save_and_dispatch:
    push rax
    push rcx
    push rdx
    push rbx
    push rbp
    push rsi
    push rdi
    push r8
    push r9
    push r10
    push r11
    push r12
    push r13
    push r14
    push r15
    cld
    mov rdi, rsp
    mov rbp, rsp
    and rsp, -16
    call idt_dispatch
    mov rsp, rbp
    pop r15
    pop r14
    pop r13
    pop r12
    pop r11
    pop r10
    pop r9
    pop r8
    pop rdi
    pop rsi
    pop rbp
    pop rbx
    pop rdx
    pop rcx
    pop rax
    add rsp, 16
    iretq

; An interrupt that is dropped: from the 8259, so that the local APIC waits for no EOI.
drop:
    iretq

section .data.rel.ro progbits alloc noexec write align=8

global idt_drop_stub:data hidden
idt_drop_stub:
    dq drop

global idt_stub_table:data hidden
idt_stub_table:
%assign vector 0
%rep 256
    dq stub_%[vector]
%assign vector vector + 1
%endrep
