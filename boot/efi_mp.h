/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_EFI_MP_H
#define BOOT_EFI_MP_H

#include <efi.h>

#include "core/boot_info.h"
#include "core/compiler.h"

/* The processors by the firmware's MP Services (UEFI Platform Initialization specification, volume
 * 2, "MP Services Protocol"). Boot processor only. */

/* A function that runs on a processor; argument is the caller's. It may make no firmware call. */
typedef void(EFIAPI *efi_mp_function)(void *argument);

struct efi_mp {
    void *protocol; /* NULL: a machine without MP Services, with one processor */
    struct boot_lp *lps;
    UINTN count;   /* of enabled, healthy processors */
    UINTN boot_lp; /* index of the processor that this runs on */
};

/* Fills lps (room for BOOT_MAX_LPS). EFI_BUFFER_TOO_SMALL: there are more processors. */
MUST_CHECK EFI_STATUS efi_mp_open(struct efi_mp *mp, EFI_BOOT_SERVICES *services,
                                  struct boot_lp *lps);

/* Runs function on one processor and waits for it, 10 s at most. EFI_TIMEOUT: it may still run, and
 * argument be used, though firmware resets the processor then. Any other error: it did not run. */
MUST_CHECK EFI_STATUS efi_mp_run(const struct efi_mp *mp, UINTN index, efi_mp_function function,
                                 void *argument);

#endif
