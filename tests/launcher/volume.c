/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/volume.h"

static UINTN text_length(const char *text)
{
    UINTN length = 0;

    while (text[length] != '\0') {
        length++;
    }
    return length;
}

/* Return a UTF-16 copy of an ASCII text from the firmware's pool, or NULL; *size in bytes. */
static CHAR16 *widen(EFI_BOOT_SERVICES *services, const char *text, UINTN *size)
{
    UINTN length = text_length(text);
    void *memory = NULL;
    CHAR16 *wide;
    UINTN at;

    *size = (length + 1) * sizeof(CHAR16);
    if (services->AllocatePool(EfiLoaderData, *size, &memory) != EFI_SUCCESS) {
        return NULL;
    }
    wide = memory;
    for (at = 0; at <= length; at++) {
        wide[at] = (CHAR16)(unsigned char)text[at];
    }
    return wide;
}

static EFI_STATUS own_device(EFI_BOOT_SERVICES *services, EFI_HANDLE self, EFI_HANDLE *device)
{
    EFI_GUID guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
    void *found = NULL;
    EFI_STATUS status = services->HandleProtocol(self, &guid, &found);

    if (status == EFI_SUCCESS) {
        *device = ((EFI_LOADED_IMAGE *)found)->DeviceHandle;
    }
    return status;
}

static EFI_STATUS open_volume(EFI_BOOT_SERVICES *services, EFI_HANDLE self, EFI_FILE_HANDLE *root)
{
    EFI_GUID guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;
    EFI_HANDLE device = NULL;
    void *found = NULL;
    EFI_STATUS status = own_device(services, self, &device);

    if (status != EFI_SUCCESS) {
        return status;
    }
    status = services->HandleProtocol(device, &guid, &found);
    if (status != EFI_SUCCESS) {
        return status;
    }
    return ((EFI_FILE_IO_INTERFACE *)found)->OpenVolume(found, root);
}

EFI_STATUS volume_read(EFI_BOOT_SERVICES *services, EFI_HANDLE self, const char *path, void *buffer,
                       UINTN *size)
{
    UINTN room = *size;
    UINTN path_size;
    CHAR16 *wide = widen(services, path, &path_size);
    EFI_FILE_HANDLE root = NULL;
    EFI_FILE_HANDLE file = NULL;
    EFI_STATUS status;

    if (wide == NULL) {
        return EFI_OUT_OF_RESOURCES;
    }
    status = open_volume(services, self, &root);
    if (status == EFI_SUCCESS) {
        status = root->Open(root, &file, wide, EFI_FILE_MODE_READ, 0);
        if (status == EFI_SUCCESS) {
            status = file->Read(file, size, buffer);
            (void)file->Close(file);
        }
        (void)root->Close(root);
    }
    (void)services->FreePool(wide);
    if (status == EFI_SUCCESS && *size == room) {
        return EFI_BUFFER_TOO_SMALL;
    }
    return status;
}

static UINTN node_length(const EFI_DEVICE_PATH *node)
{
    return (UINTN)node->Length[0] | ((UINTN)node->Length[1] << 8);
}

static void set_node(EFI_DEVICE_PATH *node, UINT8 type, UINT8 subtype, UINTN length)
{
    node->Type = type;
    node->SubType = subtype;
    node->Length[0] = (UINT8)length;
    node->Length[1] = (UINT8)(length >> 8);
}

/* Return the device path of a file on a device, from the firmware's pool, or NULL. */
static EFI_DEVICE_PATH *file_path(EFI_BOOT_SERVICES *services, EFI_HANDLE device,
                                  const CHAR16 *name, UINTN name_size)
{
    EFI_GUID guid = EFI_DEVICE_PATH_PROTOCOL_GUID;
    UINTN prefix = 0;
    UINTN file_length = sizeof(EFI_DEVICE_PATH) + name_size;
    const UINT8 *base;
    void *found = NULL;
    void *memory = NULL;
    UINT8 *out;

    if (services->HandleProtocol(device, &guid, &found) != EFI_SUCCESS) {
        return NULL;
    }
    base = found;
    while (((const EFI_DEVICE_PATH *)(base + prefix))->Type != END_DEVICE_PATH_TYPE) {
        prefix += node_length((const EFI_DEVICE_PATH *)(base + prefix));
    }
    if (services->AllocatePool(EfiLoaderData, prefix + file_length + sizeof(EFI_DEVICE_PATH),
                               &memory) != EFI_SUCCESS) {
        return NULL;
    }
    out = memory;
    services->CopyMem(out, found, prefix);
    set_node((EFI_DEVICE_PATH *)(out + prefix), MEDIA_DEVICE_PATH, MEDIA_FILEPATH_DP, file_length);
    services->CopyMem(out + prefix + sizeof(EFI_DEVICE_PATH), (void *)(UINTN)name, name_size);
    set_node((EFI_DEVICE_PATH *)(out + prefix + file_length), END_DEVICE_PATH_TYPE,
             END_ENTIRE_DEVICE_PATH_SUBTYPE, sizeof(EFI_DEVICE_PATH));
    return memory;
}

static EFI_STATUS set_options(EFI_BOOT_SERVICES *services, EFI_HANDLE image, const char *options)
{
    EFI_GUID guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
    void *found = NULL;
    UINTN size;
    CHAR16 *wide;
    EFI_STATUS status = services->HandleProtocol(image, &guid, &found);

    if (status != EFI_SUCCESS || options[0] == '\0') {
        return status;
    }
    wide = widen(services, options, &size);
    if (wide == NULL) {
        return EFI_OUT_OF_RESOURCES;
    }
    ((EFI_LOADED_IMAGE *)found)->LoadOptions = wide;
    ((EFI_LOADED_IMAGE *)found)->LoadOptionsSize = (UINT32)size;
    return EFI_SUCCESS;
}

EFI_STATUS volume_load(EFI_BOOT_SERVICES *services, EFI_HANDLE self, const char *path,
                       const char *options, EFI_HANDLE *image)
{
    UINTN size;
    CHAR16 *wide = widen(services, path, &size);
    EFI_HANDLE device = NULL;
    EFI_DEVICE_PATH *device_path = NULL;
    EFI_STATUS status = own_device(services, self, &device);

    if (status == EFI_SUCCESS && wide != NULL) {
        device_path = file_path(services, device, wide, size);
    }
    if (device_path == NULL) {
        return EFI_OUT_OF_RESOURCES;
    }
    status = services->LoadImage(FALSE, self, device_path, NULL, 0, image);
    if (status != EFI_SUCCESS) {
        return status;
    }
    return set_options(services, *image, options);
}
