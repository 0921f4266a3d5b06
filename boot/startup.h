/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_STARTUP_H
#define BOOT_STARTUP_H

#include <efi.h>

#include "boot/config.h"
#include "boot/efi_mp.h"
#include "core/boot_info.h"
#include "core/machine.h"
#include "mm/page_pool.h"
#include "vmx/partition.h"
#include "vmx/vmx_on.h"

/*
 * The start-up, step by step; efi_main.c is the list. It lies in the firmware's memory: nothing of
 * it may be used by root mode, and once the boot processor is a guest, nothing of struct machine
 * may be used by it, since that is hidden then.
 */

/* What one LP can do, as it said itself. */
struct lp_survey {
    struct vmx_capability_msrs msrs;
    struct vmx_cpu_features features;
    struct mtrr_state mtrrs;
    uint64_t apic_base;
    uint64_t mcg_cap;
    struct vmx_tracing tracing;
};

#define CONFIG_FILE_NAME "\\sluice.cfg"

/* Where the configuration came from, and what is wrong with it: said once the log is open, since
 * the configuration names its port. */
struct config_reading {
    char path[CONFIG_PATH_CHARS + sizeof(CONFIG_FILE_NAME)]; /* of the file; "": there is none */
    bool is_refused;
    bool is_in_load_options; /* what is refused */
    struct config_error error;
};

struct entry_request; /* boot/virtualise.c */

struct startup {
    EFI_HANDLE image;
    EFI_HANDLE device; /* the volume that the image came from; NULL: none */
    EFI_SYSTEM_TABLE *system;
    EFI_BOOT_SERVICES *services;
    struct boot_config config;
    struct config_reading reading;
    struct efi_mp mp;
    struct boot_lp lps[BOOT_MAX_LPS];
    struct lp_survey *surveys;      /* by LP, from AllocatePool */
    struct entry_request *requests; /* likewise */
    /* An LP may still use our memory: it did not answer in time, or does not leave VMX operation.
     * Nothing that it could reach is freed, ever. */
    bool is_pinned;
    struct vmx_controls controls;
    struct boot_acpi acpi;
    EFI_PHYSICAL_ADDRESS rsdp; /* 0: none */
    struct guest_memory memory;
    uint64_t memory_top; /* first address above all RAM, at least 4 GiB */
    uint64_t map_top;    /* first address above all that the memory map names, at least 4 GiB */
    uint64_t tsc_at_start;
    uint64_t tsc_hz;
    bool is_bochs;
    enum tsc_source tsc_source;
    struct log_state log; /* until machine->log takes over */

    EFI_PHYSICAL_ADDRESS resident;
    UINTN resident_pages;
    struct page_pool pool;
    struct machine *machine;
    uint64_t host_cr3;
    uint64_t host_idt;

    EFI_HANDLE next; /* the next boot image, loaded */
    char next_path[CONFIG_PATH_CHARS];
};

/* boot/read_config.c: \sluice.cfg and the load options. After an error startup->config holds
 * what was read before it, so that the message can go to the port that is named there. */
EFI_STATUS startup_read_config(struct startup *startup);
/* Says which file was read, or what is wrong and with which line. */
void startup_say_config(const struct startup *startup);

/*
 * All of these run on the boot processor, outside of interrupts, before the LPs are guests;
 * startup_start_next and what says something also after it. On an error the caller undoes the steps
 * before (efi_main.c); startup_say_config says what is wrong with the configuration.
 */

/* boot/describe.c: lines about what was detected and decided. */
void startup_describe_config(const struct startup *startup);
void startup_describe_memory(const struct startup *startup);
void startup_describe_processors(const struct startup *startup);

/* boot/platform_facts.c: ACPI, memory map, TSC frequency. */
EFI_STATUS startup_find_platform(struct startup *startup);

/* boot/requirements.c: every LP is asked; all that is missing is said. Changes nothing. */
EFI_STATUS startup_check_requirements(struct startup *startup);
void startup_free_surveys(struct startup *startup);

/* boot/next_image.c: finds and loads the next boot image, starts it (returns when it does),
 * forgets it. */
EFI_STATUS startup_load_next(struct startup *startup);
EFI_STATUS startup_start_next(struct startup *startup);
void startup_unload_next(struct startup *startup);

/* boot/machine_setup.c: resident memory, page tables, machine and partition. */
EFI_STATUS startup_build_machine(struct startup *startup);
void startup_free_machine(struct startup *startup);

/* boot/policy_setup.c: CPUID and MSR policies, the bitmaps, our own CPUID block. */
void startup_build_policies(struct startup *startup);

/* boot/hv_setup.c: the Microsoft interface and the flush engine. The first tells how many pages the
 * second takes; false: the pool was too small. */
uint64_t startup_hv_pages(const struct startup *startup);
bool startup_build_hv(struct startup *startup);

/* Whole pages that hold so many bytes. */
static inline uint64_t pages_of(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* boot/virtualise.c: every LP becomes a guest, the boot processor last; or none. When one cannot be
 * brought back, startup->is_pinned is set. */
EFI_STATUS startup_virtualise(struct startup *startup);

#endif
