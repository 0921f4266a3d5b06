/* SPDX-License-Identifier: BSD-2-Clause */
/* Reference time and frequencies. TLFS "Partition Reference Time Enlightenment". */
#include "core/string.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_cpuid_insn.h"
#include "tests/guest/test_hv.h"

#define MSR_TSC        0x10u
#define MSR_TSC_ADJUST 0x3Bu
#define TSC_JUMP       (1ull << 36)

#define UNITS_PER_SECOND 10000000ull
#define PM_TIMER         0xB008u
#define PM_TIMER_HZ      3579545ull
#define PM_TIMER_MASK    0xFFFFFFu
#define PM_TIMER_TICKS   (PM_TIMER_HZ / 20)
#define APIC_WAIT_US     20000u
#define READS            200u

#define LEAF_POWER        0x80000007u
#define EDX_INVARIANT_TSC (1u << 8)

/* TLFS: the page. */
struct reference_page {
    uint32_t sequence;
    uint32_t reserved1;
    uint64_t scale;
    int64_t offset;
    uint64_t reserved2[509];
};

static _Alignas(HV_PAGE_BYTES) volatile struct reference_page page;

/* a and b differ by less than 1 in `parts`. */
static bool is_near(uint64_t a, uint64_t b, uint64_t parts)
{
    uint64_t difference = a > b ? a - b : b - a;

    return difference <= b / parts;
}

static atomic_flag count_lock = ATOMIC_FLAG_INIT;
static uint64_t count_last;

static void count_rises_here(void *arg)
{
    (void)arg;
    for (unsigned int i = 0; i < READS; i++) {
        uint64_t count;

        while (atomic_flag_test_and_set(&count_lock)) {
            insn_pause();
        }
        count = insn_rdmsr(HV_MSR_TIME_REF_COUNT);
        CHECK(count > count_last, "count %lu after %lu on cpu %u", count, count_last,
              cpu_this()->index);
        count_last = count;
        atomic_flag_clear(&count_lock);
        hv_progress();
    }
}

static void count_keeps_pace_here(void *arg)
{
    uint64_t tsc = insn_rdtsc();
    uint64_t count = hv_read(HV_MSR_TIME_REF_COUNT);
    uint64_t hz = hv_read(HV_MSR_TSC_FREQUENCY);

    (void)arg;
    REQUIRE(hz > UNITS_PER_SECOND, "TSC frequency %lu", hz);
    clock_wait_us(10000);
    tsc = insn_rdtsc() - tsc;
    count = hv_read(HV_MSR_TIME_REF_COUNT) - count;
    CHECK(is_near(count, tsc * UNITS_PER_SECOND / hz, 100), "%lu units in %lu TSC ticks of %lu Hz",
          count, tsc, hz);
}

void test_hv_time_count(void)
{
    count_last = 0;
    (void)hv_run_all(count_rises_here, NULL);
    CHECK(smp_call_each(count_keeps_pace_here, NULL), "a processor does not answer");
}

/* The frequency of the TSC by the ACPI timer of the board. */
static uint64_t tsc_hz_by_pm_timer(void)
{
    uint32_t start = insn_in32(PM_TIMER);
    uint64_t tsc = insn_rdtsc();
    uint32_t ticks;

    do {
        ticks = (insn_in32(PM_TIMER) - start) & PM_TIMER_MASK;
    } while (ticks < PM_TIMER_TICKS);
    return (insn_rdtsc() - tsc) * PM_TIMER_HZ / ticks;
}

static uint64_t apic_hz_by_tsc(uint64_t tsc_hz)
{
    uint32_t count;
    uint64_t tsc;

    apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED);
    apic_write(APIC_TIMER_DIV, APIC_TIMER_DIV_1);
    apic_write(APIC_TIMER_INIT, ~0u);
    count = apic_read(APIC_TIMER_COUNT);
    tsc = insn_rdtsc();
    clock_wait_us(APIC_WAIT_US);
    count -= apic_read(APIC_TIMER_COUNT);
    tsc = insn_rdtsc() - tsc;
    apic_write(APIC_TIMER_INIT, 0);
    return count * tsc_hz / tsc;
}

static void frequencies_here(void *arg)
{
    const uint64_t *wanted = arg;

    CHECK(hv_read(HV_MSR_TSC_FREQUENCY) == wanted[0], "another TSC frequency on cpu %u",
          cpu_this()->index);
    CHECK(hv_read(HV_MSR_APIC_FREQUENCY) == wanted[1], "another APIC frequency on cpu %u",
          cpu_this()->index);
}

void test_hv_time_frequencies(void)
{
    uint64_t shown[2] = {hv_read(HV_MSR_TSC_FREQUENCY), hv_read(HV_MSR_APIC_FREQUENCY)};
    uint64_t tsc_hz = tsc_hz_by_pm_timer();
    uint64_t apic_hz = apic_hz_by_tsc(tsc_hz);

    CHECK(is_near(shown[0], tsc_hz, 100), "TSC: %lu Hz shown, %lu measured", shown[0], tsc_hz);
    CHECK(is_near(shown[1], apic_hz, 100), "APIC timer: %lu Hz shown, %lu measured", shown[1],
          apic_hz);
    CHECK(smp_call_each(frequencies_here, shown), "a processor does not answer");
}

/* 10^7 * 2^64 / hz, bit by bit. */
static uint64_t expected_scale(uint64_t hz)
{
    uint64_t rest = UNITS_PER_SECOND % hz;
    uint64_t scale = 0;

    for (unsigned int i = 0; i < 64; i++) {
        rest *= 2;
        scale *= 2;
        if (rest >= hz) {
            rest -= hz;
            scale |= 1;
        }
    }
    return scale;
}

static uint64_t page_time(void)
{
    return (uint64_t)(((unsigned __int128)insn_rdtsc() * page.scale) >> 64) + (uint64_t)page.offset;
}

/* The page's time lies between two readings of the MSR; rounding may take a unit, and readings
 * of the MSR may run ahead by as many as there were in one unit. */
static void expect_page_time(void *arg)
{
    uint64_t before = hv_read(HV_MSR_TIME_REF_COUNT);
    uint64_t time = page_time();
    uint64_t after;

    (void)arg;
    clock_wait_us(2);
    after = hv_read(HV_MSR_TIME_REF_COUNT);
    CHECK(time + 20 >= before && time <= after, "cpu %u: page %lu, MSR %lu before, %lu after",
          cpu_this()->index, time, before, after);
}

void test_hv_time_page(void)
{
    uint64_t address = hv_address(&page);
    uint64_t hz = hv_read(HV_MSR_TSC_FREQUENCY);

    CHECK(hv_read(HV_MSR_REFERENCE_TSC) == 0, "the register is not 0 at first");
    memset((void *)(uintptr_t)&page, 0xA5, sizeof(page));
    hv_write(HV_MSR_REFERENCE_TSC, address | HV_MSR_PAGE_ENABLE);
    CHECK(hv_read(HV_MSR_REFERENCE_TSC) == (address | HV_MSR_PAGE_ENABLE), "reads back as %lx",
          hv_read(HV_MSR_REFERENCE_TSC));
    CHECK(page.sequence != 0 && page.sequence != ~0u, "sequence %x", page.sequence);
    CHECK(page.reserved1 == 0 && page.reserved2[0] == 0 && page.reserved2[508] == 0,
          "reserved fields are not 0");
    CHECK(is_near(page.scale, expected_scale(hz), 1000), "scale %lx", page.scale);
    CHECK(smp_call_each(expect_page_time, NULL), "a processor does not answer");
    hv_write(HV_MSR_REFERENCE_TSC, 0);
    CHECK(page.sequence == 0xA5A5A5A5u && page.scale == 0xA5A5A5A5A5A5A5A5ull,
          "the memory under the page does not show again");
}

static void set_adjust_here(void *arg)
{
    insn_wrmsr(MSR_TSC_ADJUST, *(const uint64_t *)arg);
}

static void write_tsc_here(void *arg)
{
    (void)arg;
    insn_wrmsr(MSR_TSC, insn_rdtsc() + TSC_JUMP);
}

static void read_count(void *arg)
{
    *(uint64_t *)arg = hv_read(HV_MSR_TIME_REF_COUNT);
}

/* Reference time goes on as if nothing had happened while one TSC is ahead of the others. */
static void tsc_apart(struct cpu *cpu, void (*change)(void *arg), void *arg)
{
    uint64_t count = hv_read(HV_MSR_TIME_REF_COUNT);
    uint64_t there = 0;
    uint64_t here;

    CHECK(smp_call(cpu, change, arg), "cpu %u does not answer", cpu->index);
    CHECK(page.sequence == 0, "sequence %u though TSCs differ", page.sequence);
    CHECK(smp_call(cpu, read_count, &there), "cpu %u does not answer", cpu->index);
    here = hv_read(HV_MSR_TIME_REF_COUNT);
    CHECK(count < there && there < here && here - count < UNITS_PER_SECOND / 10,
          "count %lu, on the other cpu %lu, then %lu", count, there, here);
}

void test_hv_time_tsc_write(void)
{
    struct cpu *cpu = &cpus[smp_cpu_count() - 1];
    uint64_t adjust;
    uint64_t ahead;
    uint32_t before;

    if (smp_cpu_count() < 2 || !cpuid_shows(7, 0, 1, 1)) {
        test_skip("needs two processors and IA32_TSC_ADJUST");
        return;
    }
    adjust = insn_rdmsr(MSR_TSC_ADJUST); /* the same on all: TSCs are synchronous */
    hv_write(HV_MSR_REFERENCE_TSC, hv_address(&page) | HV_MSR_PAGE_ENABLE);
    before = page.sequence;
    CHECK(before != 0, "the page is not valid at first");
    ahead = adjust + TSC_JUMP;
    tsc_apart(cpu, set_adjust_here, &ahead);
    CHECK(smp_call(cpu, set_adjust_here, &adjust), "cpu %u does not answer", cpu->index);
    CHECK(page.sequence != 0 && page.sequence != before, "sequence %u, %u before", page.sequence,
          before);
    CHECK(smp_call_each(expect_page_time, NULL), "a processor does not answer");
    before = page.sequence;
    tsc_apart(cpu, write_tsc_here, NULL);
    CHECK(smp_call(cpu, set_adjust_here, &adjust), "cpu %u does not answer", cpu->index);
    CHECK(page.sequence != 0 && page.sequence != before,
          "sequence %u, %u before, though the write was undone", page.sequence, before);
    CHECK(smp_call_each(expect_page_time, NULL), "a processor does not answer");
    hv_write(HV_MSR_REFERENCE_TSC, 0);
}

static void expect_invariant(void *arg)
{
    bool is_wanted = *(const bool *)arg;
    bool is_shown = (insn_cpuid(LEAF_POWER, 0).edx & EDX_INVARIANT_TSC) != 0;

    CHECK(is_shown == is_wanted, "invariant TSC is %s on cpu %u", is_shown ? "shown" : "hidden",
          cpu_this()->index);
}

void test_hv_time_invariant(void)
{
    bool is_wanted = false;

    CHECK(hv_read(HV_MSR_TSC_INVARIANT) == 0, "the register is not 0 at first");
    CHECK(smp_call_each(expect_invariant, &is_wanted), "a processor does not answer");
    hv_expect_gp_write(HV_MSR_TSC_INVARIANT, 2);
    hv_expect_gp_write(HV_MSR_TSC_INVARIANT, 1ull << 32 | 1);
    hv_write(HV_MSR_TSC_INVARIANT, 0);
    CHECK(smp_call_each(expect_invariant, &is_wanted), "a processor does not answer");
    hv_write(HV_MSR_TSC_INVARIANT, 1);
    is_wanted = true;
    CHECK(hv_read(HV_MSR_TSC_INVARIANT) == 1, "the register does not keep 1");
    CHECK(smp_call_each(expect_invariant, &is_wanted), "a processor does not answer");
    hv_expect_gp_write(HV_MSR_TSC_INVARIANT, 0);
    hv_write(HV_MSR_TSC_INVARIANT, 1);
}
