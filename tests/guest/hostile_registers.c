/* SPDX-License-Identifier: BSD-2-Clause */
/* Random MSRs, control registers, debug registers, CPUID leaves, and the TSC at its ends. */
#include "core/compiler.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"

#define MSR_TSC           0x010u
#define MSR_TSC_ADJUST    0x03Bu
#define MSR_MTRR_DEF_TYPE 0x2FFu
#define MSR_X2APIC_FIRST  0x800u
#define MSR_X2APIC_LAST   0x8FFu
#define MSR_X2APIC_ICR    0x830u
#define MSR_X2APIC_SELF   0x83Fu
#define MSR_GS_BASE       0xC0000101u
#define CR4_LASS          (1ull << 27)
#define CR4_OSXSAVE       (1ull << 18)
#define CR0_AM            (1ull << 18)

struct msr_area {
    uint32_t first, count;
};

static const struct msr_area areas[] = {
    {0x0000, 0x400},     {0x0000, 0x2000},   {0x0200, 0x100},     {0x0400, 0x100},
    {0x0480, 0x20},      {0x0560, 0x30},     {0x0600, 0x100},     {0x06A0, 0x20},
    {0x0800, 0x100},     {0x0C00, 0x200},    {0x0D00, 0x100},     {0x1400, 0x40},
    {0xC0000000, 0x200}, {0xC0000080, 0x10}, {0xC0010000, 0x200}, {0x40000000, 0x200},
    {0xC0002000, 0x10},  {0xBFFFFFF0, 0x20}, {0x1FF0, 0x20},
};

static const uint32_t favourites[] = {
    0x01B, 0x03A,      0x048,      0x049,      0x079,      0x08B,      0x0FE,      0x10A,
    0x140, 0x174,      0x175,      0x176,      0x17A,      0x1A0,      0x1D9,      0x277,
    0x2FF, 0x200,      0x201,      0x250,      0x259,      0x268,      0x6E0,      0x6A2,
    0xDA0, 0xC0000080, 0xC0000081, 0xC0000082, 0xC0000084, 0xC0000100, 0xC0000103,
};

static uint32_t pick_msr(struct hostile_random *random)
{
    const struct msr_area *area = &areas[hostile_below(random, ARRAY_LEN(areas))];

    switch (hostile_below(random, 4)) {
    case 0:
        return favourites[hostile_below(random, ARRAY_LEN(favourites))];
    case 1:
        return (uint32_t)hostile_value(random);
    default:
        return area->first + hostile_below(random, area->count);
    }
}

/* Registers whose writes would only kill this guest, or that have tests of their own. */
static bool is_left_out(uint32_t msr)
{
    return msr == MSR_GS_BASE || msr == MSR_APIC_BASE || msr == MSR_X2APIC_ICR ||
           msr == MSR_X2APIC_SELF || msr == MSR_TSC || msr == MSR_TSC_ADJUST;
}

void hostile_msr(struct hostile_random *random)
{
    uint32_t msr = pick_msr(random);
    uint64_t value = hostile_value(random);
    uint64_t old = 0;
    bool is_readable = fault_rdmsr(msr, &old) == NO_FAULT;

    if (is_left_out(msr)) {
        return;
    }
    if (hostile_below(random, 2) == 0) {
        value = old ^ (1ull << hostile_below(random, 64));
    }
    (void)fault_wrmsr(msr, value);
    if (is_readable) {
        (void)fault_wrmsr(msr, old);
    }
}

static void hostile_debug_registers(struct hostile_random *random)
{
    static const uint8_t moves[][7] = {
        {0x0F, 0x23, 0xC0},
        {0x0F, 0x23, 0xC8},
        {0x0F, 0x23, 0xD0},
        {0x0F, 0x23, 0xD8},
        {0x0F, 0x23, 0xE0},
        {0x0F, 0x23, 0xF0},
        {0x0F, 0x23, 0xE8},
        {0x0F, 0x21, 0xF0},
        {0x0F, 0x21, 0xF8},
        {0x0F, 0x23, 0xF8, 0x0F, 0xA2},
        {0x0F, 0x23, 0xF8, 0x0F, 0x21, 0xC0},
    };
    struct hostile_registers registers = {.rax = hostile_value(random)};

    if (hostile_below(random, 2) == 0) {
        registers.rax = (uint32_t)registers.rax;
    }
    (void)hostile_execute(&registers, moves[hostile_below(random, ARRAY_LEN(moves))], 7);
}

void hostile_control(struct hostile_random *random)
{
    uint64_t value = hostile_value(random);
    uint64_t bit = 1ull << hostile_below(random, 64);

    switch (hostile_below(random, 6)) {
    case 0:
        (void)fault_write_cr0(value);
        break;
    case 1:
        (void)fault_write_cr0((insn_read_cr0() ^ bit ^ (value & 0x60000020u)) & ~CR0_AM);
        break;
    case 2:
        (void)fault_write_cr4((insn_read_cr4() ^ bit) & ~CR4_LASS);
        break;
    case 3:
        (void)fault_write_cr4(value & ~CR4_LASS);
        break;
    case 4:
        insn_write_cr4(insn_read_cr4() | CR4_OSXSAVE);
        (void)fault_xsetbv(hostile_below(random, 4) == 0 ? (uint32_t)value : 0,
                           hostile_value(random) | (value & 1));
        break;
    default:
        hostile_debug_registers(random);
        break;
    }
    hostile_restore();
}

void hostile_cpuid(struct hostile_random *random)
{
    static const uint32_t bases[] = {0, 0x40000000, 0x40000100, 0x40000102, 0x80000000, 0xC0000000};
    uint32_t leaf = bases[hostile_below(random, ARRAY_LEN(bases))] + hostile_below(random, 0x30);
    uint32_t subleaf = (uint32_t)hostile_value(random);

    if (hostile_below(random, 4) == 0) {
        leaf = (uint32_t)hostile_value(random);
    }
    (void)insn_cpuid(leaf, subleaf);
}

/* Kicks come from the other processors while this one's time jumps about. */
void hostile_tsc(struct hostile_random *random)
{
    static const uint64_t ends[] = {0,         1, 1ull << 63, (1ull << 63) - 1, ~0ull, ~0ull - 1000,
                                    1ull << 32};
    uint64_t before = insn_rdtsc();
    uint64_t adjust = 0;

    if (hostile_below(random, 4) == 0 && fault_rdmsr(MSR_TSC_ADJUST, &adjust) == NO_FAULT) {
        (void)fault_wrmsr(MSR_TSC_ADJUST, hostile_value(random));
        (void)fault_wrmsr(MSR_MTRR_DEF_TYPE, insn_rdmsr(MSR_MTRR_DEF_TYPE) ^ 6u);
        (void)fault_wrmsr(MSR_TSC_ADJUST, adjust);
        return;
    }
    (void)fault_wrmsr(MSR_TSC, ends[hostile_below(random, ARRAY_LEN(ends))]);
    (void)insn_cpuid(0, 0);
    (void)fault_wrmsr(MSR_MTRR_DEF_TYPE, insn_rdmsr(MSR_MTRR_DEF_TYPE) ^ 6u);
    (void)insn_cpuid(0, 0);
    insn_wrmsr(MSR_TSC, before);
}
