/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/config.h"
#include "boot/efi_console.h"
#include "boot/efi_file.h"
#include "boot/startup.h"
#include "core/fmt.h"
#include "core/string.h"

#define CONFIG_FILE_LIMIT 65536u

static EFI_GUID loaded_image_guid = EFI_LOADED_IMAGE_PROTOCOL_GUID;

/* Reads reading->path. EFI_NOT_FOUND: there is no such file. */
static EFI_STATUS read_file(struct startup *startup)
{
    struct config_reading *reading = &startup->reading;
    char *text;
    UINTN bytes;
    EFI_STATUS status = efi_file_read(startup->services, startup->device, reading->path,
                                      CONFIG_FILE_LIMIT, &text, &bytes);

    if (status == EFI_NOT_FOUND) {
        return status;
    }
    if (EFI_ERROR(status)) {
        reading->is_refused = true;
        (void)fmt_print(reading->error.text, sizeof(reading->error.text), "cannot be read: %s",
                        efi_status_name(status));
        return status;
    }
    reading->is_refused = config_parse(text, bytes, &startup->config, &reading->error) != STATUS_OK;
    startup->services->FreePool(text);
    return reading->is_refused ? EFI_INVALID_PARAMETER : EFI_SUCCESS;
}

/* The file at the root of the image's volume, else that in the image's folder, else none. */
static EFI_STATUS read_files(struct startup *startup, const EFI_LOADED_IMAGE *loaded)
{
    struct config_reading *reading = &startup->reading;
    EFI_STATUS status;
    UINTN length;

    (void)fmt_print(reading->path, sizeof(reading->path), "%s", CONFIG_FILE_NAME);
    status = read_file(startup);
    if (status != EFI_NOT_FOUND) {
        return status;
    }
    efi_file_image_folder(loaded->FilePath, reading->path, CONFIG_PATH_CHARS);
    length = str_length(reading->path, CONFIG_PATH_CHARS);
    if (length > 0) {
        (void)fmt_print(reading->path + length, sizeof(reading->path) - length, "%s",
                        CONFIG_FILE_NAME);
        status = read_file(startup);
    }
    if (status == EFI_NOT_FOUND) {
        reading->path[0] = '\0';
        return EFI_SUCCESS;
    }
    return status;
}

static EFI_STATUS read_load_options(struct startup *startup, const EFI_LOADED_IMAGE *loaded)
{
    struct config_reading *reading = &startup->reading;
    bool ignored = false;

    if (loaded->LoadOptionsSize == 0 || loaded->LoadOptions == NULL) {
        return EFI_SUCCESS;
    }
    if (config_parse_load_options(loaded->LoadOptions, loaded->LoadOptionsSize, &startup->config,
                                  &reading->error, &ignored) == STATUS_OK) {
        return EFI_SUCCESS;
    }
    reading->is_refused = true;
    reading->is_in_load_options = true;
    return EFI_INVALID_PARAMETER;
}

EFI_STATUS startup_read_config(struct startup *startup)
{
    EFI_LOADED_IMAGE *loaded;
    EFI_STATUS status;

    config_defaults(&startup->config);
    status =
        startup->services->HandleProtocol(startup->image, &loaded_image_guid, (void **)&loaded);
    if (EFI_ERROR(status)) {
        startup->reading.is_refused = true;
        startup->reading.is_in_load_options = true;
        (void)fmt_print(startup->reading.error.text, sizeof(startup->reading.error.text),
                        "the firmware does not give them: %s", efi_status_name(status));
        return status;
    }
    startup->device = loaded->DeviceHandle;
    if (startup->device != NULL) {
        status = read_files(startup, loaded);
    }
    return EFI_ERROR(status) ? status : read_load_options(startup, loaded);
}

void startup_say_config(const struct startup *startup)
{
    const struct config_reading *reading = &startup->reading;

    if (!reading->is_refused) {
        if (reading->path[0] == '\0') {
            efi_console_line(LOG_INFO, "configuration: there is no %s; the defaults hold",
                             CONFIG_FILE_NAME);
        } else {
            efi_console_line(LOG_INFO, "configuration: %s", reading->path);
        }
        return;
    }
    if (reading->is_in_load_options) {
        efi_console_line(LOG_ERROR, "load options: %s", reading->error.text);
    } else if (reading->error.line == 0) {
        efi_console_line(LOG_ERROR, "%s %s", reading->path, reading->error.text);
    } else {
        efi_console_line(LOG_ERROR, "%s line %u: %s", reading->path, reading->error.line,
                         reading->error.text);
    }
    efi_console_line(LOG_ERROR, "nothing was changed");
}
