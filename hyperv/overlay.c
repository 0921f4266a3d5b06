/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * The pages that lie over the guest's memory (TLFS "Overlay Pages"). A guest may put both at one
 * address: then the hypercall page is seen, and the other comes up again when it goes.
 */

static gpa_t address_of(uint64_t page)
{
    return gpa(page & ~HYPERV_OVERLAY_MAPPED);
}

static uint64_t page_of(const struct hyperv_partition *partition, enum hyperv_overlay overlay)
{
    return atomic_load_explicit(&partition->overlay_pages[overlay], memory_order_relaxed);
}

static enum hyperv_overlay other_of(enum hyperv_overlay overlay)
{
    return overlay == HYPERV_OVERLAY_HYPERCALL ? HYPERV_OVERLAY_REFERENCE_TSC
                                               : HYPERV_OVERLAY_HYPERCALL;
}

/* Uncovers what lies beneath overlay at page, where it is now. */
static void uncover(struct hyperv_vp *vp, enum hyperv_overlay overlay, uint64_t page)
{
    const struct hyperv_ops *ops = vp->partition->ops;
    enum hyperv_overlay other = other_of(overlay);

    if (page_of(vp->partition, other) != page) {
        ops->overlay_unmap(vp->context, address_of(page));
        return;
    }
    if (overlay == HYPERV_OVERLAY_HYPERCALL &&
        !ops->overlay_map(vp->context, other, address_of(page))) {
        /* Out of memory for tables: then neither is there, as if the guest had not asked. */
        ops->overlay_unmap(vp->context, address_of(page));
        atomic_store_explicit(&vp->partition->overlay_pages[other], 0, memory_order_relaxed);
    }
}

bool hyperv_overlay_move(struct hyperv_vp *vp, enum hyperv_overlay overlay, uint64_t page,
                         bool *needs_sync)
{
    struct hyperv_partition *partition = vp->partition;
    uint64_t before = page_of(partition, overlay);
    bool is_beneath = overlay == HYPERV_OVERLAY_REFERENCE_TSC &&
                      page == page_of(partition, HYPERV_OVERLAY_HYPERCALL);

    if (page == before) {
        return true;
    }
    if (page != 0 && !is_beneath &&
        !partition->ops->overlay_map(vp->context, overlay, address_of(page))) {
        return false;
    }
    if (before != 0) {
        uncover(vp, overlay, before);
    }
    /* Relaxed: hyperv_overlay_covers orders nothing by it. */
    atomic_store_explicit(&partition->overlay_pages[overlay], page, memory_order_relaxed);
    *needs_sync = true;
    return true;
}
