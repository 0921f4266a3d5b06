/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/hv_ops.h"

#include "core/apic.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/panic.h"
#include "vmx/exits.h"
#include "vmx/inject_fault.h"
#include "vmx/kick.h"
#include "vmx/partition.h"
#include "vmx/vmx_insn.h"
#include "vmx/vmx_state.h"

/* ICR2 of the xAPIC format has the destination in its top byte; the x2APIC's is the whole word. */
#define ICR_XAPIC_DESTINATION_SHIFT  56u
#define ICR_X2APIC_DESTINATION_SHIFT 32u
#define ICR_LOW_MASK                 0xFFFFFFFFull

static uint64_t read_tsc(void *context)
{
    const struct lp *lp = context;

    return cpu_read_tsc() - (uint64_t)lp_tsc_correction(lp);
}

static const volatile void *ram_page(void *context, gpa_t page)
{
    const struct lp *lp = context;

    return guest_memory_at(&lp->machine->partition->memory, page, PAGE_BYTES);
}

static void read_xmm(void *context, uint64_t words[HYPERV_XMM_WORDS])
{
    (void)context;
    cpu_read_xmm0_to_5(words);
}

static bool write_gpa(void *context, gpa_t to, const void *from, size_t bytes)
{
    const struct lp *lp = context;
    volatile uint8_t *target = guest_memory_at(&lp->machine->partition->memory, to, bytes);
    const uint8_t *source = from;

    for (size_t i = 0; target != NULL && i < bytes; i++) {
        target[i] = source[i];
    }
    return target != NULL;
}

/* Our own pages stay hidden, and the local APIC's page is watched. */
static bool may_be_covered(const struct partition *partition, gpa_t page)
{
    const struct guest_memory_range *hidden = &partition->memory.hidden;

    return page.value - hidden->base >= hidden->bytes && page.value != APIC_PAGE;
}

static bool overlay_map(void *context, enum hyperv_overlay overlay, gpa_t page)
{
    const struct lp *lp = context;
    struct partition *partition = lp->machine->partition;
    bool is_code = overlay == HYPERV_OVERLAY_HYPERCALL;
    const void *target = is_code ? (const void *)partition->hypercall_page
                                 : (const void *)partition->hyperv.reference_tsc_page;
    enum status status;

    if (!may_be_covered(partition, page)) {
        return false;
    }
    spin_lock(&partition->ept_lock);
    status = ept_remap_page(&partition->ept, page, hpa((uint64_t)(uintptr_t)target),
                            is_code ? EPT_READ | EPT_EXECUTE : EPT_READ, MEM_TYPE_WB);
    spin_unlock(&partition->ept_lock);
    if (status != STATUS_OK) {
        log_line(LOG_WARNING, "hv", "the overlay page at %llx cannot be mapped: %s",
                 (unsigned long long)page.value, status_name(status));
    }
    return status == STATUS_OK;
}

static void overlay_unmap(void *context, gpa_t page)
{
    const struct lp *lp = context;
    struct partition *partition = lp->machine->partition;
    enum status status;

    spin_lock(&partition->ept_lock);
    status = ept_restore_page(&partition->ept, page);
    spin_unlock(&partition->ept_lock);
    /* The page was split off when it was covered: nothing is left to fail but a bug of ours. */
    ASSERT(status == STATUS_OK);
}

static void overlay_sync(void *context)
{
    struct lp *lp = context;

    kick_all_for_ept(lp, lp->machine->partition);
}

static bool write_eoi(void *context, uint32_t value)
{
    (void)context;
    (void)value;
    apic_write(APIC_EOI, 0);
    return true;
}

static bool read_icr(void *context, uint64_t *value)
{
    const struct lp *lp = context;
    const struct vmx_state *vmx = lp->vcpu->vmx;

    if (vmx_state_is_x2apic(vmx)) {
        *value = (vmx->x2apic_icr >> ICR_X2APIC_DESTINATION_SHIFT) << ICR_XAPIC_DESTINATION_SHIFT |
                 (vmx->x2apic_icr & ICR_LOW_MASK);
        return true;
    }
    *value = (uint64_t)vmx->icr_high << 32 | apic_read(APIC_ICR_LOW);
    return true;
}

static bool write_icr(void *context, uint64_t value)
{
    struct lp *lp = context;
    struct vcpu *vcpu = lp->vcpu;

    if (vmx_state_is_x2apic(vcpu->vmx)) {
        uint64_t icr = (value >> ICR_XAPIC_DESTINATION_SHIFT) << ICR_X2APIC_DESTINATION_SHIFT |
                       (value & ICR_LOW_MASK);

        return apic_guest_wrote_x2apic_icr(lp, vcpu, icr) == EXIT_ACTION_ADVANCE;
    }
    apic_guest_wrote_page(lp, vcpu, APIC_ICR_HIGH, (uint32_t)(value >> 32));
    apic_guest_wrote_page(lp, vcpu, APIC_ICR_LOW, (uint32_t)value);
    return true;
}

static bool read_tpr(void *context, uint64_t *value)
{
    (void)context;
    *value = apic_read(APIC_TPR);
    return true;
}

static bool write_tpr(void *context, uint64_t value)
{
    (void)context;
    apic_write(APIC_TPR, (uint32_t)value);
    return true;
}

/* The reset MSR is not offered (boot/hv_setup.c). */
static void refuse_reset(void *context)
{
    (void)context;
    panic("the reset MSR was served though it is not offered");
}

static void flush(void *context, const struct flush_request *request)
{
    struct hv_lp *hv = ((const struct lp *)context)->hv;

    if (BUILD_HAS_INJECTION && inject_fault_on_flush(context, request)) {
        return;
    }
    flush_send(&hv->flush_lp, &hv->flush_vcpu, request);
}

const struct hyperv_ops hv_ops = {
    .read_tsc = read_tsc,
    .ram_page = ram_page,
    .read_xmm = read_xmm,
    .write_gpa = write_gpa,
    .overlay_map = overlay_map,
    .overlay_unmap = overlay_unmap,
    .overlay_sync = overlay_sync,
    .apic_write_eoi = write_eoi,
    .apic_read_icr = read_icr,
    .apic_write_icr = write_icr,
    .apic_read_tpr = read_tpr,
    .apic_write_tpr = write_tpr,
    .reset = refuse_reset,
    .flush = flush,
};

static bool kick(void *self, uint32_t lp_id)
{
    struct lp *lp = self;

    return kick_lp(lp, lp->machine->lps[lp_id]);
}

/* The engine has the SDM's numbers. */
STATIC_ASSERT((int)FLUSH_INVVPID_ADDRESS == (int)INVVPID_INDIVIDUAL_ADDRESS);
STATIC_ASSERT((int)FLUSH_INVVPID_SINGLE == (int)INVVPID_SINGLE_CONTEXT);
STATIC_ASSERT((int)FLUSH_INVVPID_ALL == (int)INVVPID_ALL_CONTEXTS);
STATIC_ASSERT((int)FLUSH_INVVPID_RETAINING_GLOBALS ==
              (int)INVVPID_SINGLE_CONTEXT_RETAINING_GLOBALS);

static void invvpid(void *self, const struct flush_vcpu *vcpu, enum flush_invvpid type,
                    gva_t address)
{
    const struct lp *lp = self;
    uint16_t vpid = lp->vcpu->vmx->vpid;

    (void)vcpu; /* the one that runs here */
    if (__builtin_expect(vmx_invvpid_failed((enum invvpid_type)type, vpid, address.value), 0)) {
        panic("INVVPID type %d for VPID %u, address %llx failed", (int)type, vpid,
              (unsigned long long)address.value);
    }
}

static void relax(void *self)
{
    const struct lp *lp = self;

    cpu_pause();
    /* Acquire pairs with the exchange in panic: whoever waits while the machine stops, stops
     * too. */
    if (atomic_load_explicit(&lp->machine->stop_requested, memory_order_acquire) != 0) {
        panic_park();
    }
}

static void report_late(void *self, const struct flush_late *late)
{
    const struct lp *lp = self;
    const struct lp *target = lp->machine->lps[late->lp_id];

    log_line(LOG_WARNING, "flush", "LP%02u VP%03u has not left %s for 100 ms (%s %llu)%s",
             target->lp_id, target->vcpu->vp_index,
             late->is_gva_section ? "a use of guest addresses" : "guest mode",
             late->is_gva_section ? "gva_seq" : "run_seq", (unsigned long long)late->seq,
             late->is_gva_section ? "" : "; kicked again");
}

const struct flush_ops hv_flush_ops = {
    .kick = kick,
    .invvpid = invvpid,
    .relax = relax,
    .now = read_tsc,
    .report = report_late,
};
