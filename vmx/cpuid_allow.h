/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_CPUID_ALLOW_H
#define VMX_CPUID_ALLOW_H

#include "core/cpuid_bits.h"

/*
 * The allow-lists of vmx/cpuid_policy.c, word by word: what a guest may see when the hardware has
 * it. Bits that depend on VMX controls are added in allow_by_controls.
 */

/* Hidden: DTES64, DS-CPL (BTS, PEBS), VMX, SMX, SDBG, hypervisor. */
#define ALLOW_1_ECX                                                                          \
    (CPUID_1_ECX_SSE3 | CPUID_1_ECX_PCLMULQDQ | CPUID_1_ECX_MONITOR | CPUID_1_ECX_EIST |     \
     CPUID_1_ECX_TM2 | CPUID_1_ECX_SSSE3 | CPUID_1_ECX_CNXT_ID | CPUID_1_ECX_FMA |           \
     CPUID_1_ECX_CMPXCHG16B | CPUID_1_ECX_XTPR | CPUID_1_ECX_PDCM | CPUID_1_ECX_PCID |       \
     CPUID_1_ECX_DCA | CPUID_1_ECX_SSE4_1 | CPUID_1_ECX_SSE4_2 | CPUID_1_ECX_X2APIC |        \
     CPUID_1_ECX_MOVBE | CPUID_1_ECX_POPCNT | CPUID_1_ECX_TSC_DEADLINE | CPUID_1_ECX_AESNI | \
     CPUID_1_ECX_XSAVE | CPUID_1_ECX_AVX | CPUID_1_ECX_F16C | CPUID_1_ECX_RDRAND)

/* Hidden: DS, IA-64, the reserved bits 10 and 20. */
#define ALLOW_1_EDX (~(CPUID_1_EDX_DS | CPUID_1_EDX_IA64 | BIT32(10) | BIT32(20)))

/* Hidden: SGX, RDT, MPX (its state would have to be switched), Processor Trace. */
#define ALLOW_7_EBX                                                                                \
    (CPUID_7_EBX_FSGSBASE | CPUID_7_EBX_TSC_ADJUST | CPUID_7_EBX_BMI1 | CPUID_7_EBX_HLE |          \
     CPUID_7_EBX_AVX2 | CPUID_7_EBX_FDP_EXCPTN_ONLY | CPUID_7_EBX_SMEP | CPUID_7_EBX_BMI2 |        \
     CPUID_7_EBX_ERMS | CPUID_7_EBX_RTM | CPUID_7_EBX_DEPRECATES_FPU_CS_DS | CPUID_7_EBX_AVX512F | \
     CPUID_7_EBX_AVX512DQ | CPUID_7_EBX_RDSEED | CPUID_7_EBX_ADX | CPUID_7_EBX_SMAP |              \
     CPUID_7_EBX_AVX512_IFMA | CPUID_7_EBX_CLFLUSHOPT | CPUID_7_EBX_CLWB | CPUID_7_EBX_AVX512PF |  \
     CPUID_7_EBX_AVX512ER | CPUID_7_EBX_AVX512CD | CPUID_7_EBX_SHA | CPUID_7_EBX_AVX512BW |        \
     CPUID_7_EBX_AVX512VL)

/* Hidden: key locker, ENQCMD, SGX launch control, PKS. CET and WAITPKG depend on controls. */
#define ALLOW_7_ECX                                                                            \
    (CPUID_7_ECX_PREFETCHWT1 | CPUID_7_ECX_AVX512_VBMI | CPUID_7_ECX_UMIP | CPUID_7_ECX_PKU |  \
     CPUID_7_ECX_AVX512_VBMI2 | CPUID_7_ECX_GFNI | CPUID_7_ECX_VAES | CPUID_7_ECX_VPCLMULQDQ | \
     CPUID_7_ECX_AVX512_VNNI | CPUID_7_ECX_AVX512_BITALG | CPUID_7_ECX_TME |                   \
     CPUID_7_ECX_AVX512_VPOPCNTDQ | CPUID_7_ECX_LA57 | CPUID_7_ECX_BUS_LOCK_DETECT |           \
     CPUID_7_ECX_CLDEMOTE | CPUID_7_ECX_MOVDIRI | CPUID_7_ECX_MOVDIR64B)

/* Hidden: user interrupts, PCONFIG, architectural LBRs. */
#define ALLOW_7_EDX                                                                               \
    (CPUID_7_EDX_AVX512_4VNNIW | CPUID_7_EDX_AVX512_4FMAPS | CPUID_7_EDX_FSRM |                   \
     CPUID_7_EDX_AVX512_VP2INTERSECT | CPUID_7_EDX_SRBDS_CTRL | CPUID_7_EDX_MD_CLEAR |            \
     CPUID_7_EDX_RTM_ALWAYS_ABORT | CPUID_7_EDX_RTM_FORCE_ABORT | CPUID_7_EDX_SERIALIZE |         \
     CPUID_7_EDX_HYBRID | CPUID_7_EDX_TSXLDTRK | CPUID_7_EDX_AMX_BF16 | CPUID_7_EDX_AVX512_FP16 | \
     CPUID_7_EDX_AMX_TILE | CPUID_7_EDX_AMX_INT8 | CPUID_7_EDX_IBRS_IBPB | CPUID_7_EDX_STIBP |    \
     CPUID_7_EDX_L1D_FLUSH | CPUID_7_EDX_ARCH_CAPABILITIES | CPUID_7_EDX_CORE_CAPABILITIES |      \
     CPUID_7_EDX_SSBD)

/* Hidden: LASS and LAM (our walks of guest tables do not know them), FRED, WRMSRNS, HRESET,
 * MSRLIST, version 6 performance monitoring. */
#define ALLOW_7_1_EAX                                                                          \
    (CPUID_7_1_EAX_AVX_VNNI | CPUID_7_1_EAX_AVX512_BF16 | CPUID_7_1_EAX_CMPCCXADD |            \
     CPUID_7_1_EAX_FZLRM | CPUID_7_1_EAX_FSRS | CPUID_7_1_EAX_FSRCS | CPUID_7_1_EAX_AMX_FP16 | \
     CPUID_7_1_EAX_AVX_IFMA)
#define ALLOW_7_1_EBX BIT32(0) /* PPIN */
#define ALLOW_7_1_EDX                                                                         \
    (CPUID_7_1_EDX_AVX_VNNI_INT8 | CPUID_7_1_EDX_AVX_NE_CONVERT | CPUID_7_1_EDX_AMX_COMPLEX | \
     CPUID_7_1_EDX_AVX_VNNI_INT16 | CPUID_7_1_EDX_PREFETCHI)
#define ALLOW_7_2_EDX                                                           \
    (CPUID_7_2_EDX_PSFD | CPUID_7_2_EDX_IPRED_CTRL | CPUID_7_2_EDX_RRSBA_CTRL | \
     CPUID_7_2_EDX_DDPD_U | CPUID_7_2_EDX_BHI_CTRL | CPUID_7_2_EDX_MCDT_NO |    \
     CPUID_7_2_EDX_MONITOR_MITG_NO)

/* Hidden: HDC (13), hardware feedback and thread director (19, 23, 24). */
#define ALLOW_6_EAX                                                                          \
    (BIT32(0) | BIT32(1) | BIT32(2) | BIT32(4) | BIT32(5) | BIT32(6) | BIT32(7) | BIT32(8) | \
     BIT32(9) | BIT32(10) | BIT32(11) | BIT32(14) | BIT32(15) | BIT32(16) | BIT32(17) |      \
     BIT32(18) | BIT32(20) | BIT32(22))
#define ALLOW_6_EBX 0xFu                  /* thermal interrupt thresholds */
#define ALLOW_6_ECX (BIT32(0) | BIT32(3)) /* APERF and MPERF, energy preference */

#define ALLOW_D_1_EAX \
    (CPUID_D_1_EAX_XSAVEOPT | CPUID_D_1_EAX_XSAVEC | CPUID_D_1_EAX_XGETBV_1 | CPUID_D_1_EAX_XFD)

#define ALLOW_80000001_ECX \
    (CPUID_80000001_ECX_LAHF | CPUID_80000001_ECX_LZCNT | CPUID_80000001_ECX_PREFETCHW)
#define ALLOW_80000001_EDX                                                             \
    (CPUID_80000001_EDX_SYSCALL | CPUID_80000001_EDX_NX | CPUID_80000001_EDX_PAGE_1G | \
     CPUID_80000001_EDX_LM)

/* Not the MPX, Processor Trace, PASID, user interrupt, HDC, LBR and HWP components. */
#define ALLOW_XCR0                                                                               \
    (XCR0_X87 | XCR0_SSE | XCR0_AVX | XCR0_OPMASK | XCR0_ZMM_HI256 | XCR0_HI16_ZMM | XCR0_PKRU | \
     XCR0_TILECFG | XCR0_TILEDATA)

#endif
