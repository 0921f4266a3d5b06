/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_BOCHS_QUIRK_H
#define VMX_BOCHS_QUIRK_H

#include "core/lp.h"

/*
 * A workaround for the emulator, used nowhere else (machine->is_bochs, said at start-up). With more
 * than one processor Bochs 3.0 does not commit RIP after it has delivered an exception: a VM exit
 * by NMI before the handler's first instruction saves the RIP of the instruction that faulted,
 * beside the handler's CS, SS and RSP. A processor saves the handler's RIP (SDM volume 3, "Saving
 * RIP, RSP, RFLAGS, and SSP").
 *
 * The vector is not known any more, so the delivery is taken back: the frame on the stack says what
 * to return to, and the instruction faults again.
 */

/* After an NMI exit. 64-bit handlers only. Root mode, the vCPU's VMCS current. */
void bochs_repair_nmi_exit(struct lp *lp, struct vcpu *vcpu);

#endif
