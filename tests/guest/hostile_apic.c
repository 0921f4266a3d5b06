/* SPDX-License-Identifier: BSD-2-Clause */
/* The local APIC's page through every instruction form that the decoder knows, and odd ones. */
#include "core/compiler.h"
#include "core/string.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/traps.h"

#define LOAD_FORMS 5u /* at the end of forms */

struct form {
    uint8_t count;
    uint8_t bytes[11];
};

/* [RDI] is the register, RAX the value. */
static const struct form forms[] = {
    {2, {0x89, 0x07}},
    {2, {0x88, 0x07}},
    {3, {0x66, 0x89, 0x07}},
    {3, {0x48, 0x89, 0x07}},
    {2, {0x88, 0x27}}, /* AH */
    {3, {0x40, 0x88, 0x27}},
    {2, {0x87, 0x07}},
    {2, {0x86, 0x07}},
    {2, {0x01, 0x07}},
    {2, {0x09, 0x07}},
    {2, {0x11, 0x07}},
    {2, {0x19, 0x07}},
    {2, {0x21, 0x07}},
    {2, {0x29, 0x07}},
    {2, {0x31, 0x07}},
    {3, {0xF0, 0x01, 0x07}},
    {3, {0xF0, 0x31, 0x07}},
    {3, {0x48, 0x31, 0x07}},
    {2, {0xFF, 0x07}},
    {2, {0xFF, 0x0F}},
    {2, {0xFE, 0x07}},
    {3, {0xF0, 0xFF, 0x07}},
    {2, {0xF7, 0x17}},
    {2, {0xF7, 0x1F}},
    {2, {0xF6, 0x17}},
    {6, {0xC7, 0x07, 0x12, 0x34, 0x56, 0x00}},
    {3, {0xC6, 0x07, 0x55}},
    {7, {0x48, 0xC7, 0x07, 0x12, 0x34, 0x56, 0x78}},
    {5, {0x66, 0xC7, 0x07, 0x12, 0x34}},
    {3, {0x83, 0x07, 0x01}},
    {3, {0x83, 0x0F, 0x10}},
    {3, {0x83, 0x27, 0x7F}},
    {6, {0x81, 0x37, 0xFF, 0x00, 0xFF, 0x00}},
    {3, {0x80, 0x0F, 0x10}},
    {3, {0x0F, 0xC3, 0x07}},
    {4, {0x48, 0x0F, 0xC3, 0x07}},
    {3, {0xF3, 0x89, 0x07}},
    {3, {0x67, 0x89, 0x07}},
    {4, {0x2E, 0x3E, 0x89, 0x07}},
    {6, {0x66, 0x66, 0x66, 0x66, 0x89, 0x07}},
    {2, {0x8B, 0x07}},
    {2, {0x8A, 0x07}},
    {3, {0x0F, 0xB6, 0x07}},
    {2, {0x3B, 0x07}},
    {2, {0x85, 0x07}},
};

/* Registers that may hold any value for a moment: nothing comes of it while interrupts are off. */
static const uint16_t registers_any[] = {
    0x000, 0x010, 0x020, 0x030, 0x040, 0x080, 0x090, 0x0A0, 0x0B0, 0x0C0, 0x0D0, 0x0E0, 0x0F0,
    0x100, 0x170, 0x180, 0x1F0, 0x200, 0x270, 0x280, 0x290, 0x2E0, 0x2F0, 0x310, 0x370, 0x390,
    0x3A0, 0x3D0, 0x3E0, 0x3F0, 0x400, 0x480, 0x500, 0x800, 0xFF0, 0x350, 0x340, 0x330, 0x320,
};

void hostile_quiet(void *arg)
{
    static const uint32_t lvt[] = {APIC_LVT_TIMER, 0x330, 0x340, APIC_LVT_LINT0, APIC_LVT_ERROR};

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(lvt); i++) {
        apic_write(lvt[i], APIC_LVT_MASKED);
    }
    apic_write(0x2F0, APIC_LVT_MASKED);
    apic_write(APIC_LDR, 0);
    apic_write(APIC_DFR, APIC_DFR_FLAT);
    apic_write(APIC_ICR_HIGH, 0);
    apic_write(APIC_TIMER_INIT, 0);
    apic_enable();
}

void hostile_apic_page(struct hostile_random *random)
{
    uint32_t number = hostile_below(random, ARRAY_LEN(forms));
    const struct form *form = &forms[number];
    uint64_t address =
        APIC_BASE_ADDRESS + registers_any[hostile_below(random, ARRAY_LEN(registers_any))];
    struct hostile_registers registers = {.rax = hostile_value(random)};

    /* Loads go to the hardware, which may refuse odd ones: Bochs ends then. */
    if (number < ARRAY_LEN(forms) - LOAD_FORMS && hostile_below(random, 8) == 0) {
        address += hostile_below(random, 16);
    }
    /* No bytes of the ICR's low word: what it would send may kill a processor of ours. */
    if (address + 8 > APIC_BASE_ADDRESS + APIC_ICR && address < APIC_BASE_ADDRESS + APIC_ICR + 4) {
        address += 16;
    }
    registers.rdi = address;
    (void)hostile_execute(&registers, form->bytes, form->count);
    hostile_quiet(NULL);
}

/* Commands to any set: NMIs, fixed interrupts, reserved modes, INIT de-assert. */
void hostile_icr(struct hostile_random *random)
{
    static const uint32_t modes[] = {ICR_NMI,    ICR_NMI, ICR_NMI, ICR_FIXED,
                                     ICR_LOWEST, 0x300,   0x700,   ICR_INIT | ICR_LEVEL};
    static const uint32_t shorthands[] = {0, 0, ICR_TO_SELF, ICR_TO_ALL, ICR_TO_ALL_BUT_SELF};
    uint32_t mode = modes[hostile_below(random, ARRAY_LEN(modes))];
    uint32_t command = mode | shorthands[hostile_below(random, ARRAY_LEN(shorthands))];
    uint32_t destination =
        hostile_below(random, 4) == 0 ? APIC_BROADCAST_X : hostile_below(random, 17);

    command |= hostile_below(random, 2) == 0 ? ICR_LOGICAL : 0;
    command |= mode == (ICR_INIT | ICR_LEVEL) ? 0 : ICR_ASSERT;
    command |= hostile_below(random, 4) == 0 ? hostile_below(random, 16)
                                             : VECTOR_TEST + hostile_below(random, 16);
    if (hostile_below(random, 8) == 0) {
        apic_write(APIC_LDR, hostile_below(random, 256) << 24);
        apic_write(APIC_DFR, hostile_below(random, 2) == 0 ? APIC_DFR_FLAT : APIC_DFR_CLUSTER);
    }
    apic_send(destination, command);
    switch (hostile_below(random, 4)) {
    case 0:
        insn_sti();
        insn_pause();
        insn_cli();
        break;
    case 1:
        hostile_instruction(random);
        break;
    default:
        break;
    }
}

/* The APIC off and on, software-disabled, moved: kicks must arrive all the same. */
void hostile_apic_mode(struct hostile_random *random)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);
    uint64_t value = base ^ (1ull << hostile_below(random, 64));

    switch (hostile_below(random, 5)) {
    case 0:
        insn_wrmsr(MSR_APIC_BASE, base & ~(uint64_t)APIC_BASE_EN);
        hostile_apic_page(random);
        insn_wrmsr(MSR_APIC_BASE, base);
        break;
    case 1:
        apic_write(APIC_SVR, hostile_below(random, 512));
        hostile_instruction(random);
        break;
    case 2:
        if ((value & APIC_BASE_EXTD) == (base & APIC_BASE_EXTD)) {
            (void)fault_wrmsr(MSR_APIC_BASE, value);
        }
        break;
    case 3:
        apic_send(0, ICR_FIXED | ICR_ASSERT | ICR_TO_SELF | (VECTOR_TEST + 1));
        insn_wrmsr(MSR_APIC_BASE, base & ~(uint64_t)APIC_BASE_EN);
        break;
    default:
        hostile_instruction(random);
        break;
    }
    insn_wrmsr(MSR_APIC_BASE, base);
    hostile_quiet(NULL);
}
