/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_RUN_H
#define VMX_RUN_H

#include "core/compiler.h"
#include "core/lp.h"
#include "vmx/entry.h"

/* The loop: serve what is owed, enter, dispatch the exit, apply what its handler says. One per LP,
 * from its first VM exit on; never returns. Called by entry_first_exit with the first outcome. */
NORETURN void run_loop(enum entry_outcome outcome);

/* Lays out the stack that the first VM exit of this LP returns through. first_exit is
 * entry_first_exit of the resident image copy. Boot context. */
void run_prepare_first_exit(struct lp *lp, uint64_t first_exit);

#endif
