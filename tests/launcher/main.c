/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rig's launcher: prepares an emulated machine as \launch.cfg says, starts one image from the
 * same volume, and reports on COM1 when it starts and how it returns. It knows nothing of Sluice.
 */
#include <efi.h>

#include "tests/launcher/acpi.h"
#include "tests/launcher/config.h"
#include "tests/launcher/cpu.h"
#include "tests/launcher/lps.h"
#include "tests/launcher/out.h"
#include "tests/launcher/volume.h"

#define BOCHS_SHUTDOWN_PORT 0x8900U
#define QEMU_EXIT_PORT      0x501U

EFI_STATUS efi_main(EFI_HANDLE self, EFI_SYSTEM_TABLE *table);

static void switch_off(EFI_SYSTEM_TABLE *table)
{
    const char *word = "Shutdown";

    out_drain();
    for (; *word != '\0'; word++) {
        cpu_out8(BOCHS_SHUTDOWN_PORT, (uint8_t)*word);
    }
    cpu_out32(QEMU_EXIT_PORT, 0);
    (void)table->RuntimeServices->ResetSystem(EfiResetShutdown, EFI_SUCCESS, 0, NULL);
    for (;;) {
        cpu_halt();
    }
}

static EFI_STATUS report(const char *what, EFI_STATUS status)
{
    out_text("LAUNCH ");
    out_text(what);
    out_text(" ");
    out_status(status);
    out_text("\n");
    return status;
}

static EFI_STATUS read_config(EFI_BOOT_SERVICES *services, EFI_HANDLE self, struct config *config)
{
    static char text[4096];
    UINTN size = sizeof(text);
    EFI_STATUS status = volume_read(services, self, "\\launch.cfg", text, &size);
    unsigned int line;

    if (status != EFI_SUCCESS) {
        return report("cannot read launch.cfg:", status);
    }
    line = config_parse(text, size, config);
    if (line != 0) {
        out_text("LAUNCH launch.cfg: bad line ");
        out_decimal(line);
        out_text("\n");
        return EFI_INVALID_PARAMETER;
    }
    return EFI_SUCCESS;
}

static EFI_STATUS prepare(EFI_BOOT_SERVICES *services, const struct config *config)
{
    static struct lps lps;
    EFI_STATUS status = lps_find(services, &lps);

    if (status != EFI_SUCCESS) {
        return report("cannot list processors:", status);
    }
    out_text("LAUNCH lps=");
    out_decimal(lps.count);
    out_text(" acpi=");
    out_text(config->install_acpi ? "ours" : "firmware");
    if (config->lock_vmx != CONFIG_LOCK_OFF) {
        out_text(" vmx-locked-off=");
        out_decimal(lps_lock_vmx(services, &lps, config->lock_vmx == CONFIG_LOCK_LAST));
    }
    out_text("\n");
    if (!config->install_acpi) {
        return EFI_SUCCESS;
    }
    status = acpi_install(services, &lps);
    if (status != EFI_SUCCESS) {
        return report("cannot install ACPI tables:", status);
    }
    return EFI_SUCCESS;
}

static EFI_STATUS launch(EFI_BOOT_SERVICES *services, EFI_HANDLE self, const struct config *config)
{
    EFI_HANDLE image = NULL;
    EFI_STATUS status;

    out_text("LAUNCH loading ");
    out_text(config->image);
    out_text(" tsc=");
    out_decimal(cpu_rdtsc());
    out_text("\n");
    status = volume_load(services, self, config->image, config->options, &image);
    if (status != EFI_SUCCESS) {
        return report("cannot load:", status);
    }
    out_text("LAUNCH tsc=");
    out_decimal(cpu_rdtsc());
    out_text("\n");
    status = services->StartImage(image, NULL, NULL);
    out_text("LAUNCH returned ");
    out_status(status);
    out_text(" tsc=");
    out_decimal(cpu_rdtsc());
    out_text("\n");
    return status;
}

EFI_STATUS efi_main(EFI_HANDLE self, EFI_SYSTEM_TABLE *table)
{
    static struct config config;
    EFI_STATUS status = read_config(table->BootServices, self, &config);

    if (status == EFI_SUCCESS) {
        (void)table->BootServices->SetWatchdogTimer(0, 0, 0, NULL);
        status = prepare(table->BootServices, &config);
    }
    if (status == EFI_SUCCESS) {
        status = launch(table->BootServices, self, &config);
    }
    if (!config.return_to_firmware) {
        switch_off(table);
    }
    return status;
}
