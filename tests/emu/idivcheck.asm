; SPDX-License-Identifier: BSD-2-Clause
;
; A 64 KiB ROM that goes from the reset vector straight to long mode, divides with IDIV r64 and
; DIV r64, writes the verdict to port 0xE9 and switches Bochs off. Some builds of Bochs compute
; these divisions wrong, and a guest kernel then dies far from the cause.
;
; Memory used: page tables at 0x1000-0x3FFF, stack none.

        bits 16
        org 0xF0000

start:
        cli
        cld
        xor ax, ax
        mov ds, ax
        mov es, ax
        mov di, 0x1000                  ; clear PML4, PDPT and PD
        mov cx, 0x1800
        rep stosw
        mov dword [0x1000], 0x2003      ; PML4[0] -> PDPT
        mov dword [0x2000], 0x3003      ; PDPT[0] -> PD
        mov dword [0x3000], 0x0083      ; PD[0]: first 2 MiB, identity
        mov eax, 0x1000
        mov cr3, eax
        mov eax, cr4
        or eax, 1 << 5                  ; CR4.PAE
        mov cr4, eax
        mov ecx, 0xC0000080             ; IA32_EFER.LME
        rdmsr
        or eax, 1 << 8
        wrmsr
        o32 lgdt [cs:gdt_pointer - start]
        mov eax, cr0
        or eax, 0x80000001              ; CR0.PG and CR0.PE
        mov cr0, eax
        jmp dword 0x08:long_mode

        bits 64
long_mode:
        mov rbx, good
        mov rax, 1000000000             ; small operands, which the bad builds get wrong
        cqo
        mov rcx, 1000
        idiv rcx
        cmp rax, 1000000
        jne fail
        test rdx, rdx
        jnz fail
        mov rax, -9223372036854775807   ; negative dividend, negative divisor
        cqo
        mov rcx, -4294967297
        idiv rcx
        mov r8, rax
        imul r8, rcx
        add r8, rdx                     ; quotient * divisor + remainder = dividend
        mov r9, -9223372036854775807
        cmp r8, r9
        jne fail
        cmp rax, 2147483647
        jne fail
        mov rdx, 0x12345678             ; 128-bit dividend
        mov rax, 0x9ABCDEF012345678
        mov rcx, 0x1000000000
        idiv rcx
        mov r9, 0x123456789ABCDEF
        cmp rax, r9
        jne fail
        jmp print
fail:
        mov rbx, bad
print:
        mov al, [rbx]
        test al, al
        jz off
        out 0xE9, al
        inc rbx
        jmp print
off:
        mov rbx, shutdown
        mov dx, 0x8900
off_next:
        mov al, [rbx]
        test al, al
        jz halt
        out dx, al
        inc rbx
        jmp off_next
halt:
        hlt
        jmp halt

good:           db "IDIV good", 10, 0
bad:            db "IDIV bad", 10, 0
shutdown:       db "Shutdown", 0

        align 8
gdt:
        dq 0
        dq 0x00209A0000000000           ; 64-bit code
gdt_pointer:
        dw gdt_pointer - gdt - 1
        dd gdt

        bits 16
        times 0xFFF0 - ($ - $$) db 0xFF
        jmp 0xF000:0
        times 0x10000 - ($ - $$) db 0xFF
