/* SPDX-License-Identifier: BSD-2-Clause */
/* MTRRs changed on all processors at once, while addresses are touched that were never mapped. */
#include "tests/guest/hostile_memory.h"
#include "core/compiler.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/smp.h"

#define MSR_PHYSBASE0     0x200u
#define MSR_MTRR_DEF_TYPE 0x2FFu
#define MSR_MTRRCAP       0x0FEu
#define DEF_FE            (1ull << 10)
#define DEF_E             (1ull << 11)
#define MASK_VALID        (1ull << 11)
#define TYPE_UC           0u
#define TYPE_WB           6u
#define VARIABLE_MAX      10u
#define WINDOW_SLOT       3u /* PML4 entry */
#define TABLE_WORDS       512u
#define PTE_FLAGS         0x83ull /* present, writable, large */
#define LINK_FLAGS        0x03ull

static const uint16_t fixed_msrs[] = {0x250, 0x258, 0x259, 0x268, 0x269, 0x26A,
                                      0x26B, 0x26C, 0x26D, 0x26E, 0x26F};

static _Alignas(4096) uint64_t pdpt[TABLE_WORDS];
static _Alignas(4096) uint64_t directory[TABLE_WORDS];

struct saved_mtrrs {
    uint64_t fixed[ARRAY_LEN(fixed_msrs)];
    uint64_t variable[2 * VARIABLE_MAX];
    uint64_t def_type;
};

static struct saved_mtrrs saved[GUEST_MAX_CPUS];

static unsigned int variable_count(void)
{
    unsigned int count = (unsigned int)insn_rdmsr(MSR_MTRRCAP) & 0xFFu;

    return count < VARIABLE_MAX ? count : VARIABLE_MAX;
}

void hostile_mtrrs_save(void *arg)
{
    struct saved_mtrrs *save = &saved[cpu_this()->index];

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(fixed_msrs); i++) {
        save->fixed[i] = insn_rdmsr(fixed_msrs[i]);
    }
    for (unsigned int i = 0; i < 2 * variable_count(); i++) {
        save->variable[i] = insn_rdmsr(MSR_PHYSBASE0 + i);
    }
    save->def_type = insn_rdmsr(MSR_MTRR_DEF_TYPE);
}

void hostile_mtrrs_restore(void *arg)
{
    const struct saved_mtrrs *save = &saved[cpu_this()->index];

    (void)arg;
    insn_wrmsr(MSR_MTRR_DEF_TYPE, 0);
    for (unsigned int i = 0; i < ARRAY_LEN(fixed_msrs); i++) {
        insn_wrmsr(fixed_msrs[i], save->fixed[i]);
    }
    for (unsigned int i = 0; i < 2 * variable_count(); i++) {
        insn_wrmsr(MSR_PHYSBASE0 + i, save->variable[i]);
    }
    insn_wrmsr(MSR_MTRR_DEF_TYPE, save->def_type);
}

static uint64_t address_mask(void)
{
    return (1ull << (insn_cpuid(0x80000008u, 0).eax & 0xFFu)) - 1;
}

static uint64_t random_type(struct hostile_random *random)
{
    static const uint8_t types[] = {0, 1, 4, 5, 6, 6, 0};

    return types[hostile_below(random, ARRAY_LEN(types))];
}

static uint64_t random_fixed(struct hostile_random *random)
{
    uint64_t value = 0;

    for (unsigned int i = 0; i < 8; i++) {
        value = value << 8 | random_type(random);
    }
    return value;
}

static void write_variable(struct hostile_random *random)
{
    unsigned int index = hostile_below(random, variable_count() + 1);
    uint64_t mask = address_mask() & ~0xFFFull;
    uint64_t cut = ~((1ull << (12 + hostile_below(random, 24))) - 1);

    (void)fault_wrmsr(MSR_PHYSBASE0 + 2 * index,
                      (hostile_value(random) & mask & cut) | random_type(random));
    /* One time in four a mask with holes: ranges without number. */
    (void)fault_wrmsr(MSR_PHYSBASE0 + 2 * index + 1,
                      (mask & (hostile_below(random, 4) == 0 ? hostile_value(random) : cut)) |
                          (hostile_below(random, 2) == 0 ? MASK_VALID : 0));
}

void hostile_mtrr(struct hostile_random *random)
{
    switch (hostile_below(random, 6)) {
    case 0:
    case 1:
        (void)fault_wrmsr(fixed_msrs[hostile_below(random, ARRAY_LEN(fixed_msrs))],
                          random_fixed(random));
        break;
    case 2:
        write_variable(random);
        break;
    case 3:
        (void)fault_wrmsr(MSR_MTRR_DEF_TYPE, DEF_E | (hostile_next(random) & DEF_FE) | TYPE_WB);
        break;
    case 4:
        (void)fault_wrmsr(MSR_MTRR_DEF_TYPE, hostile_value(random) & 0xFFFu);
        break;
    default:
        hostile_address(random);
        break;
    }
}

volatile void *hostile_window(uint64_t physical)
{
    uint64_t *root = (uint64_t *)(uintptr_t)paging_root();
    uint32_t index = cpu_this()->index;
    uint64_t base = physical & ~(PAGING_LARGE_BYTES - 1);
    uint64_t linear = (uint64_t)WINDOW_SLOT << 39 | (uint64_t)index * PAGING_LARGE_BYTES;

    directory[index] = base | PTE_FLAGS;
    pdpt[0] = (uintptr_t)directory | LINK_FLAGS;
    root[WINDOW_SLOT] = (uintptr_t)pdpt | LINK_FLAGS;
    insn_invlpg(linear);
    return (volatile void *)(uintptr_t)(linear + (physical - base));
}

/* Reads somewhere; writes only where nothing is. */
void hostile_address(struct hostile_random *random)
{
    uint64_t physical = hostile_value(random) & address_mask() & ~7ull;
    volatile uint64_t *word;

    if (physical >= 0xC0000000u && physical < 0x100000000ull) {
        physical += 0x100000000ull; /* reading a device may have effects */
    }
    word = hostile_window(physical);
    (void)*word;
    if (physical >= 0x100000000ull) {
        *word = physical;
    }
}
