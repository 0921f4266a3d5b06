/* SPDX-License-Identifier: BSD-2-Clause */
/* Another processor in real mode, big real mode, protected mode, and on the short way to long
 * mode. */
#include "tests/guest/groups.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/realmode.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"

#define SLUICE_WORD 0x69756C53u /* "Slui" */
#define ENTER_US    100000u
#define SETTLE_US   300u

static void tour(void)
{
    struct cpu *cpu = &cpus[1];
    uint32_t signature = insn_cpuid(1, 0).eax;
    volatile struct real_results *r = real_start(cpu, &real_image_tour);

    REQUIRE(r != NULL, "the code does not come to its end");
    CHECK(r->signature == signature, "CPUID in real mode gives %x", r->signature);
    CHECK((r->apic_base & 0xFFFFF000u) == APIC_BASE_ADDRESS, "RDMSR gives %x", r->apic_base);
    CHECK(r->port_read == 1 && r->stack_word == 0x1234, "stack word %x", r->stack_word);
    CHECK(r->protected_signature == signature, "CPUID in protected mode gives %x",
          r->protected_signature);
    CHECK(r->apic_version == apic_read(APIC_VERSION), "big real mode reads %x", r->apic_version);
    CHECK(r->flat_copy == signature, "the flat segment reads %x", r->flat_copy);
    CHECK((r->cr0 & 0x80000001u) == 0 && (r->smsw & 1u) == 0, "CR0 %x, SMSW %x", r->cr0, r->smsw);
    CHECK((r->own_block == SLUICE_WORD) == sluice_is_present(), "own block: %x", r->own_block);
    CHECK(smp_start(cpu), "it does not start any more");
}

static void direct(void)
{
    REQUIRE(real_start(&cpus[1], &real_image_direct) != NULL,
            "no long mode with PE and PG at once");
    CHECK(smp_start(&cpus[1]), "it does not start any more");
}

/* NMIs reach real-mode code through the vector table at address 0, and end its HLT. */
static void real_nmi(void)
{
    struct cpu *cpu = &cpus[1];
    volatile struct real_results *r = real_start(cpu, &real_image_halt_nmi);

    REQUIRE(r != NULL, "the code does not run");
    clock_wait_us(SETTLE_US);
    CHECK(r->beat == 1 && r->nmi_count == 0, "before: beat %u, NMIs %u", r->beat, r->nmi_count);
    for (uint32_t i = 1; i <= 5; i++) {
        apic_send(cpu->apic_id, ICR_NMI | ICR_ASSERT);
        clock_wait_us(SETTLE_US);
        CHECK(r->nmi_count == i, "%u NMIs of %u", r->nmi_count, i);
    }
    CHECK(r->beat == 2, "the HLT did not end");
    CHECK(smp_start(cpu), "it does not start any more");
}

static void test_tour(void)
{
    ipi_in_mode(APIC_XAPIC, tour);
}

static void test_direct(void)
{
    ipi_in_mode(APIC_XAPIC, direct);
}

IPI_IN_BOTH_MODES(real_nmi)

static const struct test tests[] = {
    {"real_nmi", real_nmi_xapic},
    {"tour", test_tour},
    {"direct", test_direct},
};

static const struct test tests_x2[] = {
    {"real_nmi", real_nmi_x2apic},
};

const struct test_group group_modes = {.name = "modes", TEST_GROUP(tests)};
const struct test_group group_modes_x2 = {.name = "modes_x2", TEST_GROUP(tests_x2)};
