/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_KICK_H
#define VMX_KICK_H

#include "core/lp.h"
#include "vmx/partition.h"

/*
 * The kick: an NMI to another LP. It ends guest mode (NMI exiting), a halt in root mode, or makes
 * an entry begin again; it carries no meaning of its own. The sender has stored what it wants the
 * target to see.
 */

/* Sends one. From root mode on self's LP; target is another LP. Returns whether it is certain to
 * arrive; if not it was said. */
bool kick_lp(struct lp *self, struct lp *target);

/* Makes every LP leave guest mode or see the EPT generation before it enters again, and waits until
 * they have: after it returns, no guest instruction runs with what the EPT said before. The change
 * is done and self holds no lock. A target that takes over 100 ms is reported once, by name, and
 * waited for all the same. */
void kick_all_for_ept(struct lp *self, struct partition *partition);

#endif
