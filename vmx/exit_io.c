/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cpu.h"
#include "core/cr_bits.h"
#include "core/gva_section.h"
#include "core/msr.h"
#include "mm/guest_walk.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"
#include "vmx/guest_state.h"
#include "vmx/inject.h"
#include "vmx/platform.h"
#include "vmx/vmcs.h"

/* IN, OUT, INS and OUTS at the watched ports. SDM volume 3, "VM-Exit Instruction Information". */

#define STRING_ADDRESS_SIZE_SHIFT 7u
#define STRING_ADDRESS_SIZE_MASK  7u
#define ELEMENT_BYTES_MAX         4u

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

/* The memory operand of a string instruction: it may cross a page. */
struct operand {
    volatile uint8_t *at[ELEMENT_BYTES_MAX];
    uint64_t linear; /* of the byte that was translated last */
    uint32_t error_code;
};

/* Addresses that code outside 64-bit mode forms have 32 bits. */
static uint64_t linear_mask(void)
{
    return guest_state_is_64_bit() ? UINT64_MAX : UINT32_MAX;
}

/* Finds every byte of an element, one walk a page. Between gva_begin and gva_end. */
static enum guest_access_status find_operand(const struct partition *partition,
                                             const struct io_access *io, struct operand *operand)
{
    struct guest_access access = {
        .is_write = io->is_in,
        .is_user = (vmcs_read32(VMCS_GUEST_SS_ACCESS_RIGHTS) & ACCESS_RIGHTS_DPL_MASK) ==
                   ACCESS_RIGHTS_DPL_MASK,
        .has_ac = (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_AC) != 0,
        .physical_address_bits = partition->controls.physical_address_bits,
    };
    uint64_t first = vmcs_read(VMCS_GUEST_LINEAR_ADDRESS);
    uint64_t mask = linear_mask();
    struct guest_paging paging;
    gpa_t physical = gpa(0);

    guest_state_paging(&paging);
    for (uint8_t i = 0; i < io->bytes; i++) {
        operand->linear = (first + i) & mask;
        physical.value++;
        if (i == 0 || is_aligned(operand->linear, PAGE_BYTES)) {
            enum guest_access_status status =
                guest_walk_access(&partition->memory, &paging, gva(operand->linear), &access,
                                  &physical, &operand->error_code);

            if (status != GUEST_ACCESS_OK) {
                return status;
            }
        }
        operand->at[i] = guest_memory_at(&partition->memory, physical, 1);
        if (operand->at[i] == NULL) {
            return GUEST_ACCESS_NOT_RAM;
        }
    }
    return GUEST_ACCESS_OK;
}

/* INS: the device is read when it is certain that the store will succeed, in the same section. */
static enum guest_access_status move_in(struct lp *lp, struct vcpu *vcpu,
                                        const struct io_access *io, struct operand *operand)
{
    enum guest_access_status status;
    uint32_t value;

    gva_begin(lp);
    status = find_operand(vcpu->partition, io, operand);
    if (status == GUEST_ACCESS_OK) {
        value = platform_guest_in(lp, vcpu, io->port, io->bytes);
        for (uint8_t i = 0; i < io->bytes; i++) {
            *operand->at[i] = (uint8_t)(value >> (i * 8));
        }
    }
    gva_end(lp);
    return status;
}

static enum guest_access_status move_out(struct lp *lp, struct vcpu *vcpu,
                                         const struct io_access *io, struct operand *operand)
{
    enum guest_access_status status;
    uint32_t value = 0;

    gva_begin(lp);
    status = find_operand(vcpu->partition, io, operand);
    for (uint8_t i = 0; status == GUEST_ACCESS_OK && i < io->bytes; i++) {
        value |= (uint32_t)*operand->at[i] << (i * 8);
    }
    gva_end(lp);
    if (status == GUEST_ACCESS_OK) {
        platform_guest_out(lp, vcpu, io->port, io->bytes, value);
    }
    return status;
}

/* Moves one element between the port and memory. ADVANCE: it is done. */
static enum exit_action move_element(struct lp *lp, struct vcpu *vcpu, const struct io_access *io)
{
    struct operand operand;

    switch (io->is_in ? move_in(lp, vcpu, io, &operand) : move_out(lp, vcpu, io, &operand)) {
    case GUEST_ACCESS_OK:
        return EXIT_ACTION_ADVANCE;
    case GUEST_ACCESS_PAGE_FAULT:
        cpu_write_cr2(operand.linear);
        inject_exception(vcpu, EXCEPTION_PF, operand.error_code);
        return EXIT_ACTION_RESUME;
    case GUEST_ACCESS_NOT_CANONICAL:
        return EXIT_ACTION_GP;
    case GUEST_ACCESS_CHANGED:
        return EXIT_ACTION_RESUME;
    case GUEST_ACCESS_NOT_RAM:
        break;
    }
    return EXIT_ACTION_STOP;
}

/* One element an exit; RIP moves on with the last, so that interrupts get in between. */
static enum exit_action string_io(struct lp *lp, struct vcpu *vcpu, const struct io_access *io)
{
    uint8_t width = address_bytes();
    enum gpr pointer = io->is_in ? GPR_RDI : GPR_RSI;
    bool is_down = (vmcs_read(VMCS_GUEST_RFLAGS) & RFLAGS_DF) != 0;
    int64_t step = is_down ? -(int64_t)io->bytes : io->bytes;
    enum exit_action action;

    if (io->is_rep && cut(vcpu->gpr[GPR_RCX], width) == 0) {
        return EXIT_ACTION_ADVANCE;
    }
    action = move_element(lp, vcpu, io);
    if (action != EXIT_ACTION_ADVANCE) {
        return action;
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
