/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_WAIT_H
#define CORE_FLUSH_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "core/flush_vcpu.h"
#include "core/lp_shared.h"

/*
 * Having LPs leave guest mode: remember who is in it, kick them in one batch, wait. Used by
 * flush_send, and by whoever changes the EPT.
 */

#define FLUSH_LPS_MAX 1024u

/* The types in the order of their numbers (SDM volume 3, "INVVPID"). */
enum flush_invvpid {
    FLUSH_INVVPID_ADDRESS,
    FLUSH_INVVPID_SINGLE,
    FLUSH_INVVPID_ALL,
    FLUSH_INVVPID_RETAINING_GLOBALS
};

#define FLUSH_HAS(type) (1u << (type))

/* A wait that has lasted too long. */
struct flush_late {
    uint32_t lp_id;
    bool is_gva_section; /* run_seq is not waited for, but gva_seq */
    uint64_t seq;        /* the value that does not change */
};

/* `self` is flush_lp.context of the LP that executes the call. */
struct flush_ops {
    /* Sends a kick, with its accounting, and makes the caller's earlier stores visible before it.
     * Returns whether it is certain to arrive. */
    bool (*kick)(void *self, uint32_t lp_id);
    /* Executes INVVPID of this type on the VPID of the vCPU, on the executing LP. The address
     * counts for FLUSH_INVVPID_ADDRESS only. */
    void (*invvpid)(void *self, const struct flush_vcpu *vcpu, enum flush_invvpid type,
                    gva_t address);
    /* Once per turn of a waiting loop. May never return, when the machine stops. */
    void (*relax)(void *self);
    uint64_t (*now)(void *self); /* ticks; only differences count */
    void (*report)(void *self, const struct flush_late *late);
};

/* What there is once; read-only when the first vCPU runs. */
struct flush_machine {
    const struct flush_ops *ops;
    struct lp_shared *const *lps; /* by lp_id */
    uint32_t lp_count;
    uint32_t vp_count;
    struct flush_vcpu *const *vps; /* by VP index; NULL: there is none */
    /* FLUSH_HAS bits. 0: VPIDs are off, each entry flushes. Otherwise SINGLE or ALL is there. */
    uint32_t invvpid_types;
    uint64_t watchdog_ticks; /* 100 ms */
};

/* What a sender remembers of an LP: values that were odd, or 0. */
struct flush_seen {
    uint64_t run_seq;
    uint64_t gva_seq;
};

/* The engine's part of an LP, touched by that LP alone. */
struct flush_lp {
    const struct flush_machine *machine;
    struct lp_shared *shared;
    void *context; /* for the ops */
    uint32_t lp_id;
    uint32_t seen_count;
    struct flush_seen *seen; /* by lp_id; all zero between two waits */
    uint16_t *seen_ids;      /* those that are not zero */
};

/* Bytes of the scratch memory that an LP needs in a machine with lp_count LPs (up to FLUSH_LPS_MAX). */
static inline size_t flush_lp_scratch_bytes(uint32_t lp_count)
{
    return lp_count * (sizeof(struct flush_seen) + sizeof(uint16_t));
}

/* Sets up an LP's part. scratch: flush_lp_scratch_bytes zeroed bytes, aligned to 8, which stay the
 * LP's. Before the LP's first entry. */
void flush_lp_init(struct flush_lp *self, const struct flush_machine *machine, uint32_t lp_id,
                   void *context, void *scratch);

enum flush_where { FLUSH_WHERE_ROOT, FLUSH_WHERE_GUEST };

/*
 * Looks where an LP is and remembers what is to be waited for: guest mode, and root mode's use of a
 * guest linear address. The caller has changed what the LP checks after making run_seq odd, by a
 * sequentially consistent read-modify-write. Root mode, of another LP.
 */
enum flush_where flush_wait_add(struct flush_lp *self, uint32_t lp_id);

/* Kicks what was added and waits for it; forgets it. counters: of the vCPU that waits. Root mode,
 * run_seq even, no lock held. */
void flush_wait_finish(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT]);

#endif
