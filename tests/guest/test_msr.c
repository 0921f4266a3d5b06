/* SPDX-License-Identifier: BSD-2-Clause */
/* MSRs: those that do not exist, those that are hidden, and the checks on values. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_cpuid_insn.h"

#define MSR_TSC             0x010u
#define MSR_FEATURE_CONTROL 0x03Au
#define MSR_TSC_ADJUST      0x03Bu
#define MSR_SYSENTER_ESP    0x175u
#define MSR_SYSENTER_EIP    0x176u
#define MSR_MISC_ENABLE     0x1A0u
#define MSR_PAT             0x277u
#define MSR_VMX_FIRST       0x480u
#define MSR_VMX_LAST        0x491u
#define MSR_EFER            0xC0000080u
#define MSR_LSTAR           0xC0000082u
#define MSR_FS_BASE         0xC0000100u
#define MSR_GS_BASE         0xC0000101u
#define MSR_KERNEL_GS_BASE  0xC0000102u
#define MSR_NEVER_EXISTS    0x12345678u

#define GP            ((int)VECTOR_GP)
#define NON_CANONICAL 0x0001000000000000ull
#define TSC_JUMP      1000000000ull
#define TSC_SLACK     10000000ull

/* Numbers that no processor has, some of them at the edges of the MSR bitmaps. */
static const uint32_t absent_msrs[] = {
    0x00000002u, 0x00001FFFu, 0x00002000u, 0x12345678u, 0x3FFFFFFFu, 0x40000000u, 0x40000001u,
    0x40000073u, 0x400000FFu, 0x40000100u, 0x7FFFFFFFu, 0x80000000u, 0xBFFFFFFFu, 0xC0001FFFu,
    0xC0002000u, 0xC0010000u, 0xC0010114u, 0xC0010117u, 0xFFFFFFFFu,
};

/* A bare emulator may be set up to answer unknown MSRs with 0; under Sluice that is no excuse. */
static bool does_machine_ignore_bad_msrs(void)
{
    uint64_t value;

    return !sluice_is_present() && fault_rdmsr(MSR_NEVER_EXISTS, &value) == NO_FAULT;
}

static void absent_here(void *arg)
{
    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(absent_msrs); i++) {
        uint64_t value = 0;
        int on_read = fault_rdmsr(absent_msrs[i], &value);
        int on_write = fault_wrmsr(absent_msrs[i], 0);

        CHECK(on_read == GP, "RDMSR %x gives %d, value %lx, on cpu %u", absent_msrs[i], on_read,
              value, cpu_this()->index);
        CHECK(on_write == GP, "WRMSR %x gives %d on cpu %u", absent_msrs[i], on_write,
              cpu_this()->index);
    }
}

static void test_absent(void)
{
    if (does_machine_ignore_bad_msrs()) {
        test_skip("the emulator is set up to ignore unknown MSRs");
        return;
    }
    CHECK(smp_call_each(absent_here, NULL), "a processor does not answer");
}

static void vmx_capability_here(void *arg)
{
    (void)arg;
    for (uint32_t msr = MSR_VMX_FIRST; msr <= MSR_VMX_LAST; msr++) {
        uint64_t value;

        CHECK(fault_rdmsr(msr, &value) == GP, "RDMSR %x gives no #GP on cpu %u", msr,
              cpu_this()->index);
        CHECK(fault_wrmsr(msr, 0) == GP, "WRMSR %x gives no #GP on cpu %u", msr, cpu_this()->index);
    }
}

static void test_vmx_capability(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice: the machine has VMX");
        return;
    }
    CHECK(smp_call_each(vmx_capability_here, NULL), "a processor does not answer");
}

/* Either the MSR is gone, as on a machine without VMX, or it reads as locked with VMX off. */
static void feature_control_here(void *arg)
{
    uint64_t value = 0;
    int vector = fault_rdmsr(MSR_FEATURE_CONTROL, &value);

    (void)arg;
    if (vector == NO_FAULT) {
        CHECK((value & 7u) == 1, "FEATURE_CONTROL reads %lx", value);
    } else {
        CHECK(vector == GP, "RDMSR gives %d", vector);
    }
    CHECK(fault_wrmsr(MSR_FEATURE_CONTROL, 5) == GP, "a write gives no #GP");
}

static void test_feature_control(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice");
        return;
    }
    CHECK(smp_call_each(feature_control_here, NULL), "a processor does not answer");
}

static void tsc_here(void *arg)
{
    bool has_adjust = cpuid_shows(7, 0, 1, 1);
    uint64_t old_adjust = 0;
    uint64_t adjust = 0;
    uint64_t before;
    uint64_t after;

    (void)arg;
    if (has_adjust) {
        REQUIRE(fault_rdmsr(MSR_TSC_ADJUST, &old_adjust) == NO_FAULT, "no TSC_ADJUST");
    }
    before = insn_rdtsc();
    REQUIRE(fault_wrmsr(MSR_TSC, before + TSC_JUMP) == NO_FAULT, "WRMSR TSC faults");
    after = insn_rdtsc();
    CHECK(after - before >= TSC_JUMP && after - before < TSC_JUMP + TSC_SLACK,
          "TSC went from %lx to %lx", before, after);
    CHECK(insn_rdmsr(MSR_TSC) - after < TSC_SLACK, "RDMSR TSC differs from RDTSC");
    if (!has_adjust) {
        insn_wrmsr(MSR_TSC, insn_rdtsc() - TSC_JUMP);
        return;
    }
    CHECK(fault_rdmsr(MSR_TSC_ADJUST, &adjust) == NO_FAULT && adjust - old_adjust <= TSC_JUMP &&
              adjust - old_adjust > TSC_JUMP - TSC_SLACK,
          "TSC_ADJUST went from %lx to %lx", old_adjust, adjust);
    before = insn_rdtsc();
    CHECK(fault_wrmsr(MSR_TSC_ADJUST, adjust + TSC_JUMP) == NO_FAULT, "WRMSR TSC_ADJUST faults");
    after = insn_rdtsc();
    CHECK(after - before >= TSC_JUMP && after - before < TSC_JUMP + TSC_SLACK,
          "after TSC_ADJUST: TSC went from %lx to %lx", before, after);
    insn_wrmsr(MSR_TSC_ADJUST, old_adjust);
    CHECK(insn_rdmsr(MSR_TSC_ADJUST) == old_adjust, "TSC_ADJUST does not go back");
    before = insn_rdtsc();
    CHECK(after - before < 2 * TSC_JUMP + TSC_SLACK && before < after, "TSC does not go back");
}

static void test_tsc(void)
{
    CHECK(smp_call_each(tsc_here, NULL), "a processor does not answer");
}

static void efer_here(void *arg)
{
    uint64_t old = insn_rdmsr(MSR_EFER);
    static const uint8_t reserved[] = {1, 2, 3, 4, 5, 6, 7, 9, 16, 31, 32, 63};

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(reserved); i++) {
        CHECK(fault_wrmsr(MSR_EFER, old | 1ull << reserved[i]) == GP, "EFER bit %u gives no #GP",
              reserved[i]);
    }
    CHECK(fault_wrmsr(MSR_EFER, old & ~(1ull << 8)) == GP, "LME clears while paging is on");
    CHECK(fault_wrmsr(MSR_EFER, old ^ 1u) == NO_FAULT && insn_rdmsr(MSR_EFER) == (old ^ 1u),
          "SCE does not toggle: %lx", insn_rdmsr(MSR_EFER));
    CHECK(fault_wrmsr(MSR_EFER, old ^ 1ull << 11) == NO_FAULT &&
              insn_rdmsr(MSR_EFER) == (old ^ 1ull << 11),
          "NXE does not toggle: %lx", insn_rdmsr(MSR_EFER));
    insn_wrmsr(MSR_EFER, old);
    CHECK(insn_rdmsr(MSR_EFER) == old, "EFER reads %lx, was %lx", insn_rdmsr(MSR_EFER), old);
}

static void test_efer(void)
{
    CHECK(smp_call_each(efer_here, NULL), "a processor does not answer");
}

static void pat_here(void *arg)
{
    static const uint8_t bad[] = {2, 3, 8, 0x0F, 0x40, 0x80, 0xFF};
    uint64_t old = insn_rdmsr(MSR_PAT);
    uint64_t other = 0x0001040506070406ull;

    (void)arg;
    for (unsigned int field = 0; field < 8; field++) {
        for (unsigned int i = 0; i < ARRAY_LEN(bad); i++) {
            uint64_t value = (old & ~(0xFFull << 8 * field)) | (uint64_t)bad[i] << 8 * field;

            CHECK(fault_wrmsr(MSR_PAT, value) == GP, "PAT %lx gives no #GP", value);
        }
    }
    CHECK(insn_rdmsr(MSR_PAT) == old, "a refused write changed PAT");
    CHECK(fault_wrmsr(MSR_PAT, other) == NO_FAULT && insn_rdmsr(MSR_PAT) == other, "PAT reads %lx",
          insn_rdmsr(MSR_PAT));
    insn_wrmsr(MSR_PAT, old);
}

static void test_pat(void)
{
    CHECK(smp_call_each(pat_here, NULL), "a processor does not answer");
}

static void canonical_here(void *arg)
{
    static const uint32_t msrs[] = {MSR_SYSENTER_ESP, MSR_SYSENTER_EIP, MSR_LSTAR,
                                    MSR_FS_BASE,      MSR_GS_BASE,      MSR_KERNEL_GS_BASE};

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(msrs); i++) {
        uint64_t old = insn_rdmsr(msrs[i]);
        uint64_t value = 0xFFFF800000001000ull;

        CHECK(fault_wrmsr(msrs[i], NON_CANONICAL) == GP, "MSR %x takes a non-canonical address",
              msrs[i]);
        CHECK(insn_rdmsr(msrs[i]) == old, "a refused write changed MSR %x", msrs[i]);
        if (msrs[i] != MSR_GS_BASE) {
            CHECK(fault_wrmsr(msrs[i], value) == NO_FAULT && insn_rdmsr(msrs[i]) == value,
                  "MSR %x reads %lx", msrs[i], insn_rdmsr(msrs[i]));
            insn_wrmsr(msrs[i], old);
        }
    }
}

static void test_canonical(void)
{
    CHECK(smp_call_each(canonical_here, NULL), "a processor does not answer");
}

static void misc_enable_here(void *arg)
{
    uint64_t value = 0;

    (void)arg;
    if (fault_rdmsr(MSR_MISC_ENABLE, &value) == GP) {
        test_skip("the emulated processor has no IA32_MISC_ENABLE");
        return;
    }
    CHECK(fault_wrmsr(MSR_MISC_ENABLE, value) == NO_FAULT, "the value read cannot be written");
}

static void test_misc_enable(void)
{
    CHECK(smp_call_each(misc_enable_here, NULL), "a processor does not answer");
}

/* Reads whole ranges: whatever an MSR is, the processor lives on afterwards. */
static void test_scan(void)
{
    static const uint32_t bases[] = {0, 0x40000000u, 0xC0000000u, 0xC0010000u};
    unsigned int readable = 0;

    for (unsigned int i = 0; i < ARRAY_LEN(bases); i++) {
        for (uint32_t offset = 0; offset < 0x2000; offset++) {
            uint64_t value;
            int vector = fault_rdmsr(bases[i] + offset, &value);

            CHECK(vector == NO_FAULT || vector == GP, "RDMSR %x gives %d", bases[i] + offset,
                  vector);
            if (vector == NO_FAULT) {
                readable++;
            }
        }
    }
    CHECK(readable > 10, "only %u MSRs are readable", readable);
}

static void test_x2apic_range(void)
{
    uint64_t value;

    REQUIRE(apic_current_mode() == APIC_XAPIC, "not in xAPIC mode");
    CHECK(fault_rdmsr(MSR_X2APIC_BASE + 2, &value) == GP, "x2APIC MSRs are readable in xAPIC mode");
    CHECK(fault_wrmsr(MSR_X2APIC_BASE + 0x30, 0) == GP, "the x2APIC ICR takes a write");
}

static const struct test tests[] = {
    {"absent", test_absent},
    {"vmx_capability", test_vmx_capability},
    {"feature_control", test_feature_control},
    {"tsc", test_tsc},
    {"efer", test_efer},
    {"pat", test_pat},
    {"canonical", test_canonical},
    {"misc_enable", test_misc_enable},
    {"x2apic_range", test_x2apic_range},
    {"scan", test_scan},
};

const struct test_group group_msr = {.name = "msr", TEST_GROUP(tests)};
