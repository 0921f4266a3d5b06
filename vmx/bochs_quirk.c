/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/bochs_quirk.h"

#include "core/cr_bits.h"
#include "core/gva_section.h"
#include "core/machine.h"
#include "mm/guest_walk.h"
#include "vmx/guest_state.h"
#include "vmx/partition.h"
#include "vmx/vmcs.h"

#define FRAME_WORDS     5u /* RIP CS RFLAGS RSP SS */
#define SELECTOR_LDT    0x4u
#define SELECTOR_INDEX  0xFFF8u
#define SELECTOR_RPL    0x3u
#define ACCESS_ACCESSED 0x1u

/* A segment as its descriptor says. */
struct loaded_segment {
    uint16_t selector;
    uint64_t base;
    uint32_t limit;
    uint32_t rights;
};

static bool read_guest(struct lp *lp, const struct vcpu *vcpu, uint64_t address, void *to,
                       size_t bytes)
{
    struct guest_paging paging;
    size_t count;

    guest_state_paging(&paging);
    gva_begin(lp);
    count = guest_read_linear(&vcpu->partition->memory, &paging, gva(address), to, bytes);
    gva_end(lp);
    return count == bytes;
}

/* The frame of the delivery, with or without an error code below it: its RIP is the one that the
 * exit saved. The first two words say whether there is one at all, and mostly there is none. */
static bool find_frame(struct lp *lp, const struct vcpu *vcpu, uint64_t frame[FRAME_WORDS])
{
    uint64_t rip = vmcs_read(VMCS_GUEST_RIP);
    uint64_t rsp = vmcs_read(VMCS_GUEST_RSP);
    uint64_t first[2];

    if (!read_guest(lp, vcpu, rsp, first, sizeof(first)) || (first[0] != rip && first[1] != rip)) {
        return false;
    }
    if (first[1] == rip) {
        rsp += sizeof(first[0]);
    }
    return read_guest(lp, vcpu, rsp, frame, FRAME_WORDS * sizeof(frame[0])) && frame[0] == rip &&
           frame[1] <= UINT16_MAX && frame[4] <= UINT16_MAX && (frame[2] & RFLAGS_RESERVED_1) != 0;
}

static bool load_segment(struct lp *lp, const struct vcpu *vcpu, uint16_t selector,
                         struct loaded_segment *out)
{
    uint64_t descriptor;
    uint64_t limit;

    out->selector = selector;
    if ((selector & SELECTOR_INDEX) == 0) {
        *out = (struct loaded_segment){.selector = selector,
                                       .rights =
                                           ACCESS_RIGHTS_UNUSABLE |
                                           ((selector & SELECTOR_RPL) << ACCESS_RIGHTS_DPL_SHIFT)};
        return true;
    }
    if ((selector & SELECTOR_LDT) != 0 ||
        !read_guest(lp, vcpu, vmcs_read(VMCS_GUEST_GDTR_BASE) + (selector & SELECTOR_INDEX),
                    &descriptor, sizeof(descriptor))) {
        return false;
    }
    limit = bits_get(descriptor, 15, 0) | bits_get(descriptor, 51, 48) << 16;
    out->base = bits_get(descriptor, 39, 16) | bits_get(descriptor, 63, 56) << 24;
    out->rights = (uint32_t)(bits_get(descriptor, 47, 40) | bits_get(descriptor, 55, 52) << 12) |
                  ACCESS_ACCESSED;
    out->limit = (uint32_t)((out->rights & ACCESS_RIGHTS_G) != 0 ? limit << 12 | 0xFFF : limit);
    return true;
}

static void take_back(const uint64_t frame[FRAME_WORDS], const struct loaded_segment *code,
                      const struct loaded_segment *stack)
{
    vmcs_write16(VMCS_GUEST_CS_SELECTOR, code->selector);
    vmcs_write(VMCS_GUEST_CS_BASE, code->base);
    vmcs_write32(VMCS_GUEST_CS_LIMIT, code->limit);
    vmcs_write32(VMCS_GUEST_CS_ACCESS_RIGHTS, code->rights);
    vmcs_write16(VMCS_GUEST_SS_SELECTOR, stack->selector);
    vmcs_write(VMCS_GUEST_SS_BASE, stack->base);
    vmcs_write32(VMCS_GUEST_SS_LIMIT, stack->limit);
    vmcs_write32(VMCS_GUEST_SS_ACCESS_RIGHTS, stack->rights);
    vmcs_write(VMCS_GUEST_RFLAGS, frame[2]);
    vmcs_write(VMCS_GUEST_RSP, frame[3]);
}

void bochs_repair_nmi_exit(struct lp *lp, struct vcpu *vcpu)
{
    uint64_t frame[FRAME_WORDS];
    struct loaded_segment code;
    struct loaded_segment stack;

    /* A fault leaves RF set until the next instruction; hardly anything else does. */
    if (!lp->machine->is_bochs || (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_RF) == 0 ||
        !guest_state_is_64_bit()) {
        return;
    }
    if (find_frame(lp, vcpu, frame) && load_segment(lp, vcpu, (uint16_t)frame[1], &code) &&
        load_segment(lp, vcpu, (uint16_t)frame[4], &stack)) {
        stats_count(&vcpu->stats, STAT_BOCHS_REPAIRS);
        take_back(frame, &code, &stack);
    }
}
