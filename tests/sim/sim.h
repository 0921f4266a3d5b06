/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/flush.h"
#include "hyperv/hyperv.h"
#include "tests/sim/sim_exact.h"
#include "tests/sim/sim_space.h"
#include "tests/sim/sim_tlb.h"

/*
 * The flush engine and the hypercalls without hardware: the very files, with LPs as threads. Each
 * has a software TLB (sim_tlb.h); a kick is a doorbell that ends guest mode. Guests change
 * page-table entries (sim_space.h), make one of the four calls in one of its forms, and then assert
 * that no target uses a translation through an older entry. Frames of shared pages are plain memory
 * that is written again after a flush of all VPs, as freed pages are: a stale use reads the wrong
 * value, and the thread sanitizer sees an acknowledgment that comes too early.
 */

#define SIM_LPS_MAX 8u
#define SIM_VPS_MAX 16u
#define SIM_FRAMES  4u /* of a shared page; generation g lies in frame g modulo this */

struct sim_scenario {
    const char *name;
    uint32_t lp_count;
    uint32_t vp_count;
    uint32_t flushes;       /* each VP's */
    bool is_overcommit;     /* vCPUs halt, are descheduled and move between LPs */
    bool is_flush_only;     /* guests do little else than flush */
    bool is_list_only;      /* all flushes are of lists, so that they overflow */
    bool is_short_only;     /* only pages change; lists of one element; one call at a time */
    bool has_delays;        /* at every step of the protocol */
    bool is_permuted;       /* VP indexes up to 4095, which follow neither LPs nor APIC ids */
    uint32_t pages_max;     /* that are invalidated one by one; 0: FLUSH_PAGES_DEFAULT */
    uint32_t missing_types; /* of INVVPID, FLUSH_HAS bits */
};

enum sim_exit {
    SIM_EXIT_NONE,
    SIM_EXIT_KICK,
    SIM_EXIT_FLUSH,
    SIM_EXIT_OTHER, /* handled and resumed at once */
    SIM_EXIT_PREEMPTED,
    SIM_EXIT_HALT,
    SIM_EXIT_WAIT_FOR_SIPI
};

/* What a guest has changed and is about to flush. */
struct sim_change {
    enum sim_level level;
    uint32_t page; /* the first below the entry, at the last level the page itself */
    uint32_t generation;
};

struct sim_vcpu {
    struct flush_vcpu flush; /* must stay first */
    struct hyperv_vp vp;
    uint32_t number; /* place in sim.vcpus; VP indexes may differ */
    struct sim_lp *lp;
    uint32_t pcid; /* the space that it is in */
    uint32_t flushes_left;
    struct sim_change change;
    bool is_halted;
    uint64_t xmm[HYPERV_XMM_WORDS];
    ALIGNED(4096) uint64_t page[PAGE_BYTES / sizeof(uint64_t)]; /* of guest memory, for input */
    /* For exactness. */
    struct sim_call_record call;
    struct sim_owed owed;
    struct sim_named taken;
};

struct sim_lp {
    struct lp_shared shared;
    struct flush_lp engine;
    struct sim *sim;
    struct sim_vcpu *vcpu;
    uint32_t lp_id;
    pthread_t thread;
    uint64_t random;
    uint64_t send_begin;
    bool is_arriving;
    struct sim_tlb tlbs[SIM_VPS_MAX]; /* touched by the LP's thread alone */
    ALIGNED(8) uint64_t buffer[PAGE_BYTES / sizeof(uint64_t)];
    struct flush_seen *scratch;
    /* What was seen, for the test to judge. */
    uint64_t uses, stale_uses, stale_data, stale_sections, sections, watchdogs, bad_invalidations;
    uint64_t bad_calls;
    struct sim_exactness exactness;
};

struct sim {
    const struct sim_scenario *scenario;
    uint64_t seed;
    struct sim_lp lps[SIM_LPS_MAX];
    _Atomic bool doorbells[SIM_LPS_MAX]; /* by APIC id */
    struct sim_vcpu vcpus[SIM_VPS_MAX];
    struct hyperv_partition partition;
    struct hv_reference_tsc_page reference_tsc_page;
    struct lp_shared *lp_table[SIM_LPS_MAX];
    struct flush_vcpu *vp_table[HV_VP_SET_MAX_VPS];
    struct flush_machine machine;

    struct sim_space space;
    _Atomic uint32_t oldest_legal[SIM_VPS_MAX][SIM_ENTRIES];
    uint64_t frames[SIM_PAGES][SIM_FRAMES];
    _Atomic bool page_locks[SIM_PAGES]; /* the guest's own */

    pthread_mutex_t scheduler; /* guards the queue */
    struct sim_vcpu *queue[SIM_VPS_MAX];
    uint32_t queue_length;

    _Atomic uint64_t flushes_done;
    _Atomic uint32_t unfinished; /* vCPUs with flushes left */
    _Atomic bool is_one_away;    /* an LP leaves its state only when others go on flushing */
    _Atomic bool is_stuck;       /* somebody waited for too long: all threads end */
};

/* ---- sim_run.c ---- */

/* Runs a scenario to its end. Returns a new struct sim, for sim_free. */
struct sim *sim_run(const struct sim_scenario *scenario, uint64_t seed);
void sim_free(struct sim *sim);

/* The sum over all vCPUs. */
uint64_t sim_counter(const struct sim *sim, enum flush_counter counter);

/* ---- Pieces of the simulation ---- */

/* A pseudo-random number below `limit`. */
uint32_t sim_random(struct sim_lp *lp, uint32_t limit);
/* Nanoseconds. */
uint64_t sim_now(void);

/* sim_ops.c: what the engine and hyperv/ ask of the hardware. */
extern const struct flush_ops sim_flush_ops;
extern const struct hyperv_ops sim_hyperv_ops;
/* Whether a kick has arrived; takes it. One that was sent may take a while to arrive. */
bool sim_take_kick(struct sim_lp *lp);
/* Whether one was sent. */
bool sim_has_kick(struct sim_lp *lp);
/* Where the guest's page for hypercall input is. */
uint64_t sim_input_page(const struct sim_vcpu *vcpu);

/* sim_lp.c: a thread that runs vCPUs until all are finished; argument is the struct sim_lp. */
void *sim_lp_run(void *argument);
/* The LP that the calling thread is; NULL: none. */
extern _Thread_local struct sim_lp *sim_this_lp;

/* sim_guest.c: guest mode, and an exit whose handler reads guest memory by its linear address. */
/* Executes guest instructions until one exits or a kick comes. */
enum sim_exit sim_guest_run(struct sim_lp *lp);
void sim_guest_section(struct sim_lp *lp);
/* The guest goes on after its flush: nobody may use what was there before. targets: vCPUs by
 * number. */
void sim_guest_after_flush(struct sim_lp *lp, uint64_t targets);
/* Pages with frames; all VPs are named when their translations change. */
bool sim_is_shared(const struct sim_change *change);

/* sim_call.c: the flush hypercall for the change that the guest has made. */
void sim_call(struct sim_lp *lp);

#endif
