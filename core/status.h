/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_STATUS_H
#define CORE_STATUS_H

/*
 * Results of our own functions. The other result kinds are struct vmx_result (an instruction's
 * outcome), hv_status_t (TLFS codes, guest-visible) and enum exit_action (what an exit handler
 * wants); they are never mixed, and each conversion is a named function.
 */
enum status {
#define STATUS(name, text) STATUS_##name,
#include "core/status.def"
#undef STATUS
    STATUS_COUNT
};

/* The text of a status, for messages; "unknown status" for a value outside the enum. Any
 * context. */
const char *status_name(enum status status);

#endif
