/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>
#include <string.h>
#include <time.h>

#include "tests/host/hv_no_overlays.h"
#include "tests/sim/sim.h"

/* What the engine and hyperv/ ask of the hardware. */

#define STUCK_NS   10000000000ull
#define INPUT_BASE 0x00200000ull /* the vCPUs' pages for hypercall input, one after the other */

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

/* ---- The engine's ---- */

/* APIC ids follow neither lp_id nor the order of threads. */
static _Atomic bool *doorbell_of(struct sim *sim, uint32_t lp_id)
{
    return &sim->doorbells[(lp_id * 5 + 3) % SIM_LPS_MAX];
}

bool sim_take_kick(struct sim_lp *lp)
{
    return sim_random(lp, 2) == 0 && atomic_exchange(doorbell_of(lp->sim, lp->lp_id), false);
}

bool sim_has_kick(struct sim_lp *lp)
{
    return atomic_load(doorbell_of(lp->sim, lp->lp_id));
}

static bool kick(void *self, uint32_t lp_id)
{
    struct sim_lp *lp = self;

    atomic_store(doorbell_of(lp->sim, lp_id), true);
    return true;
}

/* What requests that the vCPU may be owed now have named. The records are read first: a call
 * that ends meanwhile has left what it named in owed. */
static struct sim_named named_of(struct sim *sim, struct sim_vcpu *vcpu)
{
    struct sim_named named = vcpu->taken;

    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        struct sim_call_record *call = &sim->vcpus[i].call;

        if ((atomic_load(&call->targets) >> vcpu->number & 1) != 0) {
            sim_owed_look(&call->named, &named);
        }
    }
    sim_owed_look(&vcpu->owed, &named);
    return named;
}

struct counting {
    uint64_t *dropped;
    const struct sim_named *named; /* NULL: of another VP */
};

static void count_drop(void *context, uint32_t tag, uint64_t pages)
{
    const struct counting *counting = context;

    counting->dropped[counting->named != NULL ? sim_reason_of(counting->named, tag, pages)
                                              : SIM_REASON_OTHER_VP]++;
}

static void invvpid(void *self, const struct flush_vcpu *flush, enum flush_invvpid type,
                    gva_t address)
{
    struct sim_lp *lp = self;
    struct sim *sim = lp->sim;
    struct sim_vcpu *vcpu = &sim->vcpus[((const struct sim_vcpu *)flush)->number];
    struct sim_named named = named_of(sim, vcpu);
    uint32_t cause = lp->is_arriving ? SIM_CAUSE_LP_CHANGE : (uint32_t)type;
    struct counting counting = {.dropped = lp->exactness.dropped[cause], .named = &named};

    /* On the LP that runs the vCPU, of a type that is there. */
    if (lp->vcpu != vcpu || (sim->machine.invvpid_types & FLUSH_HAS(type)) == 0 ||
        lp != sim_this_lp) {
        lp->bad_invalidations++;
        return;
    }
    lp->exactness.executed[cause]++;
    sim_tlb_invalidate(&lp->tlbs[vcpu->number], type, address.value, count_drop, &counting);
    counting.named = NULL;
    for (uint32_t i = 0; type == FLUSH_INVVPID_ALL && i < sim->scenario->vp_count; i++) {
        sim_tlb_invalidate(&lp->tlbs[i], type, 0, count_drop, &counting);
    }
}

static void relax(void *self)
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

static uint64_t now(void *self)
{
    (void)self;
    return sim_now();
}

static void report(void *self, const struct flush_late *late)
{
    (void)late;
    ((struct sim_lp *)self)->watchdogs++;
}

const struct flush_ops sim_flush_ops = {
    .kick = kick, .invvpid = invvpid, .relax = relax, .now = now, .report = report};

/* ---- Of hyperv/ ---- */

uint64_t sim_input_page(const struct sim_vcpu *vcpu)
{
    return INPUT_BASE + vcpu->number * PAGE_BYTES;
}

static uint64_t read_tsc(void *context)
{
    (void)context;
    return sim_now();
}

static const volatile void *ram_page(void *context, gpa_t page)
{
    const struct sim_vcpu *vcpu = context;

    return page.value == sim_input_page(vcpu) ? vcpu->page : NULL;
}

static void read_xmm(void *context, uint64_t words[HYPERV_XMM_WORDS])
{
    const struct sim_vcpu *vcpu = context;

    memcpy(words, vcpu->xmm, sizeof(vcpu->xmm));
}

static void flush(void *context, const struct flush_request *request)
{
    struct sim_vcpu *vcpu = context;

    flush_send(&vcpu->lp->engine, &vcpu->flush, request);
}

const struct hyperv_ops sim_hyperv_ops = {.read_tsc = read_tsc,
                                          .ram_page = ram_page,
                                          .read_xmm = read_xmm,
                                          .overlay_map = no_overlay_map,
                                          .overlay_sync = no_overlay_sync,
                                          .flush = flush};
