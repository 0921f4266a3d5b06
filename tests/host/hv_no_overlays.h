/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HOST_HV_NO_OVERLAYS_H
#define HOST_HV_NO_OVERLAYS_H

#include "hyperv/hyperv.h"

/* Overlay pages for tests that need the hypercall page on and look at no memory: all is
 * accepted. */

static inline bool no_overlay_map(void *context, enum hyperv_overlay overlay, gpa_t page)
{
    (void)context;
    (void)overlay;
    (void)page;
    return true;
}

static inline void no_overlay_sync(void *context)
{
    (void)context;
}

#endif
