; SPDX-License-Identifier: BSD-2-Clause
; One instruction per function, for "every CPUID feature that is shown works" and "what is hidden
; faults". Argument: RDI = scratch buffer, 64-byte aligned, 4096 bytes.
bits 64
default rel

section .text

%macro function 1
global exec_%1:function hidden
align 16
exec_%1:
%endmacro

; Most need nothing around them.
%macro simple 2+
function %1
        %2
        ret
%endmacro

simple rdtsc,           rdtsc
simple cmov,            cmovz eax, ecx
simple clflush,         clflush [rdi]
simple mmx,             emms
simple fxsave,          fxsave [rdi]
simple sse,             xorps xmm0, xmm0
simple sse2,            pxor xmm0, xmm0
simple sse3,            haddps xmm0, xmm0
simple ssse3,           pshufb xmm0, xmm0
simple sse41,           pblendw xmm0, xmm0, 0
simple sse42,           crc32 eax, edi
simple pclmul,          pclmulqdq xmm0, xmm0, 0
simple aes,             aesenc xmm0, xmm0
simple sha,             sha1nexte xmm0, xmm1
simple movbe,           movbe eax, [rdi]
simple popcnt,          popcnt eax, edi
simple lzcnt,           lzcnt eax, edi
simple bmi1,            andn eax, edi, edi
simple bmi2,            bzhi eax, edi, edi
simple adx,             adcx eax, edi
simple rdrand,          rdrand eax
simple rdseed,          rdseed eax
simple rdpid,           rdpid rax
simple clflushopt,      clflushopt [rdi]
simple clwb,            clwb [rdi]
simple cldemote,        cldemote [rdi]
simple movdiri,         movdiri [rdi], eax
simple wbnoinvd,        wbnoinvd
simple prefetchw,       prefetchw [rdi]
simple lahf,            lahf
simple fma,             vfmadd132ps xmm0, xmm0, xmm0
simple f16c,            vcvtph2ps xmm0, xmm0
simple avx,             vxorps ymm0, ymm0, ymm0
simple avx2,            vpxor ymm0, ymm0, ymm0
simple avx512f,         vpxord zmm0, zmm0, zmm0
simple avx512dq,        vpmullq zmm0, zmm0, zmm0
simple avx512cd,        vplzcntd zmm0, zmm0
simple avx512bw,        vpaddb zmm0, zmm0, zmm0
simple avx512vl,        vpxord ymm16, ymm16, ymm16
simple avx512ifma,      vpmadd52luq zmm0, zmm0, zmm0
simple avx512vbmi,      vpermb zmm0, zmm0, zmm0
simple avx512vbmi2,     vpshldd zmm0, zmm0, zmm0, 1
simple avx512vnni,      vpdpbusd zmm0, zmm0, zmm0
simple avx512bitalg,    vpopcntb zmm0, zmm0
simple avx512popcnt,    vpopcntd zmm0, zmm0
simple gfni,            gf2p8mulb xmm0, xmm0
simple vaes,            vaesenc ymm0, ymm0, ymm0
simple vpclmul,         vpclmulqdq ymm0, ymm0, ymm0, 0
simple serialize,       db 0x0F, 0x01, 0xE8
simple rdfsbase,        rdfsbase rax

function wrfsbase
        rdfsbase rax
        wrfsbase rax
        ret

function stac
        stac
        clac
        ret

function rdtscp
        rdtscp
        ret

function cmpxchg8b
        push    rbx
        cmpxchg8b [rdi]
        pop     rbx
        ret

function cmpxchg16b
        push    rbx
        cmpxchg16b [rdi]
        pop     rbx
        ret

function movdir64b
        mov     rax, rdi
        movdir64b rax, [rdi]
        ret

; The store after MONITOR ends the wait before it begins.
function monitor
        mov     rax, rdi
        xor     ecx, ecx
        xor     edx, edx
        monitor
        mov     dword [rdi], 1
        xor     eax, eax
        mwait
        ret

; TPAUSE with a deadline in the past; bytes, since assemblers differ on the operand.
function tpause
        xor     eax, eax
        xor     edx, edx
        mov     ecx, 1
        db      0x66, 0x0F, 0xAE, 0xF1          ; tpause ecx
        ret

function umonitor
        db      0xF3, 0x0F, 0xAE, 0xF7          ; umonitor rdi
        mov     dword [rdi], 1
        xor     eax, eax
        xor     edx, edx
        mov     ecx, 1
        db      0xF2, 0x0F, 0xAE, 0xF1          ; umwait ecx
        ret

; All contexts, an empty descriptor.
function invpcid
        mov     qword [rdi], 0
        mov     qword [rdi + 8], 0
        mov     eax, 2
        invpcid rax, [rdi]
        ret

function rdpkru
        xor     ecx, ecx
        rdpkru
        wrpkru
        ret

; The XSAVE family saves x87 state only and restores it: header of the area zeroed first.
%macro clear_xsave_header 0
        lea     rdx, [rdi + 512]
        xor     eax, eax
        mov     ecx, 8
%%next:
        mov     [rdx + rcx * 8 - 8], rax
        loop    %%next
        xor     edx, edx
        mov     eax, 1
%endmacro

function xsave
        clear_xsave_header
        xsave   [rdi]
        xrstor  [rdi]
        ret

function xsaveopt
        clear_xsave_header
        xsaveopt [rdi]
        ret

function xsavec
        clear_xsave_header
        xsavec  [rdi]
        xrstor  [rdi]
        ret

function xsaves
        clear_xsave_header
        xsaves  [rdi]
        xrstors [rdi]
        ret

function xgetbv
        xor     ecx, ecx
        xgetbv
        ret

function xgetbv1
        mov     ecx, 1
        xgetbv
        ret

; XBEGIN: either the region runs or the fallback is taken; both count as executed.
function rtm
        xbegin  .fallback
        xend
.fallback:
        ret

MSR_STAR        equ 0xC0000081
MSR_LSTAR       equ 0xC0000082
MSR_FMASK       equ 0xC0000084
MSR_EFER        equ 0xC0000080

; SYSCALL from CPL 0 to a label: CS and SS come from STAR, RSP stays.
function syscall
        mov     ecx, MSR_EFER
        rdmsr
        or      eax, 1
        wrmsr
        mov     ecx, MSR_STAR
        xor     eax, eax
        mov     edx, 0x00180008
        wrmsr
        mov     ecx, MSR_FMASK
        xor     eax, eax
        xor     edx, edx
        wrmsr
        lea     rax, [.target]
        mov     rdx, rax
        shr     rdx, 32
        mov     ecx, MSR_LSTAR
        wrmsr
        syscall
        ud2
.target:
        ret

; SYSENTER to a label on the same stack; clears IF, which the caller restores.
function sysenter
        mov     ecx, 0x174
        mov     eax, 0x08
        xor     edx, edx
        wrmsr
        mov     ecx, 0x175
        mov     rax, rsp
        mov     rdx, rax
        shr     rdx, 32
        wrmsr
        mov     ecx, 0x176
        lea     rax, [.target]
        mov     rdx, rax
        shr     rdx, 32
        wrmsr
        sysenter
        ud2
.target:
        ret
