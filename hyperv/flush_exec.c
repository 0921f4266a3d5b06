/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

void flush_execute(struct hyperv_vp *vp, const struct flush_plan *plan)
{
    const struct hyperv_flush_request *request = &plan->request;

    vp->gvas_flushed += request->page_count;
    if ((request->kind == HYPERV_FLUSH_RANGES && request->range_count == 0) ||
        (!plan->targets.is_all && plan->targets.valid_banks == 0)) {
        return;
    }
    vp->partition->ops->flush(vp->context, &plan->targets, request);
}

hv_status_t flush_handle(const struct hyperv_input *input)
{
    struct flush_plan plan;
    hv_status_t status = flush_parse(input, &plan);

    if (status == HV_STATUS_SUCCESS) {
        flush_execute(input->vp, &plan);
    }
    return status;
}

hv_status_t flush_handle_ex(const struct hyperv_input *input)
{
    struct flush_plan plan;
    hv_status_t status = flush_parse_ex(input, &plan);

    if (status == HV_STATUS_SUCCESS) {
        flush_execute(input->vp, &plan);
    }
    return status;
}
