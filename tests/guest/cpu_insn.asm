; SPDX-License-Identifier: BSD-2-Clause
; Sequences whose instruction borders the tests need to know.
bits 64
default rel

section .text

%macro function 1
global %1:function hidden
align 16
%1:
%endmacro

; void step_sequence(void): single-steps over instructions that exit. The trap handler is told the
; borders by step_borders and clears TF at the last one.
function step_sequence
        push    rbx
        pushfq
        or      qword [rsp], 0x100
        mov     eax, 1
        xor     ecx, ecx
        popfq
        cpuid                           ; no trap before this one ends
.after_cpuid:
        mov     ecx, 0x1B
.after_mov:
        rdmsr
.after_rdmsr:
        mov     rax, cr0
.after_cr0:
        nop
.after_nop:
        pop     rbx
        ret

section .data
global step_borders:data hidden
align 8
step_borders:
        dq      step_sequence.after_cpuid
        dq      step_sequence.after_mov
        dq      step_sequence.after_rdmsr
        dq      step_sequence.after_cr0
        dq      step_sequence.after_nop
section .text

; void raise_int1(void): INT1, whose #DB is a trap: its handler goes on at int1_border.
global int1_border:data hidden
function raise_int1
        db      0xF1
int1_border:
        ret

; void shadow_cpuid(void): an interrupt is pending. STI keeps it back for one instruction, and that
; one exits: the interrupt must come at shadow_cpuid_border.
global shadow_cpuid_border:data hidden
function shadow_cpuid
        push    rbx
        mov     eax, 1
        xor     ecx, ecx
        sti
        cpuid
shadow_cpuid_border:
        nop
        cli
        pop     rbx
        ret

; The four ways to send oneself an NMI inside a shadow. RDI: address of the xAPIC ICR; ESI: command;
; EDX: high word for x2APIC.
function shadow_sti_xapic
        sti
        mov     [rdi], esi
        nop
        cli
        ret

function shadow_ss_xapic
        mov     eax, ss
        mov     ss, eax
        mov     [rdi], esi
        nop
        ret

function shadow_sti_x2apic
        mov     eax, esi
        mov     ecx, 0x830
        sti
        wrmsr
        nop
        cli
        ret

function shadow_ss_x2apic
        mov     eax, esi
        mov     ecx, 0x830
        mov     r8d, ss
        mov     ss, r8d
        wrmsr
        nop
        ret

; uint32_t compat_cpuid(void): CPUID leaf 1 in a 32-bit code segment; the EAX it gave.
function compat_cpuid
        push    rbx
        lea     rdi, [.back]
        lea     rax, [.in32]
        push    0x18
        push    rax
        retfq
bits 32
.in32:
        mov     eax, 1
        xor     ecx, ecx
        cpuid
        push    dword 0x08
        push    edi
        retf
bits 64
.back:
        pop     rbx
        ret

; Exceptions, one each. RDI: an address where one is needed.
function raise_de
        xor     ecx, ecx
        xor     edx, edx
        mov     eax, 1
        div     ecx
        ret

function raise_np_gp
        mov     eax, 0xFFF8             ; beyond the GDT
        mov     ds, eax
        ret

function raise_read
        mov     rax, [rdi]
        ret

function raise_write
        mov     [rdi], rax
        ret

function raise_ss
        mov     rdx, rbp
        mov     rbp, 0x0001000000000000
        mov     rax, [rbp]
        mov     rbp, rdx
        ret

; int xapic_forms(volatile void *apic_page, uint32_t scratch): writes the divide configuration (3E0h)
; and reads it back through the MOV forms that compilers emit. 0, or the number of the form that failed.
%macro check_form 2
        mov     eax, [rdi + 0x3E0]
        cmp     eax, %2
        mov     eax, %1
        jne     .out
%endmacro

function xapic_forms
        push    rbx
        push    rbp
        push    r12
        push    r15
        mov     dword [rdi + 0x3E0], 0x1        ; immediate, displacement
        check_form 1, 0x1
        mov     ecx, 0x2
        mov     [rdi + 0x3E0], ecx              ; register
        check_form 2, 0x2
        mov     r15d, 0x3
        mov     [rdi + 0x3E0], r15d             ; high register
        check_form 3, 0x3
        lea     r12, [rdi + 0x3E0]
        mov     dword [r12], 0x8                ; R12 as base needs a SIB byte
        check_form 4, 0x8
        mov     ebp, edi
        mov     ebx, 0xF8
        mov     edx, 0x9
        mov     [rbp + rbx * 4], edx            ; index and scale
        check_form 5, 0x9
        mov     eax, 0xA
        mov     [abs qword 0xFEE003E0], eax     ; 64-bit absolute address
        check_form 6, 0xA
        mov     r12d, 0x3E0
        mov     ecx, 0xB
        mov     [rdi + r12], ecx                ; high index, no displacement
        check_form 7, 0xB
        xor     eax, eax
.out:
        pop     r15
        pop     r12
        pop     rbp
        pop     rbx
        ret
