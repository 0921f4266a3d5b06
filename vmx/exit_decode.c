/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/exit_decode.h"

#include "core/bits.h"

void exit_decode_cr_access(uint64_t qualification, struct cr_access *access)
{
    access->cr = (uint8_t)bits_get(qualification, 3, 0);
    access->type = (enum cr_access_type)bits_get(qualification, 5, 4);
    access->register_index = (uint8_t)bits_get(qualification, 11, 8);
}

void exit_decode_io(uint64_t qualification, struct io_access *access)
{
    static const uint8_t bytes[8] = {[0] = 1, [1] = 2, [3] = 4};

    access->bytes = bytes[bits_get(qualification, 2, 0)];
    access->is_in = (qualification & BIT64(3)) != 0;
    access->is_string = (qualification & BIT64(4)) != 0;
    access->is_rep = (qualification & BIT64(5)) != 0;
    access->is_immediate = (qualification & BIT64(6)) != 0;
    access->port = (uint16_t)bits_get(qualification, 31, 16);
}

void exit_decode_ept_violation(uint64_t qualification, struct ept_violation *violation)
{
    violation->is_read = (qualification & BIT64(0)) != 0;
    violation->is_write = (qualification & BIT64(1)) != 0;
    violation->is_fetch = (qualification & BIT64(2)) != 0;
    violation->was_readable = (qualification & BIT64(3)) != 0;
    violation->was_writable = (qualification & BIT64(4)) != 0;
    violation->was_executable = (qualification & BIT64(5)) != 0;
    violation->has_linear_address = (qualification & BIT64(7)) != 0;
    violation->is_translated = violation->has_linear_address && (qualification & BIT64(8)) != 0;
    violation->is_nmi_unblocking = (qualification & BIT64(12)) != 0;
}

void exit_decode_task_switch(uint64_t qualification, struct task_switch *task)
{
    task->selector = (uint16_t)bits_get(qualification, 15, 0);
    task->source = (enum task_switch_source)bits_get(qualification, 31, 30);
}

void exit_decode_debug(uint64_t qualification, struct debug_exit *debug)
{
    debug->breakpoints = (uint8_t)bits_get(qualification, 3, 0);
    debug->is_bus_lock = (qualification & BIT64(11)) != 0;
    debug->is_bd = (qualification & BIT64(13)) != 0;
    debug->is_single_step = (qualification & BIT64(14)) != 0;
    debug->is_rtm = (qualification & BIT64(16)) != 0;
}

void exit_decode_interruption(uint32_t information, struct interruption *interruption)
{
    interruption->is_valid = (information & INTERRUPTION_VALID) != 0;
    interruption->vector = (uint8_t)(information & INTERRUPTION_VECTOR_MASK);
    interruption->type =
        (enum interruption_type)((information & INTERRUPTION_TYPE_MASK) >> INTERRUPTION_TYPE_SHIFT);
    interruption->has_error_code = (information & INTERRUPTION_ERROR_CODE_VALID) != 0;
    interruption->is_nmi_unblocking = (information & INTERRUPTION_NMI_UNBLOCKING) != 0;
}

uint32_t exit_encode_injection(enum interruption_type type, uint8_t vector, bool with_error_code)
{
    return INTERRUPTION_VALID | vector | (uint32_t)type << INTERRUPTION_TYPE_SHIFT |
           (with_error_code ? INTERRUPTION_ERROR_CODE_VALID : 0);
}

bool exit_injection_needs_length(enum interruption_type type)
{
    return type == INTERRUPTION_SOFTWARE_INTERRUPT ||
           type == INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION ||
           type == INTERRUPTION_SOFTWARE_EXCEPTION;
}

bool exception_has_error_code(uint8_t vector)
{
    switch (vector) {
    case EXCEPTION_DF:
    case EXCEPTION_TS:
    case EXCEPTION_NP:
    case EXCEPTION_SS:
    case EXCEPTION_GP:
    case EXCEPTION_PF:
    case EXCEPTION_AC:
    case EXCEPTION_CP:
        return true;
    default:
        return false;
    }
}

/* SDM: the contributory exceptions. #VE is treated as one, as #PF is (a class of their own). */
static bool is_contributory(uint8_t vector)
{
    switch (vector) {
    case EXCEPTION_DE:
    case EXCEPTION_TS:
    case EXCEPTION_NP:
    case EXCEPTION_SS:
    case EXCEPTION_GP:
    case EXCEPTION_CP:
        return true;
    default:
        return false;
    }
}

static bool is_page_fault_class(uint8_t vector)
{
    return vector == EXCEPTION_PF || vector == EXCEPTION_VE;
}

enum exception_merge exception_merge(uint32_t idt_vectoring_information, uint8_t new_vector)
{
    struct interruption old;
    bool new_is_serious = is_contributory(new_vector) || is_page_fault_class(new_vector);

    exit_decode_interruption(idt_vectoring_information, &old);
    if (!old.is_valid || old.type != INTERRUPTION_HARDWARE_EXCEPTION) {
        return EXCEPTION_MERGE_NEW;
    }
    if (old.vector == EXCEPTION_DF && new_is_serious) {
        return EXCEPTION_MERGE_TRIPLE_FAULT;
    }
    if (is_page_fault_class(old.vector) && new_is_serious) {
        return EXCEPTION_MERGE_DOUBLE_FAULT;
    }
    if (is_contributory(old.vector) && is_contributory(new_vector)) {
        return EXCEPTION_MERGE_DOUBLE_FAULT;
    }
    return EXCEPTION_MERGE_NEW;
}
