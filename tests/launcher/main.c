/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rig's launcher: prepares an emulated machine as \launch.cfg says, starts one image after the
 * other from the same volume, and reports on COM1 when each starts, how it returns, and what it
 * left changed. It knows nothing of Sluice.
 */
#include <efi.h>

#include "tests/launcher/acpi.h"
#include "tests/launcher/config.h"
#include "tests/launcher/cpu.h"
#include "tests/launcher/lps.h"
#include "tests/launcher/memory.h"
#include "tests/launcher/out.h"
#include "tests/launcher/state.h"
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
    static char text[16384];
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

static EFI_STATUS prepare(EFI_BOOT_SERVICES *services, const struct config *config, struct lps *lps)
{
    EFI_STATUS status = lps_find(services, lps);

    if (status != EFI_SUCCESS) {
        return report("cannot list processors:", status);
    }
    out_text("LAUNCH lps=");
    out_decimal(lps->count);
    out_text(" acpi=");
    out_text(config->install_acpi ? "ours" : "firmware");
    out_text("\n");
    if (!config->install_acpi) {
        return EFI_SUCCESS;
    }
    status = acpi_install(services, lps);
    if (status != EFI_SUCCESS) {
        return report("cannot install ACPI tables:", status);
    }
    return EFI_SUCCESS;
}

static void begin_step(EFI_BOOT_SERVICES *services, const struct config_step *step,
                       const struct lps *lps)
{
    if (step->name[0] != '\0') {
        out_text("LAUNCH step ");
        out_text(step->name);
        out_text("\n");
        out_mark("\r\nLAUNCH step ");
        out_mark(step->name);
        out_mark("\r\n");
    }
    if (step->lock_vmx != CONFIG_LOCK_OFF) {
        out_text("LAUNCH vmx-locked-off=");
        out_decimal(lps_lock_vmx(services, lps, step->lock_vmx == CONFIG_LOCK_LAST));
        out_text("\n");
    }
}

static EFI_STATUS start(EFI_BOOT_SERVICES *services, const struct config_step *step,
                        EFI_HANDLE image)
{
    static struct memory_held held;
    EFI_STATUS status;

    if (step->free_kib != 0) {
        uint64_t left = memory_hold(services, step->free_kib / 4, &held);

        out_text("LAUNCH free KiB=");
        out_decimal(left * 4);
        out_text("\n");
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
    memory_release(services, &held);
    return status;
}

static EFI_STATUS launch(EFI_BOOT_SERVICES *services, EFI_HANDLE self,
                         const struct config_step *step, const struct lps *lps)
{
    static struct state before;
    static struct state after;
    EFI_HANDLE image = NULL;
    EFI_STATUS status;

    begin_step(services, step, lps);
    if (step->name[0] != '\0') {
        state_read(services, lps, &before);
    }
    out_text("LAUNCH loading ");
    out_text(step->image);
    out_text(" tsc=");
    out_decimal(cpu_rdtsc());
    out_text("\n");
    status = volume_load(services, self, step->image, step->options, &image);
    if (status != EFI_SUCCESS) {
        return report("cannot load:", status);
    }
    status = start(services, step, image);
    if (step->name[0] != '\0') {
        state_read(services, lps, &after);
        state_compare(&before, &after);
    }
    return status;
}

EFI_STATUS efi_main(EFI_HANDLE self, EFI_SYSTEM_TABLE *table)
{
    static struct config config;
    static struct lps lps;
    EFI_STATUS status = read_config(table->BootServices, self, &config);
    unsigned int at;

    if (status == EFI_SUCCESS) {
        (void)table->BootServices->SetWatchdogTimer(0, 0, 0, NULL);
        status = prepare(table->BootServices, &config, &lps);
    }
    if (status == EFI_SUCCESS) {
        for (at = 0; at < config.step_count; at++) {
            status = launch(table->BootServices, self, &config.steps[at], &lps);
        }
    }
    if (!config.return_to_firmware) {
        switch_off(table);
    }
    return status;
}
