/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/lp.h"

/* Access bytes and flags of descriptors (SDM volume 3, "Segment Descriptors"). */
#define DESCRIPTOR_CODE_64  0x00209B0000000000ull
#define DESCRIPTOR_DATA     0x0000930000000000ull
#define DESCRIPTOR_TSS_BUSY 0x00008B0000000000ull

static void set_tss_descriptor(struct lp *lp)
{
    uint64_t base = (uint64_t)(uintptr_t)&lp->tss;
    uint64_t limit = sizeof(lp->tss) - 1;

    lp->gdt[3] =
        DESCRIPTOR_TSS_BUSY | limit | ((base & 0xFFFFFF) << 16) | ((base & 0xFF000000) << 32);
    lp->gdt[4] = base >> 32;
}

void lp_init(struct lp *lp, struct machine *machine, uint32_t lp_id, uint32_t apic_id)
{
    lp->self = lp;
    lp->machine = machine;
    lp->lp_id = lp_id;
    lp->apic_id = apic_id;
    lp->gdt[1] = DESCRIPTOR_CODE_64;
    lp->gdt[2] = DESCRIPTOR_DATA;
    lp->tss.io_map_base = sizeof(lp->tss);
    lp->tss.rsp[0] = lp->stack_top;
    lp->tss.ist[0] = lp->nmi_stack_top;
    lp->tss.ist[1] = lp->fault_stack_top;
    set_tss_descriptor(lp);
}
