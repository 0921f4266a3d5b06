/* SPDX-License-Identifier: BSD-2-Clause */
/* Control registers: illegal values fault, legal ones read back, even those that VMX fixes. */
#include "tests/guest/test_control.h"

#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_cpuid_insn.h"

#define GP        ((int)VECTOR_GP)
#define CR0_PE    (1ull << 0)
#define CR0_MP    (1ull << 1)
#define CR0_EM    (1ull << 2)
#define CR0_TS    (1ull << 3)
#define CR0_ET    (1ull << 4)
#define CR0_NE    (1ull << 5)
#define CR0_WP    (1ull << 16)
#define CR0_AM    (1ull << 18)
#define CR0_NW    (1ull << 29)
#define CR0_CD    (1ull << 30)
#define CR0_PG    (1ull << 31)
#define CR4_PAE   (1ull << 5)
#define CR4_PGE   (1ull << 7)
#define CR4_PCIDE (1ull << 17)
#define CR3_PCD   (1ull << 4)
#define CR3_KEEP  (1ull << 63)

static void check_cr0(uint64_t value, uint64_t wanted)
{
    int vector = fault_write_cr0(value);

    CHECK(vector == NO_FAULT && insn_read_cr0() == wanted, "CR0 := %lx gives %d, reads %lx", value,
          vector, insn_read_cr0());
}

static void cr0_here(void *arg)
{
    uint64_t old = insn_read_cr0();

    (void)arg;
    CHECK(fault_write_cr0(old & ~CR0_PE) == GP, "PG without PE");
    CHECK(fault_write_cr0(old & ~CR0_PG) == GP, "PG clears in 64-bit mode");
    CHECK(fault_write_cr0((old | CR0_NW) & ~CR0_CD) == GP, "NW without CD");
    CHECK(fault_write_cr0(old | 1ull << 32) == GP, "bit 32");
    CHECK(fault_write_cr0(old | 1ull << 63) == GP, "bit 63");
    CHECK(insn_read_cr0() == old, "a refused write changed CR0 to %lx", insn_read_cr0());
    check_cr0(old ^ CR0_NE, old ^ CR0_NE);
    check_cr0(old ^ CR0_WP, old ^ CR0_WP);
    check_cr0(old ^ CR0_AM, old ^ CR0_AM);
    check_cr0(old ^ CR0_MP, old ^ CR0_MP);
    check_cr0(old & ~CR0_ET, old | CR0_ET);
    check_cr0(old | CR0_CD | CR0_NW, old | CR0_CD | CR0_NW);
    check_cr0(old | CR0_CD, old | CR0_CD);
    check_cr0(old | CR0_TS, old | CR0_TS);
    insn_clts();
    CHECK(insn_read_cr0() == (old & ~CR0_TS), "CLTS: CR0 is %lx", insn_read_cr0());
    insn_lmsw((uint16_t)(old | CR0_TS | CR0_EM));
    CHECK((insn_read_cr0() & 0xFu) == ((old | CR0_TS | CR0_EM) & 0xFu), "LMSW: CR0 is %lx",
          insn_read_cr0());
    insn_lmsw(0);
    CHECK((insn_read_cr0() & 0xFu) == CR0_PE, "LMSW cleared PE or kept the rest: %lx",
          insn_read_cr0());
    insn_write_cr0(old);
    CHECK((insn_smsw() & 0xFFFFu) == (old & 0xFFFFu), "SMSW gives %lx", insn_smsw());
}

void test_control_cr0(void)
{
    CHECK(smp_call_each(cr0_here, NULL), "a processor does not answer");
}

static void cr3_here(void *arg)
{
    uint64_t old = insn_read_cr3();
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;

    (void)arg;
    for (uint32_t bit = address_bits; bit < 61; bit++) {
        CHECK(fault_write_cr3(old | 1ull << bit) == GP, "CR3 bit %u gives no #GP", bit);
    }
    CHECK(fault_write_cr3(old | CR3_KEEP) == GP, "bit 63 without PCIDE gives no #GP");
    CHECK(fault_write_cr3(old | CR3_PCD) == NO_FAULT && insn_read_cr3() == (old | CR3_PCD),
          "CR3 reads %lx", insn_read_cr3());
    insn_write_cr3(old);
    CHECK(insn_read_cr3() == old, "CR3 reads %lx, was %lx", insn_read_cr3(), old);
}

void test_control_cr3(void)
{
    CHECK(smp_call_each(cr3_here, NULL), "a processor does not answer");
}

static void check_pcid(uint64_t cr3, uint64_t cr4)
{
    insn_write_cr3(cr3 | CR3_PCD);
    CHECK(fault_write_cr4(cr4 | CR4_PCIDE) == GP, "PCIDE while CR3[11:0] is not 0");
    insn_write_cr3(cr3);
    CHECK(fault_write_cr4(cr4 | CR4_PCIDE) == NO_FAULT, "PCIDE faults");
    CHECK(fault_write_cr3(cr3 | 0x123u) == NO_FAULT && insn_read_cr3() == (cr3 | 0x123u),
          "PCID 123h: CR3 reads %lx", insn_read_cr3());
    CHECK(fault_write_cr3(cr3 | CR3_KEEP) == NO_FAULT && insn_read_cr3() == cr3,
          "bit 63 with PCIDE: CR3 reads %lx", insn_read_cr3());
    insn_write_cr4(cr4);
}

static void cr4_here(void *arg)
{
    uint64_t old = insn_read_cr4();

    (void)arg;
    CHECK(fault_write_cr4(old & ~CR4_PAE) == GP, "PAE clears in long mode");
    CHECK(fault_write_cr4(old ^ CR4_PGE) == NO_FAULT && insn_read_cr4() == (old ^ CR4_PGE),
          "PGE: CR4 reads %lx", insn_read_cr4());
    insn_write_cr4(old);
    if (cpuid_shows(1, 0, 2, 17)) {
        check_pcid(insn_read_cr3(), old);
    }
    CHECK(insn_read_cr4() == old, "CR4 reads %lx, was %lx", insn_read_cr4(), old);
}

void test_control_cr4(void)
{
    CHECK(smp_call_each(cr4_here, NULL), "a processor does not answer");
}

static void wbinvd_here(void *arg)
{
    static volatile uint64_t word;

    (void)arg;
    word = 0x77665544u;
    insn_wbinvd();
    CHECK(word == 0x77665544u, "WBINVD lost data");
}

void test_control_wbinvd(void)
{
    CHECK(smp_call_each(wbinvd_here, NULL), "a processor does not answer");
}
