/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercalls that are refused. TLFS "Hypercall Interface". The order of the checks is the one
 * that the interface promises: mode, reserved bits, code, privilege, shape, memory, parameters. */
#include "core/string.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"
#include "tests/guest/user.h"

#define INPUT_WORDS 6u

/* A call with its first words of input, and the whole result value. */
struct sample {
    uint64_t control;
    uint64_t words[INPUT_WORDS];
    uint64_t result;
};

static void expect_result(uint64_t control, uint64_t address, uint64_t wanted)
{
    uint64_t result = hv_call(control, address);

    CHECK(result == wanted, "call %lx gives %lx, not %lx, on cpu %u", control, result, wanted,
          cpu_this()->index);
}

static void run_samples(const struct sample *samples, unsigned int count)
{
    for (unsigned int i = 0; i < count; i++) {
        uint64_t *input = hv_input();

        memcpy(input, samples[i].words, sizeof(samples[i].words));
        expect_result(samples[i].control, hv_address(input), samples[i].result);
    }
}

struct sample_list {
    const struct sample *samples;
    unsigned int count;
};

static void run_list_here(void *arg)
{
    const struct sample_list *list = arg;

    run_samples(list->samples, list->count);
}

static void run_everywhere(const struct sample *samples, unsigned int count)
{
    struct sample_list list = {samples, count};

    hv_enable();
    CHECK(smp_call_each(run_list_here, &list), "a processor does not answer");
    hv_disable();
}

void test_hv_calls_codes(void)
{
    static const struct sample samples[] = {
        {0xBEEF, {0}, HV_STATUS_INVALID_CODE},
        {0xBEEF | HV_FAST, {0}, HV_STATUS_INVALID_CODE},
        {0xBEEF | HV_REPS(3) | HV_REP_START(3) | HV_BANKS(9), {0}, HV_STATUS_INVALID_CODE},
        {0x0000, {0}, HV_STATUS_INVALID_CODE},
        {0x0001, {0}, HV_STATUS_INVALID_CODE},
        {0xFFFF, {0}, HV_STATUS_INVALID_CODE},
        /* Known, but nothing shows them. */
        {0x0008 | HV_FAST, {0}, HV_STATUS_ACCESS_DENIED},
        {0x000B | HV_FAST, {0}, HV_STATUS_ACCESS_DENIED},
        {0x0015, {0}, HV_STATUS_ACCESS_DENIED},
        {0x005C, {0}, HV_STATUS_ACCESS_DENIED},
        {0x005D | HV_FAST, {0}, HV_STATUS_ACCESS_DENIED},
        {0x8001, {0}, HV_STATUS_ACCESS_DENIED},
        /* Refused before their shape is looked at. */
        {0x000B | HV_REPS(1), {0}, HV_STATUS_ACCESS_DENIED},
    };

    run_everywhere(samples, ARRAY_LEN(samples));
}

void test_hv_calls_shape(void)
{
    static const struct sample samples[] = {
        {HV_FLUSH_SPACE | 1ull << 27, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 30, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 31, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 44, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 47, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 60, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | 1ull << 63, {0}, HV_STATUS_INVALID_INPUT},
        {0xBEEF | 1ull << 63, {0}, HV_STATUS_INVALID_INPUT},
        {0x005C | 1ull << 44, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | HV_REPS(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | HV_REP_START(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE_EX | HV_REPS(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST | HV_REPS(3) | HV_REP_START(3), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST | HV_REPS(3) | HV_REP_START(4), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST_EX, {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST_EX | HV_REPS(1) | HV_REP_START(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE | HV_BANKS(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST | HV_BANKS(1) | HV_REPS(1), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST | HV_REPS(510), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST_EX | HV_REPS(509), {0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST_EX | HV_BANKS(1) | HV_REPS(508), {0, 0, 0, 1}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE_EX | HV_BANKS(509), {0}, HV_STATUS_INVALID_INPUT},
        /* More than fits into the registers of a fast call. */
        {HV_FLUSH_LIST | HV_FAST | HV_REPS(12), {0}, HV_STATUS_INVALID_INPUT},
        /* The variable header is not as long as the mask of banks says. */
        {HV_FLUSH_SPACE_EX, {0, 0, 0, 1}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE_EX | HV_BANKS(1), {0, 0, 0, 0}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE_EX | HV_BANKS(1), {0, 0, 0, 3}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_SPACE_EX | HV_BANKS(2), {0, 0, 0, 1ull << 63}, HV_STATUS_INVALID_INPUT},
        {HV_FLUSH_LIST_EX | HV_BANKS(2) | HV_REPS(1), {0, 0, 0, 1}, HV_STATUS_INVALID_INPUT},
    };

    run_everywhere(samples, ARRAY_LEN(samples));
}

void test_hv_calls_parameters(void)
{
    static const struct sample samples[] = {
        {HV_FLUSH_SPACE, {0, 0x08, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE, {0, 0x10, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE, {0, 0x100, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE, {0, 1ull << 63 | 1, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_LIST | HV_REPS(1), {0, 0x18, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_LIST | HV_REPS(1), {0, 0x21, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE_EX, {0, 0x08, 1}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE_EX, {0, 0, 2}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_SPACE_EX, {0, 0, ~0ull}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_LIST_EX | HV_REPS(1), {0, 0, 2}, HV_STATUS_INVALID_PARAMETER},
        {HV_FLUSH_LIST_EX | HV_REPS(1), {0, 0x10, 1}, HV_STATUS_INVALID_PARAMETER},
    };

    run_everywhere(samples, ARRAY_LEN(samples));
}

/* The firmware calls our memory reserved; all its pages are one, so that what is written to the
 * first is seen in the second. Returns such a page or 0. */
static uint64_t find_hidden_page(void)
{
    const struct guest_info *machine = hv_machine();

    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        uint64_t start = machine->reserved[i].start;
        volatile uint64_t *first;
        volatile uint64_t *second;
        bool is_one;

        if (machine->reserved[i].bytes < 2 * HV_PAGE_BYTES ||
            start % PAGING_LARGE_BYTES == PAGING_LARGE_BYTES - HV_PAGE_BYTES) {
            continue;
        }
        first = paging_window(start);
        second = first + HV_PAGE_WORDS;
        *second = 0;
        *first = 1;
        is_one = *second == 1;
        *first = 0;
        if (is_one) {
            return start;
        }
    }
    return 0;
}

void test_hv_calls_memory(void)
{
    uint64_t input = hv_address(hv_input());
    uint64_t hidden = find_hidden_page();
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;
    uint64_t above_ram = (hv_machine()->ram_top + PAGING_LARGE_BYTES) & ~(PAGING_LARGE_BYTES - 1);
    const struct {
        uint64_t control, address;
    } bad[] = {
        {HV_FLUSH_SPACE, input + 1},
        {HV_FLUSH_SPACE, input + 4},
        {HV_FLUSH_SPACE, input + HV_PAGE_BYTES - 16},
        {HV_FLUSH_SPACE_EX, input + HV_PAGE_BYTES - 24},
        {HV_FLUSH_LIST | HV_REPS(509), input + 16},
        {HV_FLUSH_LIST | HV_REPS(509) | HV_REP_START(508), input + 16},
        {HV_FLUSH_SPACE, above_ram < 0xFEE00000u ? above_ram : 1ull << 33},
        {HV_FLUSH_SPACE, 1ull << (address_bits - 1)},
        {HV_FLUSH_SPACE, 1ull << address_bits},
        {HV_FLUSH_SPACE, 1ull << 63 | input},
        {HV_FLUSH_SPACE, ~0ull - 7},
        {HV_FLUSH_SPACE, APIC_BASE_ADDRESS},
        {HV_FLUSH_SPACE, 0xFEC00000u},
        {HV_FLUSH_SPACE, hv_address(hv_pages[0])},
        {HV_FLUSH_SPACE, hv_address(hv_pages[0]) + 0x800},
        {HV_FLUSH_SPACE, hidden},
    };

    CHECK(hidden != 0, "no hidden memory was found");
    hv_enable();
    for (unsigned int i = 0; i < ARRAY_LEN(bad); i++) {
        uint64_t result = hv_call(bad[i].control, bad[i].address);

        CHECK(result == HV_STATUS_INVALID_ALIGNMENT, "call %lx with input at %lx gives %lx",
              bad[i].control, bad[i].address, result);
    }
    /* The last that fit. */
    expect_result(HV_FLUSH_SPACE, input + HV_PAGE_BYTES - 24, 0);
    expect_result(HV_FLUSH_LIST | HV_REPS(509), input, HV_REPS(509));
    hv_disable();
}

static void undefined_here(void *arg)
{
    uint64_t input = hv_address(hv_input());

    (void)arg;
    CHECK(user_run(user_vmcall) == HV_UD, "VMCALL at CPL 3 gives no #UD");
    expect_result(HV_FLUSH_SPACE, input, 0);
}

void test_hv_calls_undefined(void)
{
    hv_enable();
    CHECK(smp_call_each(undefined_here, NULL), "a processor does not answer");
    hv_disable();
}

#define HIGH 0xDEADBEEF00000000ull /* in the upper halves, which do not count */

static void expect_compat(uint64_t control, uint64_t address, uint64_t wanted)
{
    struct hv_compat_registers r = {
        .rax = HIGH | (uint32_t)control,
        .rdx = HIGH | control >> 32,
        .rcx = HIGH | (uint32_t)address,
        .rbx = HIGH | address >> 32,
        .rsi = 0x51515151u,
        .rdi = 0xD1D1D1D1u,
    };
    int vector = fault_vector_of(hv_compat_call, &r);

    CHECK(vector == NO_FAULT && (uint32_t)r.rax == (uint32_t)wanted &&
              (uint32_t)r.rdx == wanted >> 32,
          "32-bit call %lx gives exception %d, EDX:EAX %x:%x", control, vector, (uint32_t)r.rdx,
          (uint32_t)r.rax);
    CHECK((uint32_t)r.rcx == (uint32_t)address && (uint32_t)r.rbx == address >> 32 &&
              (uint32_t)r.rsi == 0x51515151u && (uint32_t)r.rdi == 0xD1D1D1D1u,
          "32-bit call %lx changes EBX, ECX, ESI or EDI", control);
}

static void compat_here(void *arg)
{
    uint64_t *input = hv_input();
    uint64_t address = hv_address(input);
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;

    (void)arg;
    input[HV_MASK] = 1;
    expect_compat(0xBEEF, 0, HV_STATUS_INVALID_CODE);
    expect_compat(HV_FLUSH_SPACE, address, 0);
    expect_compat(HV_FLUSH_SPACE, address + 4, HV_STATUS_INVALID_ALIGNMENT);
    expect_compat(HV_FLUSH_SPACE, 1ull << address_bits | address, HV_STATUS_INVALID_ALIGNMENT);
    expect_compat(HV_FLUSH_LIST | HV_REPS(3), address, HV_REPS(3));
    expect_compat(HV_FLUSH_LIST, address, HV_STATUS_INVALID_INPUT);
    input[HV_FLAGS] = 0x10;
    expect_compat(HV_FLUSH_SPACE, address, HV_STATUS_INVALID_PARAMETER);
}

void test_hv_calls_compat(void)
{
    hv_enable();
    CHECK(smp_call_each(compat_here, NULL), "a processor does not answer");
    hv_disable();
}

/* Registers that are no part of the call stay. */
static void registers_here(void *arg)
{
    struct hostile_registers before = {
        .rax = 0xA,
        .rcx = HV_FLUSH_LIST | HV_REPS(2),
        .rdx = hv_address(hv_input()),
        .rbx = 0xB,
        .rbp = 0xC,
        .rsi = 0xD,
        .rdi = 0xE,
        .r8 = 8,
        .r9 = 9,
        .r10 = 10,
        .r11 = 11,
        .r12 = 12,
        .r13 = 13,
        .r14 = 14,
        .r15 = 15,
        .code = hv_address(hv_pages[0]),
    };
    struct hostile_registers after = before;

    (void)arg;
    CHECK(fault_vector_of(hostile_call, &after) == NO_FAULT, "the call faults");
    CHECK(after.rax == HV_REPS(2), "result %lx", after.rax);
    after.rax = before.rax;
    CHECK(memcmp(&before, &after, sizeof(before)) == 0, "a register other than RAX has changed");
}

void test_hv_calls_good(void)
{
#define HOLE 0xAAAAAAAAAAAAA000ull /* not canonical */
    static const struct sample samples[] = {
        {HV_FLUSH_SPACE, {0, 0, 1}, 0},
        {HV_FLUSH_SPACE, {0x1000, 0, ~1ull}, 0},
        {HV_FLUSH_SPACE, {0, 0, ~0ull}, 0},
        {HV_FLUSH_SPACE, {0, 0, 0}, 0},
        {HV_FLUSH_SPACE, {0, HV_FLAG_ALL_PROCESSORS, 0}, 0},
        {HV_FLUSH_SPACE, {~0ull, HV_FLAG_ALL_SPACES, 1}, 0},
        {HV_FLUSH_SPACE, {0, HV_FLAG_NON_GLOBAL, 3}, 0},
        {HV_FLUSH_SPACE, {0, 7, 0}, 0},
        {HV_FLUSH_LIST | HV_REPS(1), {0, 0, 1, 0x1000}, HV_REPS(1)},
        {HV_FLUSH_LIST | HV_REPS(1), {0, 0, 3, HOLE}, HV_REPS(1)},
        {HV_FLUSH_LIST | HV_REPS(3), {0, 0, ~0ull, HOLE, 0x1FFF, ~0ull}, HV_REPS(3)},
        {HV_FLUSH_LIST | HV_REPS(3) | HV_REP_START(2), {0, 0, 1, HOLE, HOLE, 1}, HV_REPS(3)},
        {HV_FLUSH_LIST | HV_REPS(2), {0, 7, 0, 0x7FFFFFFFFFFF, 0x800000000FFF}, HV_REPS(2)},
        {HV_FLUSH_LIST | HV_REPS(509), {0, 0, 3}, HV_REPS(509)},
        {HV_FLUSH_SPACE_EX, {0, 0, 0, 0}, 0},
        {HV_FLUSH_SPACE_EX, {0, 0, 1, 0}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(2), {0, 0, 1, 0}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(1), {0, 0, 0, 1, ~0ull}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(1), {0, 0, 0, 1ull << 63, ~0ull}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(2), {0, 0, 0, 3, ~0ull, ~0ull}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(2), {0, 0, 0, 1ull << 40 | 1, 0, 1}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(1), {0, HV_FLAG_ALL_PROCESSORS, 0, 1, 0}, 0},
        {HV_FLUSH_SPACE_EX | HV_BANKS(64), {0, 0, 0, ~0ull, ~0ull}, 0},
        {HV_FLUSH_LIST_EX | HV_REPS(2), {0, 0, 1, 0, 0x1000, 0x2000}, HV_REPS(2)},
        {HV_FLUSH_LIST_EX | HV_BANKS(1) | HV_REPS(1), {0, 0, 0, 1, 3, 0x1000}, HV_REPS(1)},
        {HV_FLUSH_LIST_EX | HV_BANKS(2) | HV_REPS(5), {0, 4, 0, 3, 3, 3}, HV_REPS(5)},
        {HV_FLUSH_LIST_EX | HV_REPS(508), {0, 0, 1}, HV_REPS(508)},
    };

    run_everywhere(samples, ARRAY_LEN(samples));
    hv_enable();
    CHECK(smp_call_each(registers_here, NULL), "a processor does not answer");
    hv_disable();
}
