; SPDX-License-Identifier: BSD-2-Clause
;
; VM entry and exit. No decisions here but one: whether an NMI arrived since the checks.
;
; The host stack of vmx_enter, from high to low; lp->saved_rsp points at rbp:
;
;   return address of vmx_enter
;   rbp
;
; A VM exit loads HOST_RSP, which nothing is pushed on, HOST_GS_BASE (struct lp), and HOST_RIP.

default rel
bits 64

%include "asm_offsets.inc"

%define GPR(index) VCPU_GPR + (index) * 8

; VMCS encodings that entry_launch_here writes.
VMCS_GUEST_RSP equ 0x681C
VMCS_GUEST_RIP equ 0x681E
VMCS_GUEST_RFLAGS equ 0x6820

extern run_loop

section .text

%macro restore_host 0
    mov rsp, [gs:LP_SAVED_RSP]
    pop rbp
%endmacro

; Called by vmx_call_entry (vmx/vmx_insn.h), which tells the compiler that everything but rbp and rsp is
; changed. rax on return: enum entry_outcome.
global vmx_enter:function hidden
vmx_enter:
    push rbp
    mov [gs:LP_SAVED_RSP], rsp
global entry_window_begin:data hidden
entry_window_begin:                     ; label A: an NMI from here on is redirected
    cmp dword [gs:LP_RESTART], 0
    jne entry_window_exit
    mov rax, [gs:LP_VCPU]
    mov rcx, [rax + GPR(1)]
    mov rdx, [rax + GPR(2)]
    mov rbx, [rax + GPR(3)]
    mov rbp, [rax + GPR(5)]
    mov rsi, [rax + GPR(6)]
    mov rdi, [rax + GPR(7)]
    mov r8,  [rax + GPR(8)]
    mov r9,  [rax + GPR(9)]
    mov r10, [rax + GPR(10)]
    mov r11, [rax + GPR(11)]
    mov r12, [rax + GPR(12)]
    mov r13, [rax + GPR(13)]
    mov r14, [rax + GPR(14)]
    mov r15, [rax + GPR(15)]
    cmp qword [rax + VCPU_IS_LAUNCHED], 0
    mov rax, [rax + GPR(0)]
    je entry_window_end
    vmresume
    jmp entry_failed
global entry_window_end:data hidden
entry_window_end:
    vmlaunch
entry_failed:                           ; guest registers are still saved in the vCPU
    mov eax, ENTRY_FAIL_INVALID
    jc entry_leave
    mov eax, ENTRY_FAIL_VALID
entry_leave:
    lock inc qword [gs:LP_RUN_SEQ]
    restore_host
    ret

; The pseudo-exit: nothing of the guest was changed, nothing is saved.
global entry_window_exit:data hidden
entry_window_exit:
    lock inc qword [gs:LP_RUN_SEQ]
    restore_host
    mov eax, ENTRY_RETRY
    ret

; Leaving guest mode is the acknowledgment, so it comes first. Locked: a plain store could pass the
; guest's non-temporal stores.
global vmx_exit_entry:function hidden
vmx_exit_entry:
    lock inc qword [gs:LP_RUN_SEQ]
    mov rsp, [gs:LP_SAVED_RSP]
    push rax
    mov rax, [gs:LP_VCPU]
    mov [rax + GPR(1)], rcx
    mov [rax + GPR(2)], rdx
    mov [rax + GPR(3)], rbx
    mov [rax + GPR(5)], rbp
    mov [rax + GPR(6)], rsi
    mov [rax + GPR(7)], rdi
    mov [rax + GPR(8)], r8
    mov [rax + GPR(9)], r9
    mov [rax + GPR(10)], r10
    mov [rax + GPR(11)], r11
    mov [rax + GPR(12)], r12
    mov [rax + GPR(13)], r13
    mov [rax + GPR(14)], r14
    mov [rax + GPR(15)], r15
    pop qword [rax + GPR(0)]
    pop rbp
    mov eax, ENTRY_EXITED
    ret                                 ; RFLAGS is 2, so DF is clear

; The return address that run_prepare_first_exit puts on the stack; rsp is 16-aligned here.
global entry_first_exit:function hidden
entry_first_exit:
    mov edi, eax
    call run_loop
    ud2

; void entry_halt(struct lp *lp)
global entry_halt:function hidden
entry_halt:
global halt_window_begin:data hidden
halt_window_begin:
    cmp dword [rdi + LP_RESTART], 0
    jne halt_window_end
    hlt
global halt_window_end:data hidden
halt_window_end:
    ret

; void entry_unblock_nmis(void): an IRET to the caller.
global entry_unblock_nmis:function hidden
entry_unblock_nmis:
    pop rdx
    mov rax, rsp
    mov ecx, ss
    push rcx
    push rax
    pushfq
    mov ecx, cs
    push rcx
    push rdx
    iretq

; enum entry_outcome entry_launch_here(struct lp *lp)
;
; The firmware's stack; the guest goes on with the same RSP, at .guest:
;
;   return address
;   rbp rbx r12 r13 r14 r15 lp
global entry_launch_here:function hidden
entry_launch_here:
    push rbp
    push rbx
    push r12
    push r13
    push r14
    push r15
    push rdi
    mov ecx, VMCS_GUEST_RSP
    vmwrite rcx, rsp
    jbe .vmwrite_failed
    lea rax, [.guest]
    mov ecx, VMCS_GUEST_RIP
    vmwrite rcx, rax
    jbe .vmwrite_failed
    pushfq
    pop rax
    mov ecx, VMCS_GUEST_RFLAGS
    vmwrite rcx, rax
    jbe .vmwrite_failed
    lock inc qword [rdi + LP_RUN_SEQ]
    vmlaunch
    mov eax, ENTRY_FAIL_INVALID
    jc .failed
    mov eax, ENTRY_FAIL_VALID
.failed:
    pop rdi
    lock inc qword [rdi + LP_RUN_SEQ]
    jmp .return
.vmwrite_failed:
    mov eax, ENTRY_FAIL_VALID
    pop rdi
    jmp .return
.guest:
    pop rdi
    mov eax, ENTRY_EXITED
    jmp .return
.refused:                               ; VMX operation is off again (vmx/leave.c)
    pop rdi
    mov eax, ENTRY_FAIL_STATE
.return:
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbx
    pop rbp
    ret

section .data.rel.ro progbits alloc noexec write align=8

; Where an LP goes on when its first entry exited with a VM-entry failure, in this copy of the image.
global entry_launch_refused:data hidden
entry_launch_refused:
    dq entry_launch_here.refused
