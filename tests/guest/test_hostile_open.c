/* SPDX-License-Identifier: BSD-2-Clause */
/* Hostile input that stops the guest, or worse, where it should not: each test in a boot of its
 * own. */
#include "core/compiler.h"
#include "tests/guest/groups.h"
#include "tests/guest/hostile.h"
#include "tests/guest/hostile_memory.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"

#define PIC1_COMMAND  0x20u
#define PIC1_DATA     0x21u
#define PIT_CHANNEL0  0x40u
#define PIT_COMMAND   0x43u
#define TICK_SPINS    200000u
#define MSR_PHYSBASE6 0x20Cu
#define MASK_VALID    (1ull << 11)
#define HALF_GIB      (1ull << 29)
#define GIB           (1ull << 30)
#define GIBS          1000u
#define TABLE_WORDS   512u

/* An interrupt of the 8259 with the vector of an exception, at the moment that the hypervisor
 * drops what is pending in the local APIC. Vector 8 is what the BIOS uses for the timer. */
static void test_extint(void)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);

    insn_out8(PIC1_COMMAND, 0x11);
    insn_out8(PIC1_DATA, 0x08);
    insn_out8(PIC1_DATA, 0x04);
    insn_out8(PIC1_DATA, 0x01);
    insn_out8(PIC1_DATA, 0xFE);
    insn_out8(PIT_COMMAND, 0x34);
    insn_out8(PIT_CHANNEL0, 0x00);
    insn_out8(PIT_CHANNEL0, 0x04);
    for (volatile unsigned int i = 0; i < TICK_SPINS; i++) {
    }
    apic_send(0, ICR_FIXED | ICR_ASSERT | ICR_TO_SELF | (VECTOR_TEST + 1));
    insn_wrmsr(MSR_APIC_BASE, base & ~(uint64_t)APIC_BASE_EN);
    insn_wrmsr(MSR_APIC_BASE, base);
    hostile_quiet(NULL);
    insn_out8(PIC1_DATA, 0xFF);
    insn_out8(PIC1_COMMAND, 0x20);
    hostile_check_alive();
}

/* Every GiB half UC, half WB, and every GiB touched: each needs a table of its own. */
static void test_fills(void)
{
    uint64_t mask = (1ull << (insn_cpuid(0x80000008u, 0).eax & 0xFFu)) - 1;

    insn_wrmsr(MSR_PHYSBASE6, 0);
    insn_wrmsr(MSR_PHYSBASE6 + 1, (mask & HALF_GIB) | MASK_VALID);
    for (uint64_t i = 4; i < GIBS; i++) {
        (void)*(volatile uint64_t *)hostile_window(i * GIB);
    }
    insn_wrmsr(MSR_PHYSBASE6 + 1, 0);
    hostile_check_alive();
}

/* The same with the MTRRs as they are. */
static void test_plain_fills(void)
{
    for (uint64_t i = 4; i < GIBS; i++) {
        (void)*(volatile uint64_t *)hostile_window(i * GIB);
    }
    hostile_check_alive();
}

static volatile bool is_written;

static void write_here(void *arg)
{
    insn_write_cr3((uintptr_t)arg);
    apic_write(APIC_TPR, 0);
    insn_write_cr3(paging_root());
    is_written = true;
}

/* A write to the local APIC while the page tables lie in reserved memory. */
static void test_hidden_tables(void)
{
    const struct guest_info *machine = hostile_machine();
    const uint64_t *root = (const uint64_t *)(uintptr_t)paging_root();

    REQUIRE(machine->reserved_count != 0 && smp_cpu_count() > 1, "not here");
    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        uint64_t table = machine->reserved[i].start;
        volatile uint64_t *words = hostile_window(table);

        for (unsigned int word = 0; word < TABLE_WORDS; word++) {
            words[word] = root[word];
        }
        is_written = false;
        smp_run(&cpus[1], write_here, (void *)(uintptr_t)table);
        (void)smp_wait(&cpus[1]);
        CHECK(is_written, "tables at %lx: the write never ends", table);
        CHECK(is_written || smp_start(&cpus[1]), "the processor does not start again");
    }
}

static const struct test tests[] = {
    {"extint", test_extint},
    {"fills", test_fills},
    {"plain_fills", test_plain_fills},
    {"hidden_tables", test_hidden_tables},
};

const struct test_group group_hostile_open = {
    .name = "hostile_open", TEST_GROUP(tests), .is_only_by_name = true};
