/* SPDX-License-Identifier: BSD-2-Clause */
/* Everybody flushes everybody without pause, and nobody may read through a translation that a
 * flush has taken away. `calls=N` in the load options: calls in all. */
#include "core/stats.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

/* An exit drops all translations on Bochs: only who reads for longer than another's call takes can
 * find a stale one there. So each processor does that once in a while, not all at the same time. */
#define LONG_EVERY         32u
#define LONG_APART         8u
#define LONG_READS         2000u
#define CALLS_DEFAULT      100000u
#define EXIT_REASON_VMCALL 18u

/* Each processor owns one page of the window. It writes a number to the page that is not mapped,
 * maps it instead of the other, flushes, and only then announces the number: from then on nobody
 * may read less. */
static _Alignas(HV_PAGE_BYTES) volatile uint64_t pages[GUEST_MAX_CPUS][2][HV_PAGE_WORDS];
static _Atomic uint64_t announced[GUEST_MAX_CPUS];
static atomic_uint errors;
static atomic_uint stale;
static atomic_uint calls_made;

struct storm {
    uint32_t calls;     /* of each processor */
    uint32_t cpu_limit; /* processors from this one on do nothing */
    bool is_pairwise;   /* one target a call, each of the others in turn */
};

static uint64_t targets_of(const struct storm *storm, uint32_t self, uint32_t number)
{
    uint64_t all = (1ull << storm->cpu_limit) - 1;
    uint32_t other;

    if (!storm->is_pairwise) {
        return all;
    }
    other = number % (storm->cpu_limit - 1);
    return 1ull << (other >= self ? other + 1 : other);
}

/* One of the four calls in turn, for the page that is owned. */
static uint64_t prepare(uint64_t *input, uint32_t self, uint32_t number, uint64_t mask)
{
    uint64_t page = hv_address(hv_window(self));

    input[HV_FLAGS] = (number & 4) != 0 ? HV_FLAG_NON_GLOBAL : 0;
    switch (number % 4) {
    case 0:
        input[HV_MASK] = mask;
        return HV_FLUSH_SPACE;
    case 1:
        input[HV_MASK] = mask;
        input[HV_LIST] = page;
        return HV_FLUSH_LIST | HV_REPS(1);
    case 2:
        input[HV_EX_FORMAT] = 0;
        input[HV_EX_BANK_MASK] = 1;
        input[HV_EX_BANKS] = mask;
        return HV_FLUSH_SPACE_EX | HV_BANKS(1);
    default:
        input[HV_EX_FORMAT] = 0;
        input[HV_EX_BANK_MASK] = 1;
        input[HV_EX_BANKS] = mask;
        input[HV_EX_BANKS + 1] = page;
        return HV_FLUSH_LIST_EX | HV_BANKS(1) | HV_REPS(1);
    }
}

static void read_all(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t least = atomic_load(&announced[i]);
        uint64_t value = *hv_window(i);

        if (value < least && atomic_fetch_add(&stale, 1) == 0) {
            test_fail("cpu %u reads %lu of cpu %u after %lu was announced", cpu_this()->index,
                      value, i, least);
        }
    }
}

static void read_for(uint32_t rounds, uint32_t count)
{
    while (rounds-- > 0) {
        read_all(count);
    }
}

static void storm_here(void *arg)
{
    const struct storm *storm = arg;
    uint32_t self = cpu_this()->index;
    uint64_t *input = hv_input();

    if (self >= storm->cpu_limit) {
        return;
    }
    for (uint32_t number = 1; number <= storm->calls; number++) {
        volatile uint64_t *page = pages[self][number % 2];
        uint64_t control = prepare(input, self, number, targets_of(storm, self, number));
        bool is_long = (number + self * LONG_APART) % LONG_EVERY == 0;

        if (!storm->is_pairwise) {
            page[0] = number;
            hv_window_set(self, page, HV_PTE);
        }
        if (hv_call(control, hv_address(input)) != (control & HV_REPS(0xFFF))) {
            atomic_fetch_add(&errors, 1);
        }
        if (!storm->is_pairwise) {
            atomic_store(&announced[self], number);
            read_for(is_long ? LONG_READS / storm->cpu_limit : 1, storm->cpu_limit);
        }
        hv_progress();
    }
    atomic_fetch_add(&calls_made, storm->calls);
}

static uint64_t vmcall_exits(void)
{
    uint64_t value = 0;
    uint32_t number = STAT_COUNT + EXIT_REASON_VMCALL;

    CHECK(sluice_counter(SUM_OF_ALL_VPS, number, &value), "no counter of VMCALL exits");
    return value;
}

/* Translations of an earlier storm go. */
static void reload_here(void *arg)
{
    (void)arg;
    paging_load();
}

static void run_storm(const char *name, struct storm storm)
{
    uint64_t exits;
    uint64_t ticks;

    if (storm.cpu_limit < 2) {
        test_skip("there is one processor");
        return;
    }
    hv_window_init();
    for (uint32_t i = 0; i < storm.cpu_limit; i++) {
        pages[i][0][0] = 0;
        hv_window_set(i, pages[i][0], HV_PTE);
        atomic_store(&announced[i], 0);
    }
    CHECK(smp_call_each(reload_here, NULL), "a processor does not answer");
    atomic_store(&errors, 0);
    atomic_store(&stale, 0);
    atomic_store(&calls_made, 0);
    hv_enable();
    exits = vmcall_exits();
    ticks = insn_rdtsc();
    REQUIRE(hv_run_all(storm_here, &storm), "%s does not end", name);
    ticks = insn_rdtsc() - ticks;
    exits = vmcall_exits() - exits;
    hv_disable();
    print_line("MEASURE %s calls=%u errors=%u stale=%u ticks_per_call=%u", name,
               atomic_load(&calls_made), atomic_load(&errors), atomic_load(&stale),
               (uint32_t)(ticks / storm.calls));
    CHECK(atomic_load(&errors) == 0, "%u calls failed", atomic_load(&errors));
    CHECK(atomic_load(&stale) == 0, "%u stale reads", atomic_load(&stale));
    CHECK(atomic_load(&calls_made) == storm.calls * storm.cpu_limit, "%u calls were made",
          atomic_load(&calls_made));
    CHECK(exits == atomic_load(&calls_made), "Sluice counts %lu calls of %u", exits,
          atomic_load(&calls_made));
}

static uint32_t calls_option(void)
{
    return hv_option("calls=", CALLS_DEFAULT);
}

void test_hv_storm_pairs(void)
{
    uint32_t count = smp_cpu_count();

    run_storm("hv_storm_pairs", (struct storm){.calls = calls_option() / 10 / count,
                                               .cpu_limit = count,
                                               .is_pairwise = true});
}

void test_hv_storm_two(void)
{
    uint32_t count = smp_cpu_count();

    run_storm("hv_storm_two",
              (struct storm){.calls = calls_option() / 4, .cpu_limit = count < 2 ? count : 2});
}

void test_hv_storm_all(void)
{
    uint32_t count = smp_cpu_count();

    run_storm("hv_storm_all",
              (struct storm){.calls = calls_option() / 2 / count, .cpu_limit = count});
}
