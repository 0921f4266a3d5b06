/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_ACPI_H
#define LAUNCHER_ACPI_H

/* ACPI tables for Bochs' i440FX board, where the firmware publishes none. */

#include <efi.h>

#include "tests/launcher/lps.h"

/*
 * Build RSDP, XSDT, FADT, FACS, MADT, HPET and DSDT in memory below 4 GiB that the firmware keeps
 * for them, and install the RSDP under the ACPI 2.0 and the ACPI 1.0 GUID.
 */
EFI_STATUS acpi_install(EFI_BOOT_SERVICES *services, const struct lps *lps);

#endif
