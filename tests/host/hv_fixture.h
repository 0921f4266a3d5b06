/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOST_HV_FIXTURE_H
#define TESTS_HOST_HV_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "hyperv/hyperv.h"

/* A partition over a little RAM, whose hardware is remembered, for the tests of hyperv/. */

#define RAM_BASE  0x100000ull
#define RAM_PAGES 16u
#define RAM_END   (RAM_BASE + RAM_PAGES * PAGE_BYTES)
#define RAM_HOLE  8u /* this page is a device */
#define TSC_HZ    2000000000ull
#define APIC_HZ   100000000ull
#define VPS       200u
#define PHYS_BITS 39u

#define SHOWS_RAM 0xFFu /* in hv_world.seen */

#define INPUT (RAM_BASE + PAGE_BYTES) /* the page of the guest's input */

/* Control words of the flush calls. */
#define SPACE    0x2ull
#define LIST     0x3ull
#define SPACE_X  0x13ull
#define LIST_X   0x14ull
#define BANKS(n) ((uint64_t)(n) << 17)
#define REPS(n)  ((uint64_t)(n) << 32)
#define START(n) ((uint64_t)(n) << 48)

struct hv_world {
    struct hyperv_partition partition;
    struct hyperv_vp vp;
    ALIGNED(4096) struct hv_reference_tsc_page page;
    ALIGNED(4096) uint8_t ram[RAM_PAGES * PAGE_BYTES];
    ALIGNED(8) uint64_t buffer[512 + 1]; /* the last word must survive */
    uint64_t tsc;
    uint8_t seen[RAM_PAGES]; /* what the guest sees there: an overlay or SHOWS_RAM */
    uint32_t maps, unmaps, syncs;
    bool refuses_maps;
    uint32_t lookups;     /* of pages of guest memory */
    uint64_t last_lookup; /* address */
    uint64_t xmm[HYPERV_XMM_WORDS];
    uint32_t xmm_reads;
    uint64_t eoi, icr, tpr;
    bool refuses_apic;
    uint32_t resets;
    /* The last flush. */
    uint32_t flushes;
    bool named[HV_VP_SET_MAX_VPS];
    uint32_t named_count;
    struct flush_request request;
    uint64_t ranges[512];
};

static inline uint64_t world_read_tsc(void *context)
{
    return ((struct hv_world *)context)->tsc;
}

static inline void *world_memory(struct hv_world *world, uint64_t address, size_t bytes)
{
    if (address < RAM_BASE || address >= RAM_END || bytes > RAM_END - address ||
        (address - RAM_BASE) / PAGE_BYTES == RAM_HOLE) {
        return NULL;
    }
    /* What is asked for lies in one page. */
    assert_int_equal(address / PAGE_BYTES, (address + bytes - 1) / PAGE_BYTES);
    return world->ram + (address - RAM_BASE);
}

static inline const volatile void *world_ram_page(void *context, gpa_t page)
{
    struct hv_world *world = context;

    assert_int_equal(page.value % PAGE_BYTES, 0);
    world->lookups++;
    world->last_lookup = page.value;
    return world_memory(world, page.value, PAGE_BYTES);
}

static inline void world_read_xmm(void *context, uint64_t words[HYPERV_XMM_WORDS])
{
    struct hv_world *world = context;

    world->xmm_reads++;
    memcpy(words, world->xmm, sizeof(world->xmm));
}

static inline bool world_write_gpa(void *context, gpa_t to, const void *from, size_t bytes)
{
    void *memory = world_memory(context, to.value, bytes);

    if (memory != NULL) {
        memcpy(memory, from, bytes);
    }
    return memory != NULL;
}

static inline bool world_overlay_map(void *context, enum hyperv_overlay overlay, gpa_t page)
{
    struct hv_world *world = context;

    assert_true(is_aligned(page.value, PAGE_BYTES));
    /* The lock is held. */
    assert_false(spin_try(&world->partition.lock));
    if (world->refuses_maps) {
        return false;
    }
    world->maps++;
    if (page.value >= RAM_BASE && page.value < RAM_END) {
        world->seen[(page.value - RAM_BASE) / PAGE_BYTES] = (uint8_t)overlay;
    }
    return true;
}

static inline void world_overlay_unmap(void *context, gpa_t page)
{
    struct hv_world *world = context;

    assert_true(is_aligned(page.value, PAGE_BYTES));
    world->unmaps++;
    if (page.value >= RAM_BASE && page.value < RAM_END) {
        world->seen[(page.value - RAM_BASE) / PAGE_BYTES] = SHOWS_RAM;
    }
}

static inline void world_overlay_sync(void *context)
{
    struct hv_world *world = context;

    /* Nobody waits under the lock. */
    assert_true(spin_try(&world->partition.lock));
    spin_unlock(&world->partition.lock);
    world->syncs++;
}

static inline bool world_write_eoi(void *context, uint32_t value)
{
    struct hv_world *world = context;

    world->eoi = value;
    return !world->refuses_apic;
}

static inline bool world_read_icr(void *context, uint64_t *value)
{
    *value = ((struct hv_world *)context)->icr;
    return true;
}

static inline bool world_write_icr(void *context, uint64_t value)
{
    struct hv_world *world = context;

    world->icr = value;
    return !world->refuses_apic;
}

static inline bool world_read_tpr(void *context, uint64_t *value)
{
    *value = ((struct hv_world *)context)->tpr;
    return true;
}

static inline bool world_write_tpr(void *context, uint64_t value)
{
    ((struct hv_world *)context)->tpr = value;
    return true;
}

static inline void world_reset(void *context)
{
    ((struct hv_world *)context)->resets++;
}

/* Whether a set names a VP, by the plainest reading of the TLFS. */
static inline bool names_vp(const struct flush_targets *targets, uint32_t vp_index)
{
    uint32_t at = 0;

    if (targets->is_all) {
        return true;
    }
    for (uint32_t bank = 0; bank < vp_index / 64; bank++) {
        at += (uint32_t)(targets->valid_banks >> bank & 1);
    }
    return (targets->valid_banks >> (vp_index / 64) & 1) != 0 &&
           (targets->banks[at] >> (vp_index % 64) & 1) != 0;
}

static inline void world_flush(void *context, const struct flush_request *request)
{
    struct hv_world *world = context;

    assert_true(spin_try(&world->partition.lock));
    spin_unlock(&world->partition.lock);
    world->flushes++;
    world->named_count = 0;
    for (uint32_t vp_index = 0; vp_index < world->partition.facts.vp_limit; vp_index++) {
        world->named[vp_index] = names_vp(&request->targets, vp_index);
        world->named_count += world->named[vp_index];
    }
    world->request = *request;
    if (request->kind == FLUSH_KIND_LIST) {
        assert_in_range(request->range_count, 1, 509);
        memcpy(world->ranges, request->ranges, request->range_count * sizeof(uint64_t));
    }
}

static const struct hyperv_ops world_ops = {
    .read_tsc = world_read_tsc,
    .ram_page = world_ram_page,
    .read_xmm = world_read_xmm,
    .write_gpa = world_write_gpa,
    .overlay_map = world_overlay_map,
    .overlay_unmap = world_overlay_unmap,
    .overlay_sync = world_overlay_sync,
    .apic_write_eoi = world_write_eoi,
    .apic_read_icr = world_read_icr,
    .apic_write_icr = world_write_icr,
    .apic_read_tpr = world_read_tpr,
    .apic_write_tpr = world_write_tpr,
    .reset = world_reset,
    .flush = world_flush,
};

/* All of the first version; fast input and extended ranges have tests of their own. */
static const struct hyperv_features all_features = {
    .is_on = true,
    .tlbflush = true,
    .time = true,
    .frequencies = true,
    .vapic = true,
    .vpindex = true,
    .runtime = true,
    .tsc_invariant = true,
};

static const struct hyperv_facts usual_facts = {
    .tsc_hz = TSC_HZ,
    .apic_hz = APIC_HZ,
    .is_tsc_invariant = true,
    .vp_limit = VPS,
    .vp_max = 4096,
    .lp_count = 8,
    .physical_bits = PHYS_BITS,
    .canonical_bits = 48,
    .list_pages_max = UINT32_MAX,
};

static inline void world_init(struct hv_world *world, const struct hyperv_features *features,
                              const struct hyperv_facts *facts)
{
    memset(world, 0, sizeof(*world));
    memset(world->seen, SHOWS_RAM, sizeof(world->seen));
    world->tsc = 1000000007;
    world->buffer[512] = 0x5AFE5AFE5AFE5AFEull;
    hyperv_partition_init(&world->partition, &world_ops, features, facts, &world->page, world->tsc);
    hyperv_vp_init(&world->vp, &world->partition, 5, world);
}

static inline uint64_t read_ok(struct hv_world *world, uint32_t msr)
{
    uint64_t value = 0;

    assert_int_equal(hyperv_read_msr(&world->vp, msr, &value), HYPERV_MSR_OK);
    return value;
}

static inline bool reads(struct hv_world *world, uint32_t msr)
{
    uint64_t value;

    return hyperv_read_msr(&world->vp, msr, &value) == HYPERV_MSR_OK;
}

static inline bool writes(struct hv_world *world, uint32_t msr, uint64_t value)
{
    return hyperv_write_msr(&world->vp, msr, value) == HYPERV_MSR_OK;
}

/* With the hypercall page at the first page of RAM. */
static inline void world_init_calls(struct hv_world *world)
{
    world_init(world, &all_features, &usual_facts);
    assert_true(writes(world, HV_X64_MSR_GUEST_OS_ID, 0x8100000000000001ull));
    assert_true(writes(world, HV_X64_MSR_HYPERCALL, RAM_BASE | HV_X64_MSR_PAGE_ENABLE));
}

#endif
