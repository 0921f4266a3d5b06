/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cr_bits.h"
#include "core/gva_section.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/platform.h"
#include "vmx/vmcs.h"

/* IN, OUT, INS and OUTS at the watched ports. SDM volume 3, "VM-Exit Instruction Information". */

#define STRING_ADDRESS_SIZE_SHIFT 7u
#define STRING_ADDRESS_SIZE_MASK  7u

static uint64_t merge(uint64_t old, uint64_t value, uint8_t bytes)
{
    if (bytes >= 4) {
        return (uint32_t)value;
    }
    return (old & ~(BIT64(bytes * 8) - 1)) | (value & (BIT64(bytes * 8) - 1));
}

/* Bytes of the string instruction's addresses and count: 2, 4 or 8. */
static uint8_t address_bytes(void)
{
    uint32_t size =
        (vmcs_read32(VMCS_VM_EXIT_INSTRUCTION_INFORMATION) >> STRING_ADDRESS_SIZE_SHIFT) &
        STRING_ADDRESS_SIZE_MASK;

    return size == 0 ? 2 : size == 1 ? 4 : 8;
}

static uint64_t cut(uint64_t value, uint8_t bytes)
{
    return bytes == 8 ? value : value & (BIT64(bytes * 8) - 1);
}

static uint64_t step_register(uint64_t value, int64_t step, uint8_t bytes)
{
    uint64_t next = cut(value + (uint64_t)step, bytes);

    return bytes == 2 ? (value & ~0xFFFFull) | next : next;
}

/* Moves one element between the port and memory. False: the memory cannot be reached from here. */
static bool move_element(struct lp *lp, struct vcpu *vcpu, const struct io_access *io)
{
    const struct guest_memory *memory = &vcpu->partition->memory;
    gva_t address = gva(vmcs_read(VMCS_GUEST_LINEAR_ADDRESS));
    uint32_t value = io->is_in ? platform_guest_in(lp, vcpu, io->port, io->bytes) : 0;
    struct guest_paging paging;
    volatile uint8_t *at = NULL;
    gpa_t physical;

    guest_state_paging(&paging);
    gva_begin(lp);
    if (guest_walk(memory, &paging, address, &physical)) {
        at = guest_memory_at(memory, physical, io->bytes);
    }
    for (uint8_t i = 0; at != NULL && i < io->bytes; i++) {
        if (io->is_in) {
            at[i] = (uint8_t)(value >> (i * 8));
        } else {
            value |= (uint32_t)at[i] << (i * 8);
        }
    }
    gva_end(lp);
    if (at == NULL) {
        return false;
    }
    if (!io->is_in) {
        platform_guest_out(lp, vcpu, io->port, io->bytes, value);
    }
    return true;
}

/* One element an exit; RIP moves on with the last, so that interrupts get in between. */
static enum exit_action string_io(struct lp *lp, struct vcpu *vcpu, const struct io_access *io)
{
    uint8_t width = address_bytes();
    enum gpr pointer = io->is_in ? GPR_RDI : GPR_RSI;
    bool is_down = (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_DF) != 0;
    int64_t step = is_down ? -(int64_t)io->bytes : io->bytes;

    if (io->is_rep && cut(vcpu->gpr[GPR_RCX], width) == 0) {
        return EXIT_ACTION_ADVANCE;
    }
    if (!move_element(lp, vcpu, io)) {
        return EXIT_ACTION_STOP;
    }
    vcpu->gpr[pointer] = step_register(vcpu->gpr[pointer], step, width);
    if (!io->is_rep) {
        return EXIT_ACTION_ADVANCE;
    }
    vcpu->gpr[GPR_RCX] = step_register(vcpu->gpr[GPR_RCX], -1, width);
    return cut(vcpu->gpr[GPR_RCX], width) == 0 ? EXIT_ACTION_ADVANCE : EXIT_ACTION_RESUME;
}

enum exit_action exit_io(struct lp *lp, struct vcpu *vcpu)
{
    struct io_access io;

    exit_decode_io(vmcs_read(VMCS_EXIT_QUALIFICATION), &io);
    if (io.bytes == 0) {
        return EXIT_ACTION_STOP;
    }
    if (io.is_string) {
        return string_io(lp, vcpu, &io);
    }
    if (io.is_in) {
        vcpu->gpr[GPR_RAX] =
            merge(vcpu->gpr[GPR_RAX], platform_guest_in(lp, vcpu, io.port, io.bytes), io.bytes);
    } else {
        platform_guest_out(lp, vcpu, io.port, io.bytes, (uint32_t)vcpu->gpr[GPR_RAX]);
    }
    return EXIT_ACTION_ADVANCE;
}
