/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_file.h"

#include "core/boot_config.h"
#include "core/string.h"

static EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;
static EFI_GUID file_info_guid = EFI_FILE_INFO_ID;

#define FILE_INFO_BYTES (sizeof(EFI_FILE_INFO) + 2 * CONFIG_PATH_CHARS)

static EFI_STATUS open_file(EFI_BOOT_SERVICES *services, EFI_HANDLE device, const char *path,
                            EFI_FILE_HANDLE *out)
{
    EFI_FILE_IO_INTERFACE *volume;
    EFI_FILE_HANDLE root;
    CHAR16 wide[CONFIG_PATH_CHARS];
    UINTN length = 0;
    EFI_STATUS status;

    status = services->HandleProtocol(device, &file_system_guid, (void **)&volume);
    if (EFI_ERROR(status)) {
        return EFI_NOT_FOUND;
    }
    while (length < CONFIG_PATH_CHARS - 1 && path[length] != '\0') {
        wide[length] = (CHAR16)(unsigned char)path[length];
        length++;
    }
    wide[length] = 0;
    status = volume->OpenVolume(volume, &root);
    if (EFI_ERROR(status)) {
        return status;
    }
    status = root->Open(root, out, wide, EFI_FILE_MODE_READ, 0);
    root->Close(root);
    return status;
}

static EFI_STATUS file_size(EFI_FILE_HANDLE file, UINT64 *bytes)
{
    static UINT64 buffer[(FILE_INFO_BYTES + 7) / 8];
    UINTN size = sizeof(buffer);
    EFI_STATUS status = file->GetInfo(file, &file_info_guid, &size, buffer);
    const EFI_FILE_INFO *info = (const EFI_FILE_INFO *)buffer;

    *bytes = EFI_ERROR(status) ? 0 : info->FileSize;
    if (!EFI_ERROR(status) && (info->Attribute & EFI_FILE_DIRECTORY) != 0) {
        return EFI_NOT_FOUND;
    }
    return status;
}

static EFI_STATUS read_all(EFI_BOOT_SERVICES *services, EFI_FILE_HANDLE file, UINTN limit,
                           char **out, UINTN *bytes)
{
    UINT64 size;
    EFI_STATUS status = file_size(file, &size);

    if (EFI_ERROR(status)) {
        return status;
    }
    if (size > limit) {
        return EFI_BUFFER_TOO_SMALL;
    }
    *bytes = (UINTN)size;
    status = services->AllocatePool(EfiLoaderData, *bytes + 1, (void **)out);
    if (EFI_ERROR(status)) {
        return status;
    }
    status = file->Read(file, bytes, *out);
    if (EFI_ERROR(status)) {
        services->FreePool(*out);
    }
    return status;
}

EFI_STATUS efi_file_read(EFI_BOOT_SERVICES *services, EFI_HANDLE device, const char *path,
                         UINTN limit, char **out, UINTN *bytes)
{
    EFI_FILE_HANDLE file;
    EFI_STATUS status = open_file(services, device, path, &file);

    if (EFI_ERROR(status)) {
        return status;
    }
    status = read_all(services, file, limit, out, bytes);
    file->Close(file);
    return status;
}

bool efi_file_exists(EFI_BOOT_SERVICES *services, EFI_HANDLE device, const char *path)
{
    EFI_FILE_HANDLE file;

    if (EFI_ERROR(open_file(services, device, path, &file))) {
        return false;
    }
    file->Close(file);
    return true;
}

void efi_file_image_folder(const EFI_DEVICE_PATH *path, char *out, UINTN size)
{
    UINTN length = 0;
    UINTN last_separator = 0;

    while (path != NULL && DevicePathType(path) == MEDIA_DEVICE_PATH &&
           DevicePathSubType(path) == MEDIA_FILEPATH_DP) {
        UINTN node_bytes = (UINTN)DevicePathNodeLength(path);
        const UINT8 *bytes = (const UINT8 *)path;

        for (UINTN at = sizeof(EFI_DEVICE_PATH); at + 1 < node_bytes; at += 2) {
            if (bytes[at] == 0 || length + 1 >= size) {
                break;
            }
            if (bytes[at] == '\\') {
                last_separator = length;
            }
            out[length++] = (char)bytes[at];
        }
        path = (const EFI_DEVICE_PATH *)(const void *)(bytes + node_bytes);
    }
    out[last_separator] = '\0';
}
