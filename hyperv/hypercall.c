/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * TLFS "Hypercall Interface". The order of the checks: mode (#UD), reserved bits, call code,
 * privilege, shape (repetitions, variable header, size), XMM input (#UD), the input's address; then
 * the headers are copied, once, and the call's handler checks the parameters and reads the list.
 */

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

#define VAR_BITS MASK64(26, 17)
#define REP_BITS (MASK64(43, 32) | MASK64(59, 48))

/* Bits of the control word that a call of this class cannot have. */
#define ODD_BITS(class)                                                                   \
    (HV_HYPERCALL_RESERVED_BITS | (((class) & CLASS_FAST) != 0 ? 0 : HV_HYPERCALL_FAST) | \
     (((class) & CLASS_VAR) != 0 ? 0 : VAR_BITS) | (((class) & CLASS_REP) != 0 ? 0 : REP_BITS))

struct call_row {
    uint64_t odd_bits;
    hyperv_handler *handler;
    uint16_t code;
    uint8_t call_class;
    uint8_t element_bytes;
    uint32_t input_bytes;
    uint64_t privileges;
    uint32_t hints;
};

static const struct call_row rows[HYPERV_CALL_COUNT] = {
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) \
    [HYPERV_CALL_##name] = {                                                     \
        ODD_BITS(CLASS_##class), handler, code, CLASS_##class, element, bytes, privileges, hints},
#include "hyperv/hypercalls.def"
#undef HYPERCALL
};

hv_status_t hyperv_refuse(const struct hyperv_input *input)
{
    (void)input;
    return HV_STATUS_ACCESS_DENIED;
}

/* Calls are found by a table up to here, none has code 0; above is only one, which find_call
 * names. */
#define SMALL_CODES 0x60u
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) \
    STATIC_ASSERT(                                                               \
        (code) != 0 &&                                                           \
        ((code) < SMALL_CODES || (int)HYPERV_CALL_##name == (int)HYPERV_CALL_QUERY_CAPABILITIES));
#include "hyperv/hypercalls.def"
#undef HYPERCALL
STATIC_ASSERT((int)HYPERV_CALL_COUNT <= 32); /* bits of calls_granted */
STATIC_ASSERT((2 + HYPERV_XMM_WORDS) * HYPERV_WORD_BYTES == HV_HYPERCALL_FAST_MAX_BYTES);

static const uint8_t calls_by_small_code[SMALL_CODES] = {
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) \
    [(code) < SMALL_CODES ? (code) : 0] = (code) < SMALL_CODES ? HYPERV_CALL_##name : 0,
#include "hyperv/hypercalls.def"
#undef HYPERCALL
};

static inline enum hyperv_call find_call(uint16_t code)
{
    if (code < SMALL_CODES) {
        return (enum hyperv_call)calls_by_small_code[code];
    }
    return code == rows[HYPERV_CALL_QUERY_CAPABILITIES].code ? HYPERV_CALL_QUERY_CAPABILITIES
                                                             : HYPERV_CALL_UNKNOWN;
}

uint32_t hyperv_find_granted_calls(const struct hyperv_partition *partition)
{
    uint32_t granted = 0;

    for (uint32_t call = HYPERV_CALL_UNKNOWN + 1; call < HYPERV_CALL_COUNT; call++) {
        if ((partition->privileges & rows[call].privileges) == rows[call].privileges &&
            (partition->recommendations & rows[call].hints) == rows[call].hints) {
            granted |= BIT32(call);
        }
    }
    return granted;
}

static inline bool is_granted(const struct hyperv_partition *partition, enum hyperv_call call)
{
    return (partition->calls_granted & BIT32(call)) != 0;
}

/* Repetitions and size, of a call without odd bits. Sets what input takes from the control word,
 * and *bytes, the size of the whole input. */
static ALWAYS_INLINE hv_status_t check_shape(const struct call_row *row, uint64_t control,
                                             struct hyperv_input *input, uint32_t *bytes)
{
    if ((control & (VAR_BITS | REP_BITS | HV_HYPERCALL_FAST)) == 0 &&
        (row->call_class & CLASS_REP) == 0) {
        /* The most frequent shape. */
        input->var_words = 0;
        input->rep_count = 0;
        input->rep_start = 0;
        *bytes = row->input_bytes;
        return HV_STATUS_SUCCESS;
    }
    input->var_words = (uint32_t)bits_get(control, 26, 17);
    input->rep_count = (uint32_t)bits_get(control, 43, 32);
    input->rep_start = (uint32_t)bits_get(control, 59, 48);
    if ((row->call_class & CLASS_REP) != 0 && input->rep_start >= input->rep_count) {
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    *bytes = row->input_bytes + input->var_words * HYPERV_WORD_BYTES +
             input->rep_count * row->element_bytes;
    return *bytes <= ((control & HV_HYPERCALL_FAST) != 0 ? HV_HYPERCALL_FAST_MAX_BYTES : PAGE_BYTES)
               ? HV_STATUS_SUCCESS
               : HV_STATUS_INVALID_HYPERCALL_INPUT;
}

/* A pair of 32-bit registers. */
static uint64_t pair_of(uint64_t high, uint64_t low)
{
    return high << 32 | (uint32_t)low;
}

/* The page that a VP's input lies in, NULL when it is not RAM. It is found anew only when it is
 * another than last time. */
static inline const volatile void *find_page(struct hyperv_vp *vp, uint64_t page)
{
    if (__builtin_expect(page != vp->input_page || vp->input_at == NULL, 0)) {
        vp->input_page = page;
        vp->input_at = hyperv_gpa_exists(vp->partition, page)
                           ? vp->partition->ops->ram_page(vp->context, gpa(page))
                           : NULL;
    }
    return vp->input_at;
}

/* Finds the input in memory and copies all but the list: through volatile, since the guest may
 * change it meanwhile. bytes: of the whole. */
static ALWAYS_INLINE hv_status_t take_memory(struct hyperv_input *input, const struct call_row *row,
                                             uint64_t address, uint32_t bytes)
{
    uint32_t header_words = row->input_bytes / HYPERV_WORD_BYTES + input->var_words;
    uint64_t page = align_down(address, PAGE_BYTES);
    uint64_t offset = address - page;
    const volatile uint64_t *words;

    if (!is_aligned(address, HYPERV_WORD_BYTES) || offset + bytes > PAGE_BYTES ||
        hyperv_overlay_covers(input->vp->partition, gpa(page))) {
        return HV_STATUS_INVALID_ALIGNMENT;
    }
    words = find_page(input->vp, page);
    if (words == NULL) {
        return HV_STATUS_INVALID_ALIGNMENT;
    }
    words += offset / HYPERV_WORD_BYTES;
    input->list = words + header_words;
    for (uint32_t i = 0; i < header_words; i++) {
        input->words[i] = words[i];
    }
    return HV_STATUS_SUCCESS;
}

/* Input in registers: the two general ones, then XMM0 to XMM5 (TLFS "XMM Fast Hypercall Input").
 * What lies behind the call's size means nothing. */
static void take_registers(struct hyperv_input *input, const struct call_row *row, uint64_t first,
                           uint64_t second)
{
    const struct hyperv_vp *vp = input->vp;

    input->words[0] = first;
    input->words[1] = second;
    vp->partition->ops->read_xmm(vp->context, input->words + 2);
    input->list = input->words + row->input_bytes / HYPERV_WORD_BYTES + input->var_words;
}

static enum hyperv_outcome outcome_of(hv_status_t status)
{
    switch (status) {
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

/* Counts how a call ended, and makes its result value. */
static inline uint64_t end_call(struct hyperv_vp *vp, enum hyperv_call call, hv_status_t status,
                                uint32_t reps)
{
    vp->calls[call][outcome_of(status)]++;
    return status | (uint64_t)reps << HV_HYPERCALL_REP_SHIFT;
}

/* Stands for no result: #UD. No status with repetitions looks like it. */
#define RESULT_UNDEFINED (~0ull)

/* A call with bits that it cannot have, or that is not granted. */
NOINLINE static uint64_t refuse(struct hyperv_vp *vp, enum hyperv_call call, uint64_t control)
{
    hv_status_t status = HV_STATUS_INVALID_HYPERCALL_INPUT;

    if ((control & HV_HYPERCALL_RESERVED_BITS) == 0 && !is_granted(vp->partition, call)) {
        status = HV_STATUS_ACCESS_DENIED;
    }
    return end_call(vp, call, status, 0);
}

static ALWAYS_INLINE uint64_t finish(const struct hyperv_input *input, enum hyperv_call call)
{
    struct hyperv_vp *vp = input->vp;
    hv_status_t status = rows[call].handler(input);

    if (__builtin_expect(status != HV_STATUS_SUCCESS, 0)) {
        /* Elements before the start count as done; of the others all are, or none. */
        return end_call(vp, call, status, input->rep_start);
    }
    vp->calls[call][HYPERV_OUTCOME_SUCCESS]++;
    return (uint64_t)input->rep_count << HV_HYPERCALL_REP_SHIFT;
}

/* A call whose code is known: all that comes after the check of the mode. address: of the input,
 * or in the fast form its first word; second: there its second word. */
static ALWAYS_INLINE uint64_t serve(struct hyperv_input *input, enum hyperv_call call,
                                    uint64_t control, uint64_t address, uint64_t second)
{
    const struct call_row *row = &rows[call];
    struct hyperv_vp *vp = input->vp;
    hv_status_t status;
    uint32_t bytes;

    if (__builtin_expect((control & row->odd_bits) != 0 || !is_granted(vp->partition, call), 0)) {
        return refuse(vp, call, control);
    }
    status = check_shape(row, control, input, &bytes);
    if (status == HV_STATUS_SUCCESS && (control & HV_HYPERCALL_FAST) == 0) {
        status = take_memory(input, row, address, bytes);
    }
    if (__builtin_expect(status != HV_STATUS_SUCCESS, 0)) {
        return end_call(vp, call, status, 0);
    }
    if ((control & HV_HYPERCALL_FAST) != 0) {
        /* No call that is offered fits into the two general registers. */
        if (!vp->partition->features.xmm_input) {
            vp->calls[call][HYPERV_OUTCOME_UNDEFINED]++;
            return RESULT_UNDEFINED;
        }
        take_registers(input, row, address, second);
    }
    return finish(input, call);
}

/* The status of a call that does not exist; reserved bits are looked at first. */
static inline hv_status_t refuse_unknown(struct hyperv_vp *vp, uint64_t control)
{
    if (__builtin_expect((control & HV_HYPERCALL_RESERVED_BITS) != 0, 0)) {
        vp->calls[HYPERV_CALL_UNKNOWN][HYPERV_OUTCOME_INVALID_INPUT]++;
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    vp->calls[HYPERV_CALL_UNKNOWN][HYPERV_OUTCOME_INVALID_CODE]++;
    return HV_STATUS_INVALID_HYPERCALL_CODE;
}

NOINLINE static enum hyperv_call_result serve_64_bit(struct hyperv_vp *vp, uint64_t gpr[GPR_COUNT],
                                                     uint64_t *buffer, enum hyperv_call call)
{
    struct hyperv_input input = {.vp = vp, .words = buffer};
    uint64_t result = serve(&input, call, gpr[GPR_RCX], gpr[GPR_RDX], gpr[GPR_R8]);

    if (result == RESULT_UNDEFINED) {
        return HYPERV_RESULT_UD;
    }
    gpr[GPR_RAX] = result;
    return HYPERV_RESULT_DONE;
}

enum hyperv_call_result hyperv_call_64_bit(struct hyperv_vp *vp, uint64_t gpr[GPR_COUNT],
                                           uint64_t *buffer)
{
    enum hyperv_call call = find_call((uint16_t)gpr[GPR_RCX]);

    if (call != HYPERV_CALL_UNKNOWN) {
        return serve_64_bit(vp, gpr, buffer, call);
    }
    gpr[GPR_RAX] = refuse_unknown(vp, gpr[GPR_RCX]);
    return HYPERV_RESULT_DONE;
}

enum hyperv_call_result hyperv_call_32_bit(struct hyperv_vp *vp, uint64_t gpr[GPR_COUNT],
                                           uint64_t *buffer)
{
    struct hyperv_input input = {.vp = vp, .words = buffer};
    uint64_t control = pair_of(gpr[GPR_RDX], gpr[GPR_RAX]);
    uint64_t address = pair_of(gpr[GPR_RBX], gpr[GPR_RCX]);
    enum hyperv_call call = find_call((uint16_t)control);
    uint64_t result = call == HYPERV_CALL_UNKNOWN ? refuse_unknown(vp, control)
                                                  : serve(&input, call, control, address,
                                                          pair_of(gpr[GPR_RDI], gpr[GPR_RSI]));

    if (result == RESULT_UNDEFINED) {
        return HYPERV_RESULT_UD;
    }
    gpr[GPR_RAX] = (uint32_t)result;
    gpr[GPR_RDX] = result >> 32;
    return HYPERV_RESULT_DONE;
}

/* The registers mean nothing. */
enum hyperv_call_result hyperv_call_undefined(struct hyperv_vp *vp)
{
    vp->calls[HYPERV_CALL_UNKNOWN][HYPERV_OUTCOME_UNDEFINED]++;
    return HYPERV_RESULT_UD;
}
