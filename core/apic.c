/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/apic.h"

#include "core/apic_send.h"
#include "core/compiler.h"
#include "core/cpu.h"
#include "core/idt.h"
#include "core/msr.h"

#define X2APIC_MSR(index)        (0x800u + ((uint32_t)(index) >> 4))
#define APIC_VECTOR_WORDS        8u /* of 32 vectors, 16 bytes apart */
#define APIC_MAX_IN_SERVICE      256u
#define APIC_SVR_RESET           0xFFu
#define APIC_SVR_ENABLE          (1u << 8)
#define APIC_TPR_EXCEPTION_CLASS 0x10u /* holds back vectors up to 31 */
#define APIC_MAX_LVT_SHIFT       16u

bool apic_is_x2apic(void)
{
    return (cpu_read_msr(MSR_IA32_APIC_BASE) & IA32_APIC_BASE_EXTD) != 0;
}

static uint32_t read_offset(uint32_t offset)
{
    if (apic_is_x2apic()) {
        return (uint32_t)cpu_read_msr(X2APIC_MSR(offset));
    }
    return *apic_page_register(offset);
}

static void write_offset(uint32_t offset, uint32_t value)
{
    if (apic_is_x2apic()) {
        cpu_write_msr(X2APIC_MSR(offset), value);
        return;
    }
    *apic_page_register(offset) = value;
}

uint32_t apic_read(enum apic_register index)
{
    return read_offset(index);
}

void apic_write(enum apic_register index, uint32_t value)
{
    write_offset(index, value);
}

uint32_t apic_id(void)
{
    uint32_t id = read_offset(APIC_ID);

    return apic_is_x2apic() ? id : id >> 24;
}

enum status apic_send(uint32_t low, uint32_t destination, uint32_t icr_high_after)
{
    if (apic_is_x2apic()) {
        apic_send_x2apic(low, destination);
        return STATUS_OK;
    }
    return apic_send_xapic(low, destination, icr_high_after);
}

/* Whether any vector from 32 * first_word on is set. */
static bool any_vector(uint32_t offset, uint32_t first_word)
{
    uint32_t all = 0;

    for (uint32_t word = first_word; word < APIC_VECTOR_WORDS; word++) {
        all |= read_offset(offset + word * 16);
    }
    return all != 0;
}

/* What is in service is ended; what is requested can only be taken, so it is: the host's
 * interrupt stubs acknowledge and drop it (core/idt.c). Not so vectors 16 to 31, which a guest
 * may send as well: they would come as exceptions, and stay requested (docs/limits.md). */
static void drop_interrupts(void)
{
    for (uint32_t count = 0; count < APIC_MAX_IN_SERVICE && any_vector(APIC_ISR, 0); count++) {
        apic_write(APIC_EOI, 0);
    }
    if (!any_vector(APIC_IRR, 1)) {
        return;
    }
    apic_write(APIC_TPR, APIC_TPR_EXCEPTION_CLASS);
    apic_write(APIC_SVR, APIC_SVR_RESET | APIC_SVR_ENABLE);
    for (uint32_t count = 0; count < APIC_MAX_IN_SERVICE && any_vector(APIC_IRR, 1); count++) {
        idt_take_pending_interrupts();
    }
}

void apic_reset_by_init(void)
{
    static const enum apic_register lvts[] = {APIC_LVT_TIMER, APIC_LVT_LINT0, APIC_LVT_LINT1,
                                              APIC_LVT_ERROR, APIC_LVT_PMI,   APIC_LVT_THERMAL,
                                              APIC_LVT_CMCI};
    uint32_t max_lvt = (apic_read(APIC_VERSION) >> APIC_MAX_LVT_SHIFT) & 0xFF;
    bool is_x2apic = apic_is_x2apic();

    apic_write(APIC_TIMER_INITIAL, 0);
    for (uint32_t i = 0; i < ARRAY_LEN(lvts) && i <= max_lvt; i++) {
        apic_write(lvts[i], APIC_LVT_MASKED);
    }
    drop_interrupts();
    apic_write(APIC_TIMER_DIVIDE, 0);
    apic_write(APIC_TPR, 0);
    apic_write(APIC_ESR, 0);
    apic_write(APIC_ESR, 0);
    if (!is_x2apic) {
        apic_write(APIC_LDR, 0);
        apic_write(APIC_DFR, APIC_DFR_RESET);
    }
    apic_write(APIC_SVR, APIC_SVR_RESET);
}
