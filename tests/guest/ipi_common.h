/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_IPI_COMMON_H
#define GUEST_IPI_COMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/cpu.h"

/* What the groups ipi, init and nmi share: one APIC mode on all processors, and destinations. */

/* A way to write "these processors" into the ICR, and which processors that are. */
struct ipi_target {
    const char *name;
    uint32_t destination;
    uint32_t command;  /* shorthand and destination mode */
    uint32_t cpu_mask; /* bit = index of the processor; the sender is the boot processor */
};

#define IPI_MAX_TARGETS 48u

/* How the logical destination registers are set in xAPIC mode. */
enum ipi_logical { LOGICAL_FLAT, LOGICAL_CLUSTER };

/* Brings all processors into the mode and runs body. Processors that do not answer any more are
 * started again, before and after. Skips the test where the mode does not exist or cannot be
 * reached any more (machine.h): therefore the groups that use x2APIC mode come last. */
void ipi_in_mode(enum apic_mode mode, void (*body)(void));

/* Sets LDR and DFR of every processor (xAPIC mode; nothing to do in x2APIC mode). */
void ipi_set_logical(enum ipi_logical model);

/* Fills targets with all destinations that the current mode offers; returns their number. With
 * may_include_self only those are left out that would reach the sender. */
unsigned int ipi_list_targets(struct ipi_target *targets, enum ipi_logical model,
                              bool may_include_self);

/* Makes sure that every processor is in its idle loop, in the given mode. */
bool ipi_revive_all(enum apic_mode mode);

/* Work that does nothing, to see whether a processor answers. */
void ipi_nothing(void *arg);

/* A pair of test functions for one body: the first for a group in xAPIC mode, the second for its
 * twin in x2APIC mode. */
#define IPI_IN_BOTH_MODES(body)         \
    static void body##_xapic(void)      \
    {                                   \
        ipi_in_mode(APIC_XAPIC, body);  \
    }                                   \
                                        \
    static void body##_x2apic(void)     \
    {                                   \
        ipi_in_mode(APIC_X2APIC, body); \
    }

#endif
