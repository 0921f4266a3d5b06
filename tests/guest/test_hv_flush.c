/* SPDX-License-Identifier: BSD-2-Clause */
/* Flush calls do flush: a page-table entry is changed under a processor that has the old
 * translation, and after the call it must not use that any more. TLFS "Virtual MMU". */
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"
#include "tests/guest/test_hv_ways.h"

#define CR4_PGE    (1ull << 7)
#define SLOT       0u
#define ANSWER_US  1000000u
#define SETTLE_US  300u
#define DRAIN_US   50u
#define CALL_US    20000u
#define OLD_VALUE  0x01D01D01Dull
#define NEW_VALUE  0x4E34E34E3ull
#define VECTOR_END (VECTOR_TEST + 1)

static _Alignas(HV_PAGE_BYTES) volatile uint64_t old_page[HV_PAGE_WORDS];
static _Alignas(HV_PAGE_BYTES) volatile uint64_t new_page[HV_PAGE_WORDS];

/* A processor that reads through the window on request, with interrupts off and without any
 * exit. */
struct reader {
    atomic_uint asked;
    atomic_uint answered;
    uint64_t value;
};

static struct reader readers[GUEST_MAX_CPUS];
static atomic_bool is_over;

static void use_globals(void)
{
    insn_write_cr4(insn_read_cr4() | CR4_PGE);
}

static void read_on_request(void *arg)
{
    struct reader *reader = arg;

    use_globals();
    while (!atomic_load(&is_over)) {
        unsigned int asked = atomic_load(&reader->asked);

        reader->value = *hv_window(SLOT);
        atomic_store(&reader->answered, asked);
    }
}

/* What the processor reads, by a load that begins after this call has. */
static uint64_t read_there(uint32_t cpu)
{
    struct reader *reader = &readers[cpu];
    unsigned int number = atomic_fetch_add(&reader->asked, 1) + 1;

    CHECK(clock_wait_count(&reader->answered, number, ANSWER_US), "cpu %u does not answer", cpu);
    return reader->value;
}

static void start_readers(uint32_t first, uint32_t last)
{
    hv_window_init();
    old_page[0] = OLD_VALUE;
    new_page[0] = NEW_VALUE;
    hv_window_set(SLOT, old_page, HV_PTE);
    insn_invlpg(hv_address(hv_window(SLOT)));
    use_globals();
    hv_enable();
    atomic_store(&is_over, false);
    for (uint32_t i = first; i <= last; i++) {
        smp_run(&cpus[i], read_on_request, &readers[i]);
        CHECK(read_there(i) == OLD_VALUE, "cpu %u does not see the old page", i);
    }
}

static void stop_readers(uint32_t first, uint32_t last)
{
    atomic_store(&is_over, true);
    for (uint32_t i = first; i <= last; i++) {
        CHECK(smp_wait(&cpus[i]), "cpu %u does not end", i);
    }
    hv_disable();
}

static void flush_slot(enum hv_way way, uint64_t mask)
{
    hv_flush(way, hv_address(hv_window(SLOT)), mask);
}

/* Swaps the page under a range of readers, flushes by the given way, and asks them. Returns how
 * many of them still saw the old page before the call: only those can be wrong after it. */
static unsigned int swap_and_flush(uint32_t first, uint32_t last, enum hv_way way, bool is_global)
{
    uint64_t flags = is_global ? HV_PTE_GLOBAL : HV_PTE;
    bool is_new = read_there(first) == NEW_VALUE;
    uint64_t wanted = is_new ? OLD_VALUE : NEW_VALUE;
    uint64_t mask = (1ull << (last + 1)) - (1ull << first);
    unsigned int stale = 0;

    hv_window_set(SLOT, is_new ? old_page : new_page, flags);
    for (uint32_t i = first; i <= last; i++) {
        stale += read_there(i) != wanted;
    }
    flush_slot(way, mask);
    for (uint32_t i = first; i <= last; i++) {
        uint64_t value = read_there(i);

        CHECK(value == wanted, "way %u: cpu %u reads %lx through the old translation", way, i,
              value);
    }
    return stale;
}

/* All ways, global pages too: a page becomes global with the swap before the one that is
 * checked. */
static void try_all_ways(uint32_t first, uint32_t last)
{
    unsigned int stale = 0;

    for (unsigned int way = 0; way < HV_WAY_COUNT; way++) {
        stale += swap_and_flush(first, last, (enum hv_way)way, false);
    }
    (void)swap_and_flush(first, last, HV_WAY_SPACE, true);
    for (unsigned int way = 0; way < HV_WAY_COUNT; way++) {
        if (!hv_spares_globals((enum hv_way)way)) {
            stale += swap_and_flush(first, last, (enum hv_way)way, true);
        }
    }
    (void)swap_and_flush(first, last, HV_WAY_SPACE, false);
    print_line("MEASURE hv_stale cpus=%u..%u stale_before_flush=%u", first, last, stale);
    CHECK(stale != 0, "no translation was ever stale: this test cannot fail here");
}

static bool lacks_others(void)
{
    if (smp_cpu_count() < 2) {
        test_skip("there is one processor");
        return true;
    }
    return false;
}

void test_hv_flush_spin(void)
{
    if (lacks_others()) {
        return;
    }
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        start_readers(i, i);
        try_all_ways(i, i);
        stop_readers(i, i);
    }
}

void test_hv_flush_all_spin(void)
{
    if (lacks_others()) {
        return;
    }
    start_readers(1, smp_cpu_count() - 1);
    try_all_ways(1, smp_cpu_count() - 1);
    stop_readers(1, smp_cpu_count() - 1);
}

static void flush_self_here(void *arg)
{
    uint64_t mask = 1ull << cpu_this()->index;
    uint64_t before = OLD_VALUE;
    unsigned int stale = 0;

    (void)arg;
    use_globals();
    hv_window_set(SLOT, old_page, HV_PTE);
    insn_invlpg(hv_address(hv_window(SLOT)));
    (void)*hv_window(SLOT);
    for (unsigned int way = 0; way < HV_WAY_COUNT; way++) {
        uint64_t wanted = before == OLD_VALUE ? NEW_VALUE : OLD_VALUE;

        hv_window_set(SLOT, before == OLD_VALUE ? new_page : old_page, HV_PTE);
        stale += *hv_window(SLOT) == before;
        flush_slot((enum hv_way)way, mask);
        CHECK(*hv_window(SLOT) == wanted, "way %u: cpu %u reads through the old translation", way,
              cpu_this()->index);
        before = wanted;
    }
    CHECK(stale != 0, "no translation was ever stale on cpu %u", cpu_this()->index);
}

void test_hv_flush_self(void)
{
    hv_window_init();
    old_page[0] = OLD_VALUE;
    new_page[0] = NEW_VALUE;
    hv_enable();
    CHECK(smp_call_each(flush_self_here, NULL), "a processor does not answer");
    hv_disable();
}

/* ---- Targets that do not run ---- */

static atomic_uint halts;
static atomic_uint wakes;
static uint64_t value_after_halt;

/* A processor halts once, with a translation cached. */
static void halt_masked(void *arg)
{
    (void)arg;
    (void)*hv_window(SLOT);
    atomic_fetch_add(&halts, 1);
    insn_hlt();
    atomic_fetch_add(&wakes, 1);
    value_after_halt = *hv_window(SLOT);
}

/* The interrupt that brought the work may still be pending: it is taken first. */
static void halt_open(void *arg)
{
    (void)arg;
    insn_sti();
    clock_wait_us(DRAIN_US);
    insn_cli();
    (void)*hv_window(SLOT);
    atomic_fetch_add(&halts, 1);
    insn_sti_hlt_cli();
    atomic_fetch_add(&wakes, 1);
    value_after_halt = *hv_window(SLOT);
}

static void flush_by_all_ways(uint64_t mask)
{
    for (unsigned int way = 0; way < HV_WAY_COUNT; way++) {
        flush_slot((enum hv_way)way, mask);
        clock_wait_us(SETTLE_US / 10);
    }
    clock_wait_us(SETTLE_US);
}

/*
 * A kick leaves no trace in a target that is in HLT: it is halted after it, and has got no NMI. A
 * processor keeps the activity state HLT in the VMCS (SDM volume 3, "Saving Non-Register State");
 * Bochs makes it active before the exit, so there the HLT ends.
 */
static void flush_halted(struct cpu *cpu, void (*halt)(void *arg), uint32_t end_command,
                         atomic_uint *end_count)
{
    unsigned int halts_before = atomic_load(&halts);
    unsigned int wakes_before = atomic_load(&wakes);
    unsigned int ends_before = atomic_load(end_count);
    unsigned int nmis_before = atomic_load(&cpu->nmi_count);

    hv_window_set(SLOT, old_page, HV_PTE);
    flush_slot(HV_WAY_SPACE_ALL, 0);
    smp_run(cpu, halt, NULL);
    CHECK(clock_wait_change(&halts, halts_before, ANSWER_US), "cpu %u does not halt", cpu->index);
    clock_wait_us(SETTLE_US);
    CHECK(atomic_load(&wakes) == wakes_before, "cpu %u does not stay halted", cpu->index);
    hv_window_set(SLOT, new_page, HV_PTE);
    flush_by_all_ways(1ull << cpu->index);
    CHECK(machine_is_bochs() || atomic_load(&wakes) == wakes_before, "cpu %u was woken from HLT",
          cpu->index);
    CHECK(atomic_load(&cpu->nmi_count) == nmis_before, "cpu %u got an NMI", cpu->index);
    apic_send(cpu->apic_id, end_command);
    CHECK(clock_wait_change(end_count, ends_before, ANSWER_US) && smp_wait(cpu),
          "cpu %u does not wake", cpu->index);
    CHECK(value_after_halt == NEW_VALUE, "cpu %u reads through the old translation after HLT",
          cpu->index);
}

void test_hv_flush_halted(void)
{
    if (lacks_others()) {
        return;
    }
    start_readers(1, 0);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        flush_halted(&cpus[i], halt_masked, ICR_NMI | ICR_ASSERT, &cpus[i].nmi_count);
        flush_halted(&cpus[i], halt_open, ICR_FIXED | ICR_ASSERT | VECTOR_END,
                     &cpus[i].irq_count[VECTOR_END]);
    }
    stop_readers(1, 0);
}

/* The call must not wait for a processor that waits for SIPI, and must not start it. */
static void flush_waiting(struct cpu *cpu)
{
    unsigned int starts = atomic_load(&cpu->starts);
    uint64_t start = insn_rdtsc();

    for (unsigned int way = 0; way < HV_WAY_COUNT; way++) {
        flush_slot((enum hv_way)way, 1ull << cpu->index);
    }
    CHECK(insn_rdtsc() - start < CALL_US * clock_ticks_per_us(),
          "%u calls to a VP that waits for SIPI took %lu ticks", HV_WAY_COUNT,
          insn_rdtsc() - start);
    CHECK(atomic_load(&cpu->starts) == starts, "cpu %u has started", cpu->index);
}

static void read_once(void *arg)
{
    *(uint64_t *)arg = *hv_window(SLOT);
}

void test_hv_flush_sipi(void)
{
    if (lacks_others()) {
        return;
    }
    start_readers(1, 0);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        uint64_t value = 0;

        hv_window_set(SLOT, old_page, HV_PTE);
        CHECK(smp_call(&cpus[i], read_once, &value), "cpu %u does not answer", i);
        apic_send(cpus[i].apic_id, ICR_INIT | ICR_ASSERT);
        clock_wait_us(SETTLE_US);
        hv_window_set(SLOT, new_page, HV_PTE);
        flush_waiting(&cpus[i]);
        CHECK(smp_start(&cpus[i]), "cpu %u does not start", i);
        CHECK(smp_call(&cpus[i], read_once, &value), "cpu %u does not answer", i);
        CHECK(value == NEW_VALUE, "cpu %u reads %lx after its start", i, value);
    }
    stop_readers(1, 0);
}
