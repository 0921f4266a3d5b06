/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_HOST_EPT_FIXTURE_H
#define TESTS_HOST_EPT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/msr.h"
#include "mm/ept.h"

/* A map over a pool of pages, for the EPT tests. */

#define GIB        (1ull << 30)
#define MIB        (1ull << 20)
#define SCRATCH    0x7000ull
#define POOL_BASE  0x40000000ull /* the physical address that our pool pretends to have */
#define POOL_PAGES 4096u

/* A pool whose pages come filled with rubbish, and which can run dry. */
struct pool {
    uint64_t *memory;
    unsigned int used;
    unsigned int limit;
};

static inline void *pool_alloc(void *context, hpa_t *out)
{
    struct pool *pool = context;
    uint64_t *page;

    if (pool->used == pool->limit) {
        return NULL;
    }
    page = pool->memory + 512ull * pool->used;
    memset(page, 0xA5, 4096);
    *out = hpa(POOL_BASE + 4096ull * pool->used++);
    return page;
}

static inline void *pool_page_at(void *context, hpa_t page)
{
    struct pool *pool = context;

    assert_true(page.value % 4096 == 0 && page.value >= POOL_BASE);
    assert_true(page.value < POOL_BASE + 4096ull * pool->used);
    return pool->memory + (page.value - POOL_BASE) / 8;
}

static const struct ept_pages_ops pool_ops = {pool_alloc, pool_page_at};

static struct pool pool;
static struct ept_map map;

static inline struct mtrr_state make_mtrrs(unsigned int phys_bits)
{
    struct mtrr_state state = {0};

    state.cap = 10 | IA32_MTRRCAP_FIX | IA32_MTRRCAP_WC;
    state.def_type = IA32_MTRR_DEF_TYPE_E | MEM_TYPE_WB;
    state.phys_bits = phys_bits;
    return state;
}

static inline void add_range(struct mtrr_state *state, unsigned int index, uint64_t base,
                             uint64_t bytes, enum mem_type type)
{
    state->variable[index].base = base | (uint64_t)type;
    state->variable[index].mask =
        (MASK64(state->phys_bits - 1, 12) & ~(bytes - 1)) | IA32_MTRR_PHYSMASK_VALID;
}

static inline enum status start(const struct mtrr_state *mtrrs, unsigned int largest)
{
    struct ept_params params = {
        .ops = &pool_ops,
        .context = &pool,
        .caps = {.has_2m = largest >= 2, .has_1g = largest >= 3, .has_execute_only = true},
        .mtrrs = mtrrs,
        .scratch = {SCRATCH},
    };

    pool.used = 0;
    pool.limit = POOL_PAGES;
    return ept_init(&map, &params);
}

static inline struct ept_translation walk(uint64_t address)
{
    struct ept_translation found;

    ept_walk(&map, gpa(address), &found);
    return found;
}

static inline void expect_identity(uint64_t address, enum ept_level level, enum mem_type type)
{
    struct ept_translation found = walk(address);

    assert_true(found.is_mapped);
    assert_true(found.is_identity);
    assert_int_equal(found.hpa.value, address);
    assert_int_equal(found.access, EPT_ALL);
    assert_int_equal(found.level, level);
    assert_int_equal(found.type, type);
}

static inline void expect_hidden(uint64_t address)
{
    struct ept_translation found = walk(address);

    assert_true(found.is_mapped);
    assert_false(found.is_identity);
    assert_int_equal(found.hpa.value, SCRATCH | (address & 0xFFF));
    assert_int_equal(found.access, EPT_READ | EPT_WRITE);
    assert_int_equal(found.type, MEM_TYPE_WB);
    assert_int_equal(found.level, EPT_LEVEL_4K);
}

static inline int set_up(void **context)
{
    (void)context;
    pool.memory = aligned_alloc(4096, 4096ull * POOL_PAGES);
    return pool.memory == NULL;
}

static inline int tear_down(void **context)
{
    (void)context;
    free(pool.memory);
    return 0;
}

#endif
