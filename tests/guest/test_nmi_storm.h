/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_NMI_STORM_H
#define GUEST_TEST_NMI_STORM_H

/* Storms of NMIs in the current APIC mode, part of the group nmi. */

/* All others send to the last processor, which does what exits most. */
void nmi_storm_to_one(void);

/* The boot processor restarts one processor again and again while two others send to each other:
 * the kicks of the former fall between the NMIs of the latter. */
void nmi_storm_and_starts(void);

/* Everybody sends to itself. */
void nmi_storm_to_self(void);

#endif
