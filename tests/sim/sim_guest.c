/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "core/flush_step.h"
#include "tests/sim/sim.h"

/* Guest mode: instructions that use and change translations, and what exits do for the guest. Odd
 * pages are global. */

#define POISON        0xDEADDEADDEADDEADull /* what a freed frame holds */
#define RANGES_MAX    3u
#define INSTRUCTIONS  64u /* before an exit of some kind */
#define SECTION_STEPS 4u  /* a section takes longer than one step */
#define HALT_TURNS    50u /* an interrupt wakes a native HLT after that */

static bool is_shared(uint32_t page)
{
    return page < SIM_SHARED_PAGES;
}

/* A page walk, which the processor may begin at any moment. */
static uint64_t walk(struct sim *sim, uint32_t page)
{
    return atomic_load_explicit(&sim->page_table[page], memory_order_acquire);
}

static void check_frame(struct sim_lp *lp, uint32_t page, uint64_t generation)
{
    if (is_shared(page) && lp->sim->frames[page][generation % SIM_FRAMES] != generation) {
        lp->stale_data++;
    }
}

/* One load by a guest instruction. What is legal is read first, when the instruction begins. */
static void use(struct sim_lp *lp, uint32_t page)
{
    uint32_t vp_index = lp->vcpu->vp_index;
    uint64_t *cached = &lp->tlb.generation[vp_index][page];
    uint64_t legal = atomic_load(&lp->sim->oldest_legal[vp_index][page]);

    lp->uses++;
    if (*cached == 0) {
        *cached = walk(lp->sim, page);
    }
    if (*cached < legal) {
        lp->stale_uses++;
    }
    check_frame(lp, page, *cached);
}

/* Changes a page's translation. Returns false when another vCPU is changing it. */
static bool change(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    struct sim_vcpu *vcpu = lp->vcpu;
    uint32_t page = sim_random(lp, SIM_PAGES);

    vcpu->page = page;
    if (!is_shared(page)) {
        vcpu->generation = atomic_fetch_add(&sim->page_table[page], 1) + 1;
        return true;
    }
    if (atomic_exchange(&sim->page_locks[page], true)) {
        return false;
    }
    vcpu->generation = atomic_load(&sim->page_table[page]) + 1;
    sim->frames[page][vcpu->generation % SIM_FRAMES] = vcpu->generation;
    /* Release: the frame is filled before it is mapped. */
    atomic_store_explicit(&sim->page_table[page], vcpu->generation, memory_order_release);
    return true;
}

/* HLT that does not exit: a kick ends it, or an interrupt of the guest's. */
static void halt_natively(struct sim_lp *lp)
{
    for (uint32_t turns = sim_random(lp, HALT_TURNS); turns > 0; turns--) {
        if (atomic_load(&lp->doorbell)) {
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
    while (!atomic_load(&lp->doorbell) && atomic_load(&sim->unfinished) > 1 &&
           !atomic_load(&sim->is_stuck)) {
        (void)sched_yield();
    }
    atomic_store(&sim->is_one_away, false);
}

static enum sim_exit exit_for(struct sim_lp *lp)
{
    bool is_overcommit = lp->sim->scenario->is_overcommit;
    uint32_t dice = sim_random(lp, 100);

    if (lp->sim->scenario->is_flush_only || dice < 50) {
        return change(lp) ? SIM_EXIT_FLUSH : SIM_EXIT_OTHER;
    }
    if (dice < 52) {
        return SIM_EXIT_WAIT_FOR_SIPI;
    }
    if (dice < 75 || !is_overcommit) {
        return SIM_EXIT_OTHER;
    }
    return dice < 90 ? SIM_EXIT_PREEMPTED : SIM_EXIT_HALT;
}

enum sim_exit sim_guest_run(struct sim_lp *lp)
{
    uint32_t count = lp->sim->scenario->is_flush_only ? 2 : 1 + sim_random(lp, INSTRUCTIONS);

    for (; count > 0; count--) {
        uint32_t page = sim_random(lp, SIM_PAGES);

        if (sim_take_kick(lp)) {
            return SIM_EXIT_KICK;
        }
        flush_step();
        use(lp, page);
        /* A speculative walk. */
        page = sim_random(lp, SIM_PAGES);
        if (lp->tlb.generation[lp->vcpu->vp_index][page] == 0) {
            lp->tlb.generation[lp->vcpu->vp_index][page] = walk(lp->sim, page);
        }
        if (sim_random(lp, 256) == 0) {
            halt_natively(lp);
        }
        if (sim_random(lp, 256) == 0) {
            never_exit(lp);
        }
    }
    return exit_for(lp);
}

/* A list that contains the page: alone, in a longer range, or among others. */
static uint32_t make_list(struct sim_lp *lp, uint32_t page, uint64_t ranges[RANGES_MAX])
{
    uint32_t count = 1 + sim_random(lp, RANGES_MAX);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = sim_random(lp, SIM_PAGES);

        ranges[i] =
            (SIM_GVA_BASE + first * PAGE_BYTES) | (sim_random(lp, 8) == 0 ? sim_random(lp, 4) : 0);
    }
    ranges[sim_random(lp, count)] = SIM_GVA_BASE + page * PAGE_BYTES;
    return count;
}

/* From now on the VP must not use an older translation. */
static void raise_legal(struct sim *sim, uint32_t vp_index, uint32_t page, uint64_t generation)
{
    _Atomic uint64_t *legal = &sim->oldest_legal[vp_index][page];
    uint64_t old = atomic_load(legal);

    while (old < generation && !atomic_compare_exchange_weak(legal, &old, generation)) {
    }
}

void sim_guest_flush(struct sim_lp *lp)
{
    struct sim *sim = lp->sim;
    struct sim_vcpu *vcpu = lp->vcpu;
    uint32_t page = vcpu->page;
    uint64_t all = (1ull << sim->scenario->vp_count) - 1;
    uint64_t bank = is_shared(page) ? all : all & sim_random(lp, UINT32_MAX);
    uint64_t ranges[RANGES_MAX];
    struct flush_request request = {.targets = {.is_all = bank == all && sim_random(lp, 2) == 0,
                                                .valid_banks = 1,
                                                .banks = &bank},
                                    .kind = sim->scenario->is_list_only || sim_random(lp, 2) == 0
                                                ? FLUSH_KIND_LIST
                                                : FLUSH_KIND_ALL,
                                    .ranges = ranges};

    if (request.kind == FLUSH_KIND_LIST) {
        request.range_count = make_list(lp, page, ranges);
        for (uint32_t i = 0; i < request.range_count; i++) {
            request.page_count += flush_range_pages(ranges[i]);
        }
    } else if (page % 2 == 0 && sim_random(lp, 4) != 0) {
        request.kind = FLUSH_KIND_NON_GLOBAL;
    }
    lp->send_begin = sim_now();
    flush_send(&lp->engine, &vcpu->flush, &request);
    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        if ((bank >> i & 1) != 0) {
            raise_legal(sim, i, page, vcpu->generation);
        }
    }
    if (is_shared(page)) {
        sim->frames[page][(vcpu->generation - 1) % SIM_FRAMES] = POISON;
        atomic_store(&sim->page_locks[page], false);
    }
    vcpu->flushes_left--;
    atomic_fetch_add(&sim->flushes_done, 1);
}

void sim_guest_section(struct sim_lp *lp)
{
    uint32_t page = sim_random(lp, SIM_PAGES);
    uint64_t generation;

    /* As gva_begin and gva_end in core/gva_section.h. */
    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_seq_cst);
    flush_step();
    generation = walk(lp->sim, page);
    for (uint32_t i = 0; i < SECTION_STEPS; i++) {
        flush_step();
    }
    check_frame(lp, page, generation);
    if (atomic_load(&lp->sim->oldest_legal[lp->vcpu->vp_index][page]) > generation) {
        lp->stale_sections++;
    }
    lp->sections++;
    flush_step();
    atomic_fetch_add_explicit(&lp->shared.gva_seq, 1, memory_order_release);
}
