/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/efi_file.h"
#include "boot/own_image.h"
#include "boot/startup.h"
#include "core/fmt.h"
#include "core/string.h"

/* The next boot image: loaded before anything is changed, started as the guest. */

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;
static EFI_GUID device_path_guid = EFI_DEVICE_PATH_PROTOCOL_GUID;
static EFI_GUID file_system_guid = EFI_SIMPLE_FILE_SYSTEM_PROTOCOL_GUID;

/* Where operating systems put their loaders, in the order of preference. */
static const char *const usual_loaders[] = {
    "\\EFI\\Microsoft\\Boot\\bootmgfw.efi",
    "\\EFI\\debian\\shimx64.efi",
    "\\EFI\\debian\\grubx64.efi",
    "\\EFI\\ubuntu\\shimx64.efi",
    "\\EFI\\fedora\\shimx64.efi",
    "\\EFI\\systemd\\systemd-bootx64.efi",
    "\\EFI\\BOOT\\BOOTX64.EFI",
};

static UINTN device_path_bytes(const EFI_DEVICE_PATH *path)
{
    const UINT8 *at = (const UINT8 *)path;

    while (!IsDevicePathEndType((const EFI_DEVICE_PATH *)(const void *)at)) {
        at += DevicePathNodeLength((const EFI_DEVICE_PATH *)(const void *)at);
    }
    return (UINTN)(at - (const UINT8 *)path);
}

static void put_node(UINT8 *at, UINT8 type, UINT8 subtype, UINTN bytes)
{
    at[0] = type;
    at[1] = subtype;
    at[2] = (UINT8)bytes;
    at[3] = (UINT8)(bytes >> 8);
}

/* The device's path, a file path node, an end node; from AllocatePool. */
static EFI_STATUS make_path(const struct startup *startup, EFI_HANDLE device, const char *file,
                            EFI_DEVICE_PATH **out)
{
    UINTN name_bytes = 2 * (str_length(file, CONFIG_PATH_CHARS) + 1);
    UINTN node_bytes = sizeof(EFI_DEVICE_PATH) + name_bytes;
    EFI_DEVICE_PATH *device_path;
    UINTN device_bytes;
    UINT8 *bytes;
    EFI_STATUS status;

    status = startup->services->HandleProtocol(device, &device_path_guid, (void **)&device_path);
    if (EFI_ERROR(status)) {
        return status;
    }
    device_bytes = device_path_bytes(device_path);
    status = startup->services->AllocatePool(
        EfiLoaderData, device_bytes + node_bytes + sizeof(EFI_DEVICE_PATH), (void **)&bytes);
    if (EFI_ERROR(status)) {
        return status;
    }
    memcpy(bytes, device_path, device_bytes);
    put_node(bytes + device_bytes, MEDIA_DEVICE_PATH, MEDIA_FILEPATH_DP, node_bytes);
    for (UINTN i = 0; i < name_bytes / 2; i++) {
        bytes[device_bytes + sizeof(EFI_DEVICE_PATH) + 2 * i] = (UINT8)file[i];
        bytes[device_bytes + sizeof(EFI_DEVICE_PATH) + 2 * i + 1] = 0;
    }
    put_node(bytes + device_bytes + node_bytes, END_DEVICE_PATH_TYPE,
             END_ENTIRE_DEVICE_PATH_SUBTYPE, sizeof(EFI_DEVICE_PATH));
    *out = (EFI_DEVICE_PATH *)(void *)bytes;
    return EFI_SUCCESS;
}

/* A copy of Sluice, whatever its name, would only start itself once more. */
static bool is_ourselves(const struct startup *startup)
{
    EFI_LOADED_IMAGE *loaded;
    EFI_STATUS status =
        startup->services->HandleProtocol(startup->next, &loaded_image_guid, (void **)&loaded);

    return !EFI_ERROR(status) && own_image_is(loaded->ImageBase, loaded->ImageSize);
}

/* Loads it as the next image, or says by its name why not. EFI_ALREADY_STARTED: it is Sluice. */
static EFI_STATUS load(struct startup *startup, EFI_HANDLE device, const char *file)
{
    EFI_DEVICE_PATH *path;
    EFI_STATUS status = make_path(startup, device, file, &path);

    if (EFI_ERROR(status)) {
        efi_console_line(LOG_ERROR, "no path to the boot image %s: %s", file,
                         efi_status_name(status));
        return status;
    }
    status = startup->services->LoadImage(FALSE, startup->image, path, NULL, 0, &startup->next);
    startup->services->FreePool(path);
    if (EFI_ERROR(status)) {
        startup->next = NULL;
        efi_console_line(LOG_ERROR, "the boot image %s cannot be loaded: %s", file,
                         efi_status_name(status));
        return status;
    }
    if (is_ourselves(startup)) {
        startup_unload_next(startup);
        efi_console_line(LOG_ERROR, "the boot image %s is Sluice itself: not started", file);
        return EFI_ALREADY_STARTED;
    }
    (void)fmt_print(startup->next_path, sizeof(startup->next_path), "%s", file);
    return EFI_SUCCESS;
}

/* The first usual loader of a volume that can be loaded and is not Sluice. */
static bool load_usual(struct startup *startup, EFI_HANDLE volume)
{
    for (UINTN i = 0; i < ARRAY_LEN(usual_loaders); i++) {
        if (efi_file_exists(startup->services, volume, usual_loaders[i]) &&
            !EFI_ERROR(load(startup, volume, usual_loaders[i]))) {
            return true;
        }
    }
    return false;
}

/* The first usual loader on a volume other than ours. */
static EFI_STATUS search(struct startup *startup)
{
    EFI_HANDLE *handles;
    UINTN count = 0;
    bool is_found = false;
    EFI_STATUS status = startup->services->LocateHandleBuffer(ByProtocol, &file_system_guid, NULL,
                                                              &count, &handles);

    if (EFI_ERROR(status)) {
        count = 0;
    }
    for (UINTN i = 0; i < count && !is_found; i++) {
        is_found = handles[i] != startup->device && load_usual(startup, handles[i]);
    }
    if (count > 0) {
        startup->services->FreePool(handles);
    }
    if (is_found) {
        return EFI_SUCCESS;
    }
    efi_console_line(LOG_ERROR, "no boot image was found on other volumes than our own; name one "
                                "with boot=");
    return EFI_NOT_FOUND;
}

static EFI_STATUS set_options(struct startup *startup)
{
    const char *options = startup->config.options;
    UINTN length = str_length(options, CONFIG_OPTIONS_CHARS);
    EFI_LOADED_IMAGE *loaded;
    CHAR16 *wide;
    EFI_STATUS status;

    if (length == 0) {
        return EFI_SUCCESS;
    }
    status = startup->services->HandleProtocol(startup->next, &loaded_image_guid, (void **)&loaded);
    if (EFI_ERROR(status)) {
        return status;
    }
    status = startup->services->AllocatePool(EfiLoaderData, 2 * (length + 1), (void **)&wide);
    if (EFI_ERROR(status)) {
        return status;
    }
    for (UINTN i = 0; i < length; i++) {
        wide[i] = (CHAR16)(unsigned char)options[i];
    }
    wide[length] = 0;
    loaded->LoadOptions = wide;
    loaded->LoadOptionsSize = (UINT32)(2 * (length + 1));
    return EFI_SUCCESS;
}

EFI_STATUS startup_load_next(struct startup *startup)
{
    const char *path = startup->config.boot_path;
    EFI_STATUS status;

    if (path[0] == '\0') {
        status = search(startup);
    } else if (startup->device == NULL) {
        efi_console_line(LOG_ERROR, "boot=%s: the image came from no volume", path);
        status = EFI_NOT_FOUND;
    } else {
        status = load(startup, startup->device, path);
    }
    if (!EFI_ERROR(status)) {
        status = set_options(startup);
    }
    if (EFI_ERROR(status)) {
        efi_console_line(LOG_ERROR, "nothing was changed");
        startup_unload_next(startup);
        return status;
    }
    efi_console_line(LOG_INFO, "next boot image: %s", startup->next_path);
    return EFI_SUCCESS;
}

void startup_unload_next(struct startup *startup)
{
    if (startup->next != NULL) {
        (void)startup->services->UnloadImage(startup->next);
        startup->next = NULL;
    }
}

EFI_STATUS startup_start_next(struct startup *startup)
{
    EFI_STATUS status = startup->services->StartImage(startup->next, NULL, NULL);

    efi_console_banner("%s returned: %s; the firmware goes on as a guest", startup->next_path,
                       efi_status_name(status));
    return status;
}
