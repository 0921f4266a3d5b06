/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of Microsoft's interface share. */
#include "core/string.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define WINDOW_PML4_INDEX 3u
#define STALL_US          1000000u

_Alignas(HV_PAGE_BYTES) uint8_t hv_pages[2][HV_PAGE_BYTES];

static _Alignas(HV_PAGE_BYTES) uint64_t inputs[GUEST_MAX_CPUS][HV_PAGE_WORDS];
static _Alignas(HV_PAGE_BYTES) uint64_t window_pdpt[HV_PAGE_WORDS];
static _Alignas(HV_PAGE_BYTES) uint64_t window_pd[HV_PAGE_WORDS];
static _Alignas(HV_PAGE_BYTES) volatile uint64_t window_pt[HV_PAGE_WORDS];
static const struct guest_info *machine;
static atomic_uint progress;

void hv_guest_init(const struct guest_info *info)
{
    machine = info;
}

const struct guest_info *hv_machine(void)
{
    return machine;
}

uint32_t hv_option(const char *word, uint32_t fallback)
{
    size_t length = str_length(word, GUEST_OPTIONS_BYTES);
    const char *text = machine->options;
    uint32_t value = 0;

    while (*text != '\0' && memcmp(text, word, length) != 0) {
        text++;
    }
    if (*text == '\0') {
        return fallback;
    }
    for (text += length; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (uint32_t)(*text - '0');
    }
    return value;
}

bool hv_is_on(void)
{
    return insn_cpuid(HV_LEAF_VENDOR, 0).eax >= HV_LEAF_LIMITS;
}

uint64_t hv_read(uint32_t msr)
{
    uint64_t value = 0;
    int vector = fault_rdmsr(msr, &value);

    CHECK(vector == NO_FAULT, "RDMSR %x gives %d on cpu %u", msr, vector, cpu_this()->index);
    return value;
}

void hv_write(uint32_t msr, uint64_t value)
{
    int vector = fault_wrmsr(msr, value);

    CHECK(vector == NO_FAULT, "WRMSR %x, %lx gives %d on cpu %u", msr, value, vector,
          cpu_this()->index);
}

void hv_expect_gp_read(uint32_t msr)
{
    uint64_t value = 0;
    int vector = fault_rdmsr(msr, &value);

    CHECK(vector == HV_GP, "RDMSR %x gives %d, value %lx, and no #GP", msr, vector, value);
}

void hv_expect_gp_write(uint32_t msr, uint64_t value)
{
    int vector = fault_wrmsr(msr, value);

    CHECK(vector == HV_GP, "WRMSR %x, %lx gives %d and no #GP", msr, value, vector);
}

void hv_enable(void)
{
    hv_write(HV_MSR_GUEST_OS_ID, HV_OS_ID);
    hv_write(HV_MSR_HYPERCALL, hv_address(hv_pages[0]) | HV_MSR_PAGE_ENABLE);
}

void hv_disable(void)
{
    hv_write(HV_MSR_HYPERCALL, 0);
    hv_write(HV_MSR_GUEST_OS_ID, 0);
}

uint64_t *hv_input(void)
{
    uint64_t *input = inputs[cpu_this()->index];

    memset(input, 0, HV_PAGE_BYTES);
    return input;
}

struct call {
    uint64_t code, control, input, result;
};

static void do_call(void *arg)
{
    struct call *call = arg;

    call->result = hv_call_at(call->code, call->control, call->input);
}

struct hv_outcome hv_try(uint64_t code, uint64_t control, uint64_t input)
{
    struct call call = {code, control, input, ~0ull};
    struct fault fault = fault_catch(do_call, &call);

    return (struct hv_outcome){fault.vector, fault.rip, call.result};
}

uint64_t hv_call(uint64_t control, uint64_t input)
{
    struct hv_outcome outcome = hv_try(hv_address(hv_pages[0]), control, input);

    CHECK(outcome.vector == NO_FAULT, "call %lx gives exception %d on cpu %u", control,
          outcome.vector, cpu_this()->index);
    return outcome.result;
}

void hv_progress(void)
{
    atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
}

bool hv_run_all(void (*fn)(void *arg), void *arg)
{
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        smp_run(&cpus[i], fn, arg);
    }
    fn(arg);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        while (atomic_load(&cpus[i].work) != NULL) {
            unsigned int before = atomic_load(&progress);
            uint64_t start = insn_rdtsc();

            while (atomic_load(&cpus[i].work) != NULL && atomic_load(&progress) == before) {
                if (insn_rdtsc() - start > STALL_US * clock_ticks_per_us()) {
                    test_fail("cpu %u stalls", i);
                    return false;
                }
                insn_pause();
            }
        }
    }
    return true;
}

void hv_window_init(void)
{
    uint64_t *pml4 = (uint64_t *)(uintptr_t)paging_root();

    window_pd[0] = hv_address(window_pt) | HV_PTE;
    window_pdpt[0] = hv_address(window_pd) | HV_PTE;
    pml4[WINDOW_PML4_INDEX] = hv_address(window_pdpt) | HV_PTE;
}

void hv_window_set(unsigned int slot, const volatile void *page, uint64_t flags)
{
    window_pt[slot] = hv_address(page) | flags;
}
