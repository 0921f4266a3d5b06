/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <string.h>

#include "core/flush_step.h"
#include "tests/sim/sim.h"

/* The LP's side of the simulation: entry and exit as vmx/run.c has them, and a scheduler. */

_Thread_local struct sim_lp *sim_this_lp;

#define ENTRIES_MAX  24u /* of a vCPU before it is descheduled */
#define SIPI_FLUSHES 3u  /* of other vCPUs, until the start-up IPI comes */

/* As publish in vmx/run.c, and as the entry code in assembly on exit: locked instructions. */
static void change_run_seq(struct sim_lp *lp)
{
    flush_step();
    atomic_fetch_add_explicit(&lp->shared.run_seq, 1, memory_order_seq_cst);
    flush_step();
}

static void take_owed(struct sim_vcpu *vcpu)
{
    sim_owed_take(&vcpu->owed, &vcpu->taken);
}

/* What was taken has been carried out. */
static void forget_taken(struct sim_vcpu *vcpu)
{
    vcpu->taken = (struct sim_named){.pages = 0};
}

/* Up to the first guest instruction. */
static void enter(struct sim_lp *lp)
{
    struct sim_vcpu *vcpu = lp->vcpu;

    for (;;) {
        take_owed(vcpu);
        if (flush_is_pending(&vcpu->flush)) {
            flush_serve(&lp->engine, &vcpu->flush);
        }
        change_run_seq(lp);
        while (flush_is_pending(&vcpu->flush)) {
            flush_serve_published(&lp->engine, &vcpu->flush);
        }
        forget_taken(vcpu);
        flush_step();
        if (lp->sim->machine.invvpid_types == 0) {
            memset(lp->tlbs, 0, sizeof(lp->tlbs)); /* VPIDs are off */
        }
        /* A kick in root mode: the entry is begun again (entry.asm). */
        if (!sim_take_kick(lp)) {
            return;
        }
        change_run_seq(lp);
    }
}

/* In the activity state wait-for-SIPI: doorbells have no effect, and run_seq is even. The
 * start-up IPI comes when others have flushed a few times, so whoever waits for this LP waits
 * for ever. */
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
    uint32_t entries = lp->sim->scenario->is_short_only ? 1 : 1 + sim_random(lp, ENTRIES_MAX);

    for (; entries > 0; entries--) {
        enum sim_exit reason;

        enter(lp);
        reason = sim_guest_run(lp);
        change_run_seq(lp);
        if (reason == SIM_EXIT_FLUSH) {
            sim_call(lp);
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

static void arrive(struct sim_lp *lp)
{
    take_owed(lp->vcpu);
    lp->is_arriving = true;
    flush_arrive(&lp->engine, &lp->vcpu->flush);
    lp->is_arriving = false;
    /* What was owed stays so when nothing was dropped. */
    sim_owed_add(&lp->vcpu->owed, &lp->vcpu->taken);
    forget_taken(lp->vcpu);
}

/* ---- The scheduler ---- */

static void put_back(struct sim *sim, struct sim_vcpu *vcpu)
{
    (void)pthread_mutex_lock(&sim->scheduler);
    sim->queue[sim->queue_length++] = vcpu;
    (void)pthread_mutex_unlock(&sim->scheduler);
}

/* A vCPU to run: any with overcommit (one that is halted is woken now and then), else the LP's
 * own. */
static struct sim_vcpu *pick(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    struct sim_vcpu *picked = NULL;

    (void)pthread_mutex_lock(&sim->scheduler);
    for (uint32_t tries = sim->queue_length; tries > 0 && picked == NULL; tries--) {
        uint32_t i = sim->scenario->is_overcommit ? sim_random(lp, sim->queue_length) : tries - 1;
        struct sim_vcpu *vcpu = sim->queue[i];

        if (!sim->scenario->is_overcommit && vcpu->number != lp->lp_id) {
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

void *sim_lp_run(void *argument)
{
    struct sim_lp *lp = argument;
    struct sim *sim = lp->sim;

    sim_this_lp = lp;
    while (atomic_load(&sim->unfinished) > 0 && !atomic_load(&sim->is_stuck)) {
        lp->vcpu = pick(lp);
        if (lp->vcpu == NULL) {
            (void)sched_yield();
            continue;
        }
        lp->vcpu->lp = lp;
        arrive(lp);
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
