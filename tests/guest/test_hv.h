/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_HV_H
#define GUEST_TEST_HV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/guest_info.h"
#include "tests/guest/runtime/traps.h"

/*
 * Microsoft's interface as a guest sees it; numbers are those of the Hypervisor Top Level
 * Functional Specification (TLFS), written down here once more so that no mistake is shared with
 * hyperv/.
 */

#define HV_LEAF_VENDOR   0x40000000u
#define HV_LEAF_VERSION  0x40000002u
#define HV_LEAF_FEATURES 0x40000003u
#define HV_LEAF_HINTS    0x40000004u
#define HV_LEAF_LIMITS   0x40000005u
#define HV_LEAF_HARDWARE 0x40000006u

#define HV_MSR_GUEST_OS_ID    0x40000000u
#define HV_MSR_HYPERCALL      0x40000001u
#define HV_MSR_VP_INDEX       0x40000002u
#define HV_MSR_VP_RUNTIME     0x40000010u
#define HV_MSR_TIME_REF_COUNT 0x40000020u
#define HV_MSR_REFERENCE_TSC  0x40000021u
#define HV_MSR_TSC_FREQUENCY  0x40000022u
#define HV_MSR_APIC_FREQUENCY 0x40000023u
#define HV_MSR_EOI            0x40000070u
#define HV_MSR_ICR            0x40000071u
#define HV_MSR_TPR            0x40000072u
#define HV_MSR_VP_ASSIST_PAGE 0x40000073u
#define HV_MSR_TSC_INVARIANT  0x40000118u
#define HV_MSR_PAGE_ENABLE    1ull
#define HV_MSR_PAGE_LOCKED    2ull

#define HV_STATUS_SUCCESS           0u
#define HV_STATUS_INVALID_CODE      2u
#define HV_STATUS_INVALID_INPUT     3u
#define HV_STATUS_INVALID_ALIGNMENT 4u
#define HV_STATUS_INVALID_PARAMETER 5u
#define HV_STATUS_ACCESS_DENIED     6u

#define HV_FLUSH_SPACE    0x02ull
#define HV_FLUSH_LIST     0x03ull
#define HV_FLUSH_SPACE_EX 0x13ull
#define HV_FLUSH_LIST_EX  0x14ull

#define HV_FAST              (1ull << 16)
#define HV_BANKS(count)      ((uint64_t)(count) << 17)
#define HV_REPS(count)       ((uint64_t)(count) << 32)
#define HV_REP_START(number) ((uint64_t)(number) << 48)

#define HV_FLAG_ALL_PROCESSORS 1ull
#define HV_FLAG_ALL_SPACES     2ull
#define HV_FLAG_NON_GLOBAL     4ull
#define HV_FLAG_EXTENDED       8ull

/* Of an extended range. */
#define HV_RANGE_LARGE (1ull << 11)
#define HV_RANGE_1_GIB (1ull << 12)
#define HV_2_MIB       0x200000ull
#define HV_1_GIB       0x40000000ull

/* Input blocks, in words of 8 bytes. */
enum { HV_SPACE, HV_FLAGS, HV_MASK, HV_LIST };
enum { HV_EX_SPACE, HV_EX_FLAGS, HV_EX_FORMAT, HV_EX_BANK_MASK, HV_EX_BANKS };

#define HV_OS_ID      0x8100000600000000ull /* an open-source system, Linux 6 */
#define HV_PAGE_BYTES 4096u
#define HV_PAGE_WORDS 512u

#define HV_GP ((int)VECTOR_GP)
#define HV_UD ((int)VECTOR_UD)

/* Before the tests run; keeps a pointer. */
void hv_guest_init(const struct guest_info *info);
const struct guest_info *hv_machine(void);

/* The number after a word like "calls=" of the load options, or fallback. */
uint32_t hv_option(const char *word, uint32_t fallback);

/* Whether CPUID shows the interface. */
bool hv_is_on(void);

/* Address of what is identity-mapped. */
static inline uint64_t hv_address(const volatile void *pointer)
{
    return (uintptr_t)pointer;
}

/* RDMSR, WRMSR; a fault fails the current test (0 is read). */
uint64_t hv_read(uint32_t msr);
void hv_write(uint32_t msr, uint64_t value);

/* Fails the current test unless the access ends with #GP. */
void hv_expect_gp_read(uint32_t msr);
void hv_expect_gp_write(uint32_t msr, uint64_t value);

/* Sets OS id and hypercall page, as a kernel does at its start; hv_call works from then on. */
void hv_enable(void);
void hv_disable(void);

/* Two pages of RAM; hv_enable puts the hypercall page over the first. */
extern uint8_t hv_pages[2][HV_PAGE_BYTES];

/* The input page of the processor that calls, zeroed. */
uint64_t *hv_input(void);

/* A call whose parameters lie at input, through the hypercall page: the result value. A fault
 * fails the current test. */
uint64_t hv_call(uint64_t control, uint64_t input);

/* A call through any code: the vector of its fault or NO_FAULT, and the result value. */
struct hv_outcome {
    int vector;
    uint64_t rip; /* of the fault */
    uint64_t result;
};

struct hv_outcome hv_try(uint64_t code, uint64_t control, uint64_t input);

/* test_hv_insn.asm */
void hv_direct(void); /* VMCALL, RET */
uint64_t hv_call_at(uint64_t code, uint64_t control, uint64_t input);
/* A fast call: 14 words of input in RDX, R8 and XMM0 to XMM5. Returns ~0 when the call has
 * changed one of these. */
uint64_t hv_fast_call(uint64_t code, uint64_t control, const uint64_t *input);
/* The ticks of such a call; hv_nothing is code that returns at once, for what the measuring
 * takes. */
uint64_t hv_time_call(uint64_t code, uint64_t control, uint64_t input, uint64_t output);
void hv_nothing(void);

struct hv_compat_registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi;
};

void hv_compat_call(void *registers);

/* Runs fn(arg) on all processors at once, also on the one that calls. The current test fails,
 * and false is returned, when one does not come back after the caller has: hv_progress of the
 * others is watched, a second without any is too long. */
bool hv_run_all(void (*fn)(void *arg), void *arg);
void hv_progress(void);

/* 4 KiB pages that the tests map as they like, at HV_WINDOW + slot * 4 KiB, on all processors. */
#define HV_WINDOW     0x18000000000ull /* fourth PML4 entry */
#define HV_PTE        0x03ull          /* present, writable */
#define HV_PTE_GLOBAL 0x103ull

void hv_window_init(void);
void hv_window_set(unsigned int slot, const volatile void *page, uint64_t flags);

static inline volatile uint64_t *hv_window(unsigned int slot)
{
    return (volatile uint64_t *)(uintptr_t)(HV_WINDOW + slot * (uint64_t)HV_PAGE_BYTES);
}

/* Tests of the group hv. */
void test_hv_leaves(void);
void test_hv_msr_undefined(void);
void test_hv_msr_read_only(void);
void test_hv_msr_vp_index(void);
void test_hv_msr_vp_runtime(void);
void test_hv_msr_vp_assist(void);
void test_hv_msr_apic(void);
void test_hv_time_count(void);
void test_hv_time_frequencies(void);
void test_hv_time_page(void);
void test_hv_time_tsc_write(void);
void test_hv_time_invariant(void);
void test_hv_page_enable(void);
void test_hv_page_move(void);
void test_hv_page_write(void);
void test_hv_page_lock(void);
void test_hv_calls_codes(void);
void test_hv_calls_shape(void);
void test_hv_calls_memory(void);
void test_hv_calls_parameters(void);
void test_hv_calls_undefined(void);
void test_hv_calls_compat(void);
void test_hv_calls_good(void);
void test_hv_flush_spin(void);
void test_hv_flush_self(void);
void test_hv_flush_all_spin(void);
void test_hv_flush_halted(void);
void test_hv_flush_sipi(void);
void test_hv_storm_pairs(void);
void test_hv_storm_two(void);
void test_hv_storm_all(void);

#endif
