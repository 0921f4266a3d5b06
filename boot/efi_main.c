/* SPDX-License-Identifier: BSD-2-Clause */
#include <efi.h>

#include "boot/efi_console.h"
#include "boot/startup.h"
#include "core/cpu.h"

/* The entry of the image: the start-up order as one readable list. */

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system);

/* At the port that the configuration names; when it is refused, at the one that it had named before
 * the error, or the default. */
static void open_log(struct startup *startup)
{
    const struct boot_config *config = &startup->config;

    startup->log.level = (enum log_level)config->log_level;
    startup->log.tsc_at_start = startup->tsc_at_start;
    startup->log.uart.is_present = false;
    if (config->console_enabled) {
        (void)uart_init(&startup->log.uart, config->console_port, config->console_baud);
    }
    log_attach(&startup->log);
    efi_console_use_log(startup->log.uart.is_present);
}

static void say_banner(const struct startup *startup)
{
    efi_console_banner("Sluice %d.%d.%d, %u LPs, mode passthrough", SLUICE_VERSION_MAJOR,
                       SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH, (unsigned int)startup->mp.count);
    if (startup->config.console_enabled && !startup->log.uart.is_present) {
        efi_console_line(LOG_WARNING, "there is no serial port at I/O address %x",
                         startup->config.console_port);
    }
}

static EFI_STATUS find_processors(struct startup *startup)
{
    EFI_STATUS status = efi_mp_open(&startup->mp, startup->services, startup->lps);

    if (EFI_ERROR(status)) {
        efi_console_line(LOG_ERROR, "MP Services: %s", efi_status_name(status));
    }
    return status;
}

/* Everything up to the last step before the processors are changed can be undone by freeing. */
static EFI_STATUS prepare(struct startup *startup)
{
    EFI_STATUS status = startup_find_platform(startup);

    if (!EFI_ERROR(status)) {
        status = startup_check_requirements(startup);
    }
    if (!EFI_ERROR(status)) {
        status = startup_load_next(startup);
    }
    if (!EFI_ERROR(status)) {
        status = startup_build_machine(startup);
    }
    if (!EFI_ERROR(status)) {
        status = startup_virtualise(startup);
    }
    if (EFI_ERROR(status)) {
        startup_unload_next(startup);
        startup_free_machine(startup);
    }
    startup_free_surveys(startup);
    return status;
}

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *system)
{
    static struct startup startup;
    EFI_STATUS config_status;
    EFI_STATUS status;

    startup.image = image;
    startup.system = system;
    startup.services = system->BootServices;
    startup.tsc_at_start = cpu_read_tsc();
    efi_console_init(system);
    config_status = startup_read_config(&startup);
    open_log(&startup);
    status = find_processors(&startup);
    if (EFI_ERROR(status)) {
        return status;
    }
    say_banner(&startup);
    startup_say_config(&startup);
    if (EFI_ERROR(config_status)) {
        return config_status;
    }
    startup_describe_config(&startup);
    status = prepare(&startup);
    if (EFI_ERROR(status)) {
        return status;
    }
    efi_console_banner("all %u LPs run as guests of Sluice", (unsigned int)startup.mp.count);
    return startup_start_next(&startup);
}
