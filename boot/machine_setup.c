/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/resident.h"
#include "boot/startup.h"
#include "core/apic.h"
#include "core/cpuid_bits.h"
#include "core/idt.h"
#include "mm/host_pt.h"
#include "vmx/hv_ops.h"
#include "vmx/leave_frame.h"
#include "vmx/vmx_state.h"

/* The resident memory of one LP, in pages; each stack has an unmapped page below it. */
enum lp_layout {
    LP_STACK_GUARD = 0,
    LP_STACK = 1,
    LP_STACK_PAGES = 4,
    LP_NMI_STACK_GUARD = 5,
    LP_NMI_STACK = 6,
    LP_NMI_STACK_PAGES = 2,
    LP_FAULT_STACK_GUARD = 8,
    LP_FAULT_STACK = 9,
    LP_FAULT_STACK_PAGES = 2,
    LP_DATA_GUARD = 11,
    LP_STRUCT = 12,
    LP_VMXON = 13,
    LP_VMCS = 14,
    LP_VCPU = 15,
    LP_VMX_STATE = 16,
    LP_PAGES = 17
};

STATIC_ASSERT(sizeof(struct lp) <= PAGE_BYTES);
STATIC_ASSERT(sizeof(struct vcpu) <= PAGE_BYTES);
STATIC_ASSERT(sizeof(struct vmx_state) <= PAGE_BYTES);

#define IO_BITMAP_PAGES   2u
#define NMI_DOUBT_DIVISOR 50000u /* of the TSC frequency: 20 us */

/* 1 GiB pages in page tables, which is not the same as in the EPT. */
static bool has_huge_pages(const struct startup *startup)
{
    const struct lp_survey *survey = &startup->surveys[startup->mp.boot_lp];

    return (survey->features.leaf80000001_edx & CPUID_80000001_EDX_PAGE_1G) != 0;
}

static uint64_t resident_pages(const struct startup *startup)
{
    const struct vmx_controls *controls = &startup->controls;
    struct ept_caps caps = {controls->ept_has_2m, controls->ept_has_1g,
                            controls->ept_has_execute_only};
    uint64_t pages = pages_of(resident_image_bytes());

    pages += pages_of(sizeof(struct machine)) + pages_of(sizeof(struct partition));
    pages += 2 * pages_of(startup->mp.count * sizeof(void *));
    pages += (LP_PAGES + 1) * startup->mp.count; /* and a root of the EPT each */
    pages += startup_hv_pages(startup);
    pages += IO_BITMAP_PAGES + 2 + pages_of(2 * IDT_VECTORS * sizeof(struct idt_gate)) + 1;
    pages += ept_pages_needed(&caps, controls->physical_address_bits, startup->memory_top);
    pages += host_pt_pages_needed(startup->memory_top, has_huge_pages(startup), pages * PAGE_BYTES);
    return pages;
}

static EFI_STATUS allocate(struct startup *startup)
{
    uint64_t image_pages = pages_of(resident_image_bytes());
    EFI_STATUS status;

    startup->resident_pages = resident_pages(startup);
    status = startup->services->AllocatePages(AllocateAnyPages, EfiReservedMemoryType,
                                              startup->resident_pages, &startup->resident);
    if (EFI_ERROR(status)) {
        startup->resident = 0;
        efi_console_line(LOG_ERROR, "there is too little memory: %u KiB are needed in one piece",
                         (unsigned int)(startup->resident_pages * PAGE_BYTES / 1024));
        return status;
    }
    page_pool_init(&startup->pool, startup->resident + image_pages * PAGE_BYTES,
                   (startup->resident_pages - image_pages) * PAGE_BYTES);
    return EFI_SUCCESS;
}

/* Everything from here on is taken from a pool that was sized for it. */
static void *take(struct startup *startup, uint64_t pages)
{
    return page_pool_take(&startup->pool, pages);
}

static bool build_lp(struct startup *startup, uint32_t index)
{
    struct machine *machine = startup->machine;
    uint8_t *base = take(startup, LP_PAGES);
    struct vcpu *vcpu;
    struct lp *lp;

    if (base == NULL) {
        return false;
    }
    lp = (struct lp *)(void *)(base + LP_STRUCT * PAGE_BYTES);
    vcpu = (struct vcpu *)(void *)(base + LP_VCPU * PAGE_BYTES);
    lp->stack_top = (uint64_t)(uintptr_t)base + (LP_STACK + LP_STACK_PAGES) * PAGE_BYTES;
    lp->nmi_stack_top =
        (uint64_t)(uintptr_t)base + (LP_NMI_STACK + LP_NMI_STACK_PAGES) * PAGE_BYTES;
    lp->fault_stack_top =
        (uint64_t)(uintptr_t)base + (LP_FAULT_STACK + LP_FAULT_STACK_PAGES) * PAGE_BYTES;
    lp->vmxon_region = (uint64_t)(uintptr_t)base + LP_VMXON * PAGE_BYTES;
    lp->mp_number = startup->lps[index].mp_number;
    lp->nmi_account.doubt_ticks = startup->tsc_hz / NMI_DOUBT_DIVISOR;
    lp_init(lp, machine, index, startup->lps[index].apic_id);
    lp->vcpu = vcpu;
    vcpu->vmx = (struct vmx_state *)(void *)(base + LP_VMX_STATE * PAGE_BYTES);
    vcpu->vmx->vmcs = hpa((uint64_t)(uintptr_t)base + LP_VMCS * PAGE_BYTES);
    vcpu->vmx->vpid = (uint16_t)(index + 1);
    vcpu->partition = machine->partition;
    vcpu->vcpu_id = index;
    vcpu->vp_index = index;
    vcpu->apic_id = lp->apic_id;
    mtrr_shadow_init(&vcpu->vmx->mtrrs, &startup->surveys[index].mtrrs);
    machine->lps[index] = lp;
    machine->partition->vcpus[index] = vcpu;
    return true;
}

static void *take_table_page(void *context, hpa_t *out)
{
    void *page = page_pool_take(context, 1);

    out->value = (uint64_t)(uintptr_t)page;
    return page;
}

static void *table_page_at(void *context, hpa_t page)
{
    (void)context;
    return (void *)(uintptr_t)page.value;
}

static const struct ept_pages_ops pages_ops = {take_table_page, table_page_at};

static enum status build_ept(struct startup *startup)
{
    struct partition *partition = startup->machine->partition;
    const struct vmx_controls *controls = &startup->controls;
    /* At run time the pool and the ops are used by the resident copy. */
    struct page_pool *pool = &partition->pool;
    struct ept_params params = {
        .ops = &pages_ops,
        .context = pool,
        .caps = {controls->ept_has_2m, controls->ept_has_1g, controls->ept_has_execute_only},
        .mtrrs = &startup->surveys[startup->mp.boot_lp].mtrrs,
        .scratch = hpa((uint64_t)(uintptr_t)take(startup, 1)),
    };
    enum status status;

    *pool = startup->pool;
    status = ept_init(&partition->ept, &params);
    if (status == STATUS_OK) {
        status =
            ept_hide(&partition->ept, gpa(startup->resident), startup->resident_pages * PAGE_BYTES);
    }
    if (status == STATUS_OK) {
        status = ept_map_identity(&partition->ept, gpa(0), startup->memory_top);
    }
    if (status == STATUS_OK) {
        status =
            ept_remap_page(&partition->ept, gpa(APIC_PAGE), hpa(APIC_PAGE), EPT_READ, MEM_TYPE_UC);
    }
    for (uint32_t i = 0; status == STATUS_OK && i < partition->vcpu_count; i++) {
        hpa_t root;

        status = ept_root_create(&partition->ept, &root);
        partition->vcpus[i]->vmx->eptp = ept_pointer(root);
    }
    partition->ept.ops =
        (const struct ept_pages_ops *)(uintptr_t)resident_address(startup->resident, &pages_ops);
    return status;
}

static enum status guard_stacks(struct startup *startup, struct host_pt *tables)
{
    static const enum lp_layout guards[] = {LP_STACK_GUARD, LP_NMI_STACK_GUARD,
                                            LP_FAULT_STACK_GUARD, LP_DATA_GUARD};
    const struct machine *machine = startup->machine;

    for (uint32_t i = 0; i < machine->lp_count; i++) {
        uint64_t base = machine->lps[i]->stack_top - (LP_STACK + LP_STACK_PAGES) * PAGE_BYTES;

        for (uint32_t j = 0; j < ARRAY_LEN(guards); j++) {
            enum status status =
                host_pt_protect(tables, base + guards[j] * PAGE_BYTES, PAGE_BYTES, HOST_PT_NONE);

            if (status != STATUS_OK) {
                return status;
            }
        }
    }
    return STATUS_OK;
}

static enum status build_host_tables(struct startup *startup)
{
    struct partition *partition = startup->machine->partition;
    struct host_pt tables;
    enum status status =
        host_pt_build(&tables, &partition->pool, &startup->surveys[startup->mp.boot_lp].mtrrs,
                      startup->memory_top, has_huge_pages(startup));

    if (status == STATUS_OK) {
        status = resident_protect(&tables, startup->resident);
    }
    if (status == STATUS_OK) {
        status = guard_stacks(startup, &tables);
    }
    if (status == STATUS_OK) {
        status = host_pt_protect(&tables, APIC_PAGE, PAGE_BYTES, HOST_PT_DEVICE);
    }
    if (status == STATUS_OK) {
        /* The one page of the firmware's copy that root mode may run, to go back (vmx/leave.c). It
         * stays executable, and a guest can write to it; but root mode never goes there once
         * is_started is set, nor before that unless our own start-up code asks for it. */
        status = host_pt_protect(&tables, startup->machine->leave_entry, PAGE_BYTES,
                                 HOST_PT_READ_EXECUTE);
    }
    startup->host_cr3 = (uint64_t)(uintptr_t)tables.root;
    return status;
}

static bool build_partition(struct startup *startup)
{
    struct machine *machine = startup->machine;
    struct partition *partition = take(startup, pages_of(sizeof(struct partition)));
    uint64_t pointer_pages = pages_of(startup->mp.count * sizeof(void *));

    if (partition == NULL) {
        return false;
    }
    machine->partition = partition;
    machine->lp_count = (uint32_t)startup->mp.count;
    machine->lps = take(startup, pointer_pages);
    partition->machine = machine;
    partition->vcpu_count = machine->lp_count;
    partition->vcpus = take(startup, pointer_pages);
    partition->controls = startup->controls;
    partition->memory = startup->memory;
    partition->memory.hidden =
        (struct guest_memory_range){startup->resident, startup->resident_pages * PAGE_BYTES};
    partition->io_bitmaps = take(startup, IO_BITMAP_PAGES);
    partition->msr_bitmap_xapic = take(startup, 1);
    partition->msr_bitmap_x2apic = take(startup, 1);
    if (machine->lps == NULL || partition->vcpus == NULL || partition->io_bitmaps == NULL ||
        partition->msr_bitmap_xapic == NULL || partition->msr_bitmap_x2apic == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < machine->lp_count; i++) {
        if (!build_lp(startup, i)) {
            return false;
        }
    }
    return true;
}

static bool build_machine(struct startup *startup)
{
    struct machine *machine = take(startup, pages_of(sizeof(struct machine)));

    if (machine == NULL) {
        return false;
    }
    startup->machine = machine;
    machine->config = startup->config;
    machine->acpi = startup->acpi;
    machine->is_bochs = startup->is_bochs;
    machine->tsc_hz = startup->tsc_hz;
    machine->tsc_at_start = startup->tsc_at_start;
    machine->tsc_source = startup->tsc_source;
    machine->resident_base = hpa(startup->resident);
    machine->resident_bytes = startup->resident_pages * PAGE_BYTES;
    machine->image_base = startup->resident;
    machine->image_bytes = resident_image_bytes();
    machine->leave_entry = (uint64_t)(uintptr_t)leave_to_firmware;
    machine->log = startup->log;
    log_attach(&machine->log);
    return build_partition(startup);
}

static enum status build_idt(struct startup *startup)
{
    struct idt_gate *gates = take(startup, pages_of(2 * IDT_VECTORS * sizeof(struct idt_gate)));

    if (gates == NULL) {
        return STATUS_NO_MEMORY;
    }
    startup->host_idt = (uint64_t)(uintptr_t)gates;
    startup->machine->idt = startup->host_idt;
    idt_build(gates, resident_address(startup->resident, NULL));
    return STATUS_OK;
}

EFI_STATUS startup_build_machine(struct startup *startup)
{
    EFI_STATUS efi_status = allocate(startup);
    enum status status = STATUS_NO_MEMORY;

    if (EFI_ERROR(efi_status)) {
        return efi_status;
    }
    if (build_machine(startup)) {
        status = build_idt(startup);
    }
    if (status == STATUS_OK) {
        startup_build_policies(startup);
        status = startup_build_hv(startup) ? STATUS_OK : STATUS_NO_MEMORY;
    }
    /* From here on the pool is the partition's. */
    if (status == STATUS_OK) {
        status = build_ept(startup);
    }
    if (status == STATUS_OK) {
        status = build_host_tables(startup);
    }
    if (status == STATUS_OK) {
        status = resident_copy(startup->resident);
    }
    if (status != STATUS_OK) {
        efi_console_line(LOG_ERROR, "the resident memory cannot be set up: %s",
                         status_name(status));
        return EFI_OUT_OF_RESOURCES;
    }
    efi_console_line(
        LOG_INFO, "resident memory: %llx, %u KiB, of which %u KiB are left for page tables",
        (unsigned long long)startup->resident,
        (unsigned int)(startup->resident_pages * PAGE_BYTES / 1024),
        (unsigned int)(page_pool_left(&startup->machine->partition->pool) * PAGE_BYTES / 1024));
    return EFI_SUCCESS;
}

void startup_free_machine(struct startup *startup)
{
    if (startup->resident == 0 || startup->is_pinned) {
        return;
    }
    if (startup->machine != NULL) {
        startup->log = startup->machine->log;
        log_attach(&startup->log);
    }
    (void)startup->services->FreePages(startup->resident, startup->resident_pages);
    startup->resident = 0;
    startup->machine = NULL;
}
