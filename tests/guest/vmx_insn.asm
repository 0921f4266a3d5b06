; SPDX-License-Identifier: BSD-2-Clause
; VMX instructions and their relatives, each as a function that ends in a fault or returns.
; Argument: RDI = scratch buffer, 4096-byte aligned.
bits 64
default rel

section .text

%macro vmx_function 2+
global try_%1:function hidden
align 16
try_%1:
        push    rbx
        xor     eax, eax
        xor     ecx, ecx
        %2
        pop     rbx
        ret
%endmacro

vmx_function vmcall,    vmcall
vmx_function vmlaunch,  vmlaunch
vmx_function vmresume,  vmresume
vmx_function vmxoff,    vmxoff
vmx_function vmxon,     vmxon [rdi]
vmx_function vmclear,   vmclear [rdi]
vmx_function vmptrld,   vmptrld [rdi]
vmx_function vmptrst,   vmptrst [rdi]
vmx_function vmread,    vmread rdx, rax
vmx_function vmwrite,   vmwrite rax, rdx
vmx_function invept,    invept rax, [rdi]
vmx_function invvpid,   invvpid rax, [rdi]
vmx_function vmfunc,    vmfunc
vmx_function getsec,    getsec
vmx_function vmmcall,   db 0x0F, 0x01, 0xD9
vmx_function seamcall,  db 0x66, 0x0F, 0x01, 0xCF
vmx_function encls,     db 0x0F, 0x01, 0xCF
vmx_function enclv,     db 0x0F, 0x01, 0xC0
vmx_function rsm,       rsm

; User-mode code for test_vmx.c: each snippet ends with INT3, which says that nothing faulted.
%macro user_snippet 2+
global user_%1:function hidden
align 16
user_%1:
        xor     eax, eax
        xor     ecx, ecx
        xor     edx, edx
        %2
        int3
%endmacro

user_snippet nothing,   nop
user_snippet vmcall,    vmcall
user_snippet xsetbv,    xsetbv
user_snippet cpuid,     cpuid
user_snippet rdmsr,     rdmsr
user_snippet hlt,       hlt
user_snippet invd,      invd
user_snippet sgdt,      sgdt [rsp - 64]

; void user_enter(const struct user_entry *entry)
; Goes to CPL 3; comes back only through an exception that fault_catch catches.
; struct user_entry: RIP, RSP, address of TSS.RSP0.
global user_enter:function hidden
align 16
user_enter:
        mov     rax, [rdi + 16]
        mov     rdx, rsp
        and     rdx, -16
        mov     [rax], rdx              ; exceptions from CPL 3 continue below this frame
        push    0x23                    ; SS: user data
        push    qword [rdi + 8]
        push    2                       ; RFLAGS: interrupts off
        push    0x2B                    ; CS: user code
        push    qword [rdi]
        iretq
