/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_CONFIG_H
#define LAUNCHER_CONFIG_H

/*
 * \launch.cfg: lines of key=value, '#' at the start of a line begins a comment. Lines before the
 * first step= hold for the machine; a step is one image that is started, and the next one follows
 * when it returns. With one image only, no step= is needed.
 */

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_PATH_MAX    128
#define CONFIG_OPTIONS_MAX 1024
#define CONFIG_NAME_MAX    32
#define CONFIG_STEPS_MAX   24

enum config_lock {
    CONFIG_LOCK_OFF,
    CONFIG_LOCK_ALL,
    CONFIG_LOCK_LAST,
};

struct config_step {
    char name[CONFIG_NAME_MAX];       /* step=NAME: printed on COM1 and COM2 before it starts */
    char image[CONFIG_PATH_MAX];      /* image=\path: what to start, on the launcher's volume */
    char options[CONFIG_OPTIONS_MAX]; /* options=...: its load options */
    enum config_lock lock_vmx; /* lockvmx=on|last: VMX off and locked, on all LPs or the last */
    unsigned int free_kib;     /* freemem=KIB: leave no more free memory than that; 0: all */
};

struct config {
    bool install_acpi;       /* acpi=on: install the tables of Bochs' board */
    bool return_to_firmware; /* onreturn=firmware: do not switch off after the last step */
    unsigned int step_count;
    struct config_step steps[CONFIG_STEPS_MAX];
};

/*
 * Parse `size` bytes of text into *config, which starts with the defaults (all off).
 * Returns 0, or the number of the first bad line.
 */
unsigned int config_parse(const char *text, size_t size, struct config *config);

#endif
