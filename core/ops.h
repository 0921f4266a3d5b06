/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_OPS_H
#define CORE_OPS_H

#include "core/idt.h"
#include "core/lp.h"

/*
 * What core/ needs from the folders above it. Each struct has one instance, defined above as a
 * constant, so that the linker checks that it exists and no pointer can be missing or changed.
 */

struct root_ops {
    /* An NMI arrived in root mode on this LP. May change frame->rip. Takes no lock. */
    void (*nmi)(struct lp *lp, struct idt_frame *frame);
    /* A machine check arrived in root mode. Returns whether the frame can be resumed. */
    bool (*machine_check)(struct lp *lp, struct idt_frame *frame);
    /* Sends this LP's NMI to another, for panic: no accounting, no lock. */
    void (*stop_lp)(const struct lp *lp);
    /* Writes what the vCPU on this LP was doing, by log_line, for panic. */
    void (*describe)(struct lp *lp);
};

extern const struct root_ops root_ops;

#endif
