/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_GUEST_MEMORY_H
#define GUEST_GUEST_MEMORY_H

#include "tests/guest/runtime/guest_info.h"

/* Tells the group memory what the firmware's map said. Before the tests run. */
void guest_memory_init(const struct guest_info *info);

#endif
