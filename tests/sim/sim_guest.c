/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "core/flush_step.h"
#include "tests/sim/sim.h"

/* Guest mode: instructions that use and change translations. */

#define POISON        0xDEADDEADDEADDEADull /* what a freed frame holds */
#define INSTRUCTIONS  64u                   /* before an exit of some kind */
#define SECTION_STEPS 4u                    /* a section takes longer than one step */
#define HALT_TURNS    50u                   /* an interrupt wakes a native HLT after that */

bool sim_is_shared(const struct sim_change *change)
{
    return change->level == SIM_LEVEL_4_KIB && change->page % SIM_TABLE_PAGES < 2;
}

static bool has_frame(uint32_t page)
{
    return page % SIM_TABLE_PAGES < 2;
}

/* A page that the vCPU can reach in the space where it is. */
static uint32_t reachable_page(struct sim_lp *lp)
{
    uint32_t page = sim_random(lp, SIM_REGION_PAGES);
    uint32_t region = sim_random(lp, 2) == 0 ? SIM_KERNEL : lp->vcpu->pcid;

    return region * SIM_REGION_PAGES + page;
}

static void check_frame(struct sim_lp *lp, uint32_t page, const struct sim_path *path)
{
    uint32_t generation = path->generation[SIM_LEVEL_4_KIB];

    if (has_frame(page) && generation != 0 &&
        lp->sim->frames[page][generation % SIM_FRAMES] != generation) {
        lp->stale_data++;
    }
}

/* What is legal, read when the instruction begins. */
static void read_legal(struct sim_lp *lp, uint32_t page, struct sim_path *legal)
{
    for (enum sim_level level = SIM_LEVEL_1_GIB; level < SIM_LEVELS; level++) {
        legal->generation[level] =
            atomic_load(&lp->sim->oldest_legal[lp->vcpu->number][sim_entry_of(level, page)]);
    }
}

static bool is_older(const struct sim_path *path, const struct sim_path *legal)
{
    bool is = false;

    for (enum sim_level level = SIM_LEVEL_1_GIB; level < SIM_LEVELS; level++) {
        uint32_t generation = path->generation[level];

        is |= generation != 0 && generation < legal->generation[level];
    }
    return is;
}

/* A walk, from the page tables or from a paging-structure entry, and what is cached of it. */
static struct sim_path walk(struct sim_lp *lp, uint32_t page)
{
    struct sim_tlb *tlb = &lp->tlbs[lp->vcpu->number];
    uint32_t pcid = lp->vcpu->pcid;
    struct sim_path path = sim_tlb_begin(tlb, pcid, page, sim_random(lp, 256));
    enum sim_level leaf = sim_space_walk(&lp->sim->space, page, &path);

    sim_tlb_fill(tlb, pcid, page, leaf, &path, sim_random(lp, 256));
    return path;
}

/* One load by a guest instruction. */
static void use(struct sim_lp *lp, uint32_t page)
{
    const struct sim_path *cached;
    struct sim_path legal, path;

    read_legal(lp, page, &legal);
    cached = sim_tlb_find(&lp->tlbs[lp->vcpu->number], lp->vcpu->pcid, page, sim_random(lp, 6));
    path = cached != NULL ? *cached : walk(lp, page);
    lp->uses++;
    lp->stale_uses += is_older(&path, &legal);
    check_frame(lp, page, &path);
}

static void choose_entry(struct sim_lp *lp, struct sim_change *change)
{
    uint32_t dice = sim_random(lp, 16);

    change->level = SIM_LEVEL_4_KIB;
    change->page = sim_random(lp, SIM_PAGES);
    if (lp->sim->scenario->is_short_only || dice > 1) {
        return;
    }
    change->level = dice == 0 ? SIM_LEVEL_1_GIB : SIM_LEVEL_2_MIB;
    change->page -= change->page % (dice == 0 ? SIM_REGION_PAGES : SIM_TABLE_PAGES);
}

/* Changes an entry. Returns false when another vCPU is changing it. */
static bool change(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    struct sim_change *change = &lp->vcpu->change;
    uint32_t entry;

    choose_entry(lp, change);
    entry = sim_entry_of(change->level, change->page);
    if (sim_is_shared(change)) {
        if (atomic_exchange(&sim->page_locks[change->page], true)) {
            return false;
        }
        change->generation = atomic_load(&sim->space.entries[entry]) / 2 + 1;
        sim->frames[change->page][change->generation % SIM_FRAMES] = change->generation;
    }
    change->generation = sim_space_change(
        &sim->space, entry, change->level != SIM_LEVEL_4_KIB && sim_random(lp, 4) == 0);
    return true;
}

/* HLT that does not exit: a kick ends it, or an interrupt of the guest's. */
static void halt_natively(struct sim_lp *lp)
{
    for (uint32_t turns = sim_random(lp, HALT_TURNS); turns > 0; turns--) {
        if (sim_has_kick(lp)) {
            return;
        }
        (void)sched_yield();
    }
}

/* A guest that never exits by itself: nothing but a kick ends this. One LP at a time, so that the
 * others go on flushing. */
static void never_exit(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;

    if (sim->scenario->lp_count == 1 || atomic_exchange(&sim->is_one_away, true)) {
        return;
    }
    while (!sim_has_kick(lp) && atomic_load(&sim->unfinished) > 1 && !atomic_load(&sim->is_stuck)) {
        (void)sched_yield();
    }
    atomic_store(&sim->is_one_away, false);
}

static enum sim_exit exit_for(struct sim_lp *lp)
{
    uint32_t dice = sim_random(lp, 100);

    if (lp->sim->scenario->is_flush_only || dice < 50) {
        return change(lp) ? SIM_EXIT_FLUSH : SIM_EXIT_OTHER;
    }
    if (dice < 52) {
        return SIM_EXIT_WAIT_FOR_SIPI;
    }
    if (dice < 75 || !lp->sim->scenario->is_overcommit) {
        return SIM_EXIT_OTHER;
    }
    return dice < 90 ? SIM_EXIT_PREEMPTED : SIM_EXIT_HALT;
}

enum sim_exit sim_guest_run(struct sim_lp *lp)
{
    uint32_t count = lp->sim->scenario->is_flush_only ? 2 : 1 + sim_random(lp, INSTRUCTIONS);

    for (; count > 0; count--) {
        uint32_t dice = sim_random(lp, 1024);

        if (sim_take_kick(lp)) {
            return SIM_EXIT_KICK;
        }
        flush_step();
        use(lp, reachable_page(lp));
        if (dice % 2 == 0) {
            (void)walk(lp, reachable_page(lp)); /* a speculative one */
        }
        if (dice < 100) {
            /* MOV to CR3 with bit 63: nothing is dropped. */
            lp->vcpu->pcid = 1 - lp->vcpu->pcid;
        } else if (dice < 104) {
            halt_natively(lp);
        } else if (dice < 108) {
            never_exit(lp);
        }
    }
    return exit_for(lp);
}

/* From now on the VP must not use an older entry. */
static void raise_legal(struct sim *sim, uint32_t number, uint32_t entry, uint32_t generation)
{
    _Atomic uint32_t *legal = &sim->oldest_legal[number][entry];
    uint32_t old = atomic_load(legal);

    while (old < generation && !atomic_compare_exchange_weak(legal, &old, generation)) {
    }
}

void sim_guest_after_flush(struct sim_lp *lp, uint64_t targets)
{
    struct sim *sim = lp->sim;
    const struct sim_change *change = &lp->vcpu->change;

    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        if ((targets >> i & 1) != 0) {
            raise_legal(sim, i, sim_entry_of(change->level, change->page), change->generation);
        }
    }
    if (sim_is_shared(change)) {
        sim->frames[change->page][(change->generation - 1) % SIM_FRAMES] = POISON;
        atomic_store(&sim->page_locks[change->page], false);
    }
}

/* The handler walks by itself: no TLB. As gva_begin and gva_end in core/gva_section.h. */
void sim_guest_section(struct sim_lp *lp)
{
    uint32_t page = reachable_page(lp);
    struct sim_path legal, path = {.generation = {0}};

    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_seq_cst);
    flush_step();
    (void)sim_space_walk(&lp->sim->space, page, &path);
    for (uint32_t i = 0; i < SECTION_STEPS; i++) {
        flush_step();
    }
    check_frame(lp, page, &path);
    read_legal(lp, page, &legal);
    lp->stale_sections += is_older(&path, &legal);
    lp->sections++;
    flush_step();
    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_release);
}
