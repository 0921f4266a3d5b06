/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Image entry: the only file of the guests that knows UEFI. Collects struct guest_info, leaves boot
 * services and calls guest_main. The test list comes from the load options; where there are none
 * (started by the firmware's boot manager), from the file \guest.txt of the boot volume.
 */
#include <efi.h>

#include "tests/guest/runtime/guest_info.h"

/* Called by crt0 in the System V convention. */
EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

/* PI specification, EFI MP Services Protocol: the two members that are needed. */
struct mp_processor_info {
    UINT64 processor_id;
    UINT32 status_flag;
    UINT32 package;
    UINT32 core;
    UINT32 thread;
    UINT8 extended[64]; /* newer revisions write six more words here */
};

struct mp_services {
    EFI_STATUS(EFIAPI *get_number_of_processors)
    (struct mp_services *self, UINTN *count, UINTN *enabled);
    EFI_STATUS(EFIAPI *get_processor_info)
    (struct mp_services *self, UINTN number, struct mp_processor_info *info);
};

#define MP_STATUS_BSP     1u
#define MP_STATUS_ENABLED 2u

static struct guest_info info;
static UINT8 memory_map[64 * 1024];
static EFI_GUID mp_services_guid = {
    0x3fdda605, 0xa76e, 0x4f46, {0xad, 0x29, 0x12, 0xf4, 0x53, 0x1b, 0x3d, 0x08}};
static EFI_GUID loaded_image_guid = LOADED_IMAGE_PROTOCOL;
static EFI_GUID file_system_guid = SIMPLE_FILE_SYSTEM_PROTOCOL;
static CHAR16 options_file_name[] = u"\\guest.txt";
static CHAR16 text_failed[] = u"guest: start-up failed\r\n";

/* Appends one character; control characters become one space. */
static void add_option_char(UINTN *length, unsigned int character)
{
    if (*length + 1 >= GUEST_OPTIONS_BYTES) {
        return;
    }
    if (character <= ' ') {
        if (*length == 0 || info.options[*length - 1] == ' ') {
            return;
        }
        character = ' ';
    }
    info.options[(*length)++] = (char)character;
}

/* The firmware's boot manager passes binary data of its own as load options: true if it is text. */
static bool options_are_text(const CHAR16 *text, UINTN count)
{
    for (UINTN i = 0; i < count && text[i] != 0; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return count > 0 && text[0] != 0;
}

static bool options_from_load_options(const EFI_LOADED_IMAGE *loaded)
{
    const CHAR16 *text = loaded->LoadOptions;
    UINTN count = loaded->LoadOptionsSize / sizeof(CHAR16);
    UINTN length = 0;

    if (text == NULL || !options_are_text(text, count)) {
        return false;
    }
    for (UINTN i = 0; i < count && text[i] != 0; i++) {
        add_option_char(&length, text[i]);
    }
    return true;
}

static void options_from_file(EFI_BOOT_SERVICES *bs, const EFI_LOADED_IMAGE *loaded)
{
    EFI_FILE_IO_INTERFACE *volume;
    EFI_FILE_HANDLE root;
    EFI_FILE_HANDLE file;
    CHAR8 text[GUEST_OPTIONS_BYTES];
    UINTN size = sizeof(text);
    UINTN length = 0;

    if (bs->HandleProtocol(loaded->DeviceHandle, &file_system_guid, (VOID **)&volume) !=
            EFI_SUCCESS ||
        volume->OpenVolume(volume, &root) != EFI_SUCCESS) {
        return;
    }
    if (root->Open(root, &file, options_file_name, EFI_FILE_MODE_READ, 0) != EFI_SUCCESS) {
        return;
    }
    if (file->Read(file, &size, text) == EFI_SUCCESS) {
        for (UINTN i = 0; i < size; i++) {
            add_option_char(&length, text[i]);
        }
    }
    (void)file->Close(file);
}

static EFI_STATUS find_processors(EFI_BOOT_SERVICES *bs)
{
    struct mp_services *mp;
    UINTN count = 0;
    UINTN enabled = 0;
    EFI_STATUS status;

    status = bs->LocateProtocol(&mp_services_guid, NULL, (VOID **)&mp);
    if (status != EFI_SUCCESS) {
        return status;
    }
    status = mp->get_number_of_processors(mp, &count, &enabled);
    if (status != EFI_SUCCESS) {
        return status;
    }
    info.cpu_count = 1;
    for (UINTN i = 0; i < count; i++) {
        struct mp_processor_info processor;

        status = mp->get_processor_info(mp, i, &processor);
        if (status != EFI_SUCCESS) {
            return status;
        }
        if ((processor.status_flag & MP_STATUS_BSP) != 0) {
            info.apic_ids[0] = (uint32_t)processor.processor_id;
        } else if ((processor.status_flag & MP_STATUS_ENABLED) != 0 &&
                   info.cpu_count < GUEST_MAX_CPUS) {
            info.apic_ids[info.cpu_count++] = (uint32_t)processor.processor_id;
        }
    }
    return EFI_SUCCESS;
}

static void add_reserved(uint64_t start, uint64_t bytes)
{
    if (info.reserved_count < GUEST_MAX_RANGES) {
        info.reserved[info.reserved_count++] = (struct guest_range){start, bytes};
    }
}

/* Two passes: the top of usable memory first, then the reserved ranges below it. */
static void scan_memory_map(UINTN map_bytes, UINTN descriptor_bytes)
{
    for (int pass = 0; pass < 2; pass++) {
        for (UINTN at = 0; at + descriptor_bytes <= map_bytes; at += descriptor_bytes) {
            const EFI_MEMORY_DESCRIPTOR *d = (const void *)(memory_map + at);
            uint64_t bytes = d->NumberOfPages << 12;
            uint64_t end = d->PhysicalStart + bytes;

            if (pass == 0) {
                if (d->Type != EfiReservedMemoryType && d->Type != EfiMemoryMappedIO &&
                    d->Type != EfiMemoryMappedIOPortSpace && end > info.ram_top) {
                    info.ram_top = end;
                }
            } else if (d->Type == EfiReservedMemoryType && end <= info.ram_top) {
                add_reserved(d->PhysicalStart, bytes);
            }
        }
    }
}

/* The map can change between the two calls: the specification asks to try again. */
static EFI_STATUS leave_boot_services(EFI_BOOT_SERVICES *bs, EFI_HANDLE image)
{
    EFI_STATUS status = EFI_NOT_READY;

    for (int attempt = 0; attempt < 4 && status != EFI_SUCCESS; attempt++) {
        UINTN map_bytes = sizeof(memory_map);
        UINTN key = 0;
        UINTN descriptor_bytes = 0;
        UINT32 version = 0;

        status = bs->GetMemoryMap(&map_bytes, (EFI_MEMORY_DESCRIPTOR *)memory_map, &key,
                                  &descriptor_bytes, &version);
        if (status != EFI_SUCCESS) {
            return status;
        }
        status = bs->ExitBootServices(image, key);
        if (status == EFI_SUCCESS) {
            scan_memory_map(map_bytes, descriptor_bytes);
        }
    }
    return status;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    EFI_BOOT_SERVICES *bs = system->BootServices;
    EFI_LOADED_IMAGE *loaded = NULL;
    EFI_PHYSICAL_ADDRESS low = 0x9F000;
    EFI_STATUS status;

    status = bs->HandleProtocol(image, &loaded_image_guid, (VOID **)&loaded);
    if (status == EFI_SUCCESS) {
        if (!options_from_load_options(loaded)) {
            options_from_file(bs, loaded);
        }
        status = find_processors(bs);
    }
    if (status == EFI_SUCCESS) {
        status = bs->AllocatePages(AllocateMaxAddress, EfiLoaderData, GUEST_LOW_PAGES, &low);
    }
    if (status == EFI_SUCCESS) {
        info.low_base = low;
        status = leave_boot_services(bs, image);
    }
    if (status != EFI_SUCCESS) {
        system->ConOut->OutputString(system->ConOut, text_failed);
        return status;
    }
    guest_main(&info);
}
