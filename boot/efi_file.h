/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_EFI_FILE_H
#define BOOT_EFI_FILE_H

#include <stdbool.h>

#include <efi.h>

#include "core/compiler.h"

/* Files on FAT volumes, by the Simple File System protocol (UEFI specification). Boot processor. */

/* Reads a whole file of at most limit bytes into memory from AllocatePool, which the caller
 * frees. path is ASCII with backslashes from the volume's root. EFI_NOT_FOUND: there is no such
 * file, or no file system on device. EFI_BUFFER_TOO_SMALL: it is longer. */
MUST_CHECK EFI_STATUS efi_file_read(EFI_BOOT_SERVICES *services, EFI_HANDLE device,
                                    const char *path, UINTN limit, char **out, UINTN *bytes);

/* Whether a file is there. */
bool efi_file_exists(EFI_BOOT_SERVICES *services, EFI_HANDLE device, const char *path);

/* The folder of the image that path names ("\EFI\BOOT"), as ASCII without the last backslash, from
 * the FilePath of its LoadedImage protocol; empty when it has none. */
void efi_file_image_folder(const EFI_DEVICE_PATH *path, char *out, UINTN size);

#endif
