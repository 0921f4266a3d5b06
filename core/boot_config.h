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

/* A switch of the Microsoft interface. */
enum config_switch { CONFIG_SWITCH_AUTO, CONFIG_SWITCH_ON, CONFIG_SWITCH_OFF };

/* One switch for each enlightenment, after QEMU's names (hv-tlbflush and so on). */
struct config_hv {
    enum config_switch tlbflush;
    enum config_switch tlbflush_ext;
    enum config_switch xmm_input;
    enum config_switch time;
    enum config_switch frequencies;
    enum config_switch vapic;
    enum config_switch vpindex;
    enum config_switch runtime;
    enum config_switch tsc_invariant;
};

/* Faults for tests; only an inject build lets the configuration ask for one (core/build.h). */
enum config_inject {
    CONFIG_INJECT_NONE,
    CONFIG_INJECT_LP1_CAPS,    /* LP01 lacks unrestricted guest */
    CONFIG_INJECT_LP1_VMXON,   /* VMXON fails on LP01 */
    CONFIG_INJECT_LP1_ENTRY,   /* the first VM entry of LP01 fails */
    CONFIG_INJECT_LP1_STATE,   /* the first VM entry of LP01 exits on bad guest state */
    CONFIG_INJECT_BSP_ENTRY,   /* the first VM entry of the boot processor fails */
    CONFIG_INJECT_VMLAUNCH,    /* a later VMLAUNCH fails */
    CONFIG_INJECT_VMRESUME,    /* a VMRESUME fails */
    CONFIG_INJECT_ENTRY_STATE, /* an entry fails on guest state */
    CONFIG_INJECT_PANIC,
    CONFIG_INJECT_SKIP_FLUSH_TARGET, /* flush calls of other VPs leave VP001 out */
};

struct boot_config {
    enum config_mode mode;
    enum config_log_level log_level;
    enum config_triple_fault triple_fault;
    enum config_guest_ipi guest_ipi;
    enum config_inject inject;
    bool hv_enabled; /* hv=on|off: Microsoft's interface */
    struct config_hv hv;
    uint32_t flush_pages;               /* in a list, to be invalidated one by one */
    bool console_enabled;               /* console=none switches it off */
    uint16_t console_port;              /* I/O port of the 16550 */
    uint32_t console_baud;              /* bits per second */
    char boot_path[CONFIG_PATH_CHARS];  /* "" : search the other EFI partitions */
    char options[CONFIG_OPTIONS_CHARS]; /* load options for the boot image */
};

#endif
