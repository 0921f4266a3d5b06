/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_CAPS_H
#define VMX_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

/*
 * From the VMX capability MSRs of one LP to the VMCS controls that passthrough mode uses, or to the
 * full list of what the LP lacks. Pure: the caller reads the MSRs and CPUID (all on that LP).
 * SDM volume 3, appendix "VMX Capability Reporting Facility".
 */

/* Raw values. An MSR that does not exist is given as 0 (a safe RDMSR's #GP). */
struct vmx_capability_msrs {
    uint64_t feature_control; /* MSR_IA32_FEATURE_CONTROL */
    uint64_t basic;
    uint64_t pinbased_ctls, procbased_ctls, exit_ctls, entry_ctls;
    uint64_t true_pinbased_ctls, true_procbased_ctls, true_exit_ctls, true_entry_ctls;
    uint64_t procbased_ctls2;
    uint64_t misc;
    uint64_t cr0_fixed0, cr0_fixed1, cr4_fixed0, cr4_fixed1;
    uint64_t ept_vpid_cap;
    uint64_t vmfunc;
};

/* Raw CPUID words of the same LP; a leaf above the maximum is given as 0. */
struct vmx_cpu_features {
    uint32_t leaf1_ecx, leaf1_edx;
    uint32_t leaf7_ebx, leaf7_ecx, leaf7_edx; /* leaf 7 subleaf 0 */
    uint32_t leaf7_1_eax, leaf7_1_edx;
    uint32_t leafd_1_eax;
    uint32_t leaf80000001_ecx, leaf80000001_edx;
    uint32_t leaf80000008_eax; /* 7:0 physical, 15:8 linear address bits */
};

/* What to write into the VMCS, and the facts that other modules ask for. */
struct vmx_controls {
    uint32_t pin, proc, proc2, exit, entry; /* entry: without ENTRY_IA32E_MODE_GUEST */
    uint32_t vmcs_revision;
    uint32_t vmcs_bytes;           /* size of VMXON region and VMCS, at most 4096 */
    uint8_t physical_address_bits; /* CPUID.80000008H:EAX[7:0] */
    uint8_t preemption_timer_shift;
    uint64_t cr0_fixed0, cr0_fixed1, cr4_fixed0, cr4_fixed1; /* of the host; see caps_guest_cr0_* */
    bool ept_has_2m, ept_has_1g, ept_has_execute_only, ept_has_uncacheable_walk;
    bool ept_has_accessed_dirty, ept_has_5_levels;
    bool has_invept_single, has_invept_all;
    bool has_invvpid_address, has_invvpid_single, has_invvpid_all, has_invvpid_single_globals;
    bool has_activity_hlt, has_activity_shutdown, has_activity_wait_for_sipi;
    bool can_inject_with_zero_length; /* IA32_VMX_MISC[30] */
    /* Instructions that need a control to work in the guest: shown in CPUID only when true. */
    bool shows_rdtscp, shows_invpcid, shows_xsaves, shows_user_wait;
    /* With true, entry and exit load CET state: guest S_CET, SSP and INTERRUPT_SSP_TABLE_ADDR must
     * be filled from the processor, the host's with 0. */
    bool shows_cet;
};

#define CAPS_MISSING_MAX   48u
#define CAPS_MISSING_CHARS 80u

/* What an LP lacks, each in words. count never exceeds CAPS_MISSING_MAX. */
struct caps_missing {
    unsigned int count;
    char text[CAPS_MISSING_MAX][CAPS_MISSING_CHARS];
};

enum caps_feature_control {
    CAPS_FEATURE_CONTROL_READY,      /* locked with VMX outside SMX allowed */
    CAPS_FEATURE_CONTROL_NEEDS_LOCK, /* unlocked: write caps_feature_control_value() */
    CAPS_FEATURE_CONTROL_LOCKED_OFF, /* firmware switched VT-x off and locked it */
};

/* Judges a value of IA32_FEATURE_CONTROL (SDM volume 3, "Enabling and Entering VMX Operation"). */
enum caps_feature_control caps_feature_control_state(uint64_t feature_control);

/* The value to write to an unlocked IA32_FEATURE_CONTROL: what is there, VMX outside SMX, lock. */
uint64_t caps_feature_control_value(uint64_t feature_control);

/* Chooses the controls. True: *controls is filled and missing->count is 0. False: *missing names
 * every requirement of design section 4 that this LP does not meet; *controls is not to be used.
 * Without CPUID.1:ECX.VMX only that (and a lock, if feature_control says so) is named. */
bool caps_choose(const struct vmx_capability_msrs *msrs, const struct vmx_cpu_features *features,
                 struct vmx_controls *controls, struct caps_missing *missing) MUST_CHECK;

/* Whether two LPs have the same capabilities and features. When not, *difference (if not NULL)
 * names the first one that differs. IA32_FEATURE_CONTROL and the CPUID bits that show an LP's state
 * (OSXSAVE, OSPKE, APIC) are not compared. */
bool caps_equal(const struct vmx_capability_msrs *msrs_a, const struct vmx_cpu_features *features_a,
                const struct vmx_capability_msrs *msrs_b, const struct vmx_cpu_features *features_b,
                const char **difference) MUST_CHECK;

/* The bits that the guest's real CR0 and CR4 must have set: the FIXED0 words, for CR0 without PE
 * and PG (unrestricted guest). SDM, "Restrictions on VMX Operation". */
uint64_t caps_guest_cr0_must_be_1(const struct vmx_controls *controls);
uint64_t caps_guest_cr4_must_be_1(const struct vmx_controls *controls);

#endif
