/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/guest_walk.c mm/guest_mem.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/cr_bits.h"
#include "core/msr.h"
#include "mm/guest_walk.h"

/* RAM of the guest, in a buffer; OUTSIDE is no RAM. Tables are pages 1 to 5, data comes after. */
#define RAM_BASE  0x100000ull
#define RAM_PAGES 16u
#define OUTSIDE   0x90000000ull
#define PAGE(n)   (RAM_BASE + (n)*PAGE_BYTES)

#define P  0x01u
#define PS 0x80u
/* What a walk must not take for a part of the address: XD, protection key, ignored bits. */
#define HIGH_BITS 0xFFF0000000000000ull
#define LOW_BITS  0x067u /* present, writable, user, accessed, dirty */

static _Alignas(4096) uint8_t ram[RAM_PAGES * 4096];
static struct guest_memory memory;

static int clear_memory(void **context)
{
    (void)context;
    memset(ram, 0, sizeof(ram));
    memory = (struct guest_memory){.host_base = (uint8_t *)((uintptr_t)ram - RAM_BASE)};
    return guest_memory_add(&memory, gpa(RAM_BASE), sizeof(ram)) ? 0 : -1;
}

/* One entry of a walk: where it is and what it holds. */
struct entry {
    uint64_t at;
    uint64_t value;
    uint32_t bytes;
};

static void put(const struct entry *entry, uint64_t value)
{
    memcpy(&ram[entry->at - RAM_BASE], &value, entry->bytes);
}

static void expect_mapped(const struct guest_paging *paging, uint64_t address, uint64_t expected)
{
    gpa_t out = gpa(0xDEAD);

    assert_true(guest_walk(&memory, paging, gva(address), &out));
    assert_int_equal(out.value, expected);
}

static void expect_unmapped(const struct guest_paging *paging, uint64_t address)
{
    gpa_t out;

    assert_false(guest_walk(&memory, paging, gva(address), &out));
}

/* Writes the entries, sees the translation, then spoils each entry in turn: not present (all other
 * bits set), a table outside RAM, a table in the hidden range. */
static void check_walk(const struct guest_paging *paging, const struct entry *entries,
                       uint32_t count, uint64_t address, uint64_t expected)
{
    for (uint32_t i = 0; i < count; i++) {
        put(&entries[i], entries[i].value);
    }
    expect_mapped(paging, address, expected);
    for (uint32_t i = 0; i < count; i++) {
        put(&entries[i], entries[i].value & ~(uint64_t)P);
        expect_unmapped(paging, address);
        put(&entries[i], 0);
        expect_unmapped(paging, address);
        if (i + 1 < count) {
            put(&entries[i], OUTSIDE | P);
            expect_unmapped(paging, address);
        }
        put(&entries[i], entries[i].value);
        memory.hidden = (struct guest_memory_range){entries[i].at & ~(PAGE_BYTES - 1), PAGE_BYTES};
        expect_unmapped(paging, address);
        memory.hidden = (struct guest_memory_range){0};
    }
    expect_mapped(paging, address, expected);
}

static void test_no_paging(void **context)
{
    struct guest_paging paging = {.cr0 = CR0_PE, .cr3 = OUTSIDE, .cr4 = CR4_PAE};

    (void)context;
    expect_mapped(&paging, 0x12345678, 0x12345678);
    expect_mapped(&paging, 0xFFFFFFFF, 0xFFFFFFFF);
    expect_mapped(&paging, 0x100001234, 0x1234);
}

static struct guest_paging paging_32_bit(uint64_t cr4)
{
    return (struct guest_paging){.cr0 = CR0_PE | CR0_PG, .cr3 = PAGE(1) | 0x18, .cr4 = cr4};
}

/* Linear address C48D1ABCh: directory entry 312h, table entry 0D1h, offset ABCh. */
#define LINEAR_32 0xC48D1ABCull

static void test_32_bit(void **context)
{
    struct guest_paging paging = paging_32_bit(0);
    const struct entry entries[] = {
        {PAGE(1) + 0x312 * 4, PAGE(2) | LOW_BITS | PS, 4}, /* PS is ignored without CR4.PSE */
        {PAGE(2) + 0x0D1 * 4, 0xFEDCB000 | LOW_BITS | PS, 4},
    };

    (void)context;
    check_walk(&paging, entries, 2, LINEAR_32, 0xFEDCBABC);
    expect_mapped(&paging, LINEAR_32 | 0xFFFFFFFF00000000, 0xFEDCBABC);
    expect_unmapped(&paging, LINEAR_32 + 0x1000);
    expect_unmapped(&paging, LINEAR_32 + 0x400000);
    paging.cr3 = OUTSIDE;
    expect_unmapped(&paging, LINEAR_32);
}

static void test_32_bit_last_entries(void **context)
{
    struct guest_paging paging = paging_32_bit(CR4_PSE);
    const struct entry entries[] = {
        {PAGE(1) + 0x3FF * 4, PAGE(2) | P, 4},
        {PAGE(2) + 0x3FF * 4, PAGE(7) | P | PS, 4}, /* PS in the last level is PAT */
    };

    (void)context;
    check_walk(&paging, entries, 2, 0xFFFFFFFF, PAGE(7) + 0xFFF);
}

static void test_pse(void **context)
{
    struct guest_paging paging = paging_32_bit(CR4_PSE);
    const struct entry directory = {PAGE(1) + 0x312 * 4, 0x7FC00000 | LOW_BITS | PS, 4};

    (void)context;
    check_walk(&paging, &directory, 1, LINEAR_32, 0x7FC00000 | 0x0D1ABC);
    expect_mapped(&paging, LINEAR_32 | 0x3FFFFF, 0x7FFFFFFF);
    /* PAT (bit 12) is no part of the address. */
    put(&directory, directory.value | 0x1000);
    expect_mapped(&paging, LINEAR_32, 0x7FC00000 | 0x0D1ABC);
}

/* Bits 20:13 of the entry are bits 39:32 of the address. */
static void test_pse_36(void **context)
{
    struct guest_paging paging = paging_32_bit(CR4_PSE);
    struct entry directory = {PAGE(1) + 0x312 * 4, 0, 4};

    (void)context;
    for (uint64_t bit = 0; bit < 8; bit++) {
        directory.value = 0x80400000 | (1u << (13 + bit)) | P | PS;
        put(&directory, directory.value);
        expect_mapped(&paging, LINEAR_32, (1ull << (32 + bit)) | 0x80400000 | 0x0D1ABC);
    }
    put(&directory, 0xFFC00000 | (0xFFu << 13) | 0x1000 | LOW_BITS | PS);
    expect_mapped(&paging, LINEAR_32, 0xFFFFC00000 | 0x0D1ABC);
}

/* Linear address C48D1ABCh: pointer entry 3, directory entry 24h, table entry 0D1h. The pointer
 * table lies anywhere at a multiple of 32. */
#define PAE_POINTERS (PAGE(1) + 0x7E0)

static struct guest_paging paging_pae(void)
{
    /* CR4.LA57 means nothing here. */
    return (struct guest_paging){.cr0 = CR0_PE | CR0_PG,
                                 .cr3 = 0xFFFFFFFF00000000 | PAE_POINTERS | 0x18,
                                 .cr4 = CR4_PAE | CR4_LA57,
                                 .efer = IA32_EFER_NXE};
}

static void test_pae(void **context)
{
    struct guest_paging paging = paging_pae();
    const struct entry entries[] = {
        {PAE_POINTERS + 3 * 8, PAGE(2) | P | PS, 8}, /* no large pages in this level */
        {PAGE(2) + 0x024 * 8, HIGH_BITS | PAGE(3) | LOW_BITS, 8},
        {PAGE(3) + 0x0D1 * 8, HIGH_BITS | 0x8765432FED000 | LOW_BITS | PS, 8},
    };

    (void)context;
    check_walk(&paging, entries, 3, LINEAR_32, 0x8765432FEDABC);
    expect_mapped(&paging, LINEAR_32 | 0xFFFFFFFF00000000, 0x8765432FEDABC);
    expect_unmapped(&paging, LINEAR_32 - 0x40000000);
    paging.cr3 = OUTSIDE;
    expect_unmapped(&paging, LINEAR_32);
}

static void test_pae_2m(void **context)
{
    struct guest_paging paging = paging_pae();
    const struct entry entries[] = {
        {PAE_POINTERS + 3 * 8, PAGE(2) | P, 8},
        /* 1000h is PAT. */
        {PAGE(2) + 0x024 * 8, HIGH_BITS | 0x8765432E00000 | 0x1000 | LOW_BITS | PS, 8},
    };

    (void)context;
    check_walk(&paging, entries, 2, LINEAR_32, 0x8765432E00000 | 0x0D1ABC);
}

/* Indexes 1A5h (level 5), 0ABh, 0CDh, 1EFh, 123h, offset 456h. */
#define LINEAR_48 \
    ((0x0ABull << 39) | (0x0CDull << 30) | (0x1EFull << 21) | (0x123ull << 12) | 0x456)
#define LINEAR_57 (0xFE00000000000000ull | (0x1A5ull << 48) | LINEAR_48)

static struct guest_paging paging_long(uint64_t cr4, uint64_t root)
{
    return (struct guest_paging){.cr0 = CR0_PE | CR0_PG,
                                 .cr3 = root | 0xFFF, /* a PCID */
                                 .cr4 = CR4_PAE | CR4_PCIDE | cr4,
                                 .efer = IA32_EFER_LME | IA32_EFER_LMA};
}

static void test_4_level(void **context)
{
    struct guest_paging paging = paging_long(0, PAGE(1));
    const struct entry entries[] = {
        {PAGE(1) + 0x0AB * 8, HIGH_BITS | PAGE(2) | LOW_BITS, 8},
        {PAGE(2) + 0x0CD * 8, HIGH_BITS | PAGE(3) | LOW_BITS, 8},
        {PAGE(3) + 0x1EF * 8, HIGH_BITS | PAGE(4) | LOW_BITS, 8},
        {PAGE(4) + 0x123 * 8, HIGH_BITS | 0xFEDCBA9876000 | LOW_BITS | PS, 8},
    };

    (void)context;
    check_walk(&paging, entries, 4, LINEAR_48, 0xFEDCBA9876456);
    for (uint32_t shift = 12; shift <= 39; shift += 9) {
        expect_unmapped(&paging, LINEAR_48 ^ (1ull << shift));
    }
    paging.cr3 = OUTSIDE;
    expect_unmapped(&paging, LINEAR_48);
    paging.cr3 = RAM_BASE + sizeof(ram);
    expect_unmapped(&paging, LINEAR_48);
}

/* The upper half, with the last entry of each table. */
static void test_4_level_top(void **context)
{
    struct guest_paging paging = paging_long(0, PAGE(1));
    const struct entry entries[] = {
        {PAGE(1) + 511 * 8, PAGE(2) | P, 8},
        {PAGE(2) + 511 * 8, PAGE(3) | P, 8},
        {PAGE(3) + 511 * 8, PAGE(4) | P, 8},
        {PAGE(4) + 511 * 8, PAGE(9) | P, 8},
    };

    (void)context;
    check_walk(&paging, entries, 4, UINT64_MAX, PAGE(9) + 0xFFF);
}

static void test_4_level_2m(void **context)
{
    struct guest_paging paging = paging_long(0, PAGE(1));
    const struct entry entries[] = {
        {PAGE(1) + 0x0AB * 8, PAGE(2) | P, 8},
        {PAGE(2) + 0x0CD * 8, PAGE(3) | P, 8},
        {PAGE(3) + 0x1EF * 8, HIGH_BITS | 0xFEDCBA9800000 | 0x1000 | LOW_BITS | PS, 8},
    };

    (void)context;
    check_walk(&paging, entries, 3, LINEAR_48, 0xFEDCBA9800000 | (LINEAR_48 & 0x1FFFFF));
}

static void test_4_level_1g(void **context)
{
    struct guest_paging paging = paging_long(0, PAGE(1));
    const struct entry entries[] = {
        {PAGE(1) + 0x0AB * 8, PAGE(2) | P, 8},
        {PAGE(2) + 0x0CD * 8, HIGH_BITS | 0xFEDCB80000000 | 0x1000 | LOW_BITS | PS, 8},
    };

    (void)context;
    check_walk(&paging, entries, 2, LINEAR_48, 0xFEDCB80000000 | (LINEAR_48 & 0x3FFFFFFF));
}

static void test_5_level(void **context)
{
    struct guest_paging paging = paging_long(CR4_LA57, PAGE(5));
    const struct entry entries[] = {
        {PAGE(5) + 0x1A5 * 8, HIGH_BITS | PAGE(1) | LOW_BITS, 8},
        {PAGE(1) + 0x0AB * 8, HIGH_BITS | PAGE(2) | LOW_BITS, 8},
        {PAGE(2) + 0x0CD * 8, HIGH_BITS | PAGE(3) | LOW_BITS, 8},
        {PAGE(3) + 0x1EF * 8, HIGH_BITS | PAGE(4) | LOW_BITS, 8},
        {PAGE(4) + 0x123 * 8, HIGH_BITS | 0xFEDCBA9876000 | LOW_BITS, 8},
    };
    const struct entry large = {PAGE(3) + 0x1EF * 8, 0x40000000 | P | PS, 8};
    const struct entry huge = {PAGE(2) + 0x0CD * 8, 0x80000000 | P | PS, 8};

    (void)context;
    check_walk(&paging, entries, 5, LINEAR_57, 0xFEDCBA9876456);
    expect_unmapped(&paging, LINEAR_57 ^ (1ull << 48));
    put(&large, large.value);
    expect_mapped(&paging, LINEAR_57, 0x40000000 | (LINEAR_57 & 0x1FFFFF));
    put(&huge, huge.value);
    expect_mapped(&paging, LINEAR_57, 0x80000000 | (LINEAR_57 & 0x3FFFFFFF));
}

/* A structure may lie in the last page of RAM, at its last entry. */
static void test_structure_at_the_end_of_ram(void **context)
{
    struct guest_paging paging = paging_32_bit(CR4_PSE);
    const struct entry last = {PAGE(RAM_PAGES - 1) + 0x3FF * 4, 0x00400000 | P | PS, 4};

    (void)context;
    paging.cr3 = PAGE(RAM_PAGES - 1);
    check_walk(&paging, &last, 1, 0xFFC00010, 0x00400010);
    memory.ranges[0].bytes -= 1;
    expect_unmapped(&paging, 0xFFC00010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_paging, clear_memory),
        cmocka_unit_test_setup(test_32_bit, clear_memory),
        cmocka_unit_test_setup(test_32_bit_last_entries, clear_memory),
        cmocka_unit_test_setup(test_pse, clear_memory),
        cmocka_unit_test_setup(test_pse_36, clear_memory),
        cmocka_unit_test_setup(test_pae, clear_memory),
        cmocka_unit_test_setup(test_pae_2m, clear_memory),
        cmocka_unit_test_setup(test_4_level, clear_memory),
        cmocka_unit_test_setup(test_4_level_top, clear_memory),
        cmocka_unit_test_setup(test_4_level_2m, clear_memory),
        cmocka_unit_test_setup(test_4_level_1g, clear_memory),
        cmocka_unit_test_setup(test_5_level, clear_memory),
        cmocka_unit_test_setup(test_structure_at_the_end_of_ram, clear_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
