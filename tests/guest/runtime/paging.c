/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/paging.h"

#include "tests/guest/runtime/insn.h"

#define PTE_PRESENT 0x01ull
#define PTE_WRITE   0x02ull
#define PTE_USER    0x04ull
#define PTE_LARGE   0x80ull
#define TABLE_WORDS 512u
#define LOW_GIB     4u
#define CR0_WP      (1ull << 16)

typedef uint64_t page_table[TABLE_WORDS];

static _Alignas(4096) page_table pml4;
static _Alignas(4096) page_table low_pdpt;
static _Alignas(4096) page_table user_pdpt;
static _Alignas(4096) page_table window_pdpt;
static _Alignas(4096) page_table low_pd[LOW_GIB];
static _Alignas(4096) page_table user_pd[LOW_GIB];
static _Alignas(4096) page_table window_pd;

static uint64_t table_entry(const uint64_t *table, uint64_t flags)
{
    return (uintptr_t)table | flags;
}

void paging_init(void)
{
    const uint64_t flags = PTE_PRESENT | PTE_WRITE;

    pml4[0] = table_entry(low_pdpt, flags);
    pml4[1] = table_entry(user_pdpt, flags | PTE_USER);
    pml4[2] = table_entry(window_pdpt, flags);
    window_pdpt[0] = table_entry(window_pd, flags);
    for (uint64_t gib = 0; gib < LOW_GIB; gib++) {
        low_pdpt[gib] = table_entry(low_pd[gib], flags);
        user_pdpt[gib] = table_entry(user_pd[gib], flags | PTE_USER);
        for (uint64_t i = 0; i < TABLE_WORDS; i++) {
            uint64_t address = (gib * TABLE_WORDS + i) * PAGING_LARGE_BYTES;

            low_pd[gib][i] = address | flags | PTE_LARGE;
            user_pd[gib][i] = address | flags | PTE_LARGE | PTE_USER;
        }
    }
}

void paging_load(void)
{
    insn_write_cr3(paging_root());
    insn_write_cr0(insn_read_cr0() | CR0_WP);
}

uint32_t paging_root(void)
{
    return (uint32_t)(uintptr_t)pml4;
}

volatile void *paging_window(uint64_t physical)
{
    uint64_t base = physical & ~(PAGING_LARGE_BYTES - 1);

    window_pd[0] = base | PTE_PRESENT | PTE_WRITE | PTE_LARGE;
    insn_invlpg(PAGING_WINDOW);
    return (volatile void *)(uintptr_t)(PAGING_WINDOW + (physical - base));
}
