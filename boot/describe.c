/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/startup.h"
#include "core/fmt.h"
#include "core/msr.h"

/* What was detected and decided, one line each. */

#define APIC_IDS_CHARS 160u

void startup_describe_config(const struct startup *startup)
{
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    const struct boot_config *config = &startup->config;

    if (config->console_enabled) {
        efi_console_line(LOG_INFO, "console: I/O port %x, %u baud, 8N1, log=%s",
                         config->console_port, config->console_baud, levels[config->log_level]);
    }
    static const char *const switches[] = {
        [CONFIG_SWITCH_AUTO] = "auto", [CONFIG_SWITCH_ON] = "on", [CONFIG_SWITCH_OFF] = "off"};

    efi_console_line(
        LOG_INFO, "options: hv=%s, hv-tlbflush=%s, flush-pages=%u, guest-ipi=%s, triplefault=%s",
        config->hv_enabled ? "on" : "off", switches[config->hv.tlbflush], config->flush_pages,
        config->guest_ipi == CONFIG_GUEST_IPI_TRAP ? "trap" : "direct",
        config->triple_fault == CONFIG_TRIPLE_FAULT_RESET ? "reset" : "halt");
}

void startup_describe_memory(const struct startup *startup)
{
    const struct guest_memory *memory = &startup->memory;
    uint64_t bytes = 0;
    uint64_t end = 0;

    for (uint32_t i = 0; i < memory->range_count; i++) {
        bytes += memory->ranges[i].bytes;
        end = memory->ranges[i].base + memory->ranges[i].bytes;
    }
    efi_console_line(LOG_INFO, "memory: %u MiB of RAM in %u parts, below %llx",
                     (unsigned int)(bytes >> 20), memory->range_count, (unsigned long long)end);
}

/* "0-3,8-b": APIC ids in the order of the LPs. What does not fit ends in "...". */
static void print_apic_ids(const struct startup *startup, char *out, size_t size)
{
    const struct boot_lp *lps = startup->lps;
    size_t length = 0;

    for (UINTN i = 0; i < startup->mp.count;) {
        UINTN last = i;

        while (last + 1 < startup->mp.count && lps[last + 1].apic_id == lps[last].apic_id + 1) {
            last++;
        }
        if (length + sizeof(",ffffffff-ffffffff,...") > size) {
            (void)fmt_print(out + length, size - length, ",...");
            return;
        }
        length += fmt_print(out + length, size - length, "%s%x", i == 0 ? "" : ",", lps[i].apic_id);
        if (last > i) {
            length += fmt_print(out + length, size - length, "-%x", lps[last].apic_id);
        }
        i = last + 1;
    }
}

static void describe_lps(const struct startup *startup)
{
    unsigned int count = (unsigned int)startup->mp.count;
    unsigned int x2apics = 0;
    unsigned int off = 0;
    char ids[APIC_IDS_CHARS];

    for (unsigned int i = 0; i < count; i++) {
        uint64_t apic_base = startup->surveys[i].apic_base;

        x2apics += (apic_base & IA32_APIC_BASE_EXTD) != 0;
        off += (apic_base & IA32_APIC_BASE_ENABLE) == 0;
    }
    print_apic_ids(startup, ids, sizeof(ids));
    efi_console_line(
        LOG_INFO, "LPs: %u, APIC ids %s, boot processor LP%02u, local APICs: %u xAPIC, %u x2APIC%s",
        count, ids, (unsigned int)startup->mp.boot_lp, count - x2apics - off, x2apics,
        off == 0 ? "" : ", others off");
}

static void describe_vmx(const struct startup *startup)
{
    const struct vmx_controls *controls = &startup->controls;

    efi_console_line(
        LOG_INFO, "VT-x: VMCS revision %x, IA32_FEATURE_CONTROL %s", controls->vmcs_revision,
        caps_feature_control_state(startup->surveys[startup->mp.boot_lp].msrs.feature_control) ==
                CAPS_FEATURE_CONTROL_NEEDS_LOCK
            ? "is unlocked and will be locked with VMX on"
            : "is locked with VMX on");
    efi_console_line(
        LOG_INFO, "EPT: %u physical address bits, pages of 4 KiB%s%s; INVEPT%s%s; INVVPID%s%s%s",
        controls->physical_address_bits, controls->ept_has_2m ? ", 2 MiB" : "",
        controls->ept_has_1g ? ", 1 GiB" : "", controls->has_invept_single ? " single" : "",
        controls->has_invept_all ? " all" : "", controls->has_invvpid_address ? " address" : "",
        controls->has_invvpid_single ? " single" : "", controls->has_invvpid_all ? " all" : "");
}

static void describe_mtrrs(const struct startup *startup)
{
    const struct mtrr_state *mtrrs = &startup->surveys[startup->mp.boot_lp].mtrrs;
    enum mem_type type = (mtrrs->def_type & IA32_MTRR_DEF_TYPE_E) != 0
                             ? (enum mem_type)(mtrrs->def_type & IA32_MTRR_DEF_TYPE_TYPE_MASK)
                             : MEM_TYPE_UC;
    unsigned int count = mtrr_variable_count(mtrrs);
    unsigned int used = 0;

    for (unsigned int i = 0; i < count; i++) {
        used += (mtrrs->variable[i].mask & IA32_MTRR_PHYSMASK_VALID) != 0;
    }
    efi_console_line(LOG_INFO, "MTRRs: default type %s, %u of %u variable ranges used, fixed %s%s",
                     memtype_name(type), used, count,
                     (mtrrs->def_type & IA32_MTRR_DEF_TYPE_FE) != 0 ? "on" : "off",
                     (mtrrs->def_type & IA32_MTRR_DEF_TYPE_E) != 0 ? "" : "; all are off");
    for (UINTN i = 0; i < startup->mp.count; i++) {
        if (!mtrr_state_equal(mtrrs, &startup->surveys[i].mtrrs)) {
            efi_console_line(LOG_WARNING,
                             "the MTRRs of LP%02u differ from the boot processor's, "
                             "by which the EPT is built",
                             (unsigned int)i);
        }
    }
}

void startup_describe_processors(const struct startup *startup)
{
    describe_lps(startup);
    describe_vmx(startup);
    describe_mtrrs(startup);
}
