/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/caps.h"

#include <stddef.h>

#include "core/bits.h"
#include "core/cpuid_bits.h"
#include "core/cr_bits.h"
#include "core/fmt.h"
#include "core/msr.h"
#include "vmx/names.h"
#include "vmx/vmcs_fields.h"

#define VMX_BASIC_REVISION(basic)     ((uint32_t)bits_get(basic, 30, 0))
#define VMX_BASIC_VMCS_BYTES(basic)   ((uint32_t)bits_get(basic, 44, 32))
#define VMX_BASIC_32_BIT_ADDRESSES    BIT64(48)
#define VMX_BASIC_MEMORY_TYPE(basic)  bits_get(basic, 53, 50)
#define VMX_BASIC_MEMORY_TYPE_WB      6u
#define VMX_MISC_TIMER_SHIFT(misc)    ((uint8_t)bits_get(misc, 4, 0))
#define VMX_MISC_ACTIVITY_HLT         BIT64(6)
#define VMX_MISC_ACTIVITY_SHUTDOWN    BIT64(7)
#define VMX_MISC_ACTIVITY_WAIT_SIPI   BIT64(8)
#define VMX_MISC_ZERO_LENGTH_INJECTED BIT64(30)

#define PIN_REQUIRED (PIN_NMI_EXITING | PIN_VIRTUAL_NMIS)
#define PROC_REQUIRED \
    (PROC_USE_IO_BITMAPS | PROC_USE_MSR_BITMAPS | PROC_ACTIVATE_SECONDARY_CONTROLS)
#define PROC2_REQUIRED (PROC2_ENABLE_EPT | PROC2_ENABLE_VPID | PROC2_UNRESTRICTED_GUEST)
#define EXIT_REQUIRED                                                               \
    (EXIT_SAVE_DEBUG_CONTROLS | EXIT_HOST_ADDRESS_SPACE_SIZE | EXIT_SAVE_IA32_PAT | \
     EXIT_LOAD_IA32_PAT | EXIT_SAVE_IA32_EFER | EXIT_LOAD_IA32_EFER)
#define ENTRY_REQUIRED (ENTRY_LOAD_DEBUG_CONTROLS | ENTRY_LOAD_IA32_PAT | ENTRY_LOAD_IA32_EFER)

/* One control field: what the LP allows and what we want of it. */
struct control_request {
    enum control_group group;
    uint64_t capability; /* 31:0 must be 1, 63:32 may be 1 */
    uint32_t required;
    uint32_t optional; /* set when allowed */
    uint32_t switched; /* 0 now, set at times: must be allowed both ways */
};

PRINTF_LIKE(2, 3)
static void add_missing(struct caps_missing *missing, const char *format, ...)
{
    va_list args;

    if (missing->count >= CAPS_MISSING_MAX) {
        return;
    }
    va_start(args, format);
    fmt_vprint(missing->text[missing->count], CAPS_MISSING_CHARS, format, args);
    va_end(args);
    missing->count++;
}

/* Adds text when the condition does not hold. */
static void require(bool condition, const char *text, struct caps_missing *missing)
{
    if (!condition) {
        add_missing(missing, "%s", text);
    }
}

enum caps_feature_control caps_feature_control_state(uint64_t feature_control)
{
    if ((feature_control & IA32_FEATURE_CONTROL_LOCK) == 0) {
        return CAPS_FEATURE_CONTROL_NEEDS_LOCK;
    }
    if ((feature_control & IA32_FEATURE_CONTROL_VMX_OUTSIDE_SMX) == 0) {
        return CAPS_FEATURE_CONTROL_LOCKED_OFF;
    }
    return CAPS_FEATURE_CONTROL_READY;
}

uint64_t caps_feature_control_value(uint64_t feature_control)
{
    return feature_control | IA32_FEATURE_CONTROL_LOCK | IA32_FEATURE_CONTROL_VMX_OUTSIDE_SMX;
}

/* The value of one control field; what cannot be had is added to the list. A bit that the SDM names
 * and that we do not want, but that the LP forces to 1, is an exit that nobody handles: refused. */
static uint32_t choose_field(const struct control_request *request, struct caps_missing *missing)
{
    uint32_t must_be_1 = (uint32_t)request->capability;
    uint32_t may_be_1 = (uint32_t)(request->capability >> 32);
    uint32_t wanted = request->required | request->optional;

    for (unsigned int bit = 0; bit < 32; bit++) {
        const char *name = control_bit_name(request->group, bit);
        uint32_t mask = BIT32(bit);

        if (((request->required | request->switched) & mask & ~may_be_1) != 0) {
            add_missing(missing, "%s (%s controls)", name, control_group_name(request->group));
        }
        if (name != NULL && (must_be_1 & mask & ~wanted) != 0) {
            add_missing(missing, "%s (%s controls) cannot be switched off", name,
                        control_group_name(request->group));
        }
    }
    return must_be_1 | request->required | (request->optional & may_be_1);
}

/* Optional secondary controls: those of instructions that this LP has. */
static uint32_t optional_proc2(const struct vmx_cpu_features *features)
{
    uint32_t optional = 0;

    if ((features->leaf80000001_edx & CPUID_80000001_EDX_RDTSCP) != 0) {
        optional |= PROC2_ENABLE_RDTSCP;
    }
    if ((features->leaf7_ebx & CPUID_7_EBX_INVPCID) != 0) {
        optional |= PROC2_ENABLE_INVPCID;
    }
    if ((features->leafd_1_eax & CPUID_D_1_EAX_XSAVES) != 0) {
        optional |= PROC2_ENABLE_XSAVES_XRSTORS;
    }
    if ((features->leaf7_ecx & CPUID_7_ECX_WAITPKG) != 0) {
        optional |= PROC2_ENABLE_USER_WAIT_AND_PAUSE;
    }
    return optional;
}

/* CET state is loaded on both ways or on none. */
static bool has_cet_controls(uint64_t exit_capability, uint64_t entry_capability,
                             const struct vmx_cpu_features *features)
{
    bool has_feature = (features->leaf7_ecx & CPUID_7_ECX_CET_SS) != 0 ||
                       (features->leaf7_edx & CPUID_7_EDX_CET_IBT) != 0;

    return has_feature && (exit_capability >> 32 & EXIT_LOAD_CET_STATE) != 0 &&
           (entry_capability >> 32 & ENTRY_LOAD_CET_STATE) != 0;
}

static void choose_controls(const struct vmx_capability_msrs *msrs,
                            const struct vmx_cpu_features *features, struct vmx_controls *controls,
                            struct caps_missing *missing)
{
    bool has_true = (msrs->basic & IA32_VMX_BASIC_TRUE_CONTROLS) != 0;
    uint64_t exit = has_true ? msrs->true_exit_ctls : msrs->exit_ctls;
    uint64_t entry = has_true ? msrs->true_entry_ctls : msrs->entry_ctls;
    bool has_cet = has_cet_controls(exit, entry, features);
    const struct control_request pin_request = {
        CONTROLS_PIN, has_true ? msrs->true_pinbased_ctls : msrs->pinbased_ctls, PIN_REQUIRED, 0,
        0};
    const struct control_request proc_request = {
        CONTROLS_PROC, has_true ? msrs->true_procbased_ctls : msrs->procbased_ctls, PROC_REQUIRED,
        0, PROC_NMI_WINDOW_EXITING};
    const struct control_request proc2_request = {CONTROLS_PROC2, msrs->procbased_ctls2,
                                                  PROC2_REQUIRED, optional_proc2(features), 0};
    const struct control_request exit_request = {CONTROLS_EXIT, exit, EXIT_REQUIRED,
                                                 has_cet ? EXIT_LOAD_CET_STATE : 0, 0};
    const struct control_request entry_request = {CONTROLS_ENTRY, entry, ENTRY_REQUIRED,
                                                  has_cet ? ENTRY_LOAD_CET_STATE : 0,
                                                  ENTRY_IA32E_MODE_GUEST};

    require(has_true, "TRUE control MSRs (IA32_VMX_BASIC[55])", missing);
    controls->pin = choose_field(&pin_request, missing);
    controls->proc = choose_field(&proc_request, missing);
    controls->proc2 = choose_field(&proc2_request, missing);
    controls->exit = choose_field(&exit_request, missing);
    controls->entry = choose_field(&entry_request, missing);
    controls->shows_rdtscp = (controls->proc2 & PROC2_ENABLE_RDTSCP) != 0;
    controls->shows_invpcid = (controls->proc2 & PROC2_ENABLE_INVPCID) != 0;
    controls->shows_xsaves = (controls->proc2 & PROC2_ENABLE_XSAVES_XRSTORS) != 0;
    controls->shows_user_wait = (controls->proc2 & PROC2_ENABLE_USER_WAIT_AND_PAUSE) != 0;
    controls->shows_cet = has_cet;
}

static void choose_regions(uint64_t basic, struct vmx_controls *controls,
                           struct caps_missing *missing)
{
    controls->vmcs_revision = VMX_BASIC_REVISION(basic);
    controls->vmcs_bytes = VMX_BASIC_VMCS_BYTES(basic);
    require(controls->vmcs_bytes != 0 && controls->vmcs_bytes <= 4096,
            "VMCS regions of at most 4096 bytes (IA32_VMX_BASIC[44:32])", missing);
    require((basic & VMX_BASIC_32_BIT_ADDRESSES) == 0,
            "VMCS addresses above 4 GiB (IA32_VMX_BASIC[48])", missing);
    require(VMX_BASIC_MEMORY_TYPE(basic) == VMX_BASIC_MEMORY_TYPE_WB,
            "write-back VMCS regions (IA32_VMX_BASIC[53:50])", missing);
}

static void choose_ept_vpid(uint64_t cap, struct vmx_controls *controls,
                            struct caps_missing *missing)
{
    bool has_invept = (cap & IA32_VMX_EPT_VPID_CAP_INVEPT) != 0;
    bool has_invvpid = (cap & IA32_VMX_EPT_VPID_CAP_INVVPID) != 0;

    controls->ept_has_2m = (cap & IA32_VMX_EPT_VPID_CAP_2M) != 0;
    controls->ept_has_1g = (cap & IA32_VMX_EPT_VPID_CAP_1G) != 0;
    controls->ept_has_execute_only = (cap & IA32_VMX_EPT_VPID_CAP_EXECUTE_ONLY) != 0;
    controls->ept_has_uncacheable_walk = (cap & IA32_VMX_EPT_VPID_CAP_UC) != 0;
    controls->ept_has_accessed_dirty = (cap & IA32_VMX_EPT_VPID_CAP_AD) != 0;
    controls->ept_has_5_levels = (cap & IA32_VMX_EPT_VPID_CAP_5_LEVELS) != 0;
    controls->has_invept_single = has_invept && (cap & IA32_VMX_EPT_VPID_CAP_INVEPT_SINGLE) != 0;
    controls->has_invept_all = has_invept && (cap & IA32_VMX_EPT_VPID_CAP_INVEPT_ALL) != 0;
    controls->has_invvpid_address =
        has_invvpid && (cap & IA32_VMX_EPT_VPID_CAP_INVVPID_ADDRESS) != 0;
    controls->has_invvpid_single = has_invvpid && (cap & IA32_VMX_EPT_VPID_CAP_INVVPID_SINGLE) != 0;
    controls->has_invvpid_all = has_invvpid && (cap & IA32_VMX_EPT_VPID_CAP_INVVPID_ALL) != 0;
    controls->has_invvpid_single_globals =
        has_invvpid && (cap & IA32_VMX_EPT_VPID_CAP_INVVPID_SINGLE_GLOBALS) != 0;

    require((cap & IA32_VMX_EPT_VPID_CAP_4_LEVELS) != 0, "EPT with 4 levels", missing);
    require((cap & IA32_VMX_EPT_VPID_CAP_WB) != 0, "EPT with write-back paging structures",
            missing);
    require(controls->has_invept_single || controls->has_invept_all,
            "INVEPT of type 1 (single-context) or 2 (all-context)", missing);
    require(controls->has_invvpid_single || controls->has_invvpid_all,
            "INVVPID of type 1 (single-context) or 2 (all-context)", missing);
}

static void choose_misc(uint64_t misc, struct vmx_controls *controls)
{
    controls->preemption_timer_shift = VMX_MISC_TIMER_SHIFT(misc);
    controls->has_activity_hlt = (misc & VMX_MISC_ACTIVITY_HLT) != 0;
    controls->has_activity_shutdown = (misc & VMX_MISC_ACTIVITY_SHUTDOWN) != 0;
    controls->has_activity_wait_for_sipi = (misc & VMX_MISC_ACTIVITY_WAIT_SIPI) != 0;
    controls->can_inject_with_zero_length = (misc & VMX_MISC_ZERO_LENGTH_INJECTED) != 0;
}

bool caps_choose(const struct vmx_capability_msrs *msrs, const struct vmx_cpu_features *features,
                 struct vmx_controls *controls, struct caps_missing *missing)
{
    *controls = (struct vmx_controls){0};
    missing->count = 0;
    require(caps_feature_control_state(msrs->feature_control) != CAPS_FEATURE_CONTROL_LOCKED_OFF,
            "VT-x is switched off and locked by firmware (IA32_FEATURE_CONTROL)", missing);
    if ((features->leaf1_ecx & CPUID_1_ECX_VMX) == 0) {
        add_missing(missing, "VT-x (CPUID.1:ECX.VMX)");
        return false;
    }
    choose_regions(msrs->basic, controls, missing);
    choose_controls(msrs, features, controls, missing);
    choose_ept_vpid(msrs->ept_vpid_cap, controls, missing);
    choose_misc(msrs->misc, controls);
    controls->physical_address_bits = (uint8_t)features->leaf80000008_eax;
    controls->cr0_fixed0 = msrs->cr0_fixed0;
    controls->cr0_fixed1 = msrs->cr0_fixed1;
    controls->cr4_fixed0 = msrs->cr4_fixed0;
    controls->cr4_fixed1 = msrs->cr4_fixed1;
    return missing->count == 0;
}

uint64_t caps_guest_cr0_must_be_1(const struct vmx_controls *controls)
{
    return controls->cr0_fixed0 & ~(CR0_PE | CR0_PG);
}

uint64_t caps_guest_cr4_must_be_1(const struct vmx_controls *controls)
{
    return controls->cr4_fixed0;
}
