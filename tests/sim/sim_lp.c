/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/flush_step.h"
#include "tests/sim/sim.h"

/* The LP's side of the simulation: entry and exit as vmx/run.c has them, a scheduler, the ops. */

#define STUCK_NS     10000000000ull
#define WATCHDOG_NS  3000000000ull /* a machine with other things to do */
#define ENTRIES_MAX  24u           /* of a vCPU before it is descheduled */
#define SIPI_FLUSHES 3u            /* of other vCPUs, until the start-up IPI comes */
#define SHORT_SPIN   300u

static _Thread_local struct sim_lp *this_sim_lp;

uint64_t sim_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint32_t sim_random(struct sim_lp *lp, uint32_t limit)
{
    /* xorshift64* */
    lp->random ^= lp->random >> 12;
    lp->random ^= lp->random << 25;
    lp->random ^= lp->random >> 27;
    return (uint32_t)((lp->random * 0x2545F4914F6CDD1Dull) >> 32) % limit;
}

void sim_delay(struct sim_lp *lp)
{
    uint32_t dice = sim_random(lp, 2048);

    if (dice < 64) {
        (void)sched_yield();
    } else if (dice < 128) {
        for (uint32_t spin = sim_random(lp, SHORT_SPIN); spin > 0; spin--) {
            __builtin_ia32_pause();
        }
    } else if (dice == 128) {
        struct timespec pause = {.tv_nsec = 20000};

        (void)nanosleep(&pause, NULL);
    }
}

bool sim_take_kick(struct sim_lp *lp)
{
    return sim_random(lp, 2) == 0 && atomic_exchange(&lp->doorbell, false);
}

static void delay_at_step(void)
{
    if (this_sim_lp != NULL && this_sim_lp->sim->scenario->has_delays) {
        sim_delay(this_sim_lp);
    }
}

static bool sim_kick(void *self, uint32_t lp_id)
{
    struct sim_lp *lp = self;

    atomic_store(&lp->sim->lps[lp_id].doorbell, true);
    return true;
}

static void sim_invvpid(void *self, const struct flush_vcpu *vcpu, enum flush_invvpid type,
                        gva_t address)
{
    struct sim_lp *lp = self;
    const struct sim_vcpu *tagged = (const struct sim_vcpu *)vcpu;
    uint64_t *generations = lp->tlb.generation[tagged->vp_index];

    /* On the LP that runs the vCPU, of a type that is there. */
    if (lp != this_sim_lp || (lp->sim->machine.invvpid_types & FLUSH_HAS(type)) == 0) {
        lp->bad_invalidations++;
    }
    for (uint32_t page = 0; page < SIM_PAGES; page++) {
        bool is_dropped = type == FLUSH_INVVPID_SINGLE || type == FLUSH_INVVPID_ALL;

        is_dropped |= type == FLUSH_INVVPID_RETAINING_GLOBALS && page % 2 == 0;
        is_dropped |=
            type == FLUSH_INVVPID_ADDRESS && address.value == SIM_GVA_BASE + page * PAGE_BYTES;
        if (is_dropped) {
            generations[page] = 0;
        }
    }
}

static void sim_relax(void *self)
{
    struct sim_lp *lp = self;

    if (sim_now() - lp->send_begin > STUCK_NS) {
        atomic_store(&lp->sim->is_stuck, true);
    }
    if (atomic_load(&lp->sim->is_stuck)) {
        pthread_exit(NULL);
    }
    (void)sched_yield();
}

static uint64_t sim_ticks(void *self)
{
    (void)self;
    return sim_now();
}

static void sim_report(void *self, const struct flush_late *late)
{
    struct sim_lp *lp = self;

    (void)late;
    lp->watchdogs++;
    atomic_store(&lp->sim->is_stuck, true);
}

const struct flush_ops sim_flush_ops = {.kick = sim_kick,
                                        .invvpid = sim_invvpid,
                                        .relax = sim_relax,
                                        .now = sim_ticks,
                                        .report = sim_report};

/* Entry and exit. */

static void change_run_seq(struct sim_lp *lp)
{
    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
    flush_step();
}

/* Everything up to the first guest instruction. */
static void enter(struct sim_lp *lp)
{
    struct flush_vcpu *vcpu = &lp->vcpu->flush;

    for (;;) {
        if (flush_is_pending(vcpu)) {
            flush_serve(&lp->engine, vcpu);
        }
        change_run_seq(lp);
        while (flush_is_pending(vcpu)) {
            flush_serve_published(&lp->engine, vcpu);
        }
        flush_step();
        /* A kick in root mode: the entry is begun again (entry.asm). */
        if (!sim_take_kick(lp)) {
            return;
        }
        change_run_seq(lp);
    }
}

/* In the activity state wait-for-SIPI: doorbells have no effect, and run_seq is even. The start-up IPI
 * comes when others have flushed a few times, so whoever waits for this LP waits for ever. */
static void wait_for_sipi(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    uint64_t until;

    if (sim->scenario->lp_count == 1 || atomic_exchange(&sim->is_one_away, true)) {
        return;
    }
    enter(lp);
    change_run_seq(lp);
    until = atomic_load(&sim->flushes_done) + SIPI_FLUSHES;
    while (atomic_load(&sim->flushes_done) < until && atomic_load(&sim->unfinished) > 1 &&
           !atomic_load(&sim->is_stuck)) {
        (void)sched_yield();
    }
    change_run_seq(lp);
    change_run_seq(lp);
    atomic_store(&sim->is_one_away, false);
}

/* Runs the vCPU until it leaves the LP. */
static void run_vcpu(struct sim_lp *lp)
{
    for (uint32_t entries = 1 + sim_random(lp, ENTRIES_MAX); entries > 0; entries--) {
        enum sim_exit reason;

        enter(lp);
        reason = sim_guest_run(lp);
        change_run_seq(lp);
        if (reason == SIM_EXIT_FLUSH) {
            sim_guest_flush(lp);
        } else if (reason == SIM_EXIT_OTHER) {
            sim_guest_section(lp);
        } else if (reason == SIM_EXIT_WAIT_FOR_SIPI) {
            wait_for_sipi(lp);
        } else if (reason == SIM_EXIT_HALT || reason == SIM_EXIT_PREEMPTED) {
            lp->vcpu->is_halted = reason == SIM_EXIT_HALT;
            return;
        }
        if (lp->vcpu->flushes_left == 0 || atomic_load(&lp->sim->is_stuck)) {
            return;
        }
    }
}

/* The scheduler. */

static void put_back(struct sim *sim, struct sim_vcpu *vcpu)
{
    (void)pthread_mutex_lock(&sim->scheduler);
    sim->queue[sim->queue_length++] = vcpu;
    (void)pthread_mutex_unlock(&sim->scheduler);
}

/* A vCPU to run: any with overcommit (one that is halted is woken now and then), else the LP's own. */
static struct sim_vcpu *pick(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    struct sim_vcpu *picked = NULL;

    (void)pthread_mutex_lock(&sim->scheduler);
    for (uint32_t tries = sim->queue_length; tries > 0 && picked == NULL; tries--) {
        uint32_t i = sim->scenario->is_overcommit ? sim_random(lp, sim->queue_length) : tries - 1;
        struct sim_vcpu *vcpu = sim->queue[i];

        if (!sim->scenario->is_overcommit && vcpu->vp_index != lp->engine.lp_id) {
            continue;
        }
        vcpu->is_halted = vcpu->is_halted && sim_random(lp, 4) != 0;
        if (!vcpu->is_halted) {
            picked = vcpu;
            sim->queue[i] = sim->queue[--sim->queue_length];
        }
    }
    (void)pthread_mutex_unlock(&sim->scheduler);
    return picked;
}

static void *run_lp(void *argument)
{
    struct sim_lp *lp = argument;
    struct sim *sim = lp->sim;

    this_sim_lp = lp;
    while (atomic_load(&sim->unfinished) > 0 && !atomic_load(&sim->is_stuck)) {
        lp->vcpu = pick(lp);
        if (lp->vcpu == NULL) {
            (void)sched_yield();
            continue;
        }
        flush_arrive(&lp->engine, &lp->vcpu->flush);
        run_vcpu(lp);
        flush_depart(&lp->engine, &lp->vcpu->flush);
        if (lp->vcpu->flushes_left == 0) {
            atomic_fetch_sub(&sim->unfinished, 1);
        } else {
            put_back(sim, lp->vcpu);
        }
    }
    return NULL;
}

/* Start and end. */

static void set_up(struct sim *sim, uint64_t seed)
{
    const struct sim_scenario *scenario = sim->scenario;

    sim->machine = (struct flush_machine){.ops = &sim_flush_ops,
                                          .lps = sim->lp_table,
                                          .lp_count = scenario->lp_count,
                                          .vp_count = scenario->vp_count,
                                          .vps = sim->vp_table,
                                          .invvpid_types = scenario->invvpid_types,
                                          .pages_max = FLUSH_PAGES_DEFAULT,
                                          .watchdog_ticks = WATCHDOG_NS};
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        sim->lp_table[i] = &sim->lps[i].shared;
        sim->lps[i].sim = sim;
        sim->lps[i].random = (seed + i + 1) * 0x9E3779B97F4A7C15ull;
        flush_lp_init(&sim->lps[i].engine, &sim->machine, i, &sim->lps[i], sim->lps[i].scratch);
    }
    for (uint32_t i = 0; i < scenario->vp_count; i++) {
        sim->vp_table[i] = &sim->vcpus[i].flush;
        sim->vcpus[i].vp_index = i;
        sim->vcpus[i].flushes_left = scenario->flushes;
        sim->queue[sim->queue_length++] = &sim->vcpus[i];
    }
    for (uint32_t page = 0; page < SIM_PAGES; page++) {
        atomic_init(&sim->page_table[page], 1);
        if (page < SIM_SHARED_PAGES) {
            sim->frames[page][1] = 1;
        }
    }
    atomic_init(&sim->unfinished, scenario->vp_count);
}

struct sim *sim_run(const struct sim_scenario *scenario, uint64_t seed)
{
    struct sim *sim = aligned_alloc(CACHE_LINE_BYTES, sizeof(*sim));

    if (sim == NULL) {
        abort();
    }
    memset(sim, 0, sizeof(*sim));
    sim->scenario = scenario;
    (void)pthread_mutex_init(&sim->scheduler, NULL);
    set_up(sim, seed);
    flush_step_hook = delay_at_step;
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        if (pthread_create(&sim->lps[i].thread, NULL, run_lp, &sim->lps[i]) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        (void)pthread_join(sim->lps[i].thread, NULL);
    }
    flush_step_hook = NULL;
    return sim;
}

uint64_t sim_counter(const struct sim *sim, enum flush_counter counter)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        sum += sim->vcpus[i].flush.counters[counter];
    }
    return sum;
}
