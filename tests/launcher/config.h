/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_CONFIG_H
#define LAUNCHER_CONFIG_H

/* \launch.cfg: lines of key=value, '#' at the start of a line begins a comment. */

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_PATH_MAX    128
#define CONFIG_OPTIONS_MAX 1024

enum config_lock {
    CONFIG_LOCK_OFF,
    CONFIG_LOCK_ALL,
    CONFIG_LOCK_LAST,
};

struct config {
    char image[CONFIG_PATH_MAX];      /* image=\path: what to start, on the launcher's volume */
    char options[CONFIG_OPTIONS_MAX]; /* options=...: its load options */
    bool install_acpi;                /* acpi=on: install the tables of Bochs' board */
    enum config_lock lock_vmx; /* lockvmx=on|last: VMX off and locked, on all LPs or the last */
    bool return_to_firmware;   /* onreturn=firmware: do not switch off when it returns */
};

/*
 * Parse `size` bytes of text into *config, which starts with the defaults (no image, all off).
 * Returns 0, or the number of the first bad line.
 */
unsigned int config_parse(const char *text, size_t size, struct config *config);

#endif
