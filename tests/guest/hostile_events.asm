; SPDX-License-Identifier: BSD-2-Clause
; Code for other processors that only INIT ends, and code at the ends of address spaces.
bits 64
default rel

BEAT        equ 0xE00
PARAM_FAR32 equ 0xF00 + 12

section .text

; void hostile_debug_loop(void *frame_word): a data breakpoint on the word that each delivery of #DB
; writes. The caller has put hostile_debug_handler into the IDT, with a stack of its own.
global hostile_debug_loop:function hidden
hostile_debug_loop:
        mov     dr0, rdi
        mov     eax, 0x000F0403         ; DR0, local and global, 4 bytes, read or write
        mov     dr7, rax
        mov     eax, [rdi]
        nop
.spin:
        pause
        jmp     .spin

global hostile_debug_handler:function hidden
hostile_debug_handler:
        lock inc dword [hostile_debug_count]
        iretq

; void hostile_nmi_handler: never returns.
global hostile_nmi_handler:function hidden
hostile_nmi_handler:
        pause
        jmp     hostile_nmi_handler

section .bss
global hostile_debug_count:data hidden
alignb 4
hostile_debug_count:
        resd    1

section .text

%macro image 1
global real_%1:data hidden
global real_%1_end:data hidden
align 16
bits 16
real_%1:
%define this_image real_%1
%endmacro

; An #AC whose delivery raises #AC: ring 3, EFLAGS.AC, a misaligned stack, a handler of ring 3.
GDT3  equ 0xC00
IDT3  equ 0xC40
GDTR3 equ 0xD80
IDTR3 equ 0xD88
image hostile_ac
        cli
        xor     ebx, ebx
        mov     bx, cs
        mov     ds, bx
        shl     ebx, 4
        ; GDT: null, code 0, data 0, code 3, data 3
        mov     dword [GDT3 + 8], 0x0000FFFF
        mov     dword [GDT3 + 12], 0x00CF9B00
        mov     dword [GDT3 + 16], 0x0000FFFF
        mov     dword [GDT3 + 20], 0x00CF9300
        mov     dword [GDT3 + 24], 0x0000FFFF
        mov     dword [GDT3 + 28], 0x00CFFB00
        mov     dword [GDT3 + 32], 0x0000FFFF
        mov     dword [GDT3 + 36], 0x00CFF300
        mov     word [GDTR3], 39
        lea     eax, [ebx + GDT3]
        mov     [GDTR3 + 2], eax
        mov     word [IDTR3], 18 * 8 - 1
        lea     eax, [ebx + IDT3]
        mov     [IDTR3 + 2], eax
        lea     eax, [ebx + .handler - this_image]
        mov     [IDT3 + 17 * 8], ax
        mov     word [IDT3 + 17 * 8 + 2], 0x1B
        mov     word [IDT3 + 17 * 8 + 4], 0xEE00
        shr     eax, 16
        mov     [IDT3 + 17 * 8 + 6], ax
        o32 lgdt [GDTR3]
        o32 lidt [IDTR3]
        lea     eax, [ebx + .in32 - this_image]
        mov     [GDTR3 + 16], eax
        mov     word [GDTR3 + 20], 8
        mov     eax, cr0
        or      eax, 0x00040001         ; AM, PE
        mov     cr0, eax
        jmp     far dword [cs:GDTR3 + 16]
bits 32
.in32:
        mov     ax, 0x10
        mov     ds, ax
        mov     es, ax
        mov     ss, ax
        lea     esp, [ebx + 0xBF0]
        inc     dword [ebx + BEAT]
        push    dword 0x23
        lea     eax, [ebx + 0xB01]      ; misaligned
        push    eax
        push    dword 0x00040002        ; AC
        push    dword 0x1B
        lea     eax, [ebx + .in3 - this_image]
        push    eax
        iretd
.in3:
        push    eax
.handler:
        jmp     .handler
align 8
        dd      0, 0
real_hostile_ac_end:

; Real mode: exits in shadows and around a stack pointer that wraps.
image hostile_real
        cli
        mov     ax, cs
        mov     ds, ax
        mov     ss, ax
        mov     sp, 0xBF0
        inc     dword [cs:BEAT]
.next:
        cpuid
        pusha
        popa
        mov     sp, 1
        mov     ax, cs
        mov     sp, 0xBF0
        mov     ss, ax
        cpuid
        inc     dword [cs:BEAT]
        jmp     .next
align 8
        dd      0, 0
real_hostile_real_end:
