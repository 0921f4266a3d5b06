/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BOOT_CONFIG_H
#define CORE_BOOT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/* The configuration as boot/config.c parsed it: plain data, handed to every folder. */

#define CONFIG_PATH_CHARS    256u
#define CONFIG_OPTIONS_CHARS 2048u

enum config_mode { CONFIG_MODE_PASSTHROUGH };

enum config_log_level { CONFIG_LOG_ERROR, CONFIG_LOG_WARNING, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG };

enum config_triple_fault { CONFIG_TRIPLE_FAULT_RESET, CONFIG_TRIPLE_FAULT_HALT };

enum config_guest_ipi { CONFIG_GUEST_IPI_TRAP, CONFIG_GUEST_IPI_DIRECT };

struct boot_config {
    enum config_mode mode;
    enum config_log_level log_level;
    enum config_triple_fault triple_fault;
    enum config_guest_ipi guest_ipi;
    bool hv_enabled;                    /* hv=on|off: Microsoft's interface */
    bool console_enabled;               /* console=none switches it off */
    uint16_t console_port;              /* I/O port of the 16550 */
    uint32_t console_baud;              /* bits per second */
    char boot_path[CONFIG_PATH_CHARS];  /* "" : search the other EFI partitions */
    char options[CONFIG_OPTIONS_CHARS]; /* load options for the boot image */
};

#endif
