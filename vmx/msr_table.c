/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/msr_table.h"

#include "core/compiler.h"
#include "core/msr.h"

/*
 * The MSRs that the guest may touch, sorted by number. SDM volume 4. A row whose MSR this processor
 * lacks does no harm: the processor raises #GP. Left out on purpose, so #GP: VMX (480h-493h), SMM
 * (9Bh, 9Eh, 1F2h), SGX (8Ch-8Fh), BTS and PEBS (3F1h, 3F2h, 600h), Processor Trace (560h-58Fh),
 * hardware feedback (17D0h-17D4h), remote action requests (EDh-F2h), microcode staging (7A5h), RDT
 * (C81h-D5Fh), PASID (D93h), user interrupts (985h-98Ah), PKRS (6E1h), architectural LBRs (14CEh,
 * 1200h-161Fh), hypervisor interfaces (40000000h).
 */

#define PASS(first, last, condition)                                            \
    {                                                                           \
        first, last, MSR_PASS, MSR_PASS, MSR_HANDLER_NONE, MSR_WHEN_##condition \
    }
#define READ_ONLY(first, last, condition)                                        \
    {                                                                            \
        first, last, MSR_PASS, MSR_FAULT, MSR_HANDLER_NONE, MSR_WHEN_##condition \
    }
#define RULE(first, last, read, write, handler, condition)                                \
    {                                                                                     \
        first, last, MSR_##read, MSR_##write, MSR_HANDLER_##handler, MSR_WHEN_##condition \
    }

const struct msr_row msr_rows[] = {
    PASS(MSR_IA32_P5_MC_ADDR, MSR_IA32_P5_MC_TYPE, ALWAYS),
    PASS(MSR_IA32_MONITOR_FILTER_SIZE, MSR_IA32_MONITOR_FILTER_SIZE, ALWAYS),
    RULE(MSR_IA32_TIME_STAMP_COUNTER, MSR_IA32_TIME_STAMP_COUNTER, PASS, EMULATE, TSC, ALWAYS),
    READ_ONLY(MSR_IA32_PLATFORM_ID, MSR_IA32_PLATFORM_ID, ALWAYS),
    RULE(MSR_IA32_APIC_BASE, MSR_IA32_APIC_BASE, EMULATE, EMULATE, APIC_BASE, ALWAYS),
    PASS(0x033, 0x033, ALWAYS),      /* MSR_TEST_CTRL: split-lock detection */
    READ_ONLY(0x034, 0x035, ALWAYS), /* MSR_SMI_COUNT, MSR_CORE_THREAD_COUNT */
    RULE(MSR_IA32_FEATURE_CONTROL, MSR_IA32_FEATURE_CONTROL, EMULATE, FAULT, FEATURE_CONTROL,
         ALWAYS),
    RULE(MSR_IA32_TSC_ADJUST, MSR_IA32_TSC_ADJUST, PASS, EMULATE, TSC_ADJUST, ALWAYS),
    PASS(MSR_IA32_SPEC_CTRL, MSR_IA32_PRED_CMD, ALWAYS),
    PASS(0x04E, 0x04F, ALWAYS), /* MSR_PPIN_CTL, MSR_PPIN */
    RULE(MSR_IA32_BIOS_UPDT_TRIG, MSR_IA32_BIOS_UPDT_TRIG, FAULT, EMULATE, SWALLOW, ALWAYS),
    PASS(MSR_IA32_BIOS_SIGN_ID, MSR_IA32_BIOS_SIGN_ID, ALWAYS),
    PASS(0x0BC, 0x0BC, ALWAYS),      /* IA32_MISC_PACKAGE_CTLS */
    READ_ONLY(0x0BD, 0x0BD, ALWAYS), /* IA32_XAPIC_DISABLE_STATUS */
    PASS(MSR_IA32_PMC0, 0x0C8, PMU),
    READ_ONLY(0x0CE, 0x0CF, ALWAYS), /* MSR_PLATFORM_INFO, IA32_CORE_CAPABILITIES */
    PASS(MSR_IA32_UMWAIT_CONTROL, MSR_IA32_UMWAIT_CONTROL, USER_WAIT),
    PASS(0x0E2, 0x0E2, ALWAYS),      /* MSR_PKG_CST_CONFIG_CONTROL */
    READ_ONLY(0x0E4, 0x0E4, ALWAYS), /* MSR_PMG_IO_CAPTURE_BASE */
    PASS(MSR_IA32_MPERF, MSR_IA32_APERF, ALWAYS),
    RULE(MSR_IA32_MTRRCAP, MSR_IA32_MTRRCAP, EMULATE, FAULT, MTRR, ALWAYS),
    RULE(MSR_IA32_ARCH_CAPABILITIES, MSR_IA32_ARCH_CAPABILITIES, EMULATE, FAULT, FILTER, ALWAYS),
    PASS(MSR_IA32_FLUSH_CMD, MSR_IA32_FLUSH_CMD, ALWAYS),
    PASS(0x10F, 0x10F, ALWAYS),      /* IA32_TSX_FORCE_ABORT */
    PASS(0x122, 0x123, ALWAYS),      /* IA32_TSX_CTRL, IA32_MCU_OPT_CTRL */
    READ_ONLY(0x13C, 0x13C, ALWAYS), /* MSR_FEATURE_CONFIG */
    PASS(0x140, 0x140, ALWAYS),      /* MSR_MISC_FEATURE_ENABLES: CPUID faulting */
    PASS(MSR_IA32_SYSENTER_CS, MSR_IA32_SYSENTER_EIP, ALWAYS),
    READ_ONLY(MSR_IA32_MCG_CAP, MSR_IA32_MCG_CAP, ALWAYS),
    PASS(MSR_IA32_MCG_STATUS, MSR_IA32_MCG_CTL, ALWAYS),
    PASS(0x17F, 0x17F, ALWAYS), /* MSR_ERROR_CONTROL */
    PASS(MSR_IA32_PERFEVTSEL0, 0x18D, PMU),
    READ_ONLY(MSR_IA32_PERF_STATUS, MSR_IA32_PERF_STATUS, ALWAYS),
    PASS(MSR_IA32_PERF_CTL, 0x19D, ALWAYS), /* performance state, clock modulation, thermal */
    RULE(MSR_IA32_MISC_ENABLE, MSR_IA32_MISC_ENABLE, EMULATE, EMULATE, FILTER, ALWAYS),
    READ_ONLY(0x1A2, 0x1A2, ALWAYS), /* MSR_TEMPERATURE_TARGET */
    PASS(0x1A4, 0x1A4, ALWAYS),      /* MSR_MISC_FEATURE_CONTROL: prefetchers */
    PASS(0x1A6, 0x1A7, PMU),         /* MSR_OFFCORE_RSP_0, _1 */
    PASS(0x1AA, 0x1AA, ALWAYS),      /* MSR_MISC_PWR_MGMT */
    PASS(0x1AC, 0x1AF, ALWAYS),      /* MSR_TURBO_POWER_CURRENT_LIMIT, MSR_TURBO_RATIO_LIMIT.. */
    PASS(MSR_IA32_ENERGY_PERF_BIAS, MSR_IA32_PACKAGE_THERM_INTERRUPT, ALWAYS),
    PASS(0x1C4, 0x1C5, ALWAYS), /* IA32_XFD, IA32_XFD_ERR: the guest's AMX state */
    PASS(0x1C8, 0x1C9, PMU),    /* MSR_LBR_SELECT, MSR_LASTBRANCH_TOS */
    RULE(MSR_IA32_DEBUGCTL, MSR_IA32_DEBUGCTL, PASS, EMULATE, DEBUGCTL, ALWAYS),
    PASS(0x1DB, 0x1DE, PMU),    /* last branch and last exception records */
    PASS(0x1F8, 0x1FA, ALWAYS), /* direct cache access */
    PASS(0x1FC, 0x1FC, ALWAYS), /* MSR_POWER_CTL */
    RULE(MSR_IA32_MTRR_PHYSBASE0, 0x21F, EMULATE, EMULATE, MTRR, ALWAYS),
    RULE(MSR_IA32_MTRR_FIX64K_00000, MSR_IA32_MTRR_FIX64K_00000, EMULATE, EMULATE, MTRR, ALWAYS),
    RULE(MSR_IA32_MTRR_FIX16K_80000, MSR_IA32_MTRR_FIX16K_A0000, EMULATE, EMULATE, MTRR, ALWAYS),
    RULE(MSR_IA32_MTRR_FIX4K_C0000, MSR_IA32_MTRR_FIX4K_F8000, EMULATE, EMULATE, MTRR, ALWAYS),
    PASS(MSR_IA32_PAT, MSR_IA32_PAT, ALWAYS), /* switched at entry and exit */
    PASS(0x280, 0x280, BANKS),                /* IA32_MC0_CTL2.. */
    RULE(MSR_IA32_MTRR_DEF_TYPE, MSR_IA32_MTRR_DEF_TYPE, EMULATE, EMULATE, MTRR, ALWAYS),
    PASS(0x309, 0x30F, PMU), /* IA32_FIXED_CTR0.. */
    PASS(0x329, 0x329, PMU), /* MSR_PERF_METRICS */
    RULE(MSR_IA32_PERF_CAPABILITIES, MSR_IA32_PERF_CAPABILITIES, EMULATE, FAULT, FILTER, ALWAYS),
    PASS(MSR_IA32_FIXED_CTR_CTRL, 0x392,
         PMU),                       /* control, status, global control and its set/reset */
    PASS(0x3F6, 0x3F7, PMU),         /* MSR_PEBS_LD_LAT, MSR_PEBS_FRONTEND: event selection only */
    READ_ONLY(0x3F8, 0x3FF, ALWAYS), /* C-state residencies */
    PASS(MSR_IA32_MC0_CTL, MSR_IA32_MC0_CTL, BANKS_4),
    PASS(0x4C1, 0x4C8, PMU),         /* IA32_A_PMC0.. */
    READ_ONLY(0x601, 0x609, ALWAYS), /* power units, VR limits */
    PASS(0x60A, 0x60C, ALWAYS),      /* MSR_PKGC3_IRTL.. */
    READ_ONLY(0x60D, 0x60F, ALWAYS),
    PASS(0x610, 0x610, ALWAYS),      /* MSR_PKG_POWER_LIMIT */
    READ_ONLY(0x611, 0x617, ALWAYS), /* package energy and power information */
    PASS(0x618, 0x618, ALWAYS),      /* MSR_DRAM_POWER_LIMIT */
    READ_ONLY(0x619, 0x61F, ALWAYS),
    PASS(0x620, 0x620, ALWAYS), /* MSR_UNCORE_RATIO_LIMIT */
    READ_ONLY(0x621, 0x637, ALWAYS),
    PASS(0x638, 0x638, ALWAYS), /* MSR_PP0_POWER_LIMIT */
    READ_ONLY(0x639, 0x639, ALWAYS),
    PASS(0x63A, 0x63A, ALWAYS), /* MSR_PP0_POLICY */
    READ_ONLY(0x63B, 0x63F, ALWAYS),
    PASS(0x640, 0x640, ALWAYS), /* MSR_PP1_POWER_LIMIT */
    READ_ONLY(0x641, 0x641, ALWAYS),
    PASS(0x642, 0x642, ALWAYS), /* MSR_PP1_POLICY */
    READ_ONLY(0x643, 0x64A, ALWAYS),
    PASS(0x64B, 0x64C, ALWAYS), /* MSR_CONFIG_TDP_CONTROL, MSR_TURBO_ACTIVATION_RATIO */
    READ_ONLY(0x64D, 0x65B, ALWAYS),
    PASS(0x65C, 0x65C, ALWAYS), /* MSR_PLATFORM_POWER_LIMIT */
    READ_ONLY(0x65D, 0x67F, ALWAYS),
    PASS(0x680, 0x69F, PMU),         /* last branch records, from */
    PASS(0x6A0, 0x6A0, CET),         /* IA32_U_CET */
    PASS(0x6A2, 0x6A2, CET),         /* IA32_S_CET */
    PASS(0x6A4, 0x6A8, CET),         /* IA32_PL0_SSP.., IA32_INTERRUPT_SSP_TABLE_ADDR */
    READ_ONLY(0x6B0, 0x6B1, ALWAYS), /* performance limit reasons */
    PASS(0x6C0, 0x6DF, PMU),         /* last branch records, to */
    PASS(MSR_IA32_TSC_DEADLINE, MSR_IA32_TSC_DEADLINE, ALWAYS),
    PASS(0x770, 0x777, ALWAYS), /* hardware-controlled performance states */
    PASS(MSR_IA32_X2APIC_APICID, 0x82F, X2APIC),
    RULE(MSR_IA32_X2APIC_ICR, MSR_IA32_X2APIC_ICR, EMULATE, EMULATE, X2APIC_ICR, X2APIC),
    PASS(0x832, MSR_IA32_X2APIC_SELF_IPI, X2APIC),
    READ_ONLY(0x981, 0x982, ALWAYS), /* IA32_TME_CAPABILITY, IA32_TME_ACTIVATE */
    RULE(MSR_IA32_XSS, MSR_IA32_XSS, EMULATE, EMULATE, FILTER, XSAVES),
    PASS(0xDC0, 0xDDF, PMU),                     /* last branch records, information */
    PASS(0x1B01, 0x1B01, ALWAYS),                /* IA32_UARCH_MISC_CTL */
    PASS(MSR_IA32_EFER, MSR_IA32_FMASK, ALWAYS), /* EFER is switched at entry and exit */
    PASS(MSR_IA32_FS_BASE, MSR_IA32_TSC_AUX, ALWAYS),
};

const unsigned int msr_row_count = ARRAY_LEN(msr_rows);
