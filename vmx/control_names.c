/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/compiler.h"
#include "vmx/names.h"

/* The SDM's words for the bits of the five control fields, by bit number. */

static const char *const pin_names[32] = {
    [0] = "external-interrupt exiting",
    [3] = "NMI exiting",
    [5] = "virtual NMIs",
    [6] = "activate VMX-preemption timer",
    [7] = "process posted interrupts",
};

static const char *const proc_names[32] = {
    [2] = "interrupt-window exiting",
    [3] = "use TSC offsetting",
    [7] = "HLT exiting",
    [9] = "INVLPG exiting",
    [10] = "MWAIT exiting",
    [11] = "RDPMC exiting",
    [12] = "RDTSC exiting",
    [15] = "CR3-load exiting",
    [16] = "CR3-store exiting",
    [17] = "activate tertiary controls",
    [19] = "CR8-load exiting",
    [20] = "CR8-store exiting",
    [21] = "use TPR shadow",
    [22] = "NMI-window exiting",
    [23] = "MOV-DR exiting",
    [24] = "unconditional I/O exiting",
    [25] = "use I/O bitmaps",
    [27] = "monitor trap flag",
    [28] = "use MSR bitmaps",
    [29] = "MONITOR exiting",
    [30] = "PAUSE exiting",
    [31] = "activate secondary controls",
};

static const char *const proc2_names[32] = {
    [0] = "virtualize APIC accesses",
    [1] = "enable EPT",
    [2] = "descriptor-table exiting",
    [3] = "enable RDTSCP",
    [4] = "virtualize x2APIC mode",
    [5] = "enable VPID",
    [6] = "WBINVD exiting",
    [7] = "unrestricted guest",
    [8] = "APIC-register virtualization",
    [9] = "virtual-interrupt delivery",
    [10] = "PAUSE-loop exiting",
    [11] = "RDRAND exiting",
    [12] = "enable INVPCID",
    [13] = "enable VM functions",
    [14] = "VMCS shadowing",
    [15] = "enable ENCLS exiting",
    [16] = "RDSEED exiting",
    [17] = "enable PML",
    [18] = "EPT-violation #VE",
    [19] = "conceal VMX from PT",
    [20] = "enable XSAVES/XRSTORS",
    [21] = "PASID translation",
    [22] = "mode-based execute control for EPT",
    [23] = "sub-page write permissions for EPT",
    [24] = "Intel PT uses guest physical addresses",
    [25] = "use TSC scaling",
    [26] = "enable user wait and pause",
    [27] = "enable PCONFIG",
    [28] = "enable ENCLV exiting",
    [30] = "VMM bus-lock detection",
    [31] = "instruction timeout",
};

static const char *const exit_names[32] = {
    [2] = "save debug controls",
    [9] = "host address-space size",
    [12] = "load IA32_PERF_GLOBAL_CTRL",
    [15] = "acknowledge interrupt on exit",
    [18] = "save IA32_PAT",
    [19] = "load IA32_PAT",
    [20] = "save IA32_EFER",
    [21] = "load IA32_EFER",
    [22] = "save VMX-preemption timer value",
    [23] = "clear IA32_BNDCFGS",
    [24] = "conceal VMX from PT",
    [25] = "clear IA32_RTIT_CTL",
    [26] = "clear IA32_LBR_CTL",
    [27] = "clear UINV",
    [28] = "load CET state",
    [29] = "load PKRS",
    [30] = "save IA32_PERF_GLOBAL_CTRL",
    [31] = "activate secondary controls",
};

static const char *const entry_names[32] = {
    [2] = "load debug controls",
    [9] = "IA-32e mode guest",
    [10] = "entry to SMM",
    [11] = "deactivate dual-monitor treatment",
    [13] = "load IA32_PERF_GLOBAL_CTRL",
    [14] = "load IA32_PAT",
    [15] = "load IA32_EFER",
    [16] = "load IA32_BNDCFGS",
    [17] = "conceal VMX from PT",
    [18] = "load IA32_RTIT_CTL",
    [19] = "load UINV",
    [20] = "load CET state",
    [21] = "load guest IA32_LBR_CTL",
    [22] = "load PKRS",
    [23] = "load FRED",
};

static const struct {
    const char *name;
    const char *const *bits;
} groups[] = {
    [CONTROLS_PIN] = {"pin", pin_names},       [CONTROLS_PROC] = {"proc", proc_names},
    [CONTROLS_PROC2] = {"proc2", proc2_names}, [CONTROLS_EXIT] = {"exit", exit_names},
    [CONTROLS_ENTRY] = {"entry", entry_names},
};

const char *control_bit_name(enum control_group group, unsigned int bit)
{
    if ((unsigned int)group >= ARRAY_LEN(groups) || bit >= 32) {
        return NULL;
    }
    return groups[group].bits[bit];
}

const char *control_group_name(enum control_group group)
{
    return (unsigned int)group < ARRAY_LEN(groups) ? groups[group].name : "unknown group";
}
