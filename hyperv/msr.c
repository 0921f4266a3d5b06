/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * The synthetic MSRs (TLFS "Virtual Processor", appendix "MSR Index"). One row each: the privilege
 * that grants it, and what reads and writes it; what has no function gives #GP.
 */

typedef enum hyperv_msr_result msr_reader(struct hyperv_vp *vp, uint64_t *value);
typedef enum hyperv_msr_result msr_writer(struct hyperv_vp *vp, uint64_t value);

struct msr_row {
    uint64_t privilege; /* 0: there is no such MSR */
    msr_reader *read;
    msr_writer *write;
};

static enum hyperv_msr_result result_of(bool succeeded)
{
    return succeeded ? HYPERV_MSR_OK : HYPERV_MSR_GP;
}

/* Registers are words of their own: nothing is published through them. */
static uint64_t load(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

/* What overlay_pages is to hold for a register of enable bit and frame number. */
static uint64_t overlay_page_of(uint64_t value)
{
    if ((value & HV_X64_MSR_PAGE_ENABLE) == 0) {
        return 0;
    }
    return (value & HV_X64_MSR_PAGE_ADDRESS_MASK) | HYPERV_OVERLAY_MAPPED;
}

/* ---- GUEST_OS_ID and HYPERCALL ---- */

static enum hyperv_msr_result read_guest_os_id(struct hyperv_vp *vp, uint64_t *value)
{
    *value = load(&vp->partition->guest_os_id);
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_hypercall(struct hyperv_vp *vp, uint64_t *value)
{
    *value = load(&vp->partition->hypercall);
    return HYPERV_MSR_OK;
}

/* Moves the page and sets the register. */
static bool set_hypercall(struct hyperv_vp *vp, uint64_t value, bool *needs_sync)
{
    if (!hyperv_overlay_move(vp, HYPERV_OVERLAY_HYPERCALL, overlay_page_of(value), needs_sync)) {
        return false;
    }
    store(&vp->partition->hypercall, value);
    return true;
}

static bool change_guest_os_id(struct hyperv_vp *vp, uint64_t value, bool *needs_sync)
{
    uint64_t hypercall = load(&vp->partition->hypercall);

    if (value == 0 && !set_hypercall(vp, hypercall & ~HV_X64_MSR_PAGE_ENABLE, needs_sync)) {
        return false;
    }
    store(&vp->partition->guest_os_id, value);
    return true;
}

static bool change_hypercall(struct hyperv_vp *vp, uint64_t value, bool *needs_sync)
{
    struct hyperv_partition *partition = vp->partition;

    value &= HV_X64_MSR_PAGE_ENABLE | HV_X64_MSR_HYPERCALL_LOCKED | HV_X64_MSR_PAGE_ADDRESS_MASK;
    if ((load(&partition->hypercall) & HV_X64_MSR_HYPERCALL_LOCKED) != 0 ||
        !hyperv_gpa_exists(partition, value)) {
        return false;
    }
    if (load(&partition->guest_os_id) == 0) {
        value &= ~HV_X64_MSR_PAGE_ENABLE;
    }
    return set_hypercall(vp, value, needs_sync);
}

/* A page that cannot be mapped is merely not there. */
static bool change_reference_tsc(struct hyperv_vp *vp, uint64_t value, bool *needs_sync)
{
    struct hyperv_partition *partition = vp->partition;
    uint64_t page;

    value &= HV_X64_MSR_PAGE_ENABLE | HV_X64_MSR_PAGE_ADDRESS_MASK;
    page = hyperv_gpa_exists(partition, value) ? overlay_page_of(value) : 0;
    if (!hyperv_overlay_move(vp, HYPERV_OVERLAY_REFERENCE_TSC, page, needs_sync) &&
        !hyperv_overlay_move(vp, HYPERV_OVERLAY_REFERENCE_TSC, 0, needs_sync)) {
        return false;
    }
    store(&partition->reference_tsc, value);
    return true;
}

/* Changes under the partition's lock, waits for the LPs after it. */
static enum hyperv_msr_result change_locked(struct hyperv_vp *vp, uint64_t value,
                                            bool (*change)(struct hyperv_vp *vp, uint64_t value,
                                                           bool *needs_sync))
{
    struct hyperv_partition *partition = vp->partition;
    bool needs_sync = false;
    bool succeeded;

    spin_lock(&partition->lock);
    succeeded = change(vp, value, &needs_sync);
    spin_unlock(&partition->lock);
    if (needs_sync) {
        partition->ops->overlay_sync(vp->context);
    }
    return result_of(succeeded);
}

static enum hyperv_msr_result write_guest_os_id(struct hyperv_vp *vp, uint64_t value)
{
    return change_locked(vp, value, change_guest_os_id);
}

static enum hyperv_msr_result write_hypercall(struct hyperv_vp *vp, uint64_t value)
{
    return change_locked(vp, value, change_hypercall);
}

/* ---- VP index, reset, run time ---- */

static enum hyperv_msr_result read_vp_index(struct hyperv_vp *vp, uint64_t *value)
{
    *value = vp->vp_index;
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_reset(struct hyperv_vp *vp, uint64_t *value)
{
    (void)vp;
    *value = 0;
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result write_reset(struct hyperv_vp *vp, uint64_t value)
{
    if ((value & ~HV_X64_MSR_RESET_NOW) != 0) {
        return HYPERV_MSR_GP;
    }
    if (value != 0) {
        vp->partition->ops->reset(vp->context);
    }
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_vp_runtime(struct hyperv_vp *vp, uint64_t *value)
{
    *value = hyperv_vp_runtime(vp);
    return HYPERV_MSR_OK;
}

/* ---- Time ---- */

static enum hyperv_msr_result read_time_ref_count(struct hyperv_vp *vp, uint64_t *value)
{
    *value = hyperv_reference_time(vp);
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_reference_tsc(struct hyperv_vp *vp, uint64_t *value)
{
    *value = load(&vp->partition->reference_tsc);
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result write_reference_tsc(struct hyperv_vp *vp, uint64_t value)
{
    return change_locked(vp, value, change_reference_tsc);
}

static enum hyperv_msr_result read_tsc_frequency(struct hyperv_vp *vp, uint64_t *value)
{
    *value = vp->partition->facts.tsc_hz;
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_apic_frequency(struct hyperv_vp *vp, uint64_t *value)
{
    *value = vp->partition->facts.apic_hz;
    return HYPERV_MSR_OK;
}

static enum hyperv_msr_result read_tsc_invariant_control(struct hyperv_vp *vp, uint64_t *value)
{
    *value = load(&vp->partition->tsc_invariant_control);
    return HYPERV_MSR_OK;
}

/* Once on, it stays on: the exchange with an OR needs no lock. */
static enum hyperv_msr_result write_tsc_invariant_control(struct hyperv_vp *vp, uint64_t value)
{
    _Atomic uint64_t *control = &vp->partition->tsc_invariant_control;

    if ((value & ~HV_X64_MSR_TSC_INVARIANT_ON) != 0 || (value == 0 && load(control) != 0)) {
        return HYPERV_MSR_GP;
    }
    /* Relaxed: the bit orders nothing. */
    atomic_fetch_or_explicit(control, value, memory_order_relaxed);
    return HYPERV_MSR_OK;
}

/* ---- The local APIC ---- */

static enum hyperv_msr_result write_eoi(struct hyperv_vp *vp, uint64_t value)
{
    return result_of(value >> 32 == 0 &&
                     vp->partition->ops->apic_write_eoi(vp->context, (uint32_t)value));
}

static enum hyperv_msr_result read_icr(struct hyperv_vp *vp, uint64_t *value)
{
    return result_of(vp->partition->ops->apic_read_icr(vp->context, value));
}

static enum hyperv_msr_result write_icr(struct hyperv_vp *vp, uint64_t value)
{
    return result_of(vp->partition->ops->apic_write_icr(vp->context, value));
}

static enum hyperv_msr_result read_tpr(struct hyperv_vp *vp, uint64_t *value)
{
    return result_of(vp->partition->ops->apic_read_tpr(vp->context, value));
}

static enum hyperv_msr_result write_tpr(struct hyperv_vp *vp, uint64_t value)
{
    return result_of(value >> 8 == 0 && vp->partition->ops->apic_write_tpr(vp->context, value));
}

static enum hyperv_msr_result read_vp_assist_page(struct hyperv_vp *vp, uint64_t *value)
{
    *value = vp->vp_assist_page;
    return HYPERV_MSR_OK;
}

/* "No EOI required" is cleared and never set: with no EOI assistance the guest does its own EOI,
 * which is always right. */
static enum hyperv_msr_result write_vp_assist_page(struct hyperv_vp *vp, uint64_t value)
{
    static const uint32_t no_assist;
    gpa_t page = gpa(value & HV_X64_MSR_PAGE_ADDRESS_MASK);

    value &= HV_X64_MSR_PAGE_ENABLE | HV_X64_MSR_PAGE_ADDRESS_MASK;
    if ((value & HV_X64_MSR_PAGE_ENABLE) != 0 &&
        (!hyperv_gpa_exists(vp->partition, page.value) ||
         !vp->partition->ops->write_gpa(vp->context, page, &no_assist, sizeof(no_assist)))) {
        return HYPERV_MSR_GP;
    }
    vp->vp_assist_page = value;
    return HYPERV_MSR_OK;
}

/* ---- The table ---- */

/* By number: some few hundred rows, most of them empty, are cheaper than a search on each exit. */
#define ROW(msr) [(msr)-HV_X64_MSR_FIRST]

static const struct msr_row rows[] = {
    ROW(HV_X64_MSR_GUEST_OS_ID) = {HV_ACCESS_HYPERCALL_MSRS, read_guest_os_id, write_guest_os_id},
    ROW(HV_X64_MSR_HYPERCALL) = {HV_ACCESS_HYPERCALL_MSRS, read_hypercall, write_hypercall},
    ROW(HV_X64_MSR_VP_INDEX) = {HV_ACCESS_VP_INDEX, read_vp_index, NULL},
    ROW(HV_X64_MSR_RESET) = {HV_ACCESS_RESET_REG, read_reset, write_reset},
    ROW(HV_X64_MSR_VP_RUNTIME) = {HV_ACCESS_VP_RUNTIME_REG, read_vp_runtime, NULL},
    ROW(HV_X64_MSR_TIME_REF_COUNT) = {HV_ACCESS_PARTITION_REFERENCE_COUNTER, read_time_ref_count,
                                      NULL},
    ROW(HV_X64_MSR_REFERENCE_TSC) = {HV_ACCESS_PARTITION_REFERENCE_TSC, read_reference_tsc,
                                     write_reference_tsc},
    ROW(HV_X64_MSR_TSC_FREQUENCY) = {HV_ACCESS_FREQUENCY_REGS, read_tsc_frequency, NULL},
    ROW(HV_X64_MSR_APIC_FREQUENCY) = {HV_ACCESS_FREQUENCY_REGS, read_apic_frequency, NULL},
    ROW(HV_X64_MSR_EOI) = {HV_ACCESS_INTR_CTRL_REGS, NULL, write_eoi},
    ROW(HV_X64_MSR_ICR) = {HV_ACCESS_INTR_CTRL_REGS, read_icr, write_icr},
    ROW(HV_X64_MSR_TPR) = {HV_ACCESS_INTR_CTRL_REGS, read_tpr, write_tpr},
    ROW(HV_X64_MSR_VP_ASSIST_PAGE) = {HV_ACCESS_INTR_CTRL_REGS, read_vp_assist_page,
                                      write_vp_assist_page},
    ROW(HV_X64_MSR_TSC_INVARIANT_CONTROL) = {HV_ACCESS_TSC_INVARIANT_CONTROLS,
                                             read_tsc_invariant_control,
                                             write_tsc_invariant_control},
};

/* The row of an MSR that the partition may use, or NULL. */
static inline const struct msr_row *find_row(const struct hyperv_partition *partition, uint32_t msr)
{
    uint32_t number = msr - HV_X64_MSR_FIRST;

    if (number >= ARRAY_LEN(rows) || (partition->privileges & rows[number].privilege) == 0) {
        return NULL;
    }
    return &rows[number];
}

enum hyperv_msr_result hyperv_read_msr(struct hyperv_vp *vp, uint32_t msr, uint64_t *value)
{
    const struct msr_row *row = find_row(vp->partition, msr);

    return row != NULL && row->read != NULL ? row->read(vp, value) : HYPERV_MSR_GP;
}

enum hyperv_msr_result hyperv_write_msr(struct hyperv_vp *vp, uint32_t msr, uint64_t value)
{
    const struct msr_row *row = find_row(vp->partition, msr);

    return row != NULL && row->write != NULL ? row->write(vp, value) : HYPERV_MSR_GP;
}
