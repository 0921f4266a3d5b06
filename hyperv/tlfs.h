/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HYPERV_TLFS_H
#define HYPERV_TLFS_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/bits.h"
#include "core/compiler.h"

/*
 * Numbers and structures of the Hypervisor Top Level Functional Specification, under its names.
 * What starts with hv_ or HV_ stands in the TLFS; what is ours starts with hyperv_ or flush_.
 */

/* TLFS "Feature and Interface Discovery": CPUID leaves. */
#define HV_CPUID_VENDOR_AND_MAX_FUNCTION 0x40000000u
#define HV_CPUID_INTERFACE               0x40000001u
#define HV_CPUID_VERSION                 0x40000002u
#define HV_CPUID_FEATURES                0x40000003u
#define HV_CPUID_ENLIGHTENMENT_INFO      0x40000004u
#define HV_CPUID_IMPLEMENTATION_LIMITS   0x40000005u
#define HV_CPUID_HARDWARE_FEATURES       0x40000006u

#define HV_VENDOR_EBX          0x7263694Du /* "Micr" */
#define HV_VENDOR_ECX          0x666F736Fu /* "osof" */
#define HV_VENDOR_EDX          0x76482074u /* "t Hv" */
#define HV_INTERFACE_SIGNATURE 0x31237648u /* "Hv#1" */

/* HV_PARTITION_PRIVILEGE_MASK: leaf 3 EAX (31:0) and EBX (63:32). */
#define HV_ACCESS_VP_RUNTIME_REG              BIT64(0)
#define HV_ACCESS_PARTITION_REFERENCE_COUNTER BIT64(1)
#define HV_ACCESS_SYNIC_REGS                  BIT64(2)
#define HV_ACCESS_SYNTHETIC_TIMER_REGS        BIT64(3)
#define HV_ACCESS_INTR_CTRL_REGS              BIT64(4)
#define HV_ACCESS_HYPERCALL_MSRS              BIT64(5)
#define HV_ACCESS_VP_INDEX                    BIT64(6)
#define HV_ACCESS_RESET_REG                   BIT64(7)
#define HV_ACCESS_PARTITION_REFERENCE_TSC     BIT64(9)
#define HV_ACCESS_FREQUENCY_REGS              BIT64(11)
#define HV_ACCESS_TSC_INVARIANT_CONTROLS      BIT64(15)
#define HV_POST_MESSAGES                      BIT64(32 + 4)
#define HV_SIGNAL_EVENTS                      BIT64(32 + 5)
#define HV_ENABLE_EXTENDED_GVA_RANGES         BIT64(32 + 15)
#define HV_ENABLE_EXTENDED_HYPERCALLS         BIT64(32 + 20)

/* Leaf 3 EDX. */
#define HV_FEATURE_XMM_HYPERCALL_INPUT BIT32(4)
#define HV_FEATURE_FREQUENCY_REGS      BIT32(8)
#define HV_FEATURE_EXTENDED_GVA_RANGES BIT32(14)
#define HV_FEATURE_HYPERCALL_MSR_LOCK  BIT32(18)

/* Leaf 4 EAX. */
#define HV_RECOMMEND_REMOTE_TLB_FLUSH   BIT32(2)
#define HV_RECOMMEND_CLUSTER_IPI        BIT32(10)
#define HV_RECOMMEND_EX_PROCESSOR_MASKS BIT32(11)
/* Leaf 4 EBX: never call HvCallNotifyLongSpinWait. */
#define HV_SPINLOCK_RETRIES_NEVER 0xFFFFFFFFu

/* Leaf 6 EAX. */
#define HV_HARDWARE_MSR_BITMAPS              BIT32(1)
#define HV_HARDWARE_SECOND_LEVEL_TRANSLATION BIT32(3)

/* TLFS "Virtual Processor": synthetic MSRs. */
#define HV_X64_MSR_FIRST                 0x40000000u
#define HV_X64_MSR_LAST                  0x400FFFFFu
#define HV_X64_MSR_GUEST_OS_ID           0x40000000u
#define HV_X64_MSR_HYPERCALL             0x40000001u
#define HV_X64_MSR_VP_INDEX              0x40000002u
#define HV_X64_MSR_RESET                 0x40000003u
#define HV_X64_MSR_VP_RUNTIME            0x40000010u
#define HV_X64_MSR_TIME_REF_COUNT        0x40000020u
#define HV_X64_MSR_REFERENCE_TSC         0x40000021u
#define HV_X64_MSR_TSC_FREQUENCY         0x40000022u
#define HV_X64_MSR_APIC_FREQUENCY        0x40000023u
#define HV_X64_MSR_EOI                   0x40000070u
#define HV_X64_MSR_ICR                   0x40000071u
#define HV_X64_MSR_TPR                   0x40000072u
#define HV_X64_MSR_VP_ASSIST_PAGE        0x40000073u
#define HV_X64_MSR_TSC_INVARIANT_CONTROL 0x40000118u

/* HYPERCALL, REFERENCE_TSC and VP_ASSIST_PAGE share bit 0 and the frame number. */
#define HV_X64_MSR_PAGE_ENABLE       BIT64(0)
#define HV_X64_MSR_HYPERCALL_LOCKED  BIT64(1)
#define HV_X64_MSR_PAGE_ADDRESS_MASK MASK64(63, 12)
#define HV_X64_MSR_RESET_NOW         BIT64(0)
#define HV_X64_MSR_TSC_INVARIANT_ON  BIT64(0)

/* TLFS "Partition Reference Time Enlightenment". The guest reads it at any time: atomics. */
struct hv_reference_tsc_page {
    _Atomic uint32_t tsc_sequence; /* 0: not valid, use TIME_REF_COUNT */
    uint32_t reserved1;
    _Atomic uint64_t tsc_scale;
    _Atomic int64_t tsc_offset;
    uint64_t reserved2[509];
};
STATIC_ASSERT(sizeof(struct hv_reference_tsc_page) == 4096);

#define HV_REFERENCE_TSC_SEQUENCE_INVALID     0u
#define HV_REFERENCE_TSC_SEQUENCE_INVALID_OLD 0xFFFFFFFFu /* in older text */
#define HV_REFERENCE_TIME_HZ                  10000000ull

/* TLFS "Hypercall Interface", appendix "Hypercall Status Codes". */
typedef uint16_t hv_status_t;
#define HV_STATUS_SUCCESS                 ((hv_status_t)0x0000)
#define HV_STATUS_INVALID_HYPERCALL_CODE  ((hv_status_t)0x0002)
#define HV_STATUS_INVALID_HYPERCALL_INPUT ((hv_status_t)0x0003)
#define HV_STATUS_INVALID_ALIGNMENT       ((hv_status_t)0x0004)
#define HV_STATUS_INVALID_PARAMETER       ((hv_status_t)0x0005)
#define HV_STATUS_ACCESS_DENIED           ((hv_status_t)0x0006)

/* Hypercall input value. Bit 31 (for the hypervisor below us) is reserved here. */
#define HV_HYPERCALL_FAST           BIT64(16)
#define HV_HYPERCALL_RESERVED_BITS  (MASK64(31, 27) | MASK64(47, 44) | MASK64(63, 60))
#define HV_HYPERCALL_REP_SHIFT      32u
#define HV_HYPERCALL_FAST_MAX_BYTES 112u /* two registers and XMM0-XMM5 */

/* HV_FLUSH_FLAGS. */
#define HV_FLUSH_ALL_PROCESSORS             BIT64(0)
#define HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES BIT64(1)
#define HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY   BIT64(2)
#define HV_FLUSH_USE_EXTENDED_RANGE_FORMAT  BIT64(3)

/* HV_VP_SET. */
#define HV_GENERIC_SET_SPARSE_4K 0u
#define HV_GENERIC_SET_ALL       1u
#define HV_VP_SET_BANKS          64u
#define HV_VP_SET_BANK_VPS       64u
#define HV_VP_SET_MAX_VPS        (HV_VP_SET_BANKS * HV_VP_SET_BANK_VPS)

/* Fixed headers of HvCallFlushVirtualAddressSpace/List and of their Ex forms. */
struct hv_input_flush_virtual_address {
    uint64_t address_space;
    uint64_t flags;
    uint64_t processor_mask;
};
STATIC_ASSERT(sizeof(struct hv_input_flush_virtual_address) == 24);

struct hv_input_flush_virtual_address_ex {
    uint64_t address_space;
    uint64_t flags;
    uint64_t format;
    uint64_t valid_bank_mask;
};
STATIC_ASSERT(sizeof(struct hv_input_flush_virtual_address_ex) == 32);

#endif
