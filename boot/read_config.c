/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/config.h"
#include "boot/efi_console.h"
#include "boot/efi_file.h"
#include "boot/startup.h"
#include "core/fmt.h"

#define CONFIG_FILE_LIMIT 65536u
#define CONFIG_FILE_NAME  "\\sluice.cfg"

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

static EFI_STATUS refuse(const char *path, const struct config_error *error)
{
    if (error->line == 0) {
        efi_console_line(LOG_ERROR, "load options: %s", error->text);
    } else {
        efi_console_line(LOG_ERROR, "%s line %u: %s", path, error->line, error->text);
    }
    efi_console_line(LOG_ERROR, "nothing was changed");
    return EFI_INVALID_PARAMETER;
}

static EFI_STATUS read_file(struct startup *startup, const char *path, bool *found)
{
    struct config_error error;
    char *text;
    UINTN bytes;
    EFI_STATUS efi_status;
    enum status status;

    efi_status =
        efi_file_read(startup->services, startup->device, path, CONFIG_FILE_LIMIT, &text, &bytes);
    *found = efi_status != EFI_NOT_FOUND;
    if (efi_status == EFI_NOT_FOUND) {
        return EFI_SUCCESS;
    }
    if (EFI_ERROR(efi_status)) {
        efi_console_line(LOG_ERROR, "%s cannot be read: %s", path, efi_status_name(efi_status));
        return efi_status;
    }
    status = config_parse(text, bytes, &startup->config, &error);
    startup->services->FreePool(text);
    if (status != STATUS_OK) {
        return refuse(path, &error);
    }
    efi_console_line(LOG_INFO, "configuration: %s", path);
    return EFI_SUCCESS;
}

static EFI_STATUS read_load_options(struct startup *startup, const EFI_LOADED_IMAGE *loaded)
{
    struct config_error error;
    bool ignored = false;

    if (loaded->LoadOptionsSize == 0 || loaded->LoadOptions == NULL) {
        return EFI_SUCCESS;
    }
    if (config_parse_load_options(loaded->LoadOptions, loaded->LoadOptionsSize, &startup->config,
                                  &error, &ignored) != STATUS_OK) {
        return refuse("", &error);
    }
    return EFI_SUCCESS;
}

EFI_STATUS startup_read_config(struct startup *startup)
{
    char path[CONFIG_PATH_CHARS + sizeof(CONFIG_FILE_NAME)] = "";
    EFI_LOADED_IMAGE *loaded;
    EFI_STATUS status;
    bool found = false;
    UINTN length;

    config_defaults(&startup->config);
    status =
        startup->services->HandleProtocol(startup->image, &loaded_image_guid, (void **)&loaded);
    if (EFI_ERROR(status)) {
        return status;
    }
    startup->device = loaded->DeviceHandle;
    if (startup->device != NULL) {
        status = read_file(startup, CONFIG_FILE_NAME, &found);
        if (EFI_ERROR(status)) {
            return status;
        }
        efi_file_image_folder(loaded->FilePath, path, CONFIG_PATH_CHARS);
        for (length = 0; path[length] != '\0'; length++) {
        }
        (void)fmt_print(path + length, sizeof(path) - length, "%s", CONFIG_FILE_NAME);
        if (!found && length > 0) {
            status = read_file(startup, path, &found);
        }
        if (EFI_ERROR(status)) {
            return status;
        }
    }
    if (!found) {
        efi_console_line(LOG_INFO, "configuration: there is no %s; the defaults hold",
                         CONFIG_FILE_NAME);
    }
    return read_load_options(startup, loaded);
}
