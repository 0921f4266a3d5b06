/* SPDX-License-Identifier: BSD-2-Clause */
/* Every CPUID feature that is shown works; what is hidden faults where the architecture says so. */
#include "tests/guest/test_cpuid_insn.h"

#include "tests/guest/cpuid_insn.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/runtime/traps.h"

#define EBX 1u
#define ECX 2u
#define EDX 3u
#define EAX 0u

#define CR4_OSFXSR   (1ull << 9)
#define CR4_FSGSBASE (1ull << 16)
#define CR4_OSXSAVE  (1ull << 18)
#define CR4_SMAP     (1ull << 21)
#define CR4_PKE      (1ull << 22)
#define XCR0_SSE     0x3u
#define XCR0_AVX     0x7u
#define XCR0_AVX512  0xE7u

/* What a hidden feature's instruction does under Sluice. On the bare machine it always gives
 * #UD. */
enum hidden { HIDDEN_UD, HIDDEN_ANY };

struct feature {
    const char *name;
    void (*run)(void *scratch);
    uint32_t leaf, subleaf, reg, bit;
    uint64_t cr4;  /* bits that the instruction needs */
    uint32_t xcr0; /* likewise, if not 0 */
    enum hidden hidden;
};

#define FEATURE(fn, leaf, subleaf, reg, bit, cr4, xcr0, hidden)    \
    {                                                              \
#fn, exec_##fn, leaf, subleaf, reg, bit, cr4, xcr0, hidden \
    }

/* clang-format off: a table */
static const struct feature features[] = {
    FEATURE(rdtsc, 1, 0, EDX, 4, 0, 0, HIDDEN_ANY),
    FEATURE(cmpxchg8b, 1, 0, EDX, 8, 0, 0, HIDDEN_ANY),
    FEATURE(sysenter, 1, 0, EDX, 11, 0, 0, HIDDEN_ANY),
    FEATURE(cmov, 1, 0, EDX, 15, 0, 0, HIDDEN_ANY),
    FEATURE(clflush, 1, 0, EDX, 19, 0, 0, HIDDEN_ANY),
    FEATURE(mmx, 1, 0, EDX, 23, 0, 0, HIDDEN_ANY),
    FEATURE(fxsave, 1, 0, EDX, 24, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(sse, 1, 0, EDX, 25, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(sse2, 1, 0, EDX, 26, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(sse3, 1, 0, ECX, 0, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(pclmul, 1, 0, ECX, 1, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(monitor, 1, 0, ECX, 3, 0, 0, HIDDEN_UD),
    FEATURE(ssse3, 1, 0, ECX, 9, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(fma, 1, 0, ECX, 12, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(cmpxchg16b, 1, 0, ECX, 13, 0, 0, HIDDEN_ANY),
    FEATURE(sse41, 1, 0, ECX, 19, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(sse42, 1, 0, ECX, 20, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(movbe, 1, 0, ECX, 22, 0, 0, HIDDEN_ANY),
    FEATURE(popcnt, 1, 0, ECX, 23, 0, 0, HIDDEN_ANY),
    FEATURE(aes, 1, 0, ECX, 25, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(xsave, 1, 0, ECX, 26, CR4_OSXSAVE, XCR0_SSE, HIDDEN_UD),
    FEATURE(xgetbv, 1, 0, ECX, 26, CR4_OSXSAVE, 0, HIDDEN_UD),
    FEATURE(avx, 1, 0, ECX, 28, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(f16c, 1, 0, ECX, 29, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(rdrand, 1, 0, ECX, 30, 0, 0, HIDDEN_ANY),
    FEATURE(rdfsbase, 7, 0, EBX, 0, CR4_FSGSBASE, 0, HIDDEN_UD),
    FEATURE(wrfsbase, 7, 0, EBX, 0, CR4_FSGSBASE, 0, HIDDEN_UD),
    FEATURE(bmi1, 7, 0, EBX, 3, 0, 0, HIDDEN_ANY),
    FEATURE(avx2, 7, 0, EBX, 5, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(bmi2, 7, 0, EBX, 8, 0, 0, HIDDEN_ANY),
    FEATURE(invpcid, 7, 0, EBX, 10, 0, 0, HIDDEN_UD),
    FEATURE(rtm, 7, 0, EBX, 11, 0, 0, HIDDEN_ANY),
    FEATURE(avx512f, 7, 0, EBX, 16, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(avx512dq, 7, 0, EBX, 17, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(rdseed, 7, 0, EBX, 18, 0, 0, HIDDEN_ANY),
    FEATURE(adx, 7, 0, EBX, 19, 0, 0, HIDDEN_ANY),
    FEATURE(stac, 7, 0, EBX, 20, CR4_SMAP, 0, HIDDEN_ANY),
    FEATURE(avx512ifma, 7, 0, EBX, 21, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(clflushopt, 7, 0, EBX, 23, 0, 0, HIDDEN_ANY),
    FEATURE(clwb, 7, 0, EBX, 24, 0, 0, HIDDEN_ANY),
    FEATURE(avx512cd, 7, 0, EBX, 28, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(sha, 7, 0, EBX, 29, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(avx512bw, 7, 0, EBX, 30, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(avx512vl, 7, 0, EBX, 31, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(avx512vbmi, 7, 0, ECX, 1, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(rdpkru, 7, 0, ECX, 3, CR4_PKE, 0, HIDDEN_UD),
    FEATURE(tpause, 7, 0, ECX, 5, 0, 0, HIDDEN_UD),
    FEATURE(umonitor, 7, 0, ECX, 5, 0, 0, HIDDEN_UD),
    FEATURE(avx512vbmi2, 7, 0, ECX, 6, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(gfni, 7, 0, ECX, 8, CR4_OSFXSR, 0, HIDDEN_ANY),
    FEATURE(vaes, 7, 0, ECX, 9, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(vpclmul, 7, 0, ECX, 10, CR4_OSXSAVE, XCR0_AVX, HIDDEN_ANY),
    FEATURE(avx512vnni, 7, 0, ECX, 11, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(avx512bitalg, 7, 0, ECX, 12, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(avx512popcnt, 7, 0, ECX, 14, CR4_OSXSAVE, XCR0_AVX512, HIDDEN_ANY),
    FEATURE(rdpid, 7, 0, ECX, 22, 0, 0, HIDDEN_UD),
    FEATURE(movdiri, 7, 0, ECX, 27, 0, 0, HIDDEN_ANY),
    FEATURE(movdir64b, 7, 0, ECX, 28, 0, 0, HIDDEN_ANY),
    FEATURE(serialize, 7, 0, EDX, 14, 0, 0, HIDDEN_ANY),
    FEATURE(xsaveopt, 0xD, 1, EAX, 0, CR4_OSXSAVE, XCR0_SSE, HIDDEN_ANY),
    FEATURE(xsavec, 0xD, 1, EAX, 1, CR4_OSXSAVE, XCR0_SSE, HIDDEN_ANY),
    FEATURE(xsaves, 0xD, 1, EAX, 3, CR4_OSXSAVE, XCR0_SSE, HIDDEN_UD),
    FEATURE(lahf, 0x80000001u, 0, ECX, 0, 0, 0, HIDDEN_ANY),
    FEATURE(syscall, 0x80000001u, 0, EDX, 11, 0, 0, HIDDEN_ANY),
    FEATURE(rdtscp, 0x80000001u, 0, EDX, 27, 0, 0, HIDDEN_UD),
};
/* clang-format on */

/*
 * No row, since the encoding is something else without the feature: LZCNT (BSR), PREFETCHW,
 * CLDEMOTE (NOP), WBNOINVD (WBINVD). They are executed when shown. XGETBV with ECX = 1 gives #GP
 * when hidden.
 */
static const struct feature other_encodings[] = {
    FEATURE(lzcnt, 0x80000001u, 0, ECX, 5, 0, 0, HIDDEN_ANY),
    FEATURE(prefetchw, 0x80000001u, 0, ECX, 8, 0, 0, HIDDEN_ANY),
    FEATURE(cldemote, 7, 0, ECX, 25, 0, 0, HIDDEN_ANY),
    FEATURE(wbnoinvd, 0x80000008u, 0, EBX, 9, 0, 0, HIDDEN_ANY),
    FEATURE(xgetbv1, 0xD, 1, EAX, 2, CR4_OSXSAVE, 0, HIDDEN_ANY),
};

static _Alignas(64) uint8_t scratch[4096];
static unsigned int shown_count;
static unsigned int hidden_count;

bool cpuid_shows(uint32_t leaf, uint32_t subleaf, uint32_t reg, uint32_t bit)
{
    struct cpuid_regs r;
    uint32_t last = insn_cpuid(leaf & 0x80000000u, 0).eax;

    if (leaf > last || (leaf == 7 && subleaf > insn_cpuid(7, 0).eax)) {
        return false;
    }
    r = insn_cpuid(leaf, subleaf);
    return ((((const uint32_t[]){r.eax, r.ebx, r.ecx, r.edx})[reg] >> bit) & 1u) != 0;
}

/* Sets what the instruction needs, runs it, restores. Returns its vector, or -2 if CR4 or XCR0
 * would not take the bits. */
static int run_prepared(const struct feature *feature)
{
    uint64_t cr4 = insn_read_cr4();
    uint64_t xcr0 = 0;
    int vector;

    if (fault_write_cr4(cr4 | feature->cr4) != NO_FAULT) {
        return -2;
    }
    if (feature->xcr0 != 0) {
        xcr0 = insn_xgetbv(0);
        if (fault_xsetbv(0, feature->xcr0) != NO_FAULT) {
            insn_write_cr4(cr4);
            return -2;
        }
    }
    vector = fault_vector_of(feature->run, scratch);
    if (feature->xcr0 != 0) {
        insn_xsetbv(0, xcr0);
    }
    insn_write_cr4(cr4);
    return vector;
}

static void check_feature(const struct feature *feature)
{
    unsigned int cpu = cpu_this()->index;
    int vector;

    if (cpuid_shows(feature->leaf, feature->subleaf, feature->reg, feature->bit)) {
        shown_count++;
        vector = run_prepared(feature);
        CHECK(vector == NO_FAULT, "%s is shown but %s %d on cpu %u", feature->name,
              vector == -2 ? "CR4/XCR0 refuse it:" : "faults with vector", vector, cpu);
        return;
    }
    hidden_count++;
    if (sluice_is_present() && feature->hidden == HIDDEN_ANY) {
        return;
    }
    vector = run_prepared(feature);
    CHECK(vector == (int)VECTOR_UD || vector == -2, "%s is hidden but gives %d on cpu %u",
          feature->name, vector, cpu);
}

static void check_all_features(void *arg)
{
    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(features); i++) {
        check_feature(&features[i]);
    }
    for (unsigned int i = 0; i < ARRAY_LEN(other_encodings); i++) {
        const struct feature *f = &other_encodings[i];

        if (cpuid_shows(f->leaf, f->subleaf, f->reg, f->bit)) {
            check_feature(f);
        }
    }
}

void test_cpuid_instructions(void)
{
    shown_count = 0;
    hidden_count = 0;
    CHECK(smp_call_each(check_all_features, NULL), "a processor does not answer");
    print_line("MEASURE cpuid_features shown=%u hidden=%u", shown_count / smp_cpu_count(),
               hidden_count / smp_cpu_count());
    CHECK(shown_count != 0, "no feature is shown");
}
