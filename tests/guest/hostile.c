/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/hostile.h"

#include <stdatomic.h>

#include "core/stats.h"
#include "core/string.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

#define DEFAULT_SEED       1u
#define DEFAULT_OPS        1000u
#define STORM_WAITS        60u /* of smp_wait's two seconds */
#define CODE_BYTES         64u
#define CODE_MAX           32u
#define INSN_RET           0xC3u
#define WARM_UP            16u
#define MSR_KERNEL_GS_BASE 0xC0000102u
#define DR7_CLEAR          0x400ull
#define DR6_CLEAR          0xFFFF0FF0ull

struct saved_state {
    uint64_t cr0, cr4;
};

static const struct guest_info *machine;
static uint64_t seed = DEFAULT_SEED;
static uint64_t operations = DEFAULT_OPS;
static hostile_operation *current;
static uint64_t rounds;
static uint64_t storms;
static _Atomic uint64_t operations_done;
static struct saved_state saved[GUEST_MAX_CPUS];
static _Alignas(CODE_BYTES) uint8_t code[GUEST_MAX_CPUS][CODE_BYTES];

/* The number behind NAME= in the options. */
static uint64_t option(const char *options, const char *name, uint64_t fallback)
{
    size_t length = str_length(name, GUEST_OPTIONS_BYTES);

    for (; *options != '\0'; options++) {
        if (memcmp(options, name, length) == 0) {
            uint64_t value = 0;

            for (options += length; *options >= '0' && *options <= '9'; options++) {
                value = value * 10 + (uint64_t)(*options - '0');
            }
            return value;
        }
    }
    return fallback;
}

static void save_here(void *arg)
{
    struct saved_state *state = &saved[cpu_this()->index];

    (void)arg;
    state->cr0 = insn_read_cr0();
    state->cr4 = insn_read_cr4();
}

void hostile_init(const struct guest_info *info)
{
    machine = info;
    seed = option(info->options, "seed=", DEFAULT_SEED);
    operations = option(info->options, "ops=", DEFAULT_OPS);
    (void)smp_call_each(save_here, NULL);
}

const struct guest_info *hostile_machine(void)
{
    return machine;
}

uint64_t hostile_next(struct hostile_random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * 0x2545F4914F6CDD1Dull;
}

uint32_t hostile_below(struct hostile_random *random, uint32_t limit)
{
    return (uint32_t)((hostile_next(random) >> 32) % limit);
}

uint64_t hostile_value(struct hostile_random *random)
{
    uint64_t bit = 1ull << hostile_below(random, 64);

    switch (hostile_below(random, 8)) {
    case 0:
        return 0;
    case 1:
        return ~0ull;
    case 2:
        return bit;
    case 3:
        return bit - 1;
    case 4:
        return ~bit;
    case 5:
        return hostile_next(random) & (bit - 1);
    case 6:
        return (uint32_t)hostile_next(random);
    default:
        return hostile_next(random);
    }
}

/* With DR7.GD set the first move faults, and clears it. */
static void clear_debug_registers(void *arg)
{
    (void)arg;
    insn_write_dr7(DR7_CLEAR);
    insn_write_dr6(DR6_CLEAR);
}

void hostile_restore(void)
{
    const struct cpu *cpu = cpu_this();

    insn_cli();
    for (unsigned int i = 0; i < 2; i++) {
        (void)fault_vector_of(clear_debug_registers, NULL);
    }
    insn_write_cr0(saved[cpu->index].cr0);
    insn_write_cr4(saved[cpu->index].cr4);
}

int hostile_execute(struct hostile_registers *registers, const uint8_t *bytes, unsigned int count)
{
    uint8_t *at = code[cpu_this()->index];
    int vector;

    memcpy(at, bytes, count < CODE_MAX ? count : CODE_MAX);
    at[count < CODE_MAX ? count : CODE_MAX] = INSN_RET;
    registers->code = (uintptr_t)at;
    vector = fault_vector_of(hostile_call, registers);
    hostile_restore();
    return vector;
}

static void storm_here(void *arg)
{
    struct cpu *cpu = cpu_this();
    struct hostile_random random = {(seed * 1000003u + storms) * 64u + cpu->index + 1u};

    (void)arg;
    insn_wrmsr(MSR_KERNEL_GS_BASE, (uintptr_t)cpu);
    for (unsigned int i = 0; i < WARM_UP; i++) {
        (void)hostile_next(&random);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        current(&random);
        /* Relaxed: read when this processor has said that it is done (smp_wait). */
        atomic_fetch_add_explicit(&operations_done, 1, memory_order_relaxed);
    }
}

/* Exits of all kinds on all processors so far; 0 without Sluice. */
static uint64_t exits_so_far(void)
{
    uint64_t sum = 0;
    uint64_t value;

    if (!sluice_is_present()) {
        return 0;
    }
    for (uint32_t number = STAT_COUNT; number < sluice_counter_count(); number++) {
        if (sluice_counter(SUM_OF_ALL_VPS, number, &value)) {
            sum += value;
        }
    }
    return sum;
}

static bool wait_long(struct cpu *cpu)
{
    for (unsigned int i = 0; i < STORM_WAITS; i++) {
        if (smp_wait(cpu)) {
            return true;
        }
    }
    return false;
}

void hostile_storm(hostile_operation *operation, unsigned int divisor)
{
    uint64_t exits_before = exits_so_far();
    uint64_t done;

    current = operation;
    rounds = operations / divisor + 1;
    storms++;
    atomic_store_explicit(&operations_done, 0, memory_order_relaxed);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        smp_run(&cpus[i], storm_here, NULL);
    }
    storm_here(NULL);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        CHECK(wait_long(&cpus[i]), "cpu %u does not come back", i);
    }
    done = atomic_load_explicit(&operations_done, memory_order_relaxed);
    CHECK(done == rounds * smp_cpu_count(), "%lu operations were done", done);
    print_line("MEASURE hostile_storm number=%lu seed=%lu operations=%lu exits=%lu", storms, seed,
               done, exits_so_far() - exits_before);
    hostile_check_alive();
}

static void answer_here(void *arg)
{
    bool *was_present = arg;

    CHECK(sluice_is_present() == *was_present, "cpu %u: the CPUID block has changed",
          cpu_this()->index);
    CHECK(insn_cpuid(0, 0).eax != 0, "cpu %u: CPUID does not work", cpu_this()->index);
}

void hostile_check_alive(void)
{
    static bool was_present;
    static bool is_known;
    uint64_t value = 0;

    if (!is_known) {
        was_present = sluice_is_present();
        is_known = true;
    }
    CHECK(smp_call_each(answer_here, &was_present), "a processor does not answer");
    if (was_present) {
        CHECK(sluice_counter(0, 0, &value), "the counters are gone");
    }
}
