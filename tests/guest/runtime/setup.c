/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/setup.h"

#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/smp.h"

#define PIC1_DATA         0x21u
#define PIC2_DATA         0xA1u
#define IOAPIC_SELECT     0xFEC00000u
#define IOAPIC_WINDOW     0xFEC00010u
#define IOAPIC_VERSION    1u
#define IOAPIC_FIRST_WORD 0x10u
#define IOAPIC_MASKED     (1u << 16)

static void mask_ioapic(void)
{
    volatile uint32_t *select = (volatile uint32_t *)(uintptr_t)IOAPIC_SELECT;
    volatile uint32_t *window = (volatile uint32_t *)(uintptr_t)IOAPIC_WINDOW;
    uint32_t last;

    *select = IOAPIC_VERSION;
    last = (*window >> 16) & 0xFFu;
    for (uint32_t pin = 0; pin <= last; pin++) {
        *select = IOAPIC_FIRST_WORD + 2 * pin;
        *window = IOAPIC_MASKED;
    }
}

bool setup_machine(const struct guest_info *info)
{
    insn_cli();
    print_init();
    cpu_init_all(info);
    paging_init();
    cpu_load_tables(&cpus[0]);
    paging_load();
    insn_out8(PIC1_DATA, 0xFF);
    insn_out8(PIC2_DATA, 0xFF);
    mask_ioapic();
    clock_init();
    apic_set_mode(APIC_XAPIC);
    atomic_fetch_add(&cpus[0].starts, 1);
    smp_init(info);
    return smp_start_all();
}
