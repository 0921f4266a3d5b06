/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/apic.h"

#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/traps.h"

#define CPUID_1_ECX_X2APIC (1u << 21)

static volatile uint32_t *xapic_register(uint32_t offset)
{
    return (volatile uint32_t *)(uintptr_t)(APIC_BASE_ADDRESS + offset);
}

enum apic_mode apic_current_mode(void)
{
    uint64_t base = insn_rdmsr(MSR_APIC_BASE);

    if ((base & APIC_BASE_EN) == 0) {
        return APIC_OFF;
    }
    return (base & APIC_BASE_EXTD) != 0 ? APIC_X2APIC : APIC_XAPIC;
}

bool apic_has_x2apic(void)
{
    return (insn_cpuid(1, 0).ecx & CPUID_1_ECX_X2APIC) != 0;
}

/* SDM volume 3, "x2APIC State Transitions": x2APIC is left through the disabled state only. */
void apic_set_mode(enum apic_mode mode)
{
    enum apic_mode current = apic_current_mode();
    uint64_t base = insn_rdmsr(MSR_APIC_BASE) & ~(uint64_t)(APIC_BASE_EN | APIC_BASE_EXTD);

    if (current == APIC_X2APIC && mode != APIC_X2APIC) {
        insn_wrmsr(MSR_APIC_BASE, base);
        current = APIC_OFF;
    }
    if (current == APIC_OFF && mode != APIC_OFF) {
        insn_wrmsr(MSR_APIC_BASE, base | APIC_BASE_EN);
    }
    if (mode == APIC_OFF) {
        insn_wrmsr(MSR_APIC_BASE, base);
        return;
    }
    if (mode == APIC_X2APIC) {
        insn_wrmsr(MSR_APIC_BASE, base | APIC_BASE_EN | APIC_BASE_EXTD);
    }
    apic_enable();
}

void apic_enable(void)
{
    apic_write(APIC_TPR, 0);
    apic_write(APIC_LVT_LINT0, APIC_LVT_MASKED);
    apic_write(APIC_LVT_LINT1, ICR_NMI);
    apic_write(APIC_SVR, APIC_SVR_ENABLE | VECTOR_SPURIOUS);
}

uint32_t apic_read(uint32_t offset)
{
    if (apic_current_mode() == APIC_X2APIC) {
        return (uint32_t)insn_rdmsr(MSR_X2APIC_BASE + (offset >> 4));
    }
    return *xapic_register(offset);
}

void apic_write(uint32_t offset, uint32_t value)
{
    if (apic_current_mode() == APIC_X2APIC) {
        insn_wrmsr(MSR_X2APIC_BASE + (offset >> 4), value);
    } else {
        *xapic_register(offset) = value;
    }
}

void apic_eoi(void)
{
    apic_write(APIC_EOI, 0);
}

uint32_t apic_id(void)
{
    uint32_t id = apic_read(APIC_ID);

    return apic_current_mode() == APIC_X2APIC ? id : id >> 24;
}

void apic_send(uint32_t destination, uint32_t command)
{
    if (apic_current_mode() == APIC_X2APIC) {
        insn_wrmsr(MSR_X2APIC_BASE + (APIC_ICR >> 4), ((uint64_t)destination << 32) | command);
        return;
    }
    *xapic_register(APIC_ICR_HIGH) = destination << 24;
    *xapic_register(APIC_ICR) = command;
    while ((*xapic_register(APIC_ICR) & ICR_PENDING) != 0) {
        insn_pause();
    }
}
