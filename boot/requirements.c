/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/startup.h"
#include "core/apic.h"
#include "core/cpu.h"
#include "core/cpuid_bits.h"
#include "core/fmt.h"
#include "core/msr.h"
#include "vmx/inject_fault.h"
#include "vmx/vmx_on.h"

#define UNRESTRICTED_GUEST_ALLOWED BIT64(39)
#define MISC_WAIT_FOR_SIPI         BIT64(8)

static void read_mtrrs(struct mtrr_state *mtrrs, const struct vmx_cpu_features *features)
{
    unsigned int count;

    mtrrs->phys_bits = features->leaf80000008_eax & 0xFF;
    if ((features->leaf1_edx & CPUID_1_EDX_MTRR) == 0) {
        return;
    }
    mtrrs->cap = cpu_read_msr(MSR_IA32_MTRRCAP);
    mtrrs->def_type = cpu_read_msr(MSR_IA32_MTRR_DEF_TYPE);
    for (unsigned int i = 0; i < MTRR_FIXED_COUNT && (mtrrs->cap & IA32_MTRRCAP_FIX) != 0; i++) {
        mtrrs->fixed[i] = cpu_read_msr(mtrr_fixed_msr(i));
    }
    count = mtrr_variable_count(mtrrs);
    for (unsigned int i = 0; i < count; i++) {
        mtrrs->variable[i].base = cpu_read_msr(MSR_IA32_MTRR_PHYSBASE0 + 2 * i);
        mtrrs->variable[i].mask = cpu_read_msr(MSR_IA32_MTRR_PHYSMASK0 + 2 * i);
    }
}

/* On each LP. Reads, changes nothing. */
static void EFIAPI survey(void *argument)
{
    struct lp_survey *out = argument;

    vmx_read_capabilities(&out->msrs, &out->features);
    read_mtrrs(&out->mtrrs, &out->features);
    out->apic_base = cpu_read_msr(MSR_IA32_APIC_BASE);
    if ((out->features.leaf1_edx & CPUID_1_EDX_MCA) != 0) {
        out->mcg_cap = cpu_read_msr(MSR_IA32_MCG_CAP);
    }
    vmx_read_tracing(&out->features, &out->tracing);
}

static EFI_STATUS survey_all(struct startup *startup)
{
    EFI_STATUS status = startup->services->AllocatePool(
        EfiLoaderData, startup->mp.count * sizeof(struct lp_survey), (void **)&startup->surveys);

    if (EFI_ERROR(status)) {
        return status;
    }
    for (UINTN i = 0; i < startup->mp.count; i++) {
        startup->surveys[i] = (struct lp_survey){0};
        status = efi_mp_run(&startup->mp, i, survey, &startup->surveys[i]);
        if (EFI_ERROR(status)) {
            startup->is_pinned = status == EFI_TIMEOUT;
            efi_console_line(LOG_ERROR, "LP%02u (APIC id %x) does not run our code: %s",
                             (unsigned int)i, startup->lps[i].apic_id, efi_status_name(status));
            return status;
        }
    }
    if (inject_fault_is(&startup->config, CONFIG_INJECT_LP1_CAPS) && startup->mp.count > 1) {
        startup->surveys[1].msrs.procbased_ctls2 &= ~UNRESTRICTED_GUEST_ALLOWED;
    }
    return EFI_SUCCESS;
}

static void say_missing(const struct startup *startup, UINTN lp, const struct caps_missing *missing)
{
    efi_console_line(LOG_ERROR, "LP%02u (APIC id %x) lacks what Sluice needs:", (unsigned int)lp,
                     startup->lps[lp].apic_id);
    for (unsigned int i = 0; i < missing->count; i++) {
        efi_console_line(LOG_ERROR, "  - %s", missing->text[i]);
    }
}

/* caps_choose, and what only a machine with several LPs needs: firmware may send INIT to one
 * that is a guest already, which then has to wait in the hardware's state (vmx/exit_signal.c). */
static bool choose(const struct startup *startup, const struct lp_survey *survey,
                   struct vmx_controls *controls, struct caps_missing *missing)
{
    bool is_fit = caps_choose(&survey->msrs, &survey->features, controls, missing);

    if ((survey->features.leaf1_ecx & CPUID_1_ECX_VMX) == 0 || startup->mp.count == 1 ||
        (survey->msrs.misc & MISC_WAIT_FOR_SIPI) != 0) {
        return is_fit;
    }
    if (missing->count < CAPS_MISSING_MAX) {
        (void)fmt_print(missing->text[missing->count++], CAPS_MISSING_CHARS,
                        "activity state wait-for-SIPI (IA32_VMX_MISC[8])");
    }
    return false;
}

/* Root mode and the guest's traps know the local APIC at its usual place only. */
static bool has_usual_apic_base(const struct startup *startup, UINTN lp)
{
    uint64_t base = startup->surveys[lp].apic_base & ~(uint64_t)(PAGE_BYTES - 1);

    if (base == APIC_PAGE) {
        return true;
    }
    efi_console_line(LOG_ERROR,
                     "LP%02u (APIC id %x): the firmware has moved the local APIC to "
                     "%llx; it must be at %llx",
                     (unsigned int)lp, startup->lps[lp].apic_id, (unsigned long long)base,
                     (unsigned long long)APIC_PAGE);
    return false;
}

static void say_tracing(const struct startup *startup, UINTN lp)
{
    const struct vmx_tracing *tracing = &startup->surveys[lp].tracing;

    if (tracing->rtit_ctl != 0 || tracing->pebs_enable != 0) {
        efi_console_line(LOG_WARNING,
                         "LP%02u (APIC id %x): the firmware has left %s%s%s on; it is "
                         "switched off",
                         (unsigned int)lp, startup->lps[lp].apic_id,
                         tracing->rtit_ctl != 0 ? "Processor Trace" : "",
                         tracing->rtit_ctl != 0 && tracing->pebs_enable != 0 ? " and " : "",
                         tracing->pebs_enable != 0 ? "PEBS" : "");
    }
}

/* Returns whether this LP is fit. LPs that lack the same as the boot processor are not listed
 * each. */
static bool check_lp(struct startup *startup, UINTN lp, UINTN first)
{
    static struct caps_missing missing;
    const struct lp_survey *mine = &startup->surveys[lp];
    const struct lp_survey *other = &startup->surveys[first];
    struct vmx_controls controls;
    const char *difference;

    if (lp == first) {
        if (!choose(startup, mine, &startup->controls, &missing)) {
            say_missing(startup, lp, &missing);
            return false;
        }
        return true;
    }
    if (!caps_equal(&mine->msrs, &mine->features, &other->msrs, &other->features, &difference)) {
        efi_console_line(LOG_ERROR, "LP%02u (APIC id %x) differs from LP%02u: %s", (unsigned int)lp,
                         startup->lps[lp].apic_id, (unsigned int)first, difference);
        if (!choose(startup, mine, &controls, &missing)) {
            say_missing(startup, lp, &missing);
        }
        return false;
    }
    if (caps_feature_control_state(mine->msrs.feature_control) != CAPS_FEATURE_CONTROL_LOCKED_OFF ||
        caps_feature_control_state(other->msrs.feature_control) ==
            CAPS_FEATURE_CONTROL_LOCKED_OFF) {
        return true;
    }
    (void)choose(startup, mine, &controls, &missing);
    say_missing(startup, lp, &missing);
    return false;
}

EFI_STATUS startup_check_requirements(struct startup *startup)
{
    EFI_STATUS status = survey_all(startup);
    UINTN first = startup->mp.boot_lp;
    bool is_fit;

    if (EFI_ERROR(status)) {
        return status;
    }
    is_fit = check_lp(startup, first, first);
    for (UINTN i = 0; i < startup->mp.count; i++) {
        if (i != first) {
            is_fit &= check_lp(startup, i, first);
        }
        is_fit &= has_usual_apic_base(startup, i);
    }
    if (!is_fit) {
        efi_console_line(LOG_ERROR, "this machine cannot run Sluice; nothing was changed");
        return EFI_UNSUPPORTED;
    }
    startup_describe_processors(startup);
    for (UINTN i = 0; i < startup->mp.count; i++) {
        say_tracing(startup, i);
    }
    return EFI_SUCCESS;
}

void startup_free_surveys(struct startup *startup)
{
    if (startup->surveys != NULL && !startup->is_pinned) {
        startup->services->FreePool(startup->surveys);
        startup->surveys = NULL;
    }
}
