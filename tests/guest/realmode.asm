; SPDX-License-Identifier: BSD-2-Clause
; 16-bit code for the tests: copied to a low page (smp_place_code) and entered there by a SIPI. Each
; image ends with two words that smp_place_code reads: where 32-bit and where 64-bit code begins.
; A page holds at BEAT a counter that shows that the code runs, at RESULT what it found.
bits 16
default abs

PARAM_GDTR      equ 0xF00
PARAM_FAR32     equ 0xF00 + 12
BEAT            equ 0xE00
RESULT          equ 0xE10
NMI_COUNT       equ 0xE80

SELECTOR_DATA   equ 0x10
SELECTOR_CODE16 equ 0x30
SELECTOR_DATA16 equ 0x38

section .text

%macro image 1
global real_%1:data hidden
global real_%1_end:data hidden
align 16
bits 16
real_%1:
%define this_image real_%1
%endmacro

%macro image_end 3
align 8
        dd      %2, %3
real_%1_end:
%endmacro

; Counts for ever, interrupts off.
image spin
        cli
.next:
        inc     dword [cs:BEAT]
        jmp     .next
image_end spin, 0, 0

; Says that it is there and halts; an NMI would go through the vector table at address 0.
image halt
        cli
        inc     dword [cs:BEAT]
.next:
        hlt
        jmp     .next
image_end halt, 0, 0

; Halts until an NMI has been handled, then counts.
image halt_nmi
        cli
        mov     ax, cs
        mov     ss, ax
        mov     sp, 0xDF0
        inc     dword [cs:BEAT]
        hlt
        inc     dword [cs:BEAT]
.next:
        hlt
        jmp     .next
image_end halt_nmi, 0, 0

; Counts in flat 32-bit protected mode without paging.
image spin32
        cli
        xor     ebx, ebx
        mov     bx, cs
        shl     ebx, 4
        mov     ax, cs
        mov     ds, ax
        o32 lgdt [PARAM_GDTR]
        mov     eax, cr0
        and     eax, 0x9FFFFFFF
        or      al, 1
        mov     cr0, eax
        jmp     far dword [cs:PARAM_FAR32]
bits 32
.in32:
        mov     ax, SELECTOR_DATA
        mov     ds, ax
        mov     ss, ax
        mov     es, ax
.next:
        inc     dword [ebx + BEAT]
        jmp     .next
image_end spin32, .in32 - real_spin32, 0

; Real mode: CPUID leaf 1, a port read, RDMSR, a string copy, a stack; big real mode through a 4 GiB
; data segment; 16-bit protected mode; back to real mode. Each step leaves a word at RESULT.
image tour
        cli
        mov     ax, cs
        mov     ds, ax
        mov     ss, ax
        mov     sp, 0xDF0
        mov     eax, 1
        cpuid
        mov     [RESULT], eax                   ; 0: signature, in real mode
        mov     ecx, 0x1B
        rdmsr
        mov     [RESULT + 4], eax               ; 4: APIC base
        mov     dx, 0x61
        in      al, dx
        mov     byte [RESULT + 8], 1            ; 8: came through the port read
        push    word 0x1234
        pop     word [RESULT + 10]              ; 10: stack
        o32 lgdt [PARAM_GDTR]
        mov     eax, cr0
        and     eax, 0x9FFFFFFF
        or      al, 1
        mov     cr0, eax
        jmp     .pm
.pm:
        mov     ax, SELECTOR_DATA               ; base 0, limit 4 GiB
        mov     es, ax
        mov     eax, 1                          ; still CS of real mode: a 16-bit code segment
        cpuid
        mov     [RESULT + 12], eax              ; 12: signature, protected mode, real-mode CS
        mov     eax, cr0
        and     al, 0xFE
        mov     cr0, eax
        jmp     .real
.real:
        a32 mov ebx, [es:dword 0xFEE00030]      ; big real mode: APIC version register
        mov     [RESULT + 16], ebx
        mov     ax, cs
        movzx   ebx, ax
        shl     ebx, 4
        a32 mov eax, [es:ebx + RESULT]          ; the same memory through the flat segment
        mov     [RESULT + 20], eax
        mov     edi, cr0
        mov     [RESULT + 24], edi              ; 24: CR0, PE clear again
        smsw    ax
        mov     [RESULT + 28], ax
        mov     eax, 0x40000100
        cpuid
        mov     [RESULT + 32], ebx
        inc     dword [BEAT]
.next:
        hlt
        jmp     .next
image_end tour, 0, 0

; From real mode straight to long mode: PE and PG in one write of CR0 (SDM volume 3, "Initializing
; IA-32e Mode" asks for PE first; processors take both at once). Says so in BEAT.
image direct
        cli
        mov     ax, cs
        mov     ds, ax
        xor     ebx, ebx
        mov     bx, cs
        shl     ebx, 4
        o32 lgdt [PARAM_GDTR]
        mov     eax, 0x20
        mov     cr4, eax
        mov     eax, [0xF00 + 8]
        mov     cr3, eax
        mov     ecx, 0xC0000080
        rdmsr
        or      eax, 0x900
        wrmsr
        mov     eax, 0x80000011
        mov     cr0, eax
        jmp     far dword [cs:0xF00 + 20]
bits 64
.in64:
        inc     dword [rbx + BEAT]
        mov     eax, 1
        cpuid
        hlt
        jmp     .in64
image_end direct, 0, .in64 - real_direct

; The real-mode NMI handler: counts in the page it runs in.
image nmi_handler
        inc     dword [cs:NMI_COUNT]
        iret
image_end nmi_handler, 0, 0
