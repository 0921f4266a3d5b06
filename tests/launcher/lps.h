/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_LPS_H
#define LAUNCHER_LPS_H

/* The machine's logical processors, from the firmware's MP Services. */

#include <efi.h>
#include <stdbool.h>

#define LPS_MAX 64

struct lps {
    UINTN count;
    uint32_t apic_id[LPS_MAX]; /* in MP Services' order */
};

/* Fill *lps. Without MP Services it holds the calling processor only. */
EFI_STATUS lps_find(EFI_BOOT_SERVICES *services, struct lps *lps);

/*
 * Lock IA32_FEATURE_CONTROL with VMX off, on every LP or on the last one only. Returns how many
 * LPs have the lock with VMX off afterwards: fewer than asked for where the LP has no VMX or its
 * register was locked before with VMX on.
 */
UINTN lps_lock_vmx(EFI_BOOT_SERVICES *services, const struct lps *lps, bool last_only);

/* Call procedure(argument) on every LP, on the calling one first, on the others one at a time. */
void lps_each(EFI_BOOT_SERVICES *services, const struct lps *lps, void(EFIAPI *procedure)(void *),
              void *argument);

#endif
