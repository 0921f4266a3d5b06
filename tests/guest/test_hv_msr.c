/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic MSRs, besides those for time and for the hypercall page. TLFS "Virtual Processor". */
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define SWEEP_FIRST    0x40000000u
#define SWEEP_LAST     0x400001FFu
#define WAIT_US        100000u
#define TPR_TRIED      0x20u
#define ISR_OF(vector) (APIC_ISR + 16 * ((vector) / 32))

static const uint32_t offered[] = {
    HV_MSR_GUEST_OS_ID,
    HV_MSR_HYPERCALL,
    HV_MSR_VP_INDEX,
    HV_MSR_VP_RUNTIME,
    HV_MSR_TIME_REF_COUNT,
    HV_MSR_REFERENCE_TSC,
    HV_MSR_TSC_FREQUENCY,
    HV_MSR_APIC_FREQUENCY,
    HV_MSR_EOI,
    HV_MSR_ICR,
    HV_MSR_TPR,
    HV_MSR_VP_ASSIST_PAGE,
    HV_MSR_TSC_INVARIANT,
};

static bool is_offered(uint32_t msr)
{
    for (unsigned int i = 0; i < ARRAY_LEN(offered); i++) {
        if (offered[i] == msr) {
            return true;
        }
    }
    return false;
}

static void expect_undefined(uint32_t msr)
{
    hv_expect_gp_read(msr);
    hv_expect_gp_write(msr, 0);
    hv_expect_gp_write(msr, 1);
}

static void undefined_here(void *arg)
{
    static const uint32_t far_away[] = {0x40001080u, 0x40001084u, 0x40010000u,
                                        0x400FFFFFu, 0x40100000u, 0x3FFFFFFFu};

    (void)arg;
    for (uint32_t msr = SWEEP_FIRST; msr <= SWEEP_LAST; msr++) {
        if (!is_offered(msr)) {
            expect_undefined(msr);
        }
    }
    for (unsigned int i = 0; i < ARRAY_LEN(far_away); i++) {
        expect_undefined(far_away[i]);
    }
}

void test_hv_msr_undefined(void)
{
    CHECK(smp_call_each(undefined_here, NULL), "a processor does not answer");
}

static void read_only_here(void *arg)
{
    static const uint32_t read_only[] = {HV_MSR_VP_INDEX, HV_MSR_VP_RUNTIME, HV_MSR_TIME_REF_COUNT,
                                         HV_MSR_TSC_FREQUENCY, HV_MSR_APIC_FREQUENCY};

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(read_only); i++) {
        uint64_t value = hv_read(read_only[i]);

        hv_expect_gp_write(read_only[i], value);
        hv_expect_gp_write(read_only[i], 0);
        hv_expect_gp_write(read_only[i], ~0ull);
    }
}

void test_hv_msr_read_only(void)
{
    CHECK(smp_call_each(read_only_here, NULL), "a processor does not answer");
}

static void vp_index_here(void *arg)
{
    uint64_t *seen = arg;
    uint64_t index = hv_read(HV_MSR_VP_INDEX);

    REQUIRE(index < smp_cpu_count(), "VP index %lu on cpu %u", index, cpu_this()->index);
    CHECK((*seen & 1ull << index) == 0, "VP index %lu twice", index);
    CHECK(cpu_this()->index != 0 || index == 0, "the boot processor has VP index %lu", index);
    CHECK(insn_cpuid(0x40000101u, 0).edx == index, "our own block says another VP index");
    *seen |= 1ull << index;
}

void test_hv_msr_vp_index(void)
{
    uint64_t seen = 0;

    CHECK(smp_call_each(vp_index_here, &seen), "a processor does not answer");
}

static void vp_runtime_here(void *arg)
{
    uint64_t before = hv_read(HV_MSR_VP_RUNTIME);
    uint64_t time_before = hv_read(HV_MSR_TIME_REF_COUNT);
    uint64_t ran;
    uint64_t passed;

    (void)arg;
    clock_wait_us(5000);
    passed = hv_read(HV_MSR_TIME_REF_COUNT) - time_before;
    ran = hv_read(HV_MSR_VP_RUNTIME) - before;
    CHECK(ran + ran / 100 >= passed && ran <= passed + passed / 50,
          "cpu %u ran %lu units while %lu passed", cpu_this()->index, ran, passed);
}

void test_hv_msr_vp_runtime(void)
{
    CHECK(smp_call_each(vp_runtime_here, NULL), "a processor does not answer");
}

static _Alignas(HV_PAGE_BYTES) volatile uint32_t assist_pages[GUEST_MAX_CPUS][HV_PAGE_BYTES / 4];

static void vp_assist_here(void *arg)
{
    volatile uint32_t *page = assist_pages[cpu_this()->index];
    uint64_t address = hv_address(page);
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;

    (void)arg;
    CHECK(hv_read(HV_MSR_VP_ASSIST_PAGE) == 0, "VP assist page is not 0 at first");
    page[0] = ~0u;
    page[1] = 0x5AA5u;
    hv_write(HV_MSR_VP_ASSIST_PAGE, address | HV_MSR_PAGE_ENABLE);
    CHECK(hv_read(HV_MSR_VP_ASSIST_PAGE) == (address | HV_MSR_PAGE_ENABLE), "reads back as %lx",
          hv_read(HV_MSR_VP_ASSIST_PAGE));
    CHECK(page[0] == 0, "the word of the EOI assist is %x", page[0]);
    CHECK(page[1] == 0x5AA5u, "the word behind it is %x", page[1]);
    hv_expect_gp_write(HV_MSR_VP_ASSIST_PAGE, 1ull << address_bits | HV_MSR_PAGE_ENABLE);
    hv_expect_gp_write(HV_MSR_VP_ASSIST_PAGE, APIC_BASE_ADDRESS | HV_MSR_PAGE_ENABLE);
    CHECK(hv_read(HV_MSR_VP_ASSIST_PAGE) == (address | HV_MSR_PAGE_ENABLE),
          "a refused write changed it");
    hv_write(HV_MSR_VP_ASSIST_PAGE, 0);
    CHECK(hv_read(HV_MSR_VP_ASSIST_PAGE) == 0, "cannot be cleared");
}

void test_hv_msr_vp_assist(void)
{
    CHECK(smp_call_each(vp_assist_here, NULL), "a processor does not answer");
}

static volatile uint32_t isr_before_eoi;
static volatile uint32_t isr_after_eoi;

static void eoi_by_msr(struct trap_frame *frame)
{
    if (frame->vector == VECTOR_TEST) {
        isr_before_eoi = apic_read(ISR_OF(VECTOR_TEST));
        hv_write(HV_MSR_EOI, 0);
        isr_after_eoi = apic_read(ISR_OF(VECTOR_TEST));
    }
}

/* A processor sends itself an interrupt by one MSR and ends it by another. */
static void apic_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    unsigned int before = atomic_load(&cpu->irq_count[VECTOR_TEST]);
    uint64_t icr = (uint64_t)cpu->apic_id << 56 | ICR_ASSERT | VECTOR_TEST;
    uint32_t bit = 1u << VECTOR_TEST % 32;

    (void)arg;
    isr_before_eoi = 0;
    isr_after_eoi = ~0u;
    cpu->irq_hook = eoi_by_msr;
    insn_sti();
    hv_write(HV_MSR_ICR, icr);
    CHECK(clock_wait_change(&cpu->irq_count[VECTOR_TEST], before, WAIT_US),
          "no interrupt by ICR on cpu %u", cpu->index);
    insn_cli();
    cpu->irq_hook = NULL;
    CHECK((hv_read(HV_MSR_ICR) & ~(uint64_t)ICR_PENDING) == icr, "ICR reads as %lx, not %lx",
          hv_read(HV_MSR_ICR), icr);
    CHECK((isr_before_eoi & bit) != 0 && (isr_after_eoi & bit) == 0,
          "EOI: in service %x before, %x after", isr_before_eoi, isr_after_eoi);
    hv_expect_gp_read(HV_MSR_EOI);
    hv_expect_gp_write(HV_MSR_EOI, 1ull << 32);
    hv_write(HV_MSR_TPR, TPR_TRIED);
    CHECK(apic_read(APIC_TPR) == TPR_TRIED && insn_read_cr8() == TPR_TRIED >> 4, "TPR is %x",
          apic_read(APIC_TPR));
    CHECK(hv_read(HV_MSR_TPR) == TPR_TRIED, "TPR reads as %lx", hv_read(HV_MSR_TPR));
    hv_expect_gp_write(HV_MSR_TPR, 0x100);
    hv_expect_gp_write(HV_MSR_TPR, 1ull << 32);
    hv_write(HV_MSR_TPR, 0);
}

/* From each processor to the next. */
static void send_to_next(void *arg)
{
    struct cpu *next = &cpus[(cpu_this()->index + 1) % smp_cpu_count()];

    (void)arg;
    hv_write(HV_MSR_ICR, (uint64_t)next->apic_id << 56 | ICR_ASSERT | VECTOR_TEST);
}

void test_hv_msr_apic(void)
{
    CHECK(smp_call_each(apic_here, NULL), "a processor does not answer");
    for (uint32_t i = 0; i + 1 < smp_cpu_count(); i++) {
        atomic_uint *count = &cpus[i + 1].irq_count[VECTOR_TEST];
        unsigned int before = atomic_load(count);

        CHECK(smp_call(&cpus[i], send_to_next, NULL), "cpu %u does not answer", i);
        CHECK(clock_wait_change(count, before, WAIT_US), "cpu %u cannot interrupt the next", i);
    }
}
