/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_VOLUME_H
#define LAUNCHER_VOLUME_H

/* Files and images of the volume that the launcher itself came from. */

#include <efi.h>

/*
 * Read the file at `path` (ASCII, backslashes) into buffer. Returns a firmware status; *size holds
 * the room on entry and the bytes read on return; EFI_BUFFER_TOO_SMALL when the file fills it.
 */
EFI_STATUS volume_read(EFI_BOOT_SERVICES *services, EFI_HANDLE self, const char *path, void *buffer,
                       UINTN *size);

/* Load the image at `path` with the given load options. *image is set on success. */
EFI_STATUS volume_load(EFI_BOOT_SERVICES *services, EFI_HANDLE self, const char *path,
                       const char *options, EFI_HANDLE *image);

#endif
