/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/flush.h"

/*
 * The flush engine without hardware. An LP is a thread with a software TLB tagged by vCPU; a kick is
 * a doorbell that ends guest mode; the guest's page table holds generation numbers. The oracle: when
 * a flush has returned, no target uses an older generation. Pages below SIM_SHARED_PAGES have frames
 * too, plain memory that is written again after a flush of all VPs, as freed pages are: a stale use
 * reads the wrong value, and the thread sanitizer sees an acknowledgment that comes too early.
 */

#define SIM_LPS_MAX      8u
#define SIM_VPS_MAX      16u
#define SIM_PAGES        16u
#define SIM_SHARED_PAGES 8u
#define SIM_FRAMES       4u /* of a shared page; generation g lies in frame g modulo this */
#define SIM_GVA_BASE     0x7F0000000000ull

struct sim_scenario {
    const char *name;
    uint32_t lp_count;
    uint32_t vp_count;
    uint32_t flushes;   /* each VP's */
    bool is_overcommit; /* vCPUs halt, are descheduled and move between LPs */
    bool is_flush_only; /* guests do little else than flush */
    bool is_list_only;  /* all flushes are of lists, so that they overflow */
    bool has_delays;    /* at every step of the protocol */
    uint32_t invvpid_types;
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

struct sim_vcpu {
    struct flush_vcpu flush; /* must stay first */
    uint32_t vp_index;
    uint32_t flushes_left;
    uint32_t page;       /* that the guest has just changed */
    uint64_t generation; /* what it changed it to */
    bool is_halted;
};

/* Indexed by vCPU, so tagged; 0: not cached. Touched by the LP's thread alone. */
struct sim_tlb {
    uint64_t generation[SIM_VPS_MAX][SIM_PAGES];
};

struct sim_lp {
    struct lp_shared shared;
    struct flush_lp engine;
    struct sim *sim;
    struct sim_vcpu *vcpu;
    pthread_t thread;
    _Atomic bool doorbell;
    uint64_t random;
    uint64_t send_begin;
    struct sim_tlb tlb;
    /* What was seen, for the test to judge. */
    uint64_t uses, stale_uses, stale_data, stale_sections, sections, watchdogs, bad_invalidations;
    struct flush_seen scratch[SIM_LPS_MAX > SIM_VPS_MAX ? SIM_LPS_MAX : SIM_VPS_MAX];
};

struct sim {
    const struct sim_scenario *scenario;
    struct sim_lp lps[SIM_LPS_MAX];
    struct sim_vcpu vcpus[SIM_VPS_MAX];
    struct lp_shared *lp_table[SIM_LPS_MAX];
    struct flush_vcpu *vp_table[SIM_VPS_MAX];
    struct flush_machine machine;

    _Atomic uint64_t page_table[SIM_PAGES];
    _Atomic uint64_t oldest_legal[SIM_VPS_MAX][SIM_PAGES];
    uint64_t frames[SIM_SHARED_PAGES][SIM_FRAMES];
    _Atomic bool page_locks[SIM_SHARED_PAGES]; /* the guest's own */

    pthread_mutex_t scheduler; /* guards the queue */
    struct sim_vcpu *queue[SIM_VPS_MAX];
    uint32_t queue_length;

    _Atomic uint64_t flushes_done;
    _Atomic uint32_t unfinished; /* vCPUs with flushes left */
    _Atomic bool is_one_away;    /* an LP leaves its state only when others go on flushing */
    _Atomic bool is_stuck;       /* somebody waited for too long: all threads end */
};

/* Runs a scenario to its end. Returns a new struct sim; the caller frees it. */
struct sim *sim_run(const struct sim_scenario *scenario, uint64_t seed);

/* The sum over all vCPUs. */
uint64_t sim_counter(const struct sim *sim, enum flush_counter counter);

/* Pieces of the simulation. */

/* A pseudo-random number below `limit`. */
uint32_t sim_random(struct sim_lp *lp, uint32_t limit);
/* Delays the calling LP's thread for a random time, mostly none. */
void sim_delay(struct sim_lp *lp);
/* Whether a kick has arrived; takes it. One that was sent may take a while to arrive. */
bool sim_take_kick(struct sim_lp *lp);
/* Nanoseconds. */
uint64_t sim_now(void);
extern const struct flush_ops sim_flush_ops;

/* sim_guest.c: guest mode, and the handlers of its exits. */
/* Executes guest instructions until one exits or a kick comes. */
enum sim_exit sim_guest_run(struct sim_lp *lp);
/* The flush hypercall for the change that the guest has made. */
void sim_guest_flush(struct sim_lp *lp);
/* An exit whose handler reads guest memory by its linear address. */
void sim_guest_section(struct sim_lp *lp);

#endif
