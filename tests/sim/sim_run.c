/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/flush_step.h"
#include "tests/sim/sim.h"

/* Start and end of a simulation, and its delays. */

#define WATCHDOG_NS    3000000000ull /* a machine with other things to do */
#define SHORT_SPIN     300u
#define HYPERCALL_PAGE 0x00100000ull
#define PHYSICAL_BITS  39u
#define CANONICAL_BITS 48u
#define FEATURE_TSC_HZ 1000000000ull
#define INDEX_STRIDE   1021u /* coprime to 4096: VP indexes all over the banks */

#define ALL_TYPES                                                         \
    (FLUSH_HAS(FLUSH_INVVPID_ADDRESS) | FLUSH_HAS(FLUSH_INVVPID_SINGLE) | \
     FLUSH_HAS(FLUSH_INVVPID_ALL) | FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS))

/* Delays the calling LP's thread for a random time, mostly none. */
static void delay_at_step(void)
{
    struct sim_lp *lp = sim_this_lp;
    uint32_t dice;

    if (lp == NULL) {
        return;
    }
    dice = sim_random(lp, 2048);
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

/* Where a vCPU stands in the partition. The last one has the last index that there is. */
static uint32_t vp_index_of(const struct sim_scenario *scenario, uint32_t number)
{
    return scenario->is_permuted
               ? (HV_VP_SET_MAX_VPS - 1 - (scenario->vp_count - 1 - number) * INDEX_STRIDE) %
                     HV_VP_SET_MAX_VPS
               : number;
}

static uint32_t pages_max_of(const struct sim_scenario *scenario)
{
    return scenario->pages_max != 0 ? scenario->pages_max : FLUSH_PAGES_DEFAULT;
}

static void set_up_machine(struct sim *sim)
{
    const struct sim_scenario *scenario = sim->scenario;
    uint32_t vp_count = scenario->is_permuted ? HV_VP_SET_MAX_VPS : scenario->vp_count;

    sim->machine = (struct flush_machine){.ops = &sim_flush_ops,
                                          .lps = sim->lp_table,
                                          .lp_count = scenario->lp_count,
                                          .vp_count = vp_count,
                                          .vps = sim->vp_table,
                                          .invvpid_types = ALL_TYPES & ~scenario->missing_types,
                                          .pages_max = pages_max_of(scenario),
                                          .watchdog_ticks = WATCHDOG_NS};
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        struct sim_lp *lp = &sim->lps[i];

        /* With permutation the last thread is the first LP. */
        lp->lp_id = scenario->is_permuted ? scenario->lp_count - 1 - i : i;
        lp->sim = sim;
        lp->random = (sim->seed + i + 1) * 0x9E3779B97F4A7C15ull;
        lp->scratch = calloc(1, flush_lp_scratch_bytes(scenario->lp_count, vp_count));
        if (lp->scratch == NULL) {
            abort();
        }
        sim->lp_table[lp->lp_id] = &lp->shared;
        flush_lp_init(&lp->engine, &sim->machine, lp->lp_id, lp, lp->scratch);
    }
}

static void set_up_partition(struct sim *sim)
{
    const struct sim_scenario *scenario = sim->scenario;
    struct hyperv_features features = {
        .is_on = true, .tlbflush = true, .tlbflush_ext = true, .xmm_input = true, .vpindex = true};
    struct hyperv_facts facts = {.tsc_hz = FEATURE_TSC_HZ,
                                 .vp_limit = sim->machine.vp_count,
                                 .vp_max = HV_VP_SET_MAX_VPS,
                                 .lp_count = scenario->lp_count,
                                 .physical_bits = PHYSICAL_BITS,
                                 .canonical_bits = CANONICAL_BITS,
                                 .list_pages_max = pages_max_of(scenario)};
    struct hyperv_vp *first = &sim->vcpus[0].vp;

    hyperv_partition_init(&sim->partition, &sim_hyperv_ops, &features, &facts,
                          &sim->reference_tsc_page, 0);
    for (uint32_t i = 0; i < scenario->vp_count; i++) {
        struct sim_vcpu *vcpu = &sim->vcpus[i];

        vcpu->number = i;
        vcpu->flushes_left = scenario->flushes;
        hyperv_vp_init(&vcpu->vp, &sim->partition, vp_index_of(scenario, i), vcpu);
        sim->vp_table[vcpu->vp.vp_index] = &vcpu->flush;
        sim->queue[sim->queue_length++] = vcpu;
    }
    if (hyperv_write_msr(first, HV_X64_MSR_GUEST_OS_ID, 1) != HYPERV_MSR_OK ||
        hyperv_write_msr(first, HV_X64_MSR_HYPERCALL, HYPERCALL_PAGE | HV_X64_MSR_PAGE_ENABLE) !=
            HYPERV_MSR_OK) {
        abort();
    }
}

struct sim *sim_run(const struct sim_scenario *scenario, uint64_t seed)
{
    struct sim *sim = aligned_alloc(PAGE_BYTES, sizeof(*sim));

    if (sim == NULL) {
        abort();
    }
    memset(sim, 0, sizeof(*sim));
    sim->scenario = scenario;
    sim->seed = seed;
    (void)pthread_mutex_init(&sim->scheduler, NULL);
    set_up_machine(sim);
    set_up_partition(sim);
    sim_space_init(&sim->space);
    for (uint32_t page = 0; page < SIM_PAGES; page++) {
        sim->frames[page][1] = 1;
    }
    atomic_init(&sim->unfinished, scenario->vp_count);
    flush_step_hook = scenario->has_delays ? delay_at_step : NULL;
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        if (pthread_create(&sim->lps[i].thread, NULL, sim_lp_run, &sim->lps[i]) != 0) {
            abort();
        }
    }
    for (uint32_t i = 0; i < scenario->lp_count; i++) {
        (void)pthread_join(sim->lps[i].thread, NULL);
    }
    flush_step_hook = NULL;
    return sim;
}

void sim_free(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->scenario->lp_count; i++) {
        free(sim->lps[i].scratch);
    }
    free(sim);
}

uint64_t sim_counter(const struct sim *sim, enum flush_counter counter)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        sum += sim->vcpus[i].flush.counters[counter];
    }
    return sum;
}
