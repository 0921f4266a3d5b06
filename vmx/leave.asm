; SPDX-License-Identifier: BSD-2-Clause
;
; Back to the firmware's own context (struct leave_frame in rdi). Runs on the host stack, which the
; firmware's page tables map as well. The IRETQ frame is copied onto it:
;
;   ss rsp rflags cs rip

default rel
bits 64

%include "asm_offsets.inc"

%define GPR(index) LEAVE_GPR + (index) * 8

MSR_IA32_EFER equ 0xC0000080
MSR_IA32_FS_BASE equ 0xC0000100
MSR_IA32_GS_BASE equ 0xC0000101

; A selector that no firmware's GDT reaches, of an available 64-bit TSS at 0 with limit FFFFh.
NO_TASK_SELECTOR equ 0xFFE8
NO_TASK_DESCRIPTOR equ 0x000089000000FFFF

section .text align=4096

%macro load_msr 2
    mov ecx, %1
    mov eax, [rdi + %2]
    mov edx, [rdi + %2 + 4]
    wrmsr
%endmacro

; void leave_to_firmware(const struct leave_frame *frame)
global leave_to_firmware:function hidden
leave_to_firmware:
    mov rax, [rdi + LEAVE_CR3]
    mov cr3, rax
    load_msr MSR_IA32_EFER, LEAVE_EFER    ; not before: our page tables need NXE
    mov rax, [rdi + LEAVE_CR4]
    mov cr4, rax
    mov rax, [rdi + LEAVE_CR0]
    mov cr0, rax
    cmp word [rdi + LEAVE_TR], 0
    jne .has_task
    ; The firmware had no task register, but a null selector cannot be loaded. Ours must not stay: EDK II
    ; loads what it finds in TR again, if its own GDT is as long. It leaves this one alone.
    push 0
    mov rax, NO_TASK_DESCRIPTOR
    push rax
    lea rax, [rsp - NO_TASK_SELECTOR]
    push 0
    push 0
    mov word [rsp], 0xFFFF
    mov [rsp + 2], rax
    lgdt [rsp]
    mov eax, NO_TASK_SELECTOR
    ltr ax
    add rsp, 32
.has_task:
    lgdt [rdi + LEAVE_GDTR]
    lidt [rdi + LEAVE_IDTR]
    mov eax, [rdi + LEAVE_DS]
    mov ds, eax
    mov eax, [rdi + LEAVE_ES]
    mov es, eax
    mov eax, [rdi + LEAVE_FS]
    mov fs, eax
    mov eax, [rdi + LEAVE_GS]
    mov gs, eax
    lldt [rdi + LEAVE_LDTR]
    cmp word [rdi + LEAVE_TR], 0
    je .no_task
    ltr [rdi + LEAVE_TR]
.no_task:
    load_msr MSR_IA32_FS_BASE, LEAVE_FS_BASE
    load_msr MSR_IA32_GS_BASE, LEAVE_GS_BASE
    push qword [rdi + LEAVE_SS]
    push qword [rdi + LEAVE_RSP]
    push qword [rdi + LEAVE_RFLAGS]
    push qword [rdi + LEAVE_CS]
    push qword [rdi + LEAVE_RIP]
    mov rax, [rdi + GPR(0)]
    mov rcx, [rdi + GPR(1)]
    mov rdx, [rdi + GPR(2)]
    mov rbx, [rdi + GPR(3)]
    mov rbp, [rdi + GPR(5)]
    mov rsi, [rdi + GPR(6)]
    mov r8,  [rdi + GPR(8)]
    mov r9,  [rdi + GPR(9)]
    mov r10, [rdi + GPR(10)]
    mov r11, [rdi + GPR(11)]
    mov r12, [rdi + GPR(12)]
    mov r13, [rdi + GPR(13)]
    mov r14, [rdi + GPR(14)]
    mov r15, [rdi + GPR(15)]
    mov rdi, [rdi + GPR(7)]
    iretq
