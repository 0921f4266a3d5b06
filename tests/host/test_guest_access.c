/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: mm/guest_walk.c mm/guest_mem.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "core/cr_bits.h"
#include "core/msr.h"
#include "mm/guest_walk.h"

#define RAM_BASE  0x100000ull
#define RAM_PAGES 16u
#define OUTSIDE   0x90000000ull
#define PAGE(n)   (RAM_BASE + (n)*PAGE_BYTES)

#define P   0x001u
#define W   0x002u
#define U   0x004u
#define A   0x020u
#define D   0x040u
#define PS  0x080u
#define PWU (P | W | U)
#define XD  0x8000000000000000ull

#define TEST_CR4_SMAP 0x200000ull

/* Indexes 0ABh, 0CDh, 1EFh, 123h, offset 456h. */
#define LINEAR ((0x0ABull << 39) | (0x0CDull << 30) | (0x1EFull << 21) | (0x123ull << 12) | 0x456)
#define TARGET (PAGE(9) + 0x456)

static _Alignas(4096) uint8_t ram[RAM_PAGES * 4096];
static struct guest_memory memory;
static struct guest_paging paging;
static struct guest_access access;
static const uint64_t slots[] = {PAGE(1) + 0x0AB * 8, PAGE(2) + 0x0CD * 8, PAGE(3) + 0x1EF * 8,
                                 PAGE(4) + 0x123 * 8};

static void put8(uint64_t at, uint64_t value)
{
    memcpy(&ram[at - RAM_BASE], &value, 8);
}

static void put4(uint64_t at, uint32_t value)
{
    memcpy(&ram[at - RAM_BASE], &value, 4);
}

static uint64_t get8(uint64_t at)
{
    uint64_t value;

    memcpy(&value, &ram[at - RAM_BASE], 8);
    return value;
}

static uint32_t get4(uint64_t at)
{
    uint32_t value;

    memcpy(&value, &ram[at - RAM_BASE], 4);
    return value;
}

/* 4-level paging, everything allowed. */
static int set_up(void **context)
{
    (void)context;
    memset(ram, 0, sizeof(ram));
    memory = (struct guest_memory){.host_base = (uint8_t *)((uintptr_t)ram - RAM_BASE)};
    paging = (struct guest_paging){.cr0 = CR0_PE | CR0_PG | CR0_WP,
                                   .cr3 = PAGE(1),
                                   .cr4 = CR4_PAE,
                                   .efer = IA32_EFER_LME | IA32_EFER_LMA | IA32_EFER_NXE};
    access = (struct guest_access){.physical_address_bits = 46};
    for (uint32_t i = 0; i < 4; i++) {
        put8(slots[i], PAGE(i + 2) | PWU);
    }
    put8(slots[3], PAGE(9) | PWU);
    return guest_memory_add(&memory, gpa(RAM_BASE), sizeof(ram)) ? 0 : -1;
}

static void expect_ok_at(uint64_t address, uint64_t expected)
{
    gpa_t out = gpa(0xDEAD);
    uint32_t error = 0;

    assert_int_equal(guest_walk_access(&memory, &paging, gva(address), &access, &out, &error),
                     GUEST_ACCESS_OK);
    assert_int_equal(out.value, expected);
}

static void expect_fault_at(uint64_t address, uint32_t expected)
{
    gpa_t out;
    uint32_t error = UINT32_MAX;

    assert_int_equal(guest_walk_access(&memory, &paging, gva(address), &access, &out, &error),
                     GUEST_ACCESS_PAGE_FAULT);
    assert_int_equal(error, expected);
}

static void as(bool is_write, bool is_user)
{
    access.is_write = is_write;
    access.is_user = is_user;
}

static void test_not_present(void **context)
{
    (void)context;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t entry = get8(slots[i]);

        put8(slots[i], UINT64_MAX & ~(uint64_t)P);
        as(false, false);
        expect_fault_at(LINEAR, 0);
        as(true, false);
        expect_fault_at(LINEAR, 2);
        as(false, true);
        expect_fault_at(LINEAR, 4);
        as(true, true);
        expect_fault_at(LINEAR, 6);
        put8(slots[i], entry);
        expect_ok_at(LINEAR, TARGET);
    }
}

/* A right that any level takes away is gone. */
static void test_read_only(void **context)
{
    (void)context;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t entry = get8(slots[i]);

        put8(slots[i], entry & ~(uint64_t)W);
        as(true, true);
        expect_fault_at(LINEAR, 7);
        as(true, false);
        expect_fault_at(LINEAR, 3);
        as(false, true);
        expect_ok_at(LINEAR, TARGET);
        as(true, true);
        paging.cr0 &= ~CR0_WP;
        expect_fault_at(LINEAR, 7);
        as(true, false);
        expect_ok_at(LINEAR, TARGET);
        paging.cr0 |= CR0_WP;
        put8(slots[i], entry);
        as(true, true);
        expect_ok_at(LINEAR, TARGET);
    }
}

static void test_supervisor_page(void **context)
{
    (void)context;
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t entry = get8(slots[i]);

        put8(slots[i], entry & ~(uint64_t)U);
        as(false, true);
        expect_fault_at(LINEAR, 5);
        as(true, true);
        expect_fault_at(LINEAR, 7);
        as(true, false);
        expect_ok_at(LINEAR, TARGET);
        put8(slots[i], entry);
    }
}

static void test_smap(void **context)
{
    (void)context;
    paging.cr4 |= TEST_CR4_SMAP;
    as(true, false);
    expect_fault_at(LINEAR, 3);
    as(false, false);
    expect_fault_at(LINEAR, 1);
    access.has_ac = true;
    expect_ok_at(LINEAR, TARGET);
    access.has_ac = false;
    as(true, true);
    expect_ok_at(LINEAR, TARGET);
    put8(slots[1], PAGE(3) | P | W);
    as(true, false);
    expect_ok_at(LINEAR, TARGET);
}

static void expect_reserved(uint32_t level_slot, uint64_t bits)
{
    uint64_t entry = get8(slots[level_slot]);

    put8(slots[level_slot], entry | bits);
    expect_fault_at(LINEAR, PAGE_FAULT_PRESENT | PAGE_FAULT_RESERVED);
    put8(slots[level_slot], entry);
    expect_ok_at(LINEAR, TARGET);
}

static void test_reserved_bits(void **context)
{
    (void)context;
    expect_reserved(0, PS);
    for (uint32_t i = 0; i < 4; i++) {
        expect_reserved(i, 1ull << 46);
        expect_reserved(i, 1ull << 51);
        put8(slots[i], get8(slots[i]) | 0x7FF0000000000E00 | XD); /* ignored, but for no-execute */
        expect_ok_at(LINEAR, TARGET);
    }
    paging.efer &= ~IA32_EFER_NXE;
    expect_fault_at(LINEAR, 9);
    for (uint32_t i = 0; i < 4; i++) {
        put8(slots[i], get8(slots[i]) & ~XD);
    }
    expect_ok_at(LINEAR, TARGET);
    put8(slots[2], 0x40000000 | PS | PWU);
    expect_ok_at(LINEAR, 0x40000000 | (LINEAR & 0x1FFFFF));
    put8(slots[2], 0x40002000 | PS | PWU);
    expect_fault_at(LINEAR, 9);
    put8(slots[1], 0x40000000 | PS | PWU);
    expect_ok_at(LINEAR, 0x40000000 | (LINEAR & 0x3FFFFFFF));
    put8(slots[1], 0x40200000 | PS | PWU);
    expect_fault_at(LINEAR, 9);
}

static void test_flags(void **context)
{
    (void)context;
    put8(slots[2], PAGE(4) | PWU | A);
    expect_ok_at(LINEAR, TARGET);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true((get8(slots[i]) & (A | D)) == A);
    }
    as(true, false);
    expect_ok_at(LINEAR, TARGET);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true((get8(slots[i]) & (A | D)) == (i == 3 ? A | D : A));
    }
    assert_true(get8(slots[3]) == (PAGE(9) | PWU | A | D));
}

static void test_a_fault_sets_no_flags(void **context)
{
    (void)context;
    put8(slots[3], PAGE(9) | P | U);
    as(true, true);
    expect_fault_at(LINEAR, 7);
    for (uint32_t i = 0; i < 4; i++) {
        assert_true((get8(slots[i]) & (A | D)) == 0);
    }
}

static void test_bad_addresses(void **context)
{
    gpa_t out;
    uint32_t error;

    (void)context;
    assert_int_equal(guest_walk_access(&memory, &paging, gva(1ull << 47), &access, &out, &error),
                     GUEST_ACCESS_NOT_CANONICAL);
    put8(slots[1], OUTSIDE | PWU);
    assert_int_equal(guest_walk_access(&memory, &paging, gva(LINEAR), &access, &out, &error),
                     GUEST_ACCESS_NOT_RAM);
    paging.cr4 |= CR4_LA57;
    put8(PAGE(1), PAGE(2) | PWU);
    put8(PAGE(2) + 256 * 8, 0);
    expect_fault_at(1ull << 47, 0);
    paging.cr0 = CR0_PE;
    expect_ok_at(0x112345678, 0x12345678);
}

static void test_pae(void **context)
{
    const uint64_t linear = 0xC48D1ABC;
    const uint64_t pointer = PAGE(1) + 0x20 + 3 * 8;
    const uint64_t directory = PAGE(2) + 0x024 * 8;
    const uint64_t table = PAGE(3) + 0x0D1 * 8;

    (void)context;
    paging.efer = IA32_EFER_NXE;
    paging.cr3 = PAGE(1) + 0x20;
    put8(pointer, PAGE(2) | P); /* gives all rights, has no flags */
    put8(directory, PAGE(3) | PWU);
    put8(table, PAGE(9) | PWU | XD);
    as(true, true);
    expect_ok_at(linear, PAGE(9) + 0xABC);
    assert_true(get8(pointer) == (PAGE(2) | P));
    assert_true(get8(directory) == (PAGE(3) | PWU | A));
    assert_true(get8(table) == (PAGE(9) | PWU | A | D | XD));
    put8(table, PAGE(9) | PWU | 1ull << 52);
    expect_fault_at(linear, 0xF);
    put8(table, PAGE(9) | P | W);
    expect_fault_at(linear, 7);
    put8(directory, 0x40000000 | PS | PWU);
    expect_ok_at(linear, 0x40000000 | (linear & 0x1FFFFF));
}

static void test_32_bit(void **context)
{
    const uint64_t linear = 0xC48D1ABC;
    const uint64_t directory = PAGE(1) + 0x312 * 4;
    const uint64_t table = PAGE(2) + 0x0D1 * 4;

    (void)context;
    paging.efer = 0;
    paging.cr4 = 0;
    put4(directory, (uint32_t)PAGE(2) | PWU | PS); /* PS is ignored without CR4.PSE */
    put4(table, (uint32_t)PAGE(9) | PWU);
    put4(table + 4, 0x11111111);
    as(true, true);
    expect_ok_at(linear, PAGE(9) + 0xABC);
    assert_int_equal(get4(directory), (uint32_t)PAGE(2) | PWU | PS | A);
    assert_int_equal(get4(table), (uint32_t)PAGE(9) | PWU | A | D);
    assert_int_equal(get4(table + 4), 0x11111111);
    put4(table, (uint32_t)PAGE(9) | P | U);
    expect_fault_at(linear, 7);
    paging.cr4 = CR4_PSE;
    put4(directory, 0x80400000 | (0xFFu << 13) | PS | PWU);
    expect_ok_at(linear, 0xFF80400000 | (linear & 0x3FFFFF));
    put4(directory, 0x80600000 | PS | PWU);
    expect_fault_at(linear, 0xF);
    access.physical_address_bits = 36;
    put4(directory, 0x80400000 | (0x0Fu << 13) | PS | PWU);
    expect_ok_at(linear, 0xF80400000 | (linear & 0x3FFFFF));
    put4(directory, 0x80400000 | (0x10u << 13) | PS | PWU);
    expect_fault_at(linear, 0xF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_not_present, set_up),
        cmocka_unit_test_setup(test_read_only, set_up),
        cmocka_unit_test_setup(test_supervisor_page, set_up),
        cmocka_unit_test_setup(test_smap, set_up),
        cmocka_unit_test_setup(test_reserved_bits, set_up),
        cmocka_unit_test_setup(test_flags, set_up),
        cmocka_unit_test_setup(test_a_fault_sets_no_flags, set_up),
        cmocka_unit_test_setup(test_bad_addresses, set_up),
        cmocka_unit_test_setup(test_pae, set_up),
        cmocka_unit_test_setup(test_32_bit, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
