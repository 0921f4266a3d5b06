/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/guest_state.h"

#include "core/cpu.h"
#include "core/cr_bits.h"
#include "core/msr.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

/* CR0 bits that are ours: caching is steered by EPT types alone, NE must be 1 in VMX operation. */
#define CR0_OWNED (CR0_CD | CR0_NW | CR0_NE)

#define ACCESS_CODE_16  0x9Bu /* present, code, readable, accessed */
#define ACCESS_DATA_16  0x93u /* present, data, writable, accessed */
#define ACCESS_LDT      0x82u
#define ACCESS_TSS_BUSY 0x8Bu

#define REAL_MODE_LIMIT 0xFFFFu
#define RESET_SELECTOR  0xF000u
#define RESET_CS_BASE   0xFFFF0000u
#define RESET_RIP       0xFFF0u

/* The VMCS fields of a segment register lie 2 apart from those of the next (SDM, appendix "Field
 * Encoding in VMCS"). */
enum segment { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_LDTR, SEG_TR };

static void write_segment(enum segment segment, uint16_t selector, uint64_t base, uint32_t limit,
                          uint32_t access)
{
    uint32_t step = (uint32_t)segment * 2;

    vmcs_write_raw(VMCS_GUEST_ES_SELECTOR + step, selector);
    vmcs_write_raw(VMCS_GUEST_ES_BASE + step, base);
    vmcs_write_raw(VMCS_GUEST_ES_LIMIT + step, limit);
    vmcs_write_raw(VMCS_GUEST_ES_ACCESS_RIGHTS + step, access);
}

static uint64_t descriptor_base(const struct cpu_descriptor_table *gdt, uint16_t selector)
{
    const uint64_t *entry = (const uint64_t *)(uintptr_t)(gdt->base + (selector & ~7u));
    uint64_t base = bits_get(entry[0], 39, 16) | (bits_get(entry[0], 63, 56) << 24);

    return base | (entry[1] << 32);
}

/* In 64-bit mode the base of ES, CS, SS and DS is not used; FS and GS have theirs in MSRs. */
static void capture_segment(enum segment segment, uint16_t selector, uint64_t base)
{
    uint32_t rights = cpu_load_access_rights(selector);

    if ((selector & 0xFFFC) == 0 || rights == 0) {
        write_segment(segment, selector, base, 0, ACCESS_RIGHTS_UNUSABLE);
        return;
    }
    write_segment(segment, selector, base, cpu_load_segment_limit(selector),
                  (rights >> 8) & 0xF0FF);
}

static void capture_system_segments(void)
{
    struct cpu_descriptor_table gdt;
    struct cpu_descriptor_table idt;
    uint16_t ldt = cpu_store_ldt();
    uint16_t tr = cpu_store_task_register();

    cpu_store_gdt(&gdt);
    cpu_store_idt(&idt);
    vmcs_write(VMCS_GUEST_GDTR_BASE, gdt.base);
    vmcs_write32(VMCS_GUEST_GDTR_LIMIT, gdt.limit);
    vmcs_write(VMCS_GUEST_IDTR_BASE, idt.base);
    vmcs_write32(VMCS_GUEST_IDTR_LIMIT, idt.limit);
    capture_segment(SEG_LDTR, ldt, (ldt & 0xFFFC) == 0 ? 0 : descriptor_base(&gdt, ldt));
    if ((tr & 0xFFFC) == 0 || cpu_load_access_rights(tr) == 0) {
        /* Firmware loads no task register, and leave.asm leaves one that no GDT reaches; VM
         * entry wants a usable one. */
        write_segment(SEG_TR, 0, 0, REAL_MODE_LIMIT, ACCESS_TSS_BUSY);
        return;
    }
    capture_segment(SEG_TR, tr, descriptor_base(&gdt, tr));
}

static void capture_segments(void)
{
    capture_segment(SEG_ES, cpu_read_es(), 0);
    capture_segment(SEG_CS, cpu_read_cs(), 0);
    capture_segment(SEG_SS, cpu_read_ss(), 0);
    capture_segment(SEG_DS, cpu_read_ds(), 0);
    capture_segment(SEG_FS, cpu_read_fs(), cpu_read_msr(MSR_IA32_FS_BASE));
    capture_segment(SEG_GS, cpu_read_gs(), cpu_read_msr(MSR_IA32_GS_BASE));
    capture_system_segments();
}

static void write_cr4(const struct partition *partition, uint64_t value)
{
    uint64_t must_be_1 = caps_guest_cr4_must_be_1(&partition->controls);

    vmcs_write(VMCS_CR4_GUEST_HOST_MASK, ~partition->cr4_allowed);
    vmcs_write(VMCS_CR4_READ_SHADOW, value & ~CR4_VMXE);
    vmcs_write(VMCS_GUEST_CR4, value | must_be_1);
}

void guest_state_write_cr0(const struct partition *partition, uint64_t value)
{
    uint64_t must_be_1 = caps_guest_cr0_must_be_1(&partition->controls);

    vmcs_write(VMCS_CR0_READ_SHADOW, value);
    vmcs_write(VMCS_GUEST_CR0, (value & ~CR0_OWNED) | must_be_1);
}

uint64_t guest_state_read_cr0(void)
{
    uint64_t mask = vmcs_read(VMCS_CR0_GUEST_HOST_MASK);

    return (vmcs_read(VMCS_GUEST_CR0) & ~mask) | (vmcs_read(VMCS_CR0_READ_SHADOW) & mask);
}

uint64_t guest_state_read_cr4(void)
{
    uint64_t mask = vmcs_read(VMCS_CR4_GUEST_HOST_MASK);

    return (vmcs_read(VMCS_GUEST_CR4) & ~mask) | (vmcs_read(VMCS_CR4_READ_SHADOW) & mask);
}

void guest_state_paging(struct guest_paging *paging)
{
    paging->cr0 = vmcs_read(VMCS_GUEST_CR0);
    paging->cr3 = vmcs_read(VMCS_GUEST_CR3);
    paging->cr4 = vmcs_read(VMCS_GUEST_CR4);
    paging->efer = vmcs_read64(VMCS_GUEST_IA32_EFER);
}

static void write_idle_state(void)
{
    vmcs_write32(VMCS_GUEST_ACTIVITY_STATE, ACTIVITY_ACTIVE);
    vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE, 0);
    vmcs_write(VMCS_GUEST_PENDING_DEBUG_EXCEPTIONS, 0);
    vmcs_write32(VMCS_VM_ENTRY_INTERRUPTION_INFORMATION, 0);
}

static void write_cet_state(const struct partition *partition)
{
    if (partition->controls.shows_cet) {
        vmcs_write(VMCS_GUEST_IA32_S_CET, 0);
        vmcs_write(VMCS_GUEST_SSP, 0);
        vmcs_write(VMCS_GUEST_IA32_INTERRUPT_SSP_TABLE_ADDR, 0);
        vmcs_write(VMCS_HOST_IA32_S_CET, 0);
        vmcs_write(VMCS_HOST_SSP, 0);
        vmcs_write(VMCS_HOST_IA32_INTERRUPT_SSP_TABLE_ADDR, 0);
    }
}

void guest_state_capture(const struct partition *partition, struct vcpu *vcpu)
{
    capture_segments();
    vmcs_write(VMCS_CR0_GUEST_HOST_MASK,
               CR0_OWNED | (caps_guest_cr0_must_be_1(&partition->controls) & ~(CR0_PE | CR0_PG)));
    guest_state_write_cr0(partition, cpu_read_cr0());
    write_cr4(partition, cpu_read_cr4());
    vmcs_write(VMCS_GUEST_CR3, cpu_read_cr3());
    vmcs_write(VMCS_GUEST_DR7, cpu_read_dr7());
    vmcs_write64(VMCS_GUEST_IA32_DEBUGCTL, cpu_read_msr(MSR_IA32_DEBUGCTL));
    vmcs_write64(VMCS_GUEST_IA32_EFER, cpu_read_msr(MSR_IA32_EFER));
    vmcs_write64(VMCS_GUEST_IA32_PAT, cpu_read_msr(MSR_IA32_PAT));
    vmcs_write32(VMCS_GUEST_IA32_SYSENTER_CS, (uint32_t)cpu_read_msr(MSR_IA32_SYSENTER_CS));
    vmcs_write(VMCS_GUEST_IA32_SYSENTER_ESP, cpu_read_msr(MSR_IA32_SYSENTER_ESP));
    vmcs_write(VMCS_GUEST_IA32_SYSENTER_EIP, cpu_read_msr(MSR_IA32_SYSENTER_EIP));
    write_cet_state(partition);
    write_idle_state();
    vcpu->is_launched = 1; /* entry_launch_here launches; entry.asm only ever resumes */
}

static void init_segments(void)
{
    static const enum segment data[] = {SEG_ES, SEG_SS, SEG_DS, SEG_FS, SEG_GS};

    for (uint32_t i = 0; i < ARRAY_LEN(data); i++) {
        write_segment(data[i], 0, 0, REAL_MODE_LIMIT, ACCESS_DATA_16);
    }
    write_segment(SEG_CS, RESET_SELECTOR, RESET_CS_BASE, REAL_MODE_LIMIT, ACCESS_CODE_16);
    write_segment(SEG_LDTR, 0, 0, REAL_MODE_LIMIT, ACCESS_LDT);
    write_segment(SEG_TR, 0, 0, REAL_MODE_LIMIT, ACCESS_TSS_BUSY);
    vmcs_write(VMCS_GUEST_GDTR_BASE, 0);
    vmcs_write32(VMCS_GUEST_GDTR_LIMIT, REAL_MODE_LIMIT);
    vmcs_write(VMCS_GUEST_IDTR_BASE, 0);
    vmcs_write32(VMCS_GUEST_IDTR_LIMIT, REAL_MODE_LIMIT);
}

static void init_registers(struct vcpu *vcpu)
{
    uint32_t eax, ebx, ecx, edx;

    for (uint32_t i = 0; i < GPR_COUNT; i++) {
        vcpu->gpr[i] = 0;
    }
    cpu_cpuid(1, 0, &eax, &ebx, &ecx, &edx);
    vcpu->gpr[GPR_RDX] = eax;
    vmcs_write(VMCS_GUEST_RSP, 0);
    vmcs_write(VMCS_GUEST_RIP, RESET_RIP);
    vmcs_write(VMCS_GUEST_RFLAGS, RFLAGS_RESERVED_1);
    cpu_write_cr2(0);
    cpu_clear_breakpoint_addresses();
    cpu_write_dr6(DR6_RESET);
    vmcs_write(VMCS_GUEST_DR7, DR7_RESET);
}

void guest_state_init(const struct partition *partition, struct vcpu *vcpu)
{
    uint64_t caching = guest_state_read_cr0() & (CR0_CD | CR0_NW);
    uint32_t entry = vmcs_read32(VMCS_VM_ENTRY_CONTROLS);

    init_registers(vcpu);
    init_segments();
    guest_state_write_cr0(partition, CR0_ET | caching);
    write_cr4(partition, 0);
    vmcs_write(VMCS_GUEST_CR3, 0);
    vmcs_write64(VMCS_GUEST_IA32_EFER, 0);
    vmcs_write64(VMCS_GUEST_IA32_DEBUGCTL, 0);
    vmcs_write32(VMCS_VM_ENTRY_CONTROLS, entry & ~ENTRY_IA32E_MODE_GUEST);
    if (partition->controls.shows_cet) {
        vmcs_write(VMCS_GUEST_IA32_S_CET, 0);
        vmcs_write(VMCS_GUEST_SSP, 0);
    }
    write_idle_state();
    vcpu->vmx->event = (struct pending_event){0};
}

void guest_state_start(uint8_t vector)
{
    write_segment(SEG_CS, (uint16_t)(vector << 8), (uint64_t)vector << 12, REAL_MODE_LIMIT,
                  ACCESS_CODE_16);
    vmcs_write(VMCS_GUEST_RIP, 0);
    vmcs_write32(VMCS_GUEST_ACTIVITY_STATE, ACTIVITY_ACTIVE);
    /* Bochs saves "blocking by SMI" and "blocking by NMI" at a SIPI exit and then refuses the entry
     * (docs/testing.md); INIT clears the field on a processor. */
    vmcs_write32(VMCS_GUEST_INTERRUPTIBILITY_STATE, 0);
}

bool guest_state_is_64_bit(void)
{
    return (vmcs_read32(VMCS_GUEST_CS_ACCESS_RIGHTS) & ACCESS_RIGHTS_L) != 0 &&
           (vmcs_read64(VMCS_GUEST_IA32_EFER) & IA32_EFER_LMA) != 0;
}

gva_t guest_state_code_address(uint64_t rip)
{
    if (guest_state_is_64_bit()) {
        return gva(rip);
    }
    return gva((rip + vmcs_read(VMCS_GUEST_CS_BASE)) & 0xFFFFFFFF);
}
