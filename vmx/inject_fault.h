/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_INJECT_FAULT_H
#define VMX_INJECT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/boot_config.h"
#include "core/build.h"
#include "core/flush.h"
#include "core/machine.h"

/* Faults that tests ask for (the key `inject` of an inject build): the hardware is made to
 * refuse, so that what follows is the true failure path. Nothing of it is in the release image. */

/* Whether this fault is asked for. */
static inline bool inject_fault_is(const struct boot_config *config, enum config_inject fault)
{
    return BUILD_HAS_INJECTION && fault != CONFIG_INJECT_NONE && config->inject == fault;
}

/* On a CPUID exit for our own information leaf: spoils the next entry of this vCPU as
 * configured. */
void inject_fault_on_own_leaf(struct lp *lp);

/* Sends the flush of a call to all its targets but VP001, unless that is the caller, if this
 * fault is asked for. Returns whether it was. On the LP that serves the call. */
bool inject_fault_on_flush(const struct lp *lp, const struct flush_request *request);

#endif
