/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_MTRR_SHADOW_H
#define VMX_MTRR_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"
#include "mm/memtype.h"

/*
 * A vCPU's view of the MTRR MSRs: the guest reads and writes these copies, never the hardware. What
 * the types mean for the EPT is the caller's business (mm/ept.h). Pure. Not locked: only the LP
 * that runs the vCPU calls these.
 */

struct mtrr_shadow {
    struct mtrr_state state; /* pass this to ept_set_types() */
};

/* Takes over the hardware's registers. MTRRCAP shows VCNT, FIX and WC only (no SMRR, no PRMRR). */
void mtrr_shadow_init(struct mtrr_shadow *shadow, const struct mtrr_state *hardware);

/* RDMSR. False: there is no such register, give the guest #GP; *value is 0 then. */
MUST_CHECK bool mtrr_shadow_read(const struct mtrr_shadow *shadow, uint32_t msr, uint64_t *value);

/*
 * WRMSR. False: give the guest #GP, nothing has changed (reserved bit or type, read-only MTRRCAP,
 * no such register; SDM volume 3, "MTRR Feature Identification" and "Setting Memory Ranges with
 * MTRRs"). *rebuild tells that MTRRs are on after the write and were off before, or that a register
 * changed while they were on: the EPT types may have to follow; compare by mtrr_state_equal().
 */
MUST_CHECK bool mtrr_shadow_write(struct mtrr_shadow *shadow, uint32_t msr, uint64_t value,
                                  bool *rebuild);

#endif
