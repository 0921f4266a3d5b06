/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_NMI_H
#define VMX_NMI_H

#include "core/lp.h"

/* NMIs: accounting, the guest's own sources, and delivery to the guest (SDM volume 3, "Handling of
 * NMIs" and "NMI-Window Exiting"). All for the executing LP, root mode. */

/* Accounts for one NMI: from the root handler and on an NMI exit. Takes no lock. */
void nmi_arrived(struct lp *lp);

/* After NMIs arrived: finds out what the guest is owed (unexplained NMIs, a performance-monitoring
 * interrupt by NMI, port 61h) and marks it pending. */
void nmi_find_guest_sources(struct lp *lp, struct vcpu *vcpu);

/* The guest wrote its LVT PMI register, or the error bits of port 61h: a new event may be told. */
void nmi_guest_wrote_lvt_pmi(struct vcpu *vcpu, uint32_t value);
void nmi_guest_wrote_port61(struct vcpu *vcpu, uint8_t value);

/* Called before each entry while has_nmi is set. Injects the pending NMI if the guest can take
 * it now and no other event is to be injected; else asks for an NMI window. */
void nmi_deliver(struct vcpu *vcpu);

/* NMI-window exit: closes the window; nmi_deliver follows, before the next entry. */
void nmi_window_opened(struct vcpu *vcpu);

#endif
