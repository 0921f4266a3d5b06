/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

static const char *const call_names[HYPERV_CALL_COUNT] = {
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) \
    [HYPERV_CALL_##name] = #name,
#include "hyperv/hypercalls.def"
#undef HYPERCALL
    [HYPERV_CALL_UNKNOWN] = "UNKNOWN",
};

static const char *const outcome_names[HYPERV_OUTCOME_COUNT] = {
    [HYPERV_OUTCOME_SUCCESS] = "success",
    [HYPERV_OUTCOME_INVALID_CODE] = "invalid code",
    [HYPERV_OUTCOME_INVALID_INPUT] = "invalid input",
    [HYPERV_OUTCOME_INVALID_ALIGNMENT] = "invalid alignment",
    [HYPERV_OUTCOME_INVALID_PARAMETER] = "invalid parameter",
    [HYPERV_OUTCOME_ACCESS_DENIED] = "access denied",
    [HYPERV_OUTCOME_UNDEFINED] = "#UD",
};

const char *hyperv_call_name(enum hyperv_call call)
{
    return call < HYPERV_CALL_COUNT ? call_names[call] : "?";
}

const char *hyperv_outcome_name(enum hyperv_outcome outcome)
{
    return outcome < HYPERV_OUTCOME_COUNT ? outcome_names[outcome] : "?";
}

static uint64_t sum_from(const struct hyperv_vp *vp, enum hyperv_call call, uint32_t first_outcome)
{
    uint64_t sum = 0;

    for (uint32_t row = 0; row < HYPERV_CALL_COUNT; row++) {
        if (call != HYPERV_CALL_COUNT && row != (uint32_t)call) {
            continue;
        }
        for (uint32_t outcome = first_outcome; outcome < HYPERV_OUTCOME_COUNT; outcome++) {
            sum += vp->calls[row][outcome];
        }
    }
    return sum;
}

uint64_t hyperv_calls_total(const struct hyperv_vp *vp, enum hyperv_call call)
{
    return sum_from(vp, call, 0);
}

uint64_t hyperv_calls_failed(const struct hyperv_vp *vp, enum hyperv_call call)
{
    return sum_from(vp, call, HYPERV_OUTCOME_SUCCESS + 1);
}
