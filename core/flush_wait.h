/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_WAIT_H
#define CORE_FLUSH_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "core/flush_step.h"
#include "core/flush_vcpu.h"
#include "core/lp_shared.h"

/*
 * Having LPs leave guest mode: remember who is in it, kick them in one batch, wait. Used by
 * flush_send, and by whoever changes the EPT.
 */

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
    /* Once per turn of a waiting loop, which is some looks long. May never return, when the
     * machine stops. */
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
    uint32_t pages_max;      /* that are invalidated one by one in a round; more: all */
    uint64_t watchdog_ticks; /* 100 ms */
};

/* What a sender remembers of an LP. Odd numbers are waited for. An LP that several targets were
 * found on stands here several times: the later ones cost a look and no kick. */
struct flush_seen {
    struct lp_shared *lp;
    uint64_t run_seq;
    uint64_t gva_seq;
    uint32_t lp_id;
};

/* The engine's part of an LP, touched by that LP alone. */
struct flush_lp {
    const struct flush_machine *machine;
    struct lp_shared *shared;
    void *context; /* for the ops */
    uint32_t lp_id;
    uint32_t seen_count;
    uint64_t wait_begin; /* when the kicks began */
    struct flush_seen *seen;
};

/* Bytes of the scratch memory that an LP needs: a sender remembers each LP or each target once. */
static inline size_t flush_lp_scratch_bytes(uint32_t lp_count, uint32_t vp_count)
{
    return (lp_count > vp_count ? lp_count : vp_count) * sizeof(struct flush_seen);
}

/* Sets up an LP's part. scratch: flush_lp_scratch_bytes bytes, aligned to 8, which stay the
 * LP's. Before the LP's first entry. */
void flush_lp_init(struct flush_lp *self, const struct flush_machine *machine, uint32_t lp_id,
                   void *context, void *scratch);

enum flush_where { FLUSH_WHERE_ROOT, FLUSH_WHERE_GUEST };

/*
 * Looks where an LP is and remembers what is to be waited for: guest mode, and root mode's use of a
 * guest linear address. The caller has changed what the LP checks after making run_seq odd, by a
 * sequentially consistent read-modify-write. Root mode, of another LP. Between two
 * flush_wait_finish at most as many calls as flush_lp_scratch_bytes was told LPs, or VPs, whichever
 * is more. Inline: once for each target.
 */
static inline enum flush_where flush_wait_add(struct flush_lp *self, uint32_t lp_id)
{
    struct lp_shared *target = self->machine->lps[lp_id];
    uint64_t run_seq, gva_seq;

    flush_step();
    /* Sequentially consistent, after the caller's read-modify-write: pairs with the increment of
     * run_seq on entry, which precedes the load of what the caller has changed. An even value
     * acquires what the guest did before its exit. */
    run_seq = atomic_load_explicit(&target->run_seq, memory_order_seq_cst);
    flush_step();
    /* Sequentially consistent: pairs with gva_begin in the same manner. A section that opens after
     * this load reads page tables that hold the guest's change. */
    gva_seq = atomic_load_explicit(&target->gva_seq, memory_order_seq_cst);
    if (((run_seq | gva_seq) & 1) != 0) {
        self->seen[self->seen_count++] = (struct flush_seen){target, run_seq, gva_seq, lp_id};
    }
    return (run_seq & 1) != 0 ? FLUSH_WHERE_GUEST : FLUSH_WHERE_ROOT;
}

/* The out-of-line parts of the two below, which alone call them: something was added. */
void flush_wait_kick_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT]);
void flush_wait_finish_added(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT]);

/* Kicks what was added and is in guest mode, in one batch. counters: of the vCPU that waits.
 * Root mode, run_seq even, no lock held; flush_wait_finish follows. */
static inline void flush_wait_kick(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    if (self->seen_count != 0) {
        flush_wait_kick_added(self, counters);
    }
}

/* Waits for what was added, and forgets it. As flush_wait_kick. */
static inline void flush_wait_finish(struct flush_lp *self, uint64_t counters[FLUSH_COUNTER_COUNT])
{
    if (self->seen_count != 0) {
        flush_wait_finish_added(self, counters);
    }
}

#endif
