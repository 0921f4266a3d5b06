/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * TLFS "Hypercall Interface". The order of the checks: mode (#UD), reserved bits, call code,
 * privilege, shape (repetitions, variable header, size), XMM input (#UD), the input's address, and,
 * after the one copy of the input, its parameters.
 */

#define WORD_BYTES 8u

enum call_class {
    CLASS_REP = 1,
    CLASS_VAR = 2,
    CLASS_FAST = 4,
    CLASS_SIMPLE = 0,
    CLASS_SIMPLE_FAST = CLASS_FAST,
    CLASS_SIMPLE_VAR_FAST = CLASS_VAR | CLASS_FAST,
    CLASS_REP_FAST = CLASS_REP | CLASS_FAST,
    CLASS_REP_VAR_FAST = CLASS_REP | CLASS_VAR | CLASS_FAST,
};

struct call_row {
    uint16_t code;
    uint8_t call_class;
    uint8_t element_bytes;
    uint32_t input_bytes;
    uint32_t hints;
    uint64_t privileges;
    hyperv_handler *handler;
};

static const struct call_row rows[HYPERV_CALL_UNKNOWN] = {
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) \
    [HYPERV_CALL_##name] = {code, CLASS_##class, element, bytes, hints, privileges, handler},
#include "hyperv/hypercalls.def"
#undef HYPERCALL
};

hv_status_t hyperv_refuse(const struct hyperv_input *input)
{
    (void)input;
    return HV_STATUS_ACCESS_DENIED;
}

static enum hyperv_call find_call(uint64_t control)
{
    uint16_t code = (uint16_t)control;

    for (uint32_t call = 0; call < HYPERV_CALL_UNKNOWN; call++) {
        if (rows[call].code == code) {
            return (enum hyperv_call)call;
        }
    }
    return HYPERV_CALL_UNKNOWN;
}

static bool is_granted(const struct hyperv_partition *partition, const struct call_row *row)
{
    return (partition->privileges & row->privileges) == row->privileges &&
           (partition->recommendations & row->hints) == row->hints;
}

/* Repetitions, variable header and size. Sets what input takes from the control word, and the size of
 * the whole input. */
static hv_status_t check_shape(const struct call_row *row, uint64_t control,
                               struct hyperv_input *input, uint32_t *bytes)
{
    bool is_fast = (control & HV_HYPERCALL_FAST) != 0;

    input->var_words = (uint32_t)bits_get(control, 26, 17);
    input->rep_count = (uint32_t)bits_get(control, 43, 32);
    input->rep_start = (uint32_t)bits_get(control, 59, 48);
    if ((row->call_class & CLASS_REP) != 0 ? input->rep_start >= input->rep_count
                                           : (input->rep_count | input->rep_start) != 0) {
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    if ((input->var_words != 0 && (row->call_class & CLASS_VAR) == 0) ||
        (is_fast && (row->call_class & CLASS_FAST) == 0)) {
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    *bytes =
        row->input_bytes + input->var_words * WORD_BYTES + input->rep_count * row->element_bytes;
    return *bytes <= (is_fast ? HV_HYPERCALL_FAST_MAX_BYTES : PAGE_BYTES)
               ? HV_STATUS_SUCCESS
               : HV_STATUS_INVALID_HYPERCALL_INPUT;
}

/* A pair of 32-bit registers. */
static uint64_t pair_of(uint64_t high, uint64_t low)
{
    return high << 32 | (uint32_t)low;
}

/* Copies the input once. */
static hv_status_t copy_input(const struct hyperv_input *input, uint64_t address, uint32_t bytes)
{
    const struct hyperv_partition *partition = input->vp->partition;

    if (!is_aligned(address, WORD_BYTES) || (address & (PAGE_BYTES - 1)) + bytes > PAGE_BYTES ||
        !hyperv_gpa_exists(partition, address) || hyperv_overlay_covers(partition, gpa(address)) ||
        !partition->ops->read_gpa(input->vp->context, gpa(address), input->words, bytes)) {
        return HV_STATUS_INVALID_ALIGNMENT;
    }
    return HV_STATUS_SUCCESS;
}

struct served {
    enum hyperv_call call;
    hv_status_t status;
    uint32_t reps;
    bool is_undefined;
};

/* All that comes after the check of the mode. */
static void serve(struct hyperv_input *input, uint64_t control, uint64_t address,
                  struct served *served)
{
    const struct call_row *row;
    uint32_t bytes;

    if ((control & HV_HYPERCALL_RESERVED_BITS) != 0) {
        served->status = HV_STATUS_INVALID_HYPERCALL_INPUT;
        return;
    }
    if (served->call == HYPERV_CALL_UNKNOWN) {
        served->status = HV_STATUS_INVALID_HYPERCALL_CODE;
        return;
    }
    row = &rows[served->call];
    if (!is_granted(input->vp->partition, row)) {
        served->status = HV_STATUS_ACCESS_DENIED;
        return;
    }
    served->status = check_shape(row, control, input, &bytes);
    if (served->status != HV_STATUS_SUCCESS) {
        return;
    }
    if ((control & HV_HYPERCALL_FAST) != 0) {
        /* No call that is offered fits the two general registers, and XMM input is not offered. */
        served->is_undefined = true;
        return;
    }
    served->status = copy_input(input, address, bytes);
    if (served->status != HV_STATUS_SUCCESS) {
        return;
    }
    served->status = row->handler(input);
    /* Elements before the start count as done; of the others all are, or none. */
    served->reps = served->status == HV_STATUS_SUCCESS ? input->rep_count : input->rep_start;
}

static enum hyperv_outcome outcome_of(const struct served *served)
{
    if (served->is_undefined) {
        return HYPERV_OUTCOME_UNDEFINED;
    }
    switch (served->status) {
    case HV_STATUS_SUCCESS:
        return HYPERV_OUTCOME_SUCCESS;
    case HV_STATUS_INVALID_HYPERCALL_CODE:
        return HYPERV_OUTCOME_INVALID_CODE;
    case HV_STATUS_INVALID_HYPERCALL_INPUT:
        return HYPERV_OUTCOME_INVALID_INPUT;
    case HV_STATUS_INVALID_ALIGNMENT:
        return HYPERV_OUTCOME_INVALID_ALIGNMENT;
    case HV_STATUS_INVALID_PARAMETER:
        return HYPERV_OUTCOME_INVALID_PARAMETER;
    default:
        return HYPERV_OUTCOME_ACCESS_DENIED;
    }
}

static bool may_call(const struct hyperv_partition *partition, const struct hyperv_caller *caller)
{
    uint64_t hypercall = atomic_load_explicit(&partition->hypercall, memory_order_relaxed);

    return caller->cpl == 0 && caller->is_protected && (hypercall & HV_X64_MSR_PAGE_ENABLE) != 0;
}

static void set_result(const struct hyperv_caller *caller, uint64_t gpr[GPR_COUNT],
                       const struct served *served)
{
    uint64_t result = served->status | (uint64_t)served->reps << HV_HYPERCALL_REP_SHIFT;

    if (caller->is_64_bit_code) {
        gpr[GPR_RAX] = result;
    } else {
        gpr[GPR_RAX] = (uint32_t)result;
        gpr[GPR_RDX] = result >> 32;
    }
}

enum hyperv_call_result hyperv_hypercall(struct hyperv_vp *vp, const struct hyperv_caller *caller,
                                         uint64_t gpr[GPR_COUNT], uint64_t *buffer)
{
    struct hyperv_input input = {.vp = vp, .words = buffer};
    struct served served = {.call = HYPERV_CALL_UNKNOWN};
    uint64_t control, address;

    if (!may_call(vp->partition, caller)) {
        /* The registers mean nothing. */
        served.is_undefined = true;
    } else {
        control = caller->is_64_bit_code ? gpr[GPR_RCX] : pair_of(gpr[GPR_RDX], gpr[GPR_RAX]);
        address = caller->is_64_bit_code ? gpr[GPR_RDX] : pair_of(gpr[GPR_RBX], gpr[GPR_RCX]);
        served.call = find_call(control);
        serve(&input, control, address, &served);
    }
    vp->calls[served.call][outcome_of(&served)]++;
    if (served.is_undefined) {
        return HYPERV_RESULT_UD;
    }
    set_result(caller, gpr, &served);
    return HYPERV_RESULT_DONE;
}
