/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/vmcs_setup.h"

#include "core/cpuid_bits.h"
#include "core/cr_bits.h"
#include "core/idt.h"
#include "core/msr.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/* PAT as after reset: entry 0 is write-back, which is all that our page tables use. */
#define PAT_RESET           0x0007040600070406ull
#define PAGE_OF_IO_BITMAP_B 4096u
#define NO_LINK             ~0ull

/*
 * #AC and #DB are taken and given back: a guest can make their delivery raise them again without
 * end, inside the processor, where no NMI gets through and a kick would wait for ever.
 */
#define EXCEPTIONS_TAKEN (BIT32(VECTOR_AC) | BIT32(VECTOR_DB))

static void setup_execution_controls(const struct partition *partition, const struct vcpu *vcpu)
{
    const struct vmx_controls *controls = &partition->controls;
    const uint8_t *msr_bitmap =
        vmx_state_is_x2apic(vcpu->vmx) ? partition->msr_bitmap_x2apic : partition->msr_bitmap_xapic;

    vmcs_write32(VMCS_PIN_BASED_VM_EXECUTION_CONTROLS, controls->pin);
    vmcs_write32(VMCS_PRIMARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS, controls->proc);
    vmcs_write32(VMCS_SECONDARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS, controls->proc2);
    vmcs_write32(VMCS_EXCEPTION_BITMAP, EXCEPTIONS_TAKEN);
    vmcs_write32(VMCS_PAGE_FAULT_ERROR_CODE_MASK, 0);
    vmcs_write32(VMCS_PAGE_FAULT_ERROR_CODE_MATCH, 0);
    vmcs_write32(VMCS_CR3_TARGET_COUNT, 0);
    vmcs_write64(VMCS_IO_BITMAP_A_ADDRESS, (uint64_t)(uintptr_t)partition->io_bitmaps);
    vmcs_write64(VMCS_IO_BITMAP_B_ADDRESS,
                 (uint64_t)(uintptr_t)partition->io_bitmaps + PAGE_OF_IO_BITMAP_B);
    vmcs_write64(VMCS_MSR_BITMAP_ADDRESS, (uint64_t)(uintptr_t)msr_bitmap);
    vmcs_write64(VMCS_EPT_POINTER, vcpu->vmx->eptp);
    vmcs_write16(VMCS_VPID, vcpu->vmx->vpid);
    if ((controls->proc2 & PROC2_ENABLE_XSAVES_XRSTORS) != 0) {
        vmcs_write64(VMCS_XSS_EXITING_BITMAP, 0);
    }
    vmcs_write64(VMCS_VMCS_LINK_POINTER, NO_LINK);
}

static void setup_entry_exit_controls(const struct partition *partition)
{
    vmcs_write32(VMCS_PRIMARY_VM_EXIT_CONTROLS, partition->controls.exit);
    vmcs_write32(VMCS_VM_EXIT_MSR_STORE_COUNT, 0);
    vmcs_write32(VMCS_VM_EXIT_MSR_LOAD_COUNT, 0);
    vmcs_write32(VMCS_VM_ENTRY_CONTROLS, partition->controls.entry | ENTRY_IA32E_MODE_GUEST);
    vmcs_write32(VMCS_VM_ENTRY_MSR_LOAD_COUNT, 0);
    vmcs_write32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION, 0);
}

void vmcs_setup_controls(const struct partition *partition, const struct vcpu *vcpu)
{
    setup_execution_controls(partition, vcpu);
    setup_entry_exit_controls(partition);
}

/* CR4 of root mode: what our code needs and nothing that the firmware may have switched on. MCE, or
 * a machine check shuts the processor down; OSFXSR, to read the XMM registers of fast hypercalls;
 * OSXSAVE, for XSETBV on the guest's behalf. */
static uint64_t host_cr4(void)
{
    uint64_t cr4 = CR4_PAE | CR4_OSFXSR | CR4_VMXE | cpu_read_msr(MSR_IA32_VMX_CR4_FIXED0);
    uint32_t eax, ebx, ecx, edx;

    cpu_cpuid(1, 0, &eax, &ebx, &ecx, &edx);
    if ((ecx & CPUID_1_ECX_XSAVE) != 0) {
        cr4 |= CR4_OSXSAVE;
    }
    if ((edx & CPUID_1_EDX_MCE) != 0) {
        cr4 |= CR4_MCE;
    }
    return cr4;
}

static void setup_host_segments(const struct lp *lp, const struct host_environment *environment)
{
    vmcs_write16(VMCS_HOST_CS_SELECTOR, LP_SELECTOR_CODE);
    vmcs_write16(VMCS_HOST_SS_SELECTOR, LP_SELECTOR_DATA);
    vmcs_write16(VMCS_HOST_DS_SELECTOR, LP_SELECTOR_DATA);
    vmcs_write16(VMCS_HOST_ES_SELECTOR, LP_SELECTOR_DATA);
    vmcs_write16(VMCS_HOST_FS_SELECTOR, 0);
    vmcs_write16(VMCS_HOST_GS_SELECTOR, 0);
    vmcs_write16(VMCS_HOST_TR_SELECTOR, LP_SELECTOR_TSS);
    vmcs_write(VMCS_HOST_FS_BASE, 0);
    vmcs_write(VMCS_HOST_GS_BASE, (uint64_t)(uintptr_t)lp);
    vmcs_write(VMCS_HOST_TR_BASE, (uint64_t)(uintptr_t)&lp->tss);
    vmcs_write(VMCS_HOST_GDTR_BASE, (uint64_t)(uintptr_t)lp->gdt);
    vmcs_write(VMCS_HOST_IDTR_BASE, environment->idt);
}

void vmcs_setup_host(const struct lp *lp, const struct host_environment *environment)
{
    setup_host_segments(lp, environment);
    vmcs_write(VMCS_HOST_CR0, CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG);
    vmcs_write(VMCS_HOST_CR3, environment->cr3);
    vmcs_write(VMCS_HOST_CR4, host_cr4());
    vmcs_write64(VMCS_HOST_IA32_PAT, PAT_RESET);
    vmcs_write64(VMCS_HOST_IA32_EFER, IA32_EFER_LME | IA32_EFER_LMA | IA32_EFER_NXE);
    vmcs_write32(VMCS_HOST_IA32_SYSENTER_CS, 0);
    vmcs_write(VMCS_HOST_IA32_SYSENTER_ESP, 0);
    vmcs_write(VMCS_HOST_IA32_SYSENTER_EIP, 0);
    vmcs_write(VMCS_HOST_RSP, lp->stack_top);
    vmcs_write(VMCS_HOST_RIP, environment->exit_entry);
}
