/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/smp.h"

#include "core/string.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/probe.h"
#include "tests/guest/runtime/traps.h"

#define PARAMS_OFFSET  0xF00u
#define RECORD_OFFSET  0x800u
#define LOW_PAGE_BYTES 4096u
#define INIT_PAUSE_US  200u
#define START_LIMIT_US 1000000u
#define SIPI_LIMIT_US  20000u
#define WORK_LIMIT_US  2000000u
#define APIC_ID_COUNT  256u

/* The block at PARAMS_OFFSET of a low page; trampoline.asm knows the layout. */
struct low_params {
    uint16_t gdt_limit;
    uint32_t gdt_base;
    uint16_t padding0;
    uint32_t cr3;
    uint32_t far32_offset;
    uint16_t far32_selector;
    uint16_t padding1;
    uint32_t far64_offset;
    uint16_t far64_selector;
    uint16_t padding2[3];
    uint64_t entry;
} PACKED;

STATIC_ASSERT(__builtin_offsetof(struct low_params, far32_offset) == 12);
STATIC_ASSERT(__builtin_offsetof(struct low_params, far64_offset) == 20);
STATIC_ASSERT(__builtin_offsetof(struct low_params, entry) == 32);
STATIC_ASSERT(__builtin_offsetof(struct cpu, stack_top) == 16);

extern const uint8_t trampoline[];
extern const uint8_t trampoline_end[];
extern const uint8_t probe[];
extern const uint8_t probe_end[];
void trampoline_long_entry(void);

/* Read by trampoline.asm. */
extern struct cpu *smp_cpu_by_apic_id[APIC_ID_COUNT];
struct cpu *smp_cpu_by_apic_id[APIC_ID_COUNT];

/* Called by trampoline.asm, in 64-bit mode, on the processor's own stack. */
__attribute__((noreturn)) void smp_ap_main(struct cpu *cpu);

static uint64_t low_base;
static uint32_t cpu_count;

uint32_t smp_cpu_count(void)
{
    return cpu_count;
}

uint64_t smp_low_page(unsigned int page)
{
    return low_base + page * (uint64_t)LOW_PAGE_BYTES;
}

uint8_t smp_low_vector(unsigned int page)
{
    return (uint8_t)(smp_low_page(page) >> 12);
}

void smp_place_code(unsigned int page, const void *code, uint64_t bytes)
{
    uint8_t *to = (uint8_t *)(uintptr_t)smp_low_page(page);
    struct low_params *params = (struct low_params *)(void *)(to + PARAMS_OFFSET);
    uint32_t offsets[2];

    memset(to, 0, LOW_PAGE_BYTES);
    memcpy(to, code, bytes);
    memcpy(offsets, (const uint8_t *)code + bytes - sizeof(offsets), sizeof(offsets));
    params->gdt_limit = cpu_gdt_limit();
    params->gdt_base = cpu_gdt_address();
    params->cr3 = paging_root();
    params->far32_offset = (uint32_t)(uintptr_t)to + offsets[0];
    params->far32_selector = SELECTOR_CODE32;
    params->far64_offset = (uint32_t)(uintptr_t)to + offsets[1];
    params->far64_selector = SELECTOR_CODE64;
    params->entry = (uintptr_t)trampoline_long_entry;
}

void smp_init(const struct guest_info *info)
{
    low_base = info->low_base;
    cpu_count = info->cpu_count;
    for (uint32_t i = 0; i < cpu_count; i++) {
        smp_cpu_by_apic_id[cpus[i].apic_id % APIC_ID_COUNT] = &cpus[i];
    }
    smp_place_code(LOW_PAGE_START, trampoline, (uint64_t)(trampoline_end - trampoline));
    smp_place_code(LOW_PAGE_PROBE, probe, (uint64_t)(probe_end - probe));
    smp_place_code(LOW_PAGE_PROBE2, probe, (uint64_t)(probe_end - probe));
}

volatile struct probe_record *probe_reset(unsigned int low_page)
{
    void *record = (void *)(uintptr_t)(smp_low_page(low_page) + RECORD_OFFSET);

    memset(record, 0, sizeof(struct probe_record));
    return record;
}

static void take_apic_snapshot(struct apic_snapshot *snapshot)
{
    *snapshot = (struct apic_snapshot){
        .id = apic_id(),
        .tpr = apic_read(APIC_TPR),
        .ldr = apic_read(APIC_LDR),
        .dfr = apic_current_mode() == APIC_XAPIC ? apic_read(APIC_DFR) : APIC_DFR_FLAT,
        .svr = apic_read(APIC_SVR),
        .lvt_timer = apic_read(APIC_LVT_TIMER),
        .lvt_lint0 = apic_read(APIC_LVT_LINT0),
        .lvt_lint1 = apic_read(APIC_LVT_LINT1),
        .lvt_error = apic_read(APIC_LVT_ERROR),
        .timer_init = apic_read(APIC_TIMER_INIT),
        .timer_count = apic_read(APIC_TIMER_COUNT),
    };
    for (uint32_t word = 0; word < 8; word++) {
        snapshot->isr_bits |= apic_read(APIC_ISR + 16 * word);
        snapshot->irr_bits |= apic_read(APIC_IRR + 16 * word);
    }
}

void smp_ap_main(struct cpu *cpu)
{
    cpu_load_tables(cpu);
    take_apic_snapshot(&cpu->apic_at_start);
    cpu->is_catching = false;
    atomic_store(&cpu->work, NULL);
    apic_enable();
    atomic_fetch_add(&cpu->starts, 1);
    for (;;) {
        void (*work)(void *arg);

        insn_cli();
        work = atomic_load(&cpu->work);
        if (work != NULL) {
            work(cpu->work_arg);
            atomic_store(&cpu->work, NULL);
        } else {
            insn_sti_hlt_cli();
        }
    }
}

bool smp_wait_started(struct cpu *cpu, unsigned int before)
{
    return clock_wait_change(&cpu->starts, before, START_LIMIT_US);
}

bool smp_start(struct cpu *cpu)
{
    unsigned int before = atomic_load(&cpu->starts);
    uint32_t sipi = ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_START);

    apic_send(cpu->apic_id, ICR_INIT | ICR_ASSERT);
    clock_wait_us(INIT_PAUSE_US);
    apic_send(cpu->apic_id, sipi);
    if (clock_wait_change(&cpu->starts, before, SIPI_LIMIT_US)) {
        return true;
    }
    apic_send(cpu->apic_id, sipi);
    return smp_wait_started(cpu, before);
}

bool smp_start_all(void)
{
    bool all = true;

    for (uint32_t i = 1; i < cpu_count; i++) {
        if (!smp_start(&cpus[i])) {
            all = false;
        }
    }
    return all;
}

void smp_run(struct cpu *cpu, void (*fn)(void *arg), void *arg)
{
    cpu->work_arg = arg;
    atomic_store(&cpu->work, fn);
    apic_send(cpu->apic_id, ICR_FIXED | ICR_ASSERT | VECTOR_WAKE);
}

bool smp_wait(struct cpu *cpu)
{
    uint64_t start = insn_rdtsc();

    while (atomic_load(&cpu->work) != NULL) {
        if (insn_rdtsc() - start > WORK_LIMIT_US * clock_ticks_per_us()) {
            return false;
        }
        insn_pause();
    }
    return true;
}

bool smp_call(struct cpu *cpu, void (*fn)(void *arg), void *arg)
{
    if (cpu == cpu_this()) {
        fn(arg);
        return true;
    }
    smp_run(cpu, fn, arg);
    return smp_wait(cpu);
}

bool smp_call_each(void (*fn)(void *arg), void *arg)
{
    bool all = true;

    for (uint32_t i = 0; i < cpu_count; i++) {
        if (!smp_call(&cpus[i], fn, arg)) {
            all = false;
        }
    }
    return all;
}
