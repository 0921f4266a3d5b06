/* SPDX-License-Identifier: BSD-2-Clause */
/* MTRRs: reads, writes, refused values, switching them off and on. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"

#define MSR_MTRRCAP       0x0FEu
#define MSR_PHYSBASE0     0x200u
#define MSR_PHYSMASK0     0x201u
#define MSR_MTRR_DEF_TYPE 0x2FFu
#define MTRRCAP_FIX       (1u << 8)
#define MASK_VALID        (1ull << 11)
#define DEF_FE            (1ull << 10)
#define DEF_E             (1ull << 11)
#define TYPE_UC           0u
#define TYPE_WB           6u
#define GP                ((int)VECTOR_GP)

static const uint16_t fixed_msrs[] = {0x250, 0x258, 0x259, 0x268, 0x269, 0x26A,
                                      0x26B, 0x26C, 0x26D, 0x26E, 0x26F};

static uint32_t address_bits(void)
{
    return insn_cpuid(0x80000008u, 0).eax & 0xFFu;
}

static void check_written(uint32_t msr, uint64_t value)
{
    int vector = fault_wrmsr(msr, value);

    CHECK(vector == NO_FAULT, "WRMSR %x := %lx gives %d", msr, value, vector);
    CHECK(insn_rdmsr(msr) == value, "MSR %x reads %lx after %lx", msr, insn_rdmsr(msr), value);
}

static void check_refused(uint32_t msr, uint64_t value)
{
    uint64_t old = insn_rdmsr(msr);
    int vector = fault_wrmsr(msr, value);

    CHECK(vector == GP, "WRMSR %x := %lx gives %d", msr, value, vector);
    CHECK(insn_rdmsr(msr) == old, "a refused write changed MSR %x", msr);
}

static void cap_here(void *arg)
{
    uint64_t cap = 0;

    REQUIRE(fault_rdmsr(MSR_MTRRCAP, &cap) == NO_FAULT, "no MTRRCAP");
    if (cpu_this()->index == 0) {
        *(uint64_t *)arg = cap;
    }
    CHECK(cap == *(uint64_t *)arg, "MTRRCAP differs on cpu %u: %lx", cpu_this()->index, cap);
    CHECK(fault_wrmsr(MSR_MTRRCAP, cap) == GP, "MTRRCAP takes a write");
}

static void test_cap(void)
{
    uint64_t cap = 0;

    CHECK(smp_call_each(cap_here, &cap), "a processor does not answer");
    CHECK((cap & 0xFFu) != 0, "no variable MTRRs");
}

static void variable_here(void *arg)
{
    uint32_t last = (uint32_t)(insn_rdmsr(MSR_MTRRCAP) & 0xFFu) - 1;
    uint32_t base_msr = MSR_PHYSBASE0 + 2 * last;
    uint64_t old_base = insn_rdmsr(base_msr);
    uint64_t old_mask = insn_rdmsr(base_msr + 1);
    uint64_t all_bits = ((1ull << address_bits()) - 1) & ~0xFFFull;
    uint64_t value;

    (void)arg;
    check_written(base_msr, 0x12345000ull | TYPE_WB);
    check_written(base_msr, 0x80000000ull | TYPE_UC);
    check_written(base_msr + 1, all_bits & ~0xFFFFFull);
    check_refused(base_msr, 0x80000000ull | 2u);
    check_refused(base_msr, 0x80000000ull | 7u);
    check_refused(base_msr, 0x80000000ull | 0x100u);
    check_refused(base_msr, 1ull << address_bits());
    check_refused(base_msr, 1ull << 63);
    check_refused(base_msr + 1, (all_bits & ~0xFFFFFull) | 1u);
    check_refused(base_msr + 1, 1ull << address_bits());
    check_written(base_msr + 1, (all_bits & ~0xFFFFFull) | MASK_VALID);
    insn_wrmsr(base_msr + 1, old_mask);
    insn_wrmsr(base_msr, old_base);
    value = insn_rdmsr(base_msr);
    CHECK(value == old_base, "PHYSBASE reads %lx, was %lx", value, old_base);
    CHECK(fault_rdmsr(base_msr + 2, &value) == GP || base_msr + 2 == 0x250,
          "MSR %x, above the last variable MTRR, is readable", base_msr + 2);
}

static void test_variable(void)
{
    CHECK(smp_call_each(variable_here, NULL), "a processor does not answer");
}

static void fixed_here(void *arg)
{
    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(fixed_msrs); i++) {
        uint64_t old = insn_rdmsr(fixed_msrs[i]);

        check_refused(fixed_msrs[i], 0x0606060606060602ull);
        check_refused(fixed_msrs[i], 0x0706060606060606ull);
        check_refused(fixed_msrs[i], 0x0606060806060606ull);
        check_written(fixed_msrs[i], 0x0605040100060606ull);
        insn_wrmsr(fixed_msrs[i], old);
        CHECK(insn_rdmsr(fixed_msrs[i]) == old, "MSR %x does not go back", fixed_msrs[i]);
    }
}

static void test_fixed(void)
{
    if ((insn_rdmsr(MSR_MTRRCAP) & MTRRCAP_FIX) == 0) {
        test_skip("no fixed-range MTRRs");
        return;
    }
    CHECK(smp_call_each(fixed_here, NULL), "a processor does not answer");
}

static void def_type_here(void *arg)
{
    uint64_t old = insn_rdmsr(MSR_MTRR_DEF_TYPE);

    (void)arg;
    check_refused(MSR_MTRR_DEF_TYPE, old | 1ull << 8);
    check_refused(MSR_MTRR_DEF_TYPE, old | 1ull << 12);
    check_refused(MSR_MTRR_DEF_TYPE, old | 1ull << 63);
    check_refused(MSR_MTRR_DEF_TYPE, (old & ~0xFFull) | 2u);
    check_refused(MSR_MTRR_DEF_TYPE, (old & ~0xFFull) | 7u);
    check_written(MSR_MTRR_DEF_TYPE, old & ~DEF_E);
    check_written(MSR_MTRR_DEF_TYPE, DEF_E | DEF_FE | TYPE_WB);
    check_written(MSR_MTRR_DEF_TYPE, DEF_E | TYPE_UC);
    check_written(MSR_MTRR_DEF_TYPE, old);
}

static void test_def_type(void)
{
    CHECK(smp_call_each(def_type_here, NULL), "a processor does not answer");
}

/* The sequence of the SDM, volume 3, "MTRR Considerations in MP Systems", as an OS does it: caches
 * off, MTRRs off, change, MTRRs on, caches on. Memory must stay as it was. */
static void sequence_here(void *arg)
{
    static volatile uint64_t probe_word;
    uint64_t cr0 = insn_read_cr0();
    uint64_t def = insn_rdmsr(MSR_MTRR_DEF_TYPE);
    uint64_t base = insn_rdmsr(MSR_PHYSBASE0);
    uint64_t mask = insn_rdmsr(MSR_PHYSMASK0);

    (void)arg;
    probe_word = 0x5A5A1234u;
    for (unsigned int round = 0; round < 4; round++) {
        insn_write_cr0(cr0 | 1ull << 30);
        insn_wbinvd();
        insn_wrmsr(MSR_MTRR_DEF_TYPE, def & ~DEF_E);
        insn_wrmsr(MSR_PHYSBASE0, base);
        insn_wrmsr(MSR_PHYSMASK0, mask);
        insn_wrmsr(MSR_MTRR_DEF_TYPE, def);
        insn_wbinvd();
        CHECK((insn_read_cr0() & 1ull << 30) != 0, "CR0.CD reads 0 after it was set");
        insn_write_cr0(cr0);
        CHECK(insn_read_cr0() == cr0, "CR0 reads %lx, was %lx", insn_read_cr0(), cr0);
        CHECK(probe_word == 0x5A5A1234u, "memory changed");
    }
}

static void test_sequence(void)
{
    CHECK(smp_call_each(sequence_here, NULL), "a processor does not answer");
}

static const struct test tests[] = {
    {"cap", test_cap},           {"variable", test_variable}, {"fixed", test_fixed},
    {"def_type", test_def_type}, {"sequence", test_sequence},
};

const struct test_group group_mtrr = {.name = "mtrr", TEST_GROUP(tests)};
