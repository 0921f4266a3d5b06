/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/memory.h"

#define MAP_BYTES   (64U * 1024U)
#define CHUNK_PAGES 0x8000U

uint64_t memory_pages(EFI_BOOT_SERVICES *services, UINT32 type)
{
    static uint64_t map[MAP_BYTES / sizeof(uint64_t)];
    UINTN size = sizeof(map);
    UINTN key = 0;
    UINTN step = 0;
    UINT32 version = 0;
    uint64_t pages = 0;
    UINTN at;

    if (services->GetMemoryMap(&size, (void *)map, &key, &step, &version) != EFI_SUCCESS) {
        return 0;
    }
    for (at = 0; at + step <= size; at += step) {
        const EFI_MEMORY_DESCRIPTOR *entry = (const void *)&map[at / sizeof(uint64_t)];

        if (entry->Type == type) {
            pages += entry->NumberOfPages;
        }
    }
    return pages;
}

uint64_t memory_hold(EFI_BOOT_SERVICES *services, uint64_t leave, struct memory_held *held)
{
    uint64_t free = memory_pages(services, EfiConventionalMemory);
    UINTN chunk = CHUNK_PAGES;

    held->count = 0;
    while (free > leave && chunk > 0 && held->count < MEMORY_HELD_MAX) {
        EFI_PHYSICAL_ADDRESS address = 0;
        UINTN pages = chunk < free - leave ? chunk : free - leave;

        if (services->AllocatePages(AllocateAnyPages, EfiBootServicesData, pages, &address) !=
            EFI_SUCCESS) {
            chunk /= 2;
            continue;
        }
        held->ranges[held->count].address = address;
        held->ranges[held->count].pages = pages;
        held->count++;
        free = memory_pages(services, EfiConventionalMemory);
    }
    return free;
}

void memory_release(EFI_BOOT_SERVICES *services, struct memory_held *held)
{
    while (held->count > 0) {
        held->count--;
        (void)services->FreePages(held->ranges[held->count].address,
                                  held->ranges[held->count].pages);
    }
}
