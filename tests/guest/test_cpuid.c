/* SPDX-License-Identifier: BSD-2-Clause */
/* CPUID: what is hidden, Sluice's own block, and the CR4 bits that follow from what is shown. */
#include "core/string.h"
#include "tests/guest/groups.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_cpuid_insn.h"

#define ECX_VMX        5u
#define ECX_SMX        6u
#define ECX_HYPERVISOR 31u
#define HV_FIRST_LEAF  0x40000000u
#define HV_LAST_LEAF   0x400000FFu
#define CR4_LA57_BIT   12u
#define CR4_LASS_BIT   27u
#define NEVER          0xFFFFFFFFu

static void hypervisor_bit_here(void *arg)
{
    (void)arg;
    CHECK(!cpuid_shows(1, 0, 2, ECX_HYPERVISOR), "CPUID.1:ECX[31] is set on cpu %u",
          cpu_this()->index);
}

static void test_hypervisor_bit(void)
{
    CHECK(smp_call_each(hypervisor_bit_here, NULL), "a processor does not answer");
}

static void leaves_zero_here(void *arg)
{
    (void)arg;
    for (uint32_t leaf = HV_FIRST_LEAF; leaf <= HV_LAST_LEAF; leaf++) {
        struct cpuid_regs r = insn_cpuid(leaf, 0);

        CHECK((r.eax | r.ebx | r.ecx | r.edx) == 0, "leaf %x is %x %x %x %x on cpu %u", leaf, r.eax,
              r.ebx, r.ecx, r.edx, cpu_this()->index);
    }
}

static void test_hv_leaves_zero(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice: a bare processor returns its highest leaf");
        return;
    }
    CHECK(smp_call_each(leaves_zero_here, NULL), "a processor does not answer");
}

static uint32_t seen_vp_indexes;

static void own_block_here(void *arg)
{
    struct cpuid_regs r = insn_cpuid(SLUICE_LEAF_VERSION, 0);

    (void)arg;
    CHECK(sluice_is_present(), "no vendor leaf on cpu %u", cpu_this()->index);
    CHECK(r.ecx == smp_cpu_count(), "VP count %u, processors %u", r.ecx, smp_cpu_count());
    REQUIRE(r.edx < smp_cpu_count(), "VP index %u on cpu %u", r.edx, cpu_this()->index);
    seen_vp_indexes |= 1u << r.edx;
}

static void test_own_block(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice");
        return;
    }
    seen_vp_indexes = 0;
    CHECK(smp_call_each(own_block_here, NULL), "a processor does not answer");
    CHECK(seen_vp_indexes == (1u << smp_cpu_count()) - 1, "VP indexes seen: mask %x",
          seen_vp_indexes);
}

static uint64_t sum_of_counters(uint32_t vp_index)
{
    uint64_t sum = 0;

    for (uint32_t number = 0; number < sluice_counter_count(); number++) {
        uint64_t value = 0;

        if (sluice_counter(vp_index, number, &value)) {
            sum += value;
        }
    }
    return sum;
}

static void test_counters(void)
{
    uint32_t vp_index = insn_cpuid(SLUICE_LEAF_VERSION, 0).edx;
    uint64_t before;
    uint64_t value;

    if (!sluice_is_present()) {
        test_skip("not under Sluice");
        return;
    }
    REQUIRE(sluice_counter_count() != 0, "no counters");
    before = sum_of_counters(vp_index);
    for (unsigned int i = 0; i < 1000; i++) {
        (void)insn_cpuid(1, 0);
    }
    CHECK(sum_of_counters(vp_index) >= before + 1000, "1000 CPUIDs are not in the counters");
    CHECK(!sluice_counter(vp_index, sluice_counter_count(), &value), "one counter too many");
    CHECK(!sluice_counter(smp_cpu_count(), 0, &value), "counter of a VP that does not exist");
}

static void vmx_hidden_here(void *arg)
{
    (void)arg;
    CHECK(!cpuid_shows(1, 0, 2, ECX_VMX), "VMX is shown on cpu %u", cpu_this()->index);
    CHECK(!cpuid_shows(1, 0, 2, ECX_SMX), "SMX is shown on cpu %u", cpu_this()->index);
}

static void test_vmx_hidden(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice");
        return;
    }
    CHECK(smp_call_each(vmx_hidden_here, NULL), "a processor does not answer");
}

#define SAVED_LEAVES 64u

static struct cpuid_regs saved[SAVED_LEAVES];
static unsigned int saved_count;

/* Fields that name the processor itself are left out. */
static struct cpuid_regs comparable(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_regs r = insn_cpuid(leaf, subleaf);

    if (leaf == 1) {
        r.ebx &= 0x00FFFFFFu;
    } else if (leaf == 0xB || leaf == 0x1F) {
        r.edx = 0;
    }
    return r;
}

/* Leaves 0..last and 80000000h..last; subleaf 1 as well where it has a meaning. */
static void walk_leaves(void *arg)
{
    bool is_first = *(const bool *)arg;
    unsigned int at = 0;

    for (unsigned int range = 0; range < 2; range++) {
        uint32_t base = range == 0 ? 0 : 0x80000000u;
        uint32_t last = insn_cpuid(base, 0).eax;

        for (uint32_t leaf = base; leaf <= last && at + 1 < SAVED_LEAVES; leaf++) {
            for (uint32_t subleaf = 0; subleaf < 2; subleaf++, at++) {
                struct cpuid_regs r = comparable(leaf, subleaf);

                if (is_first) {
                    saved[at] = r;
                } else {
                    CHECK(memcmp(&r, &saved[at], sizeof(r)) == 0, "leaf %x.%u differs on cpu %u",
                          leaf, subleaf, cpu_this()->index);
                }
            }
        }
    }
    saved_count = at;
}

static void test_same_on_all(void)
{
    bool is_first = true;

    walk_leaves(&is_first);
    is_first = false;
    CHECK(smp_call_each(walk_leaves, &is_first), "a processor does not answer");
    CHECK(saved_count > 2, "no leaves");
}

struct cr4_bit {
    uint32_t bit;
    uint32_t leaf, subleaf, reg, cpuid_bit;
};

static const struct cr4_bit cr4_bits[] = {
    {0, 1, 0, 3, 1},        /* VME */
    {1, 1, 0, 3, 1},        /* PVI */
    {2, 1, 0, 3, 4},        /* TSD */
    {3, 1, 0, 3, 2},        /* DE */
    {4, 1, 0, 3, 3},        /* PSE */
    {6, 1, 0, 3, 7},        /* MCE */
    {7, 1, 0, 3, 13},       /* PGE */
    {9, 1, 0, 3, 24},       /* OSFXSR */
    {10, 1, 0, 3, 25},      /* OSXMMEXCPT */
    {11, 7, 0, 2, 2},       /* UMIP */
    {13, 1, 0, 2, ECX_VMX}, /* VMXE */
    {14, 1, 0, 2, ECX_SMX}, /* SMXE */
    {15, NEVER, 0, 0, 0},   /* reserved */
    {16, 7, 0, 1, 0},       /* FSGSBASE */
    {17, 1, 0, 2, 17},      /* PCIDE */
    {18, 1, 0, 2, 26},      /* OSXSAVE */
    {19, 7, 0, 2, 23},      /* KL */
    {20, 7, 0, 1, 7},       /* SMEP */
    {21, 7, 0, 1, 20},      /* SMAP */
    {22, 7, 0, 2, 3},       /* PKE */
    {23, 7, 0, 2, 7},       /* CET */
    {24, 7, 0, 2, 31},      /* PKS */
    {25, 7, 0, 3, 5},       /* UINTR */
    {26, NEVER, 0, 0, 0},   /* reserved */
    {28, 7, 1, 0, 26},      /* LAM_SUP */
    {29, NEVER, 0, 0, 0},   /* reserved */
    {31, NEVER, 0, 0, 0},   /* reserved */
    {32, 7, 1, 0, 17},      /* FRED */
    {33, NEVER, 0, 0, 0},   /* reserved */
    {63, NEVER, 0, 0, 0},   /* reserved */
};

static void cr4_bits_here(void *arg)
{
    uint64_t old = insn_read_cr4();

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(cr4_bits); i++) {
        const struct cr4_bit *row = &cr4_bits[i];
        bool is_shown =
            row->leaf != NEVER && cpuid_shows(row->leaf, row->subleaf, row->reg, row->cpuid_bit);
        uint64_t wanted = old | 1ull << row->bit;
        int vector = fault_write_cr4(wanted);

        if (is_shown) {
            CHECK(vector == NO_FAULT && insn_read_cr4() == wanted,
                  "CR4 bit %u is shown but gives %d, CR4=%lx", row->bit, vector, insn_read_cr4());
        } else {
            CHECK(vector == (int)VECTOR_GP && insn_read_cr4() == old,
                  "CR4 bit %u is hidden but gives %d, CR4=%lx", row->bit, vector, insn_read_cr4());
        }
        insn_write_cr4(old);
    }
    CHECK(fault_write_cr4(old ^ 1ull << CR4_LA57_BIT) == (int)VECTOR_GP,
          "CR4.LA57 changes in long mode");
    if (!cpuid_shows(7, 1, 0, 6)) {
        CHECK(fault_write_cr4(old | 1ull << CR4_LASS_BIT) == (int)VECTOR_GP,
              "CR4.LASS is settable");
    }
}

static void test_cr4_bits(void)
{
    CHECK(smp_call_each(cr4_bits_here, NULL), "a processor does not answer");
}

/* CPUID.1:ECX.OSXSAVE and CPUID.7:ECX.OSPKE follow CR4. */
static void test_os_bits(void)
{
    uint64_t old = insn_read_cr4();

    if (cpuid_shows(1, 0, 2, 26)) {
        CHECK(!cpuid_shows(1, 0, 2, 27), "OSXSAVE before CR4.OSXSAVE");
        insn_write_cr4(old | 1ull << 18);
        CHECK(cpuid_shows(1, 0, 2, 27), "no OSXSAVE after CR4.OSXSAVE");
        insn_write_cr4(old);
    }
    if (cpuid_shows(7, 0, 2, 3)) {
        CHECK(!cpuid_shows(7, 0, 2, 4), "OSPKE before CR4.PKE");
        insn_write_cr4(old | 1ull << 22);
        CHECK(cpuid_shows(7, 0, 2, 4), "no OSPKE after CR4.PKE");
        insn_write_cr4(old);
    }
}

static const struct test tests[] = {
    {"hypervisor_bit", test_hypervisor_bit},
    {"hv_leaves_zero", test_hv_leaves_zero},
    {"own_block", test_own_block},
    {"counters", test_counters},
    {"vmx_hidden", test_vmx_hidden},
    {"same_on_all", test_same_on_all},
    {"cr4_bits", test_cr4_bits},
    {"os_bits", test_os_bits},
    {"instructions", test_cpuid_instructions},
};

const struct test_group group_cpuid = {.name = "cpuid", TEST_GROUP(tests)};
