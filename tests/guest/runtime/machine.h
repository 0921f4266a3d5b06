/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_MACHINE_H
#define GUEST_MACHINE_H

#include <stdbool.h>

/*
 * What the machine under us does in its own way. Bochs ignores a write to IA32_APIC_BASE once the
 * APIC is globally disabled: there is no way back from "off", so none from x2APIC to xAPIC mode
 * either. (Under Sluice "off" is virtual, and only the way out of x2APIC mode needs the hardware.)
 */

/* True on Bochs; told by its debug port. */
bool machine_is_bochs(void);

/* True on Bochs without Sluice: INIT and x2APIC writes there differ from the SDM (INIT leaves
 * CR2, gives EDX 0, sets CR0.CD and NW, clears the logical id in x2APIC mode and
 * IA32_KERNEL_GS_BASE). */
bool machine_is_bare_bochs(void);

#endif
