/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_HOSTILE_EVENTS_H
#define GUEST_HOSTILE_EVENTS_H

/* Tests whose victims never come back by themselves: INIT ends them. */
void hostile_test_debug_loop(void);
void hostile_test_nmi_forever(void);
void hostile_test_alignment_loop(void);
void hostile_test_real(void);
void hostile_test_starts(void);

/* Instructions at the ends of address spaces, stacks and page tables in odd memory. */
void hostile_test_edges(void);

#endif
