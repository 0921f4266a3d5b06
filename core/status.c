/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/status.h"

static const char *const names[] = {
#define STATUS(name, text) text,
#include "core/status.def"
#undef STATUS
};

const char *status_name(enum status status)
{
    if ((unsigned int)status >= STATUS_COUNT) {
        return "unknown status";
    }
    return names[status];
}
