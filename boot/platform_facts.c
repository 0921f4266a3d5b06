/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/acpi.h"
#include "boot/efi_console.h"
#include "boot/startup.h"
#include "core/cpu.h"
#include "core/string.h"
#include "mm/host_pt.h"

#define PM_TIMER_HZ             3579545ull
#define CALIBRATION_DIVISOR     100u /* a hundredth of a second */
#define HPET_PERIOD             0x004u
#define HPET_CONFIG             0x010u
#define HPET_CONFIG_ENABLE      0x1u
#define HPET_COUNTER            0x0F0u
#define FEMTOSECONDS_PER_SECOND 1000000000000000ull
#define PORT_BOCHS_DEBUG        0xE9u
#define STALL_US                10000u
#define SPIN_LIMIT              100000000u
#define FOUR_GIB                (4ull << 30)
#define EPT_LIMIT               (1ull << 48)

static EFI_GUID acpi_20_guid = ACPI_20_TABLE_GUID;
static EFI_GUID acpi_10_guid = ACPI_TABLE_GUID;

static const void *map_memory(void *context, uint64_t address, uint64_t bytes)
{
    const struct startup *startup = context;

    if (address == 0 || bytes > startup->map_top || address > startup->map_top - bytes) {
        return NULL;
    }
    return (const void *)(uintptr_t)address;
}

static void find_rsdp(struct startup *startup)
{
    const EFI_SYSTEM_TABLE *system = startup->system;

    for (UINTN i = 0; i < system->NumberOfTableEntries; i++) {
        const EFI_CONFIGURATION_TABLE *entry = &system->ConfigurationTable[i];

        if (memcmp(&entry->VendorGuid, &acpi_20_guid, sizeof(EFI_GUID)) == 0 ||
            (startup->rsdp == 0 &&
             memcmp(&entry->VendorGuid, &acpi_10_guid, sizeof(EFI_GUID)) == 0)) {
            startup->rsdp = (EFI_PHYSICAL_ADDRESS)(uintptr_t)entry->VendorTable;
        }
    }
}

static bool is_in_mp_services(const struct startup *startup, uint32_t apic_id)
{
    for (UINTN i = 0; i < startup->mp.count; i++) {
        if (startup->lps[i].apic_id == apic_id) {
            return true;
        }
    }
    return false;
}

/* An enabled LP that the firmware does not let us run on would be a processor beside our guest. */
static EFI_STATUS check_madt(const struct startup *startup, const struct acpi_root *root)
{
    static struct acpi_lp lps[BOOT_MAX_LPS];
    enum status status;
    size_t count = 0;
    bool is_complete = true;

    status = acpi_madt_lps(root, lps, BOOT_MAX_LPS, &count);
    if (status == STATUS_NOT_FOUND) {
        return EFI_SUCCESS;
    }
    if (status != STATUS_OK) {
        efi_console_line(LOG_ERROR, "the MADT cannot be used: %s", status_name(status));
        return EFI_UNSUPPORTED;
    }
    for (size_t i = 0; i < count; i++) {
        if (lps[i].is_enabled && !is_in_mp_services(startup, lps[i].apic_id)) {
            efi_console_line(LOG_ERROR,
                             "the MADT enables the processor with APIC id %x, which MP Services "
                             "does not offer",
                             lps[i].apic_id);
            is_complete = false;
        }
    }
    return is_complete ? EFI_SUCCESS : EFI_UNSUPPORTED;
}

static EFI_STATUS read_acpi(struct startup *startup)
{
    struct acpi_reader reader = {.map = map_memory, .context = startup};
    struct acpi_root root;
    enum status status;

    find_rsdp(startup);
    if (startup->rsdp == 0) {
        efi_console_line(LOG_WARNING, "there are no ACPI tables: sleep and power-off are not "
                                      "watched");
        return EFI_SUCCESS;
    }
    status = acpi_open(&root, &reader, startup->rsdp);
    if (status != STATUS_OK) {
        efi_console_line(LOG_WARNING, "the ACPI tables cannot be used: %s", status_name(status));
        return EFI_SUCCESS;
    }
    acpi_read_platform(&root, &startup->acpi);
    return check_madt(startup, &root);
}

static bool is_ram(UINT32 type)
{
    switch (type) {
    case EfiLoaderCode:
    case EfiLoaderData:
    case EfiBootServicesCode:
    case EfiBootServicesData:
    case EfiRuntimeServicesCode:
    case EfiRuntimeServicesData:
    case EfiConventionalMemory:
    case EfiACPIReclaimMemory:
    case EfiACPIMemoryNVS:
        return true;
    default:
        return false;
    }
}

static const EFI_MEMORY_DESCRIPTOR *descriptor_at(const char *map, UINTN index, UINTN step)
{
    return (const EFI_MEMORY_DESCRIPTOR *)(const void *)(map + index * step);
}

/* The descriptor with the lowest start at or above from; the firmware need not sort its map. */
static const EFI_MEMORY_DESCRIPTOR *next_descriptor(const char *map, UINTN bytes, UINTN step,
                                                    uint64_t from)
{
    const EFI_MEMORY_DESCRIPTOR *found = NULL;

    for (UINTN i = 0; i < bytes / step; i++) {
        const EFI_MEMORY_DESCRIPTOR *entry = descriptor_at(map, i, step);

        if (entry->PhysicalStart >= from && entry->NumberOfPages != 0 &&
            (found == NULL || entry->PhysicalStart < found->PhysicalStart)) {
            found = entry;
        }
    }
    return found;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Root mode uses RAM and a few device pages below 4 GiB; only that is in our page tables.
 * Devices may lie far above it: the guest reaches them by the EPT, which is filled in there on
 * demand. */
static EFI_STATUS take_descriptor(struct startup *startup, const EFI_MEMORY_DESCRIPTOR *entry)
{
    uint64_t bytes = entry->NumberOfPages * PAGE_BYTES;
    uint64_t end = entry->PhysicalStart + bytes;

    if (entry->NumberOfPages > EPT_LIMIT / PAGE_BYTES || entry->PhysicalStart > EPT_LIMIT ||
        end > EPT_LIMIT) {
        efi_console_line(LOG_ERROR,
                         "the memory map reaches above 2^48 (%llx), which needs 5-level "
                         "EPT",
                         (unsigned long long)entry->PhysicalStart);
        return EFI_UNSUPPORTED;
    }
    startup->map_top = later(startup->map_top, end);
    if (!is_ram(entry->Type)) {
        return EFI_SUCCESS;
    }
    if (end > HOST_PT_LIMIT) {
        efi_console_line(LOG_ERROR,
                         "there is RAM above 2^47 (%llx), which 4-level page tables "
                         "cannot map to itself",
                         (unsigned long long)entry->PhysicalStart);
        return EFI_UNSUPPORTED;
    }
    startup->memory_top = later(startup->memory_top, end);
    if (!guest_memory_add(&startup->memory, gpa(entry->PhysicalStart), bytes)) {
        efi_console_line(LOG_ERROR, "the memory map has more than %u separate parts",
                         GUEST_MEMORY_RANGES_MAX);
        return EFI_UNSUPPORTED;
    }
    return EFI_SUCCESS;
}

static EFI_STATUS take_map(struct startup *startup, const char *map, UINTN bytes, UINTN step)
{
    const EFI_MEMORY_DESCRIPTOR *entry = next_descriptor(map, bytes, step, 0);
    EFI_STATUS status = EFI_SUCCESS;

    startup->memory_top = FOUR_GIB;
    startup->map_top = FOUR_GIB;
    while (entry != NULL && !EFI_ERROR(status)) {
        status = take_descriptor(startup, entry);
        entry = next_descriptor(map, bytes, step, entry->PhysicalStart + 1);
    }
    return status;
}

static EFI_STATUS read_memory_map(struct startup *startup)
{
    UINTN bytes = 0;
    UINTN key;
    UINTN step;
    UINT32 version;
    void *map = NULL;
    EFI_STATUS status;

    status = startup->services->GetMemoryMap(&bytes, NULL, &key, &step, &version);
    for (int attempt = 0; status == EFI_BUFFER_TOO_SMALL && attempt < 8; attempt++) {
        bytes += 16 * step; /* the allocation itself may split a part */
        status = startup->services->AllocatePool(EfiLoaderData, bytes, &map);
        if (EFI_ERROR(status)) {
            return status;
        }
        status = startup->services->GetMemoryMap(&bytes, map, &key, &step, &version);
        if (EFI_ERROR(status)) {
            startup->services->FreePool(map);
        }
    }
    if (EFI_ERROR(status)) {
        return status;
    }
    status = take_map(startup, map, bytes, step);
    startup->services->FreePool(map);
    return status;
}

/* Ticks of a PM timer of 24 or 32 bits from one reading to another. */
static uint32_t pm_timer_since(const struct boot_acpi *acpi, uint32_t begin)
{
    uint32_t now = cpu_in32((uint16_t)acpi->pm_timer.address);

    return (now - begin) & (acpi->pm_timer_is_32_bit ? UINT32_MAX : 0xFFFFFFu);
}

static uint64_t calibrate_by_pm_timer(const struct boot_acpi *acpi)
{
    uint32_t begin = cpu_in32((uint16_t)acpi->pm_timer.address);
    uint64_t tsc = cpu_read_tsc();
    uint32_t ticks = 0;

    for (uint32_t spin = 0; ticks < PM_TIMER_HZ / CALIBRATION_DIVISOR; spin++) {
        if (spin == SPIN_LIMIT) {
            return 0; /* it stands still */
        }
        ticks = pm_timer_since(acpi, begin);
    }
    return (cpu_read_tsc() - tsc) * PM_TIMER_HZ / ticks;
}

static uint64_t calibrate_by_hpet(uint64_t address)
{
    const volatile uint32_t *period = (const volatile uint32_t *)(uintptr_t)(address + HPET_PERIOD);
    volatile uint32_t *config = (volatile uint32_t *)(uintptr_t)(address + HPET_CONFIG);
    const volatile uint32_t *counter =
        (const volatile uint32_t *)(uintptr_t)(address + HPET_COUNTER);
    uint64_t hz;
    uint64_t tsc;
    uint32_t begin;
    uint32_t ticks = 0;

    if (*period == 0 || (*config & HPET_CONFIG_ENABLE) == 0) {
        return 0;
    }
    hz = FEMTOSECONDS_PER_SECOND / *period;
    begin = *counter;
    tsc = cpu_read_tsc();
    for (uint32_t spin = 0; ticks < hz / CALIBRATION_DIVISOR; spin++) {
        if (spin == SPIN_LIMIT) {
            return 0;
        }
        ticks = *counter - begin;
    }
    return (cpu_read_tsc() - tsc) * hz / ticks;
}

static void calibrate_tsc(struct startup *startup)
{
    static const char *const names[] = {"ACPI PM timer", "HPET", "firmware's Stall"};
    const struct boot_acpi *acpi = &startup->acpi;

    if (acpi->is_present && acpi->pm_timer.address != 0 && acpi->pm_timer.space == GAS_IO) {
        startup->tsc_hz = calibrate_by_pm_timer(acpi);
        startup->tsc_source = TSC_SOURCE_PM_TIMER;
    }
    if (startup->tsc_hz == 0 && acpi->hpet_address != 0) {
        startup->tsc_hz = calibrate_by_hpet(acpi->hpet_address);
        startup->tsc_source = TSC_SOURCE_HPET;
    }
    if (startup->tsc_hz == 0) {
        uint64_t tsc = cpu_read_tsc();

        startup->services->Stall(STALL_US);
        startup->tsc_hz = (cpu_read_tsc() - tsc) * (1000000 / STALL_US);
        startup->tsc_source = TSC_SOURCE_FIRMWARE;
    }
    startup->log.tsc_hz = startup->tsc_hz;
    efi_console_line(LOG_INFO, "TSC: %u.%03u MHz by the %s",
                     (unsigned int)(startup->tsc_hz / 1000000),
                     (unsigned int)(startup->tsc_hz / 1000 % 1000), names[startup->tsc_source]);
}

/* Bochs answers at its debug port with the port's number. */
static void find_emulator(struct startup *startup)
{
    startup->is_bochs = cpu_in8(PORT_BOCHS_DEBUG) == PORT_BOCHS_DEBUG;
    if (startup->is_bochs) {
        efi_console_line(LOG_INFO,
                         "emulator: port E9 answers as in Bochs, whose NMI exits right after "
                         "an exception are repaired");
    }
}

EFI_STATUS startup_find_platform(struct startup *startup)
{
    EFI_STATUS status = read_memory_map(startup);

    if (EFI_ERROR(status)) {
        return status;
    }
    startup_describe_memory(startup);
    status = read_acpi(startup);
    if (EFI_ERROR(status)) {
        return status;
    }
    find_emulator(startup);
    calibrate_tsc(startup);
    efi_console_line(LOG_INFO, "ACPI: %s, %s, %s, %s%s",
                     startup->acpi.is_present ? "FADT" : "no FADT",
                     startup->acpi.has_s5 ? "S5" : "no S5", startup->acpi.has_s3 ? "S3" : "no S3",
                     startup->acpi.has_mcfg ? "MCFG" : "no MCFG",
                     startup->acpi.is_hardware_reduced ? ", hardware-reduced" : "");
    return EFI_SUCCESS;
}
