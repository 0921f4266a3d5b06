/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/acpi.h"

#include <stddef.h>

#include "tests/launcher/acpi_layout.h"

#include "dsdt.hex"

#define ADDRESS_MAX       0xFFFFFFFFU
#define LAPIC_ADDRESS     0xFEE00000U
#define IOAPIC_ADDRESS    0xFEC00000U
#define HPET_ADDRESS      0xFED00000U
#define HPET_BLOCK_ID     0x8086A201U
#define PM1A_EVENT        0xB000U
#define PM1A_CONTROL      0xB004U
#define PM_TIMER          0xB008U
#define RESET_PORT        0xCF9U
#define SCI_INTERRUPT     9U
#define GAS_SYSTEM_MEMORY 0U
#define GAS_SYSTEM_IO     1U
#define GAS_ACCESS_BYTE   1U
#define GAS_ACCESS_WORD   2U
#define GAS_ACCESS_DWORD  3U
/* WBINVD, C1, no power and no sleep button on fixed registers, reset register. */
#define FADT_FLAGS 0x435U
/* Legacy devices and an 8042 keyboard controller. */
#define FADT_BOOT_FLAGS 3U
/* The specification's way to say "no C2, no C3". */
#define FADT_NO_C2       0x65U
#define FADT_NO_C3       0x3E9U
#define MADT_PCAT_COMPAT 1U
/* Active high, level triggered. */
#define MADT_LEVEL_HIGH 0x0DU
#define MADT_ENABLED    1U

/* All tables but the DSDT's bytes and the FACS, one after the other in one allocation. */
struct tables {
    struct acpi_rsdp rsdp;
    struct acpi_xsdt xsdt;
    struct acpi_fadt fadt;
    struct acpi_madt madt;
    struct acpi_hpet hpet;
    uint8_t dsdt[sizeof(dsdt_aml_code)];
};

static void fill(char *target, const char *text, size_t size)
{
    size_t at;

    for (at = 0; at < size; at++) {
        target[at] = text[at];
    }
}

static uint8_t checksum(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    uint8_t sum = 0;
    size_t at;

    for (at = 0; at < size; at++) {
        sum = (uint8_t)(sum + bytes[at]);
    }
    return (uint8_t)(0U - sum);
}

static void finish(struct acpi_header *header, const char *signature, size_t length,
                   uint8_t revision)
{
    fill(header->signature, signature, sizeof(header->signature));
    header->length = (uint32_t)length;
    header->revision = revision;
    fill(header->oem_id, "SLUICE", sizeof(header->oem_id));
    fill(header->oem_table_id, "RIGBOCHS", sizeof(header->oem_table_id));
    header->oem_revision = 1;
    fill(header->creator_id, "RIG ", sizeof(header->creator_id));
    header->creator_revision = 1;
    header->checksum = 0;
    header->checksum = checksum(header, length);
}

static void set_io(struct acpi_gas *gas, uint16_t port, uint8_t bits, uint8_t access)
{
    gas->address_space = GAS_SYSTEM_IO;
    gas->bit_width = bits;
    gas->access_size = access;
    gas->address = port;
}

static void build_fadt(struct tables *tables, struct acpi_facs *facs)
{
    struct acpi_fadt *fadt = &tables->fadt;

    fadt->firmware_ctrl = (uint32_t)(UINTN)facs;
    fadt->dsdt = (uint32_t)(UINTN)tables->dsdt;
    fadt->x_dsdt = (UINTN)tables->dsdt;
    fadt->sci_int = SCI_INTERRUPT;
    fadt->pm1a_evt_blk = PM1A_EVENT;
    fadt->pm1a_cnt_blk = PM1A_CONTROL;
    fadt->pm_tmr_blk = PM_TIMER;
    fadt->pm1_evt_len = 4;
    fadt->pm1_cnt_len = 2;
    fadt->pm_tmr_len = 4;
    fadt->p_lvl2_lat = FADT_NO_C2;
    fadt->p_lvl3_lat = FADT_NO_C3;
    fadt->iapc_boot_arch = FADT_BOOT_FLAGS;
    fadt->flags = FADT_FLAGS;
    set_io(&fadt->reset_reg, RESET_PORT, 8, GAS_ACCESS_BYTE);
    fadt->reset_value = 6;
    set_io(&fadt->x_pm1a_evt_blk, PM1A_EVENT, 32, GAS_ACCESS_WORD);
    set_io(&fadt->x_pm1a_cnt_blk, PM1A_CONTROL, 16, GAS_ACCESS_WORD);
    set_io(&fadt->x_pm_tmr_blk, PM_TIMER, 32, GAS_ACCESS_DWORD);
    finish(&fadt->header, "FACP", sizeof(*fadt), 6);
}

static uint8_t read_ioapic_id(void)
{
    volatile uint32_t *select = (volatile uint32_t *)(UINTN)IOAPIC_ADDRESS;
    volatile uint32_t *window = (volatile uint32_t *)(UINTN)(IOAPIC_ADDRESS + 0x10U);

    *select = 0;
    return (uint8_t)((*window >> 24) & 0xFU);
}

static void build_madt(struct tables *tables, const struct lps *lps)
{
    struct acpi_madt *madt = &tables->madt;
    UINTN lp;

    madt->lapic_address = LAPIC_ADDRESS;
    madt->flags = MADT_PCAT_COMPAT;
    madt->ioapic = (struct acpi_madt_ioapic){
        .type = 1,
        .length = sizeof(madt->ioapic),
        .ioapic_id = read_ioapic_id(),
        .address = IOAPIC_ADDRESS,
    };
    madt->override[0] = (struct acpi_madt_override){
        .type = 2, .length = sizeof(madt->override[0]), .source = 0, .gsi = 2};
    madt->override[1] = (struct acpi_madt_override){.type = 2,
                                                    .length = sizeof(madt->override[1]),
                                                    .source = SCI_INTERRUPT,
                                                    .gsi = SCI_INTERRUPT,
                                                    .flags = MADT_LEVEL_HIGH};
    madt->nmi = (struct acpi_madt_lapic_nmi){
        .type = 4, .length = sizeof(madt->nmi), .processor_uid = 0xFF, .lint = 1};
    for (lp = 0; lp < lps->count; lp++) {
        madt->lapic[lp] = (struct acpi_madt_lapic){.length = sizeof(madt->lapic[lp]),
                                                   .processor_uid = (uint8_t)lp,
                                                   .apic_id = (uint8_t)lps->apic_id[lp],
                                                   .flags = MADT_ENABLED};
    }
    finish(&madt->header, "APIC",
           offsetof(struct acpi_madt, lapic) + lps->count * sizeof(madt->lapic[0]), 4);
}

static void build_hpet(struct tables *tables)
{
    tables->hpet.event_timer_block_id = HPET_BLOCK_ID;
    tables->hpet.base_address.address_space = GAS_SYSTEM_MEMORY;
    tables->hpet.base_address.bit_width = 64;
    tables->hpet.base_address.address = HPET_ADDRESS;
    tables->hpet.minimum_tick = 0x80;
    finish(&tables->hpet.header, "HPET", sizeof(tables->hpet), 1);
}

static void build_roots(struct tables *tables)
{
    struct acpi_rsdp *rsdp = &tables->rsdp;

    tables->xsdt.entry[0] = (UINTN)&tables->fadt;
    tables->xsdt.entry[1] = (UINTN)&tables->madt;
    tables->xsdt.entry[2] = (UINTN)&tables->hpet;
    finish(&tables->xsdt.header, "XSDT", sizeof(tables->xsdt), 1);
    fill(rsdp->signature, "RSD PTR ", sizeof(rsdp->signature));
    fill(rsdp->oem_id, "SLUICE", sizeof(rsdp->oem_id));
    rsdp->revision = 2;
    rsdp->length = sizeof(*rsdp);
    rsdp->xsdt = (UINTN)&tables->xsdt;
    rsdp->checksum = checksum(rsdp, offsetof(struct acpi_rsdp, length));
    rsdp->extended_checksum = checksum(rsdp, sizeof(*rsdp));
}

/* Return `size` zeroed bytes below 4 GiB of the given memory type, or NULL. */
static void *allocate(EFI_BOOT_SERVICES *services, EFI_MEMORY_TYPE type, UINTN size)
{
    EFI_PHYSICAL_ADDRESS address = ADDRESS_MAX;
    UINTN pages = (size + EFI_PAGE_SIZE - 1) / EFI_PAGE_SIZE;

    if (services->AllocatePages(AllocateMaxAddress, type, pages, &address) != EFI_SUCCESS) {
        return NULL;
    }
    services->SetMem((void *)(UINTN)address, pages * EFI_PAGE_SIZE, 0);
    return (void *)(UINTN)address;
}

EFI_STATUS acpi_install(EFI_BOOT_SERVICES *services, const struct lps *lps)
{
    EFI_GUID acpi20 = ACPI_20_TABLE_GUID;
    EFI_GUID acpi10 = ACPI_TABLE_GUID;
    struct tables *tables = allocate(services, EfiACPIReclaimMemory, sizeof(struct tables));
    struct acpi_facs *facs = allocate(services, EfiACPIMemoryNVS, sizeof(struct acpi_facs));
    EFI_STATUS status;

    if (tables == NULL || facs == NULL) {
        return EFI_OUT_OF_RESOURCES;
    }
    fill(facs->signature, "FACS", sizeof(facs->signature));
    facs->length = sizeof(*facs);
    facs->version = 2;
    services->CopyMem(tables->dsdt, dsdt_aml_code, sizeof(tables->dsdt));
    build_fadt(tables, facs);
    build_madt(tables, lps);
    build_hpet(tables);
    build_roots(tables);
    status = services->InstallConfigurationTable(&acpi20, &tables->rsdp);
    if (status != EFI_SUCCESS) {
        return status;
    }
    return services->InstallConfigurationTable(&acpi10, &tables->rsdp);
}
