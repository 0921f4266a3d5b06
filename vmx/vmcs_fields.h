/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMCS_FIELDS_H
#define VMX_VMCS_FIELDS_H

#include "core/bits.h"

/*
 * VMCS field encodings, one enum type per width, so that an accessor of the wrong width does not
 * compile, and the bits of the control and event fields. Names: SDM volume 3, appendix "Field
 * Encoding in VMCS" and chapter "Virtual Machine Control Structures".
 */

/* VMCS_LIST_w_v: what the list of width w makes of a field of width v. */
#define VMCS_LIST_16_16(name, encoding) VMCS_##name = (encoding),
#define VMCS_LIST_16_32(name, encoding)
#define VMCS_LIST_16_64(name, encoding)
#define VMCS_LIST_16_NATURAL(name, encoding)

#define VMCS_LIST_32_16(name, encoding)
#define VMCS_LIST_32_32(name, encoding) VMCS_##name = (encoding),
#define VMCS_LIST_32_64(name, encoding)
#define VMCS_LIST_32_NATURAL(name, encoding)

#define VMCS_LIST_64_16(name, encoding)
#define VMCS_LIST_64_32(name, encoding)
#define VMCS_LIST_64_64(name, encoding) VMCS_##name = (encoding),
#define VMCS_LIST_64_NATURAL(name, encoding)

#define VMCS_LIST_NATURAL_16(name, encoding)
#define VMCS_LIST_NATURAL_32(name, encoding)
#define VMCS_LIST_NATURAL_64(name, encoding)
#define VMCS_LIST_NATURAL_NATURAL(name, encoding) VMCS_##name = (encoding),

enum vmcs_field16 {
#define VMCS_FIELD(width, name, encoding) VMCS_LIST_16_##width(name, encoding)
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
};

enum vmcs_field32 {
#define VMCS_FIELD(width, name, encoding) VMCS_LIST_32_##width(name, encoding)
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
};

enum vmcs_field64 {
#define VMCS_FIELD(width, name, encoding) VMCS_LIST_64_##width(name, encoding)
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
};

enum vmcs_field_natural {
#define VMCS_FIELD(width, name, encoding) VMCS_LIST_NATURAL_##width(name, encoding)
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
};

/* Pin-based VM-execution controls. */
#define PIN_EXTERNAL_INTERRUPT_EXITING    BIT32(0)
#define PIN_NMI_EXITING                   BIT32(3)
#define PIN_VIRTUAL_NMIS                  BIT32(5)
#define PIN_ACTIVATE_VMX_PREEMPTION_TIMER BIT32(6)
#define PIN_PROCESS_POSTED_INTERRUPTS     BIT32(7)

/* Primary processor-based VM-execution controls. */
#define PROC_INTERRUPT_WINDOW_EXITING    BIT32(2)
#define PROC_USE_TSC_OFFSETTING          BIT32(3)
#define PROC_HLT_EXITING                 BIT32(7)
#define PROC_INVLPG_EXITING              BIT32(9)
#define PROC_MWAIT_EXITING               BIT32(10)
#define PROC_RDPMC_EXITING               BIT32(11)
#define PROC_RDTSC_EXITING               BIT32(12)
#define PROC_CR3_LOAD_EXITING            BIT32(15)
#define PROC_CR3_STORE_EXITING           BIT32(16)
#define PROC_ACTIVATE_TERTIARY_CONTROLS  BIT32(17)
#define PROC_CR8_LOAD_EXITING            BIT32(19)
#define PROC_CR8_STORE_EXITING           BIT32(20)
#define PROC_USE_TPR_SHADOW              BIT32(21)
#define PROC_NMI_WINDOW_EXITING          BIT32(22)
#define PROC_MOV_DR_EXITING              BIT32(23)
#define PROC_UNCONDITIONAL_IO_EXITING    BIT32(24)
#define PROC_USE_IO_BITMAPS              BIT32(25)
#define PROC_MONITOR_TRAP_FLAG           BIT32(27)
#define PROC_USE_MSR_BITMAPS             BIT32(28)
#define PROC_MONITOR_EXITING             BIT32(29)
#define PROC_PAUSE_EXITING               BIT32(30)
#define PROC_ACTIVATE_SECONDARY_CONTROLS BIT32(31)

/* Secondary processor-based VM-execution controls. */
#define PROC2_VIRTUALIZE_APIC_ACCESSES         BIT32(0)
#define PROC2_ENABLE_EPT                       BIT32(1)
#define PROC2_DESCRIPTOR_TABLE_EXITING         BIT32(2)
#define PROC2_ENABLE_RDTSCP                    BIT32(3)
#define PROC2_VIRTUALIZE_X2APIC_MODE           BIT32(4)
#define PROC2_ENABLE_VPID                      BIT32(5)
#define PROC2_WBINVD_EXITING                   BIT32(6)
#define PROC2_UNRESTRICTED_GUEST               BIT32(7)
#define PROC2_APIC_REGISTER_VIRTUALIZATION     BIT32(8)
#define PROC2_VIRTUAL_INTERRUPT_DELIVERY       BIT32(9)
#define PROC2_PAUSE_LOOP_EXITING               BIT32(10)
#define PROC2_RDRAND_EXITING                   BIT32(11)
#define PROC2_ENABLE_INVPCID                   BIT32(12)
#define PROC2_ENABLE_VM_FUNCTIONS              BIT32(13)
#define PROC2_VMCS_SHADOWING                   BIT32(14)
#define PROC2_ENABLE_ENCLS_EXITING             BIT32(15)
#define PROC2_RDSEED_EXITING                   BIT32(16)
#define PROC2_ENABLE_PML                       BIT32(17)
#define PROC2_EPT_VIOLATION_VE                 BIT32(18)
#define PROC2_CONCEAL_VMX_FROM_PT              BIT32(19)
#define PROC2_ENABLE_XSAVES_XRSTORS            BIT32(20)
#define PROC2_PASID_TRANSLATION                BIT32(21)
#define PROC2_MODE_BASED_EXECUTE_CONTROL       BIT32(22)
#define PROC2_SUB_PAGE_WRITE_PERMISSIONS       BIT32(23)
#define PROC2_PT_USES_GUEST_PHYSICAL_ADDRESSES BIT32(24)
#define PROC2_USE_TSC_SCALING                  BIT32(25)
#define PROC2_ENABLE_USER_WAIT_AND_PAUSE       BIT32(26)
#define PROC2_ENABLE_PCONFIG                   BIT32(27)
#define PROC2_ENABLE_ENCLV_EXITING             BIT32(28)
#define PROC2_VMM_BUS_LOCK_DETECTION           BIT32(30)
#define PROC2_INSTRUCTION_TIMEOUT              BIT32(31)

/* Primary VM-exit controls. */
#define EXIT_SAVE_DEBUG_CONTROLS             BIT32(2)
#define EXIT_HOST_ADDRESS_SPACE_SIZE         BIT32(9)
#define EXIT_LOAD_IA32_PERF_GLOBAL_CTRL      BIT32(12)
#define EXIT_ACKNOWLEDGE_INTERRUPT_ON_EXIT   BIT32(15)
#define EXIT_SAVE_IA32_PAT                   BIT32(18)
#define EXIT_LOAD_IA32_PAT                   BIT32(19)
#define EXIT_SAVE_IA32_EFER                  BIT32(20)
#define EXIT_LOAD_IA32_EFER                  BIT32(21)
#define EXIT_SAVE_VMX_PREEMPTION_TIMER_VALUE BIT32(22)
#define EXIT_CLEAR_IA32_BNDCFGS              BIT32(23)
#define EXIT_CONCEAL_VMX_FROM_PT             BIT32(24)
#define EXIT_CLEAR_IA32_RTIT_CTL             BIT32(25)
#define EXIT_CLEAR_IA32_LBR_CTL              BIT32(26)
#define EXIT_CLEAR_UINV                      BIT32(27)
#define EXIT_LOAD_CET_STATE                  BIT32(28)
#define EXIT_LOAD_PKRS                       BIT32(29)
#define EXIT_SAVE_IA32_PERF_GLOBAL_CTRL      BIT32(30)
#define EXIT_ACTIVATE_SECONDARY_CONTROLS     BIT32(31)

/* VM-entry controls. */
#define ENTRY_LOAD_DEBUG_CONTROLS               BIT32(2)
#define ENTRY_IA32E_MODE_GUEST                  BIT32(9)
#define ENTRY_TO_SMM                            BIT32(10)
#define ENTRY_DEACTIVATE_DUAL_MONITOR_TREATMENT BIT32(11)
#define ENTRY_LOAD_IA32_PERF_GLOBAL_CTRL        BIT32(13)
#define ENTRY_LOAD_IA32_PAT                     BIT32(14)
#define ENTRY_LOAD_IA32_EFER                    BIT32(15)
#define ENTRY_LOAD_IA32_BNDCFGS                 BIT32(16)
#define ENTRY_CONCEAL_VMX_FROM_PT               BIT32(17)
#define ENTRY_LOAD_IA32_RTIT_CTL                BIT32(18)
#define ENTRY_LOAD_UINV                         BIT32(19)
#define ENTRY_LOAD_CET_STATE                    BIT32(20)
#define ENTRY_LOAD_IA32_LBR_CTL                 BIT32(21)
#define ENTRY_LOAD_PKRS                         BIT32(22)
#define ENTRY_LOAD_FRED                         BIT32(23)

/* Interruption information: VM-entry, VM-exit and IDT-vectoring fields share the layout. */
#define INTERRUPTION_VECTOR_MASK      0xFFu
#define INTERRUPTION_TYPE_SHIFT       8u
#define INTERRUPTION_TYPE_MASK        0x700u
#define INTERRUPTION_ERROR_CODE_VALID BIT32(11) /* VM entry: deliver error code */
#define INTERRUPTION_NMI_UNBLOCKING   BIT32(12) /* VM exit only: NMI unblocking due to IRET */
#define INTERRUPTION_VALID            BIT32(31)

enum interruption_type {
    INTERRUPTION_EXTERNAL_INTERRUPT = 0,
    INTERRUPTION_RESERVED = 1,
    INTERRUPTION_NMI = 2,
    INTERRUPTION_HARDWARE_EXCEPTION = 3,
    INTERRUPTION_SOFTWARE_INTERRUPT = 4,
    INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION = 5, /* INT1 */
    INTERRUPTION_SOFTWARE_EXCEPTION = 6,            /* INT3, INTO */
    INTERRUPTION_OTHER_EVENT = 7, /* VM entry: MTF; else SYSCALL, SYSENTER (FRED) */
};

enum exception_vector {
    EXCEPTION_DE = 0,
    EXCEPTION_DB = 1,
    EXCEPTION_NMI = 2,
    EXCEPTION_BP = 3,
    EXCEPTION_OF = 4,
    EXCEPTION_BR = 5,
    EXCEPTION_UD = 6,
    EXCEPTION_NM = 7,
    EXCEPTION_DF = 8,
    EXCEPTION_TS = 10,
    EXCEPTION_NP = 11,
    EXCEPTION_SS = 12,
    EXCEPTION_GP = 13,
    EXCEPTION_PF = 14,
    EXCEPTION_MF = 16,
    EXCEPTION_AC = 17,
    EXCEPTION_MC = 18,
    EXCEPTION_XM = 19,
    EXCEPTION_VE = 20,
    EXCEPTION_CP = 21,
};

enum activity_state {
    ACTIVITY_ACTIVE = 0,
    ACTIVITY_HLT = 1,
    ACTIVITY_SHUTDOWN = 2,
    ACTIVITY_WAIT_FOR_SIPI = 3,
};

#define INTERRUPTIBILITY_BLOCKING_BY_STI      BIT32(0)
#define INTERRUPTIBILITY_BLOCKING_BY_MOV_SS   BIT32(1)
#define INTERRUPTIBILITY_BLOCKING_BY_SMI      BIT32(2)
#define INTERRUPTIBILITY_BLOCKING_BY_NMI      BIT32(3)
#define INTERRUPTIBILITY_ENCLAVE_INTERRUPTION BIT32(4)

/* Segment access rights, the format of the guest-state fields. */
#define ACCESS_RIGHTS_TYPE_MASK  0xFu
#define ACCESS_RIGHTS_CONFORMING BIT32(2) /* of code */
#define ACCESS_RIGHTS_S          BIT32(4)
#define ACCESS_RIGHTS_DPL_SHIFT  5u
#define ACCESS_RIGHTS_DPL_MASK   0x60u
#define ACCESS_RIGHTS_P          BIT32(7)
#define ACCESS_RIGHTS_AVL        BIT32(12)
#define ACCESS_RIGHTS_L          BIT32(13)
#define ACCESS_RIGHTS_DB         BIT32(14)
#define ACCESS_RIGHTS_G          BIT32(15)
#define ACCESS_RIGHTS_UNUSABLE   BIT32(16)

/* EPT pointer. */
#define EPTP_MEMORY_TYPE_UC        0ull
#define EPTP_MEMORY_TYPE_WB        6ull
#define EPTP_WALK_LENGTH_SHIFT     3u /* the field holds the number of levels minus one */
#define EPTP_ENABLE_ACCESSED_DIRTY BIT64(6)

#endif
