/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_MSR_H
#define CORE_MSR_H

#include "core/bits.h"

/*
 * Model-specific registers and their bits. Rule: MSR_ + the SDM's name (volume 4), sorted by
 * number; bits are indented beneath and start with the register's name. The feature that makes an
 * MSR exist stands beside it.
 */

#define MSR_IA32_P5_MC_ADDR                          0x000u
#define MSR_IA32_P5_MC_TYPE                          0x001u
#define MSR_IA32_MONITOR_FILTER_SIZE                 0x006u
#define MSR_IA32_TIME_STAMP_COUNTER                  0x010u
#define MSR_IA32_PLATFORM_ID                         0x017u
#define MSR_IA32_APIC_BASE                           0x01Bu
#define IA32_APIC_BASE_BSP                           BIT64(8)
#define IA32_APIC_BASE_EXTD                          BIT64(10)
#define IA32_APIC_BASE_ENABLE                        BIT64(11)
#define MSR_IA32_FEATURE_CONTROL                     0x03Au /* CPUID.1:ECX.VMX or .SMX */
#define IA32_FEATURE_CONTROL_LOCK                    BIT64(0)
#define IA32_FEATURE_CONTROL_VMX_IN_SMX              BIT64(1)
#define IA32_FEATURE_CONTROL_VMX_OUTSIDE_SMX         BIT64(2)
#define MSR_IA32_TSC_ADJUST                          0x03Bu /* CPUID.7.0:EBX[1] */
#define MSR_IA32_SPEC_CTRL                           0x048u
#define MSR_IA32_PRED_CMD                            0x049u
#define MSR_IA32_BIOS_UPDT_TRIG                      0x079u
#define MSR_IA32_BIOS_SIGN_ID                        0x08Bu
#define MSR_IA32_SMM_MONITOR_CTL                     0x09Bu
#define MSR_IA32_PMC0                                0x0C1u
#define MSR_IA32_UMWAIT_CONTROL                      0x0E1u
#define MSR_IA32_MPERF                               0x0E7u
#define MSR_IA32_APERF                               0x0E8u
#define MSR_IA32_MTRRCAP                             0x0FEu
#define IA32_MTRRCAP_VCNT_MASK                       0xFFu
#define IA32_MTRRCAP_FIX                             BIT64(8)
#define IA32_MTRRCAP_WC                              BIT64(10)
#define IA32_MTRRCAP_SMRR                            BIT64(11)
#define MSR_IA32_ARCH_CAPABILITIES                   0x10Au
#define MSR_IA32_FLUSH_CMD                           0x10Bu
#define MSR_IA32_SYSENTER_CS                         0x174u
#define MSR_IA32_SYSENTER_ESP                        0x175u
#define MSR_IA32_SYSENTER_EIP                        0x176u
#define MSR_IA32_MCG_CAP                             0x179u
#define MSR_IA32_MCG_STATUS                          0x17Au
#define MSR_IA32_MCG_CTL                             0x17Bu
#define MSR_IA32_PERFEVTSEL0                         0x186u
#define MSR_IA32_PERF_STATUS                         0x198u
#define MSR_IA32_PERF_CTL                            0x199u
#define MSR_IA32_CLOCK_MODULATION                    0x19Au
#define MSR_IA32_THERM_INTERRUPT                     0x19Bu
#define MSR_IA32_THERM_STATUS                        0x19Cu
#define MSR_IA32_MISC_ENABLE                         0x1A0u
#define IA32_MISC_ENABLE_PEBS_UNAVAILABLE            BIT64(12)
#define MSR_IA32_ENERGY_PERF_BIAS                    0x1B0u
#define MSR_IA32_PACKAGE_THERM_STATUS                0x1B1u
#define MSR_IA32_PACKAGE_THERM_INTERRUPT             0x1B2u
#define MSR_IA32_DEBUGCTL                            0x1D9u
#define IA32_DEBUGCTL_LBR                            BIT64(0)
#define IA32_DEBUGCTL_BTF                            BIT64(1) /* single step on branches */
#define MSR_IA32_SMRR_PHYSBASE                       0x1F2u
#define MSR_IA32_SMRR_PHYSMASK                       0x1F3u
#define MSR_IA32_MTRR_PHYSBASE0                      0x200u
#define MSR_IA32_MTRR_PHYSMASK0                      0x201u
#define IA32_MTRR_PHYSMASK_VALID                     BIT64(11)
#define MSR_IA32_MTRR_FIX64K_00000                   0x250u
#define MSR_IA32_MTRR_FIX16K_80000                   0x258u
#define MSR_IA32_MTRR_FIX16K_A0000                   0x259u
#define MSR_IA32_MTRR_FIX4K_C0000                    0x268u
#define MSR_IA32_MTRR_FIX4K_F8000                    0x26Fu
#define MSR_IA32_PAT                                 0x277u
#define MSR_IA32_MTRR_DEF_TYPE                       0x2FFu
#define IA32_MTRR_DEF_TYPE_TYPE_MASK                 0xFFu
#define IA32_MTRR_DEF_TYPE_FE                        BIT64(10)
#define IA32_MTRR_DEF_TYPE_E                         BIT64(11)
#define MSR_IA32_PERF_CAPABILITIES                   0x345u
#define MSR_IA32_FIXED_CTR_CTRL                      0x38Du
#define MSR_IA32_PERF_GLOBAL_CTRL                    0x38Fu
#define MSR_IA32_PEBS_ENABLE                         0x3F1u
#define MSR_IA32_MC0_CTL                             0x400u
#define MSR_IA32_VMX_BASIC                           0x480u /* CPUID.1:ECX.VMX; to 491h */
#define IA32_VMX_BASIC_DUAL_MONITOR                  BIT64(49)
#define IA32_VMX_BASIC_TRUE_CONTROLS                 BIT64(55)
#define MSR_IA32_VMX_PINBASED_CTLS                   0x481u
#define MSR_IA32_VMX_PROCBASED_CTLS                  0x482u
#define MSR_IA32_VMX_EXIT_CTLS                       0x483u
#define MSR_IA32_VMX_ENTRY_CTLS                      0x484u
#define MSR_IA32_VMX_MISC                            0x485u
#define MSR_IA32_VMX_CR0_FIXED0                      0x486u
#define MSR_IA32_VMX_CR0_FIXED1                      0x487u
#define MSR_IA32_VMX_CR4_FIXED0                      0x488u
#define MSR_IA32_VMX_CR4_FIXED1                      0x489u
#define MSR_IA32_VMX_VMCS_ENUM                       0x48Au
#define MSR_IA32_VMX_PROCBASED_CTLS2                 0x48Bu
#define MSR_IA32_VMX_EPT_VPID_CAP                    0x48Cu
#define IA32_VMX_EPT_VPID_CAP_EXECUTE_ONLY           BIT64(0)
#define IA32_VMX_EPT_VPID_CAP_4_LEVELS               BIT64(6)
#define IA32_VMX_EPT_VPID_CAP_5_LEVELS               BIT64(7)
#define IA32_VMX_EPT_VPID_CAP_UC                     BIT64(8)
#define IA32_VMX_EPT_VPID_CAP_WB                     BIT64(14)
#define IA32_VMX_EPT_VPID_CAP_2M                     BIT64(16)
#define IA32_VMX_EPT_VPID_CAP_1G                     BIT64(17)
#define IA32_VMX_EPT_VPID_CAP_INVEPT                 BIT64(20)
#define IA32_VMX_EPT_VPID_CAP_AD                     BIT64(21)
#define IA32_VMX_EPT_VPID_CAP_INVEPT_SINGLE          BIT64(25)
#define IA32_VMX_EPT_VPID_CAP_INVEPT_ALL             BIT64(26)
#define IA32_VMX_EPT_VPID_CAP_INVVPID                BIT64(32)
#define IA32_VMX_EPT_VPID_CAP_INVVPID_ADDRESS        BIT64(40)
#define IA32_VMX_EPT_VPID_CAP_INVVPID_SINGLE         BIT64(41)
#define IA32_VMX_EPT_VPID_CAP_INVVPID_ALL            BIT64(42)
#define IA32_VMX_EPT_VPID_CAP_INVVPID_SINGLE_GLOBALS BIT64(43)
#define MSR_IA32_VMX_TRUE_PINBASED_CTLS              0x48Du
#define MSR_IA32_VMX_TRUE_PROCBASED_CTLS             0x48Eu
#define MSR_IA32_VMX_TRUE_EXIT_CTLS                  0x48Fu
#define MSR_IA32_VMX_TRUE_ENTRY_CTLS                 0x490u
#define MSR_IA32_VMX_VMFUNC                          0x491u
#define MSR_IA32_VMX_LAST                            0x493u
#define MSR_IA32_RTIT_CTL                            0x570u /* CPUID.7.0:EBX[25] */
#define IA32_RTIT_CTL_TRACE_EN                       BIT64(0)
#define MSR_IA32_DS_AREA                             0x600u
#define MSR_IA32_TSC_DEADLINE                        0x6E0u
#define MSR_IA32_X2APIC_APICID                       0x802u
#define MSR_IA32_X2APIC_VERSION                      0x803u
#define MSR_IA32_X2APIC_TPR                          0x808u
#define MSR_IA32_X2APIC_EOI                          0x80Bu
#define MSR_IA32_X2APIC_LDR                          0x80Du
#define MSR_IA32_X2APIC_SIVR                         0x80Fu
#define MSR_IA32_X2APIC_ICR                          0x830u
#define MSR_IA32_X2APIC_LVT_PMI                      0x834u
#define MSR_IA32_X2APIC_SELF_IPI                     0x83Fu
#define MSR_IA32_X2APIC_LAST                         0x8FFu
#define MSR_IA32_XSS                                 0xDA0u
#define MSR_IA32_EFER                                0xC0000080u
#define IA32_EFER_SCE                                BIT64(0)
#define IA32_EFER_LME                                BIT64(8)
#define IA32_EFER_LMA                                BIT64(10)
#define IA32_EFER_NXE                                BIT64(11)
#define MSR_IA32_STAR                                0xC0000081u
#define MSR_IA32_LSTAR                               0xC0000082u
#define MSR_IA32_CSTAR                               0xC0000083u
#define MSR_IA32_FMASK                               0xC0000084u
#define MSR_IA32_FS_BASE                             0xC0000100u
#define MSR_IA32_GS_BASE                             0xC0000101u
#define MSR_IA32_KERNEL_GS_BASE                      0xC0000102u
#define MSR_IA32_TSC_AUX                             0xC0000103u

#endif
