/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "tests/sim/sim.h"

/*
 * What the guest's kernel does with a change: chooses targets, kind and form of the call, writes
 * the input as the TLFS has it, and makes the call. Nothing here looks at how hyperv/ decodes.
 */

#define RANGES_MAX      3u
#define RANGES_MANY_MAX 6u
#define WORDS_MAX       96u
#define FAST_WORDS_MAX  (HV_HYPERCALL_FAST_MAX_BYTES / sizeof(uint64_t))

/* Elements of extended lists (TLFS "HV_GVA_RANGE"). */
#define LARGE_PAGE    BIT64(11)
#define LARGE_1_GIB   BIT64(12)
#define NOT_CANONICAL 0x0000900000000000ull

#define CODE_SPACE 0x2u
#define CODE_LIST  0x3u
#define CODE_EX    0x11u /* from a call to its sister with a set */

struct plan {
    enum flush_kind kind;
    bool is_ex;
    bool is_extended; /* large pages in the list */
    uint64_t targets; /* vCPUs by number */
    uint64_t spaces;  /* PCIDs by bit: one, or all */
    struct sim_named named;
};

struct input {
    uint64_t words[WORDS_MAX];
    uint32_t count;
    uint64_t control;
    uint32_t rep_count;
};

static void add(struct input *input, uint64_t word)
{
    input->words[input->count++] = word;
}

static uint64_t all_targets(const struct sim *sim)
{
    return BIT64(sim->scenario->vp_count) - 1;
}

/* ---- What is asked for ---- */

/* Whether leaves below the entry may be global. */
static bool may_be_global(const struct sim_change *change)
{
    return sim_region_of(change->page) == SIM_KERNEL &&
           (change->level == SIM_LEVEL_1_GIB || sim_is_global(change->level, change->page));
}

static uint64_t choose_spaces(struct sim_lp *lp, const struct sim_change *change)
{
    bool is_of_all = sim_region_of(change->page) == SIM_KERNEL &&
                     (change->level != SIM_LEVEL_4_KIB || !may_be_global(change));

    if (is_of_all || sim_random(lp, 8) == 0) {
        return BIT64(SIM_SPACES) - 1;
    }
    return sim_region_of(change->page) == SIM_KERNEL ? BIT64(sim_random(lp, SIM_SPACES))
                                                     : BIT64(sim_region_of(change->page));
}

static enum flush_kind choose_kind(struct sim_lp *lp, const struct sim_change *change)
{
    if (lp->sim->scenario->is_list_only || sim_random(lp, 2) == 0) {
        return FLUSH_KIND_LIST;
    }
    return may_be_global(change) || sim_random(lp, 4) == 0 ? FLUSH_KIND_ALL : FLUSH_KIND_NON_GLOBAL;
}

static struct plan make_plan(struct sim_lp *lp)
{
    const struct sim_change *change = &lp->vcpu->change;
    uint64_t all = all_targets(lp->sim);
    struct plan plan = {.kind = choose_kind(lp, change), .targets = all};

    if (!sim_is_shared(change) && sim_random(lp, 4) != 0) {
        plan.targets = all & sim_random(lp, UINT32_MAX);
    }
    plan.spaces = choose_spaces(lp, change);
    /* Only an element of a large page can name 1 GiB. */
    plan.is_extended = plan.kind == FLUSH_KIND_LIST && !lp->sim->scenario->is_short_only &&
                       (change->level == SIM_LEVEL_1_GIB || sim_random(lp, 8) == 0);
    /* A mask has no VP above 63, and none means all. */
    plan.is_ex = lp->sim->scenario->is_permuted || plan.targets == 0 || sim_random(lp, 2) == 0;
    if (plan.targets == all && sim_random(lp, 2) == 0) {
        plan.is_ex = sim_random(lp, 2) == 0;
    }
    return plan;
}

/* ---- Lists ---- */

static void name_range(struct plan *plan, uint64_t address, uint64_t bytes)
{
    for (uint32_t page = 0; page < SIM_PAGES; page++) {
        bool is_in_space =
            sim_region_of(page) == SIM_KERNEL || (plan->spaces >> sim_region_of(page) & 1) != 0;

        if (is_in_space && sim_address_of(page) >= address &&
            sim_address_of(page) - address < bytes) {
            plan->named.pages |= BIT64(page);
        }
    }
}

/* The changed page alone, or somewhere in a range. A range begins in the page's table, with a
 * page that is used, so that whatever large page it touches is named by a page that counts. */
static uint64_t page_element(struct sim_lp *lp, struct plan *plan)
{
    uint32_t page = lp->vcpu->change.page;
    uint32_t before = 0, after = 0;

    if (sim_random(lp, 3) == 0) {
        before = sim_random(lp, page % SIM_TABLE_PAGES + 1);
        after = sim_random(lp, SIM_TABLE_PAGES);
    }
    name_range(plan, sim_address_of(page - before), (before + 1 + after) * PAGE_BYTES);
    return sim_address_of(page - before) | (before + after);
}

/* An element that covers what was changed. */
static uint64_t needed_element(struct sim_lp *lp, struct plan *plan)
{
    const struct sim_change *change = &lp->vcpu->change;
    uint64_t address = sim_address_of(change->page);

    if (change->level == SIM_LEVEL_1_GIB) {
        name_range(plan, address, SIM_BYTES_1_GIB);
        return address | LARGE_PAGE | LARGE_1_GIB;
    }
    if (plan->is_extended && (change->level == SIM_LEVEL_2_MIB || sim_random(lp, 2) == 0)) {
        address &= ~(SIM_BYTES_2_MIB - 1);
        name_range(plan, address, SIM_BYTES_2_MIB);
        return address | LARGE_PAGE;
    }
    if (change->level == SIM_LEVEL_2_MIB) {
        name_range(plan, address, SIM_BYTES_2_MIB);
        return address | (SIM_BYTES_2_MIB / PAGE_BYTES - 1);
    }
    return page_element(lp, plan);
}

/* Any other element: one page mostly, some pages, or none at all. */
static uint64_t other_element(struct sim_lp *lp, struct plan *plan)
{
    uint64_t address = sim_address_of(sim_random(lp, SIM_PAGES));
    uint64_t more = sim_random(lp, 8) == 0 ? sim_random(lp, 4) : 0;

    if (sim_random(lp, 8) == 0) {
        return NOT_CANONICAL | more;
    }
    name_range(plan, address, (more + 1) * PAGE_BYTES);
    return address | more;
}

static void add_list(struct sim_lp *lp, struct plan *plan, struct input *input)
{
    const struct sim_scenario *scenario = lp->sim->scenario;
    uint32_t limit = scenario->is_list_only ? RANGES_MANY_MAX : RANGES_MAX;
    uint32_t count = scenario->is_short_only ? 1 : 1 + sim_random(lp, limit);
    uint32_t needed = sim_random(lp, count);

    if (sim_random(lp, 4) == 0) {
        /* A call that begins behind its first element, which nobody reads. */
        add(input, sim_address_of(sim_random(lp, SIM_PAGES)));
        input->control |= BIT64(48);
        input->rep_count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        add(input, i == needed ? needed_element(lp, plan) : other_element(lp, plan));
    }
    input->rep_count += count;
    input->control |= (uint64_t)input->rep_count << HV_HYPERCALL_REP_SHIFT;
}

/* ---- Sets ---- */

static uint64_t bank_of(const struct sim *sim, uint64_t targets, uint32_t bank)
{
    uint64_t contents = 0;

    for (uint32_t i = 0; i < sim->scenario->vp_count; i++) {
        uint32_t vp_index = sim->vcpus[i].vp.vp_index;

        if ((targets >> i & 1) != 0 && vp_index / HV_VP_SET_BANK_VPS == bank) {
            contents |= BIT64(vp_index % HV_VP_SET_BANK_VPS);
        }
    }
    return contents;
}

/* The set, and a bank without VPs or with VPs that do not exist now and then. */
static void add_sparse_set(struct sim_lp *lp, const struct plan *plan, struct input *input)
{
    uint32_t mask_at = input->count;
    uint32_t idle_bank = sim_random(lp, HV_VP_SET_BANKS);

    add(input, 0);
    for (uint32_t bank = 0; bank < HV_VP_SET_BANKS; bank++) {
        uint64_t contents = bank_of(lp->sim, plan->targets, bank);

        if (contents != 0 || (bank == idle_bank && sim_random(lp, 2) == 0)) {
            input->words[mask_at] |= BIT64(bank);
            input->control += BIT64(17);
            add(input, contents);
        }
    }
}

static void add_header(struct sim_lp *lp, const struct plan *plan, struct input *input)
{
    bool is_all = plan->targets == all_targets(lp->sim);
    bool is_by_flag =
        is_all && (sim_random(lp, 2) == 0 || (!plan->is_ex && lp->sim->scenario->is_permuted));
    uint64_t flags = is_by_flag ? HV_FLUSH_ALL_PROCESSORS : 0;

    if (plan->spaces == BIT64(SIM_SPACES) - 1) {
        flags |= HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES;
    }
    /* To lists the flag means nothing. */
    if (plan->kind == FLUSH_KIND_NON_GLOBAL ||
        (plan->kind == FLUSH_KIND_LIST && sim_random(lp, 4) == 0)) {
        flags |= HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY;
    }
    if (plan->is_extended) {
        flags |= HV_FLUSH_USE_EXTENDED_RANGE_FORMAT;
    }
    add(input, plan->spaces << PAGE_SHIFT); /* stands for CR3 */
    add(input, flags);
    if (!plan->is_ex) {
        /* With the flag the mask means nothing, and an empty one means all. */
        bool is_any = is_by_flag || (is_all && sim_random(lp, 2) == 0);
        uint64_t any = is_by_flag ? sim_random(lp, UINT32_MAX) : 0;

        add(input, is_any ? any : bank_of(lp->sim, plan->targets, 0));
    } else if (is_all && sim_random(lp, 2) == 0) {
        add(input, HV_GENERIC_SET_ALL);
        add(input, 0);
    } else {
        add(input, HV_GENERIC_SET_SPARSE_4K);
        add_sparse_set(lp, plan, input);
    }
}

static void make_input(struct sim_lp *lp, struct plan *plan, struct input *input)
{
    input->count = 0;
    input->rep_count = 0;
    input->control = plan->kind == FLUSH_KIND_LIST ? CODE_LIST : CODE_SPACE;
    if (plan->is_ex) {
        input->control += CODE_EX;
    }
    add_header(lp, plan, input);
    if (plan->kind == FLUSH_KIND_LIST) {
        add_list(lp, plan, input);
    } else if (plan->kind == FLUSH_KIND_ALL) {
        plan->named.spaces = plan->spaces;
    } else {
        plan->named.non_global = plan->spaces;
    }
}

/* ---- The call ---- */

/* In registers when it fits, else in memory. Sets the two words that go into general registers. */
static void place_input(struct sim_lp *lp, struct input *input, uint64_t *first, uint64_t *second)
{
    struct sim_vcpu *vcpu = lp->vcpu;
    uint32_t offset = sim_random(lp, (uint32_t)ARRAY_LEN(vcpu->page) - input->count + 1);

    if (input->count <= FAST_WORDS_MAX && sim_random(lp, 2) == 0) {
        input->control |= HV_HYPERCALL_FAST;
        *first = input->words[0];
        *second = input->words[1];
        memcpy(vcpu->xmm, input->words + 2, sizeof(vcpu->xmm));
        return;
    }
    memcpy(vcpu->page + offset, input->words, input->count * sizeof(uint64_t));
    *first = sim_input_page(vcpu) + offset * sizeof(uint64_t);
    *second = 0;
}

/* From 64-bit or 32-bit code. Returns the result value. */
static uint64_t issue(struct sim_lp *lp, struct input *input)
{
    struct hyperv_caller caller = {.is_protected = true, .is_64_bit_code = sim_random(lp, 2) == 0};
    uint64_t gpr[GPR_COUNT] = {0};
    uint64_t first, second;
    enum hyperv_call_result outcome;

    place_input(lp, input, &first, &second);
    if (caller.is_64_bit_code) {
        gpr[GPR_RCX] = input->control;
        gpr[GPR_RDX] = first;
        gpr[GPR_R8] = second;
    } else {
        gpr[GPR_RDX] = input->control >> 32;
        gpr[GPR_RAX] = (uint32_t)input->control;
        gpr[GPR_RBX] = first >> 32;
        gpr[GPR_RCX] = (uint32_t)first;
        gpr[GPR_RDI] = second >> 32;
        gpr[GPR_RSI] = (uint32_t)second;
    }
    outcome = hyperv_hypercall(&lp->vcpu->vp, &caller, gpr, lp->buffer);
    if (outcome != HYPERV_RESULT_DONE) {
        return UINT64_MAX;
    }
    return caller.is_64_bit_code ? gpr[GPR_RAX] : gpr[GPR_RDX] << 32 | gpr[GPR_RAX];
}

/* For exactness: what this call names is known before it is made, and owed when it has returned. */
static void begin_record(struct sim_vcpu *vcpu, const struct plan *plan)
{
    atomic_store(&vcpu->call.named.pages, plan->named.pages);
    atomic_store(&vcpu->call.named.spaces, plan->named.spaces);
    atomic_store(&vcpu->call.named.non_global, plan->named.non_global);
    atomic_store(&vcpu->call.targets, plan->targets);
}

static void end_record(struct sim_lp *lp, const struct plan *plan)
{
    for (uint32_t i = 0; i < lp->sim->scenario->vp_count; i++) {
        struct sim_vcpu *target = &lp->sim->vcpus[i];

        /* The caller's own part has been carried out. */
        if ((plan->targets >> i & 1) != 0 && target != lp->vcpu) {
            sim_owed_add(&target->owed, &plan->named);
        }
    }
    atomic_store(&lp->vcpu->call.targets, 0);
}

void sim_call(struct sim_lp *lp)
{
    struct plan plan = make_plan(lp);
    struct input input;

    make_input(lp, &plan, &input);
    begin_record(lp->vcpu, &plan);
    lp->send_begin = sim_now();
    if (issue(lp, &input) != (uint64_t)input.rep_count << HV_HYPERCALL_REP_SHIFT) {
        lp->bad_calls++;
    }
    end_record(lp, &plan);
    sim_guest_after_flush(lp, plan.targets);
    lp->vcpu->flushes_left--;
    atomic_fetch_add(&lp->sim->flushes_done, 1);
}
