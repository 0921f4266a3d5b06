/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include <stdbool.h>

#include "tests/guest/runtime/guest_info.h"

/* Takes the machine over from the firmware: tables, page tables, interrupt controllers quiet, UART,
 * clock, and all other processors in their idle loop. Returns false if one did not start. */
bool setup_machine(const struct guest_info *info);

#endif
