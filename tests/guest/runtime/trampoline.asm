; SPDX-License-Identifier: BSD-2-Clause
; Start-up code of the other processors. Copied to a page below 1 MiB, entered there in real mode by
; a SIPI with CS:IP = page:0. Position-independent: data is reached through CS. Two images:
; `trampoline` goes straight on; `probe` first stores what INIT has left in the registers.
;
; The parameter block at PARAMS is filled by smp_place_code (struct low_params in smp.c).
default rel

global trampoline:data hidden
global trampoline_end:data hidden
global probe:data hidden
global probe_end:data hidden

extern smp_cpu_by_apic_id
extern smp_ap_main

PARAMS          equ 0xF00
PARAM_GDTR      equ PARAMS + 0          ; limit, base
PARAM_CR3       equ PARAMS + 8
PARAM_FAR32     equ PARAMS + 12         ; offset, selector
PARAM_FAR64     equ PARAMS + 20
PARAM_ENTRY     equ PARAMS + 32         ; 64-bit address of long_entry
RECORD          equ 0x800               ; struct probe_record in probe.h

CR0_PE          equ 1 << 0
CR0_NE          equ 1 << 5
CR0_WP          equ 1 << 16
CR0_PG          equ 1 << 31
CR0_NW_CD       equ 3 << 29
CR4_PAE         equ 1 << 5
CR4_OSFXSR      equ 3 << 9
MSR_EFER        equ 0xC0000080
EFER_LME_NXE    equ (1 << 8) | (1 << 11)

; The way from real mode to long mode. %1: start of the image.
%macro enter_long_mode 1
bits 16
        mov     ax, cs
        mov     ds, ax
        o32 lgdt [PARAM_GDTR]
        mov     edi, [PARAM_CR3]
        mov     eax, cr0
        and     eax, ~CR0_NW_CD
        or      eax, CR0_PE
        mov     cr0, eax
        jmp     far dword [cs:PARAM_FAR32]
bits 32
%%in32:
        mov     ax, 0x10
        mov     ds, ax
        mov     ss, ax
        mov     eax, CR4_PAE | CR4_OSFXSR
        mov     cr4, eax
        mov     cr3, edi
        mov     ecx, MSR_EFER
        rdmsr
        or      eax, EFER_LME_NXE
        wrmsr
        mov     eax, cr0
        or      eax, CR0_PG | CR0_WP | CR0_NE
        mov     cr0, eax
        jmp     far dword [ebx + PARAM_FAR64]
bits 64
%%in64:
        mov     rax, [rbx + PARAM_ENTRY]
        jmp     rax
        align   8
        dd      %%in32 - %1, %%in64 - %1 ; read by smp_place_code: the last two words of the image
%endmacro

section .text

align 16
bits 16
trampoline:
        cli
        xor     ebx, ebx
        mov     bx, cs
        shl     ebx, 4
        enter_long_mode trampoline
trampoline_end:

; Stores one MSR. All stores go through CS, so that no other register is needed.
%macro store_msr 2
        mov     ecx, %1
        rdmsr
        mov     [cs:RECORD + %2], eax
        mov     [cs:RECORD + %2 + 4], edx
%endmacro

align 16
bits 16
probe:
        mov     [cs:RECORD + 0], eax
        mov     [cs:RECORD + 4], ebx
        mov     [cs:RECORD + 8], ecx
        mov     [cs:RECORD + 12], edx
        mov     [cs:RECORD + 16], esi
        mov     [cs:RECORD + 20], edi
        mov     [cs:RECORD + 24], ebp
        mov     [cs:RECORD + 28], esp
        mov     ax, cs
        mov     [cs:RECORD + 32], ax
        mov     ax, ds
        mov     [cs:RECORD + 34], ax
        mov     ax, es
        mov     [cs:RECORD + 36], ax
        mov     ax, fs
        mov     [cs:RECORD + 38], ax
        mov     ax, gs
        mov     [cs:RECORD + 40], ax
        mov     ax, ss
        mov     [cs:RECORD + 42], ax
        mov     ax, cs
        mov     ss, ax
        mov     sp, 0x1000 - 16         ; above the parameter block
        pushfd
        pop     eax
        mov     [cs:RECORD + 44], eax
        mov     eax, cr0
        mov     [cs:RECORD + 48], eax
        mov     eax, cr2
        mov     [cs:RECORD + 52], eax
        mov     eax, cr3
        mov     [cs:RECORD + 56], eax
        mov     eax, cr4
        mov     [cs:RECORD + 60], eax
        mov     eax, dr6
        mov     [cs:RECORD + 64], eax
        mov     eax, dr7
        mov     [cs:RECORD + 68], eax
        mov     eax, dr0
        mov     [cs:RECORD + 72], eax
        mov     eax, dr3
        mov     [cs:RECORD + 76], eax
        o32 sgdt [cs:RECORD + 80]
        o32 sidt [cs:RECORD + 88]
        call    .here
.here:
        pop     ax
        sub     ax, .here - probe
        mov     [cs:RECORD + 96], ax    ; IP at the start
        store_msr 0x0000001B, 104
        store_msr 0xC0000080, 112
        store_msr 0xC0000100, 120
        store_msr 0xC0000101, 128
        store_msr 0xC0000102, 136
        store_msr 0xC0000082, 144
        store_msr 0x00000174, 152
        store_msr 0x00000175, 160
        store_msr 0x00000277, 168
        store_msr 0x000002FF, 176
        store_msr 0x0000003B, 184
        lock inc dword [cs:RECORD + 192] ; how often this page was entered
        xor     ebx, ebx
        mov     bx, cs
        shl     ebx, 4
        enter_long_mode probe
probe_end:

; The first 64-bit code of the image: finds out who we are and takes the stack.
align 16
bits 64
global trampoline_long_entry:function hidden
trampoline_long_entry:
        mov     eax, 1
        cpuid
        shr     ebx, 24
        lea     rax, [smp_cpu_by_apic_id]
        mov     rdi, [rax + rbx * 8]
        test    rdi, rdi
        jz      .unknown
        mov     rsp, [rdi + 16]         ; struct cpu: stack_top
        xor     ebp, ebp
        call    smp_ap_main
.unknown:
        cli
        hlt
        jmp     .unknown
