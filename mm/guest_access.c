/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/guest_access.h"

#include <stdatomic.h>

#include "core/bits.h"
#include "core/cr_bits.h"
#include "core/msr.h"
#include "mm/page_entry.h"

#define LEVELS_MAX       5u
#define ADDRESS_BITS_MAX 52u

/* PSE-36: bits 20:13 of a 4 MiB entry are bits 39:32 of the address, bit 21 is reserved. */
#define PSE_RESERVED_BIT 21u
#define PSE_ADDRESS_BITS 40u
#define PSE_BIT_DISTANCE 19u

struct level_entry {
    void *at;
    uint64_t value;
};

struct walk {
    const struct guest_memory *memory;
    const struct guest_paging *paging;
    const struct guest_access *access;
    uint64_t address;
    bool is_long;
    uint32_t entry_bytes;
    unsigned int index_bits; /* that a level translates */
    unsigned int level;      /* the current one, counting down to 1 */
    uint64_t rights;         /* PTE_WRITE and PTE_USER, as far as all levels give them */
    struct level_entry entries[LEVELS_MAX + 1]; /* by level */
};

static unsigned int shift_of(const struct walk *walk)
{
    return PAGE_SHIFT + walk->index_bits * (walk->level - 1);
}

/* The entries of the PAE pointer table have neither rights nor flags. */
static bool is_pae_pointer(const struct walk *walk)
{
    return walk->entry_bytes == 8 && !walk->is_long && walk->level == 3;
}

static bool is_leaf(const struct walk *walk, uint64_t entry)
{
    if (walk->level == 1) {
        return true;
    }
    if ((entry & PTE_PAGE_SIZE) == 0) {
        return false;
    }
    if (walk->entry_bytes == 4) {
        return (walk->paging->cr4 & CR4_PSE) != 0;
    }
    return walk->level == 2 || (walk->level == 3 && walk->is_long);
}

static bool has_reserved_4(const struct walk *walk, uint64_t entry)
{
    unsigned int bits = walk->access->physical_address_bits;

    if (walk->level == 1 || !is_leaf(walk, entry)) {
        return false;
    }
    bits = bits < PSE_ADDRESS_BITS ? bits : PSE_ADDRESS_BITS;
    return (entry & MASK64(PSE_RESERVED_BIT, bits - PSE_BIT_DISTANCE)) != 0;
}

static bool has_reserved_8(const struct walk *walk, uint64_t entry)
{
    unsigned int bits = walk->access->physical_address_bits;
    uint64_t reserved = bits < ADDRESS_BITS_MAX ? MASK64(ADDRESS_BITS_MAX - 1, bits) : 0;

    if (!walk->is_long) {
        reserved |= MASK64(62, ADDRESS_BITS_MAX);
    }
    if ((walk->paging->efer & IA32_EFER_NXE) == 0 || is_pae_pointer(walk)) {
        reserved |= PTE_NO_EXECUTE;
    }
    if (walk->level > 3) {
        reserved |= PTE_PAGE_SIZE;
    } else if (walk->level > 1 && is_leaf(walk, entry)) {
        reserved |= MASK64(shift_of(walk) - 1, 13);
    }
    return (entry & reserved) != 0;
}

/* Reads the current level's entry, once. */
static bool read_entry(struct walk *walk, uint64_t table)
{
    unsigned int low = shift_of(walk);
    uint64_t index = bits_get(walk->address, low + walk->index_bits - 1, low);
    struct level_entry *entry = &walk->entries[walk->level];

    entry->at =
        guest_memory_at(walk->memory, gpa(table + index * walk->entry_bytes), walk->entry_bytes);
    if (entry->at == NULL) {
        return false;
    }
    entry->value = walk->entry_bytes == 8 ? *(const volatile uint64_t *)entry->at
                                          : *(const volatile uint32_t *)entry->at;
    return true;
}

static bool is_allowed(const struct walk *walk)
{
    const struct guest_access *access = walk->access;
    bool is_user_page = (walk->rights & PTE_USER) != 0;
    bool obeys_write = access->is_user || (walk->paging->cr0 & CR0_WP) != 0;

    if (access->is_user && !is_user_page) {
        return false;
    }
    if (!access->is_user && is_user_page && (walk->paging->cr4 & CR4_SMAP) != 0 &&
        !access->has_ac) {
        return false;
    }
    return !access->is_write || !obeys_write || (walk->rights & PTE_WRITE) != 0;
}

/* Sets flags in an entry if it still holds what the walk has read. Sequentially consistent, as the
 * locked update of a processor's own walk is; pairs with the guest's changes of the entry. */
static bool set_flags(const struct walk *walk, const struct level_entry *entry, uint64_t flags)
{
    if ((entry->value & flags) == flags) {
        return true;
    }
    if (walk->entry_bytes == 4) {
        uint32_t expected = (uint32_t)entry->value;

        return atomic_compare_exchange_strong_explicit((_Atomic uint32_t *)entry->at, &expected,
                                                       expected | (uint32_t)flags,
                                                       memory_order_seq_cst, memory_order_relaxed);
    } else {
        uint64_t expected = entry->value;

        return atomic_compare_exchange_strong_explicit((_Atomic uint64_t *)entry->at, &expected,
                                                       expected | flags, memory_order_seq_cst,
                                                       memory_order_relaxed);
    }
}

/* The walk has ended at a leaf of the current level, from the level top on. */
static enum guest_access_status finish(struct walk *walk, unsigned int top, gpa_t *out)
{
    unsigned int leaf = walk->level;
    unsigned int shift = shift_of(walk);
    uint64_t entry = walk->entries[leaf].value;
    uint64_t offset = bits_get(walk->address, shift - 1, 0);

    for (walk->level = top; walk->level >= leaf; walk->level--) {
        bool is_dirty = walk->level == leaf && walk->access->is_write;

        if (!is_pae_pointer(walk) &&
            !set_flags(walk, &walk->entries[walk->level],
                       is_dirty ? PTE_ACCESSED | PTE_DIRTY : PTE_ACCESSED)) {
            return GUEST_ACCESS_CHANGED;
        }
    }
    if (walk->entry_bytes == 4 && leaf == 2) {
        out->value = (entry & 0xFFC00000) | (bits_get(entry, 20, 13) << 32) | offset;
    } else {
        out->value = align_down(entry & PTE_ADDRESS, BIT64(shift)) | offset;
    }
    return GUEST_ACCESS_OK;
}

static enum guest_access_status descend(struct walk *walk, uint64_t table, gpa_t *out,
                                        uint32_t *error_code)
{
    unsigned int top = walk->level;
    uint64_t entry;

    *error_code = (walk->access->is_write ? PAGE_FAULT_WRITE : 0) |
                  (walk->access->is_user ? PAGE_FAULT_USER : 0);
    for (;;) {
        if (!read_entry(walk, table)) {
            return GUEST_ACCESS_NOT_RAM;
        }
        entry = walk->entries[walk->level].value;
        if ((entry & PTE_PRESENT) == 0) {
            return GUEST_ACCESS_PAGE_FAULT;
        }
        if (walk->entry_bytes == 8 ? has_reserved_8(walk, entry) : has_reserved_4(walk, entry)) {
            *error_code |= PAGE_FAULT_PRESENT | PAGE_FAULT_RESERVED;
            return GUEST_ACCESS_PAGE_FAULT;
        }
        walk->rights &= is_pae_pointer(walk) ? walk->rights : entry;
        if (is_leaf(walk, entry)) {
            break;
        }
        table = entry & PTE_ADDRESS;
        walk->level--;
    }
    if (!is_allowed(walk)) {
        *error_code |= PAGE_FAULT_PRESENT;
        return GUEST_ACCESS_PAGE_FAULT;
    }
    return finish(walk, top, out);
}

static bool is_canonical(uint64_t address, unsigned int levels)
{
    int64_t above = (int64_t)address >> (PAGE_SHIFT + 9 * levels - 1);

    return above == 0 || above == -1;
}

enum guest_access_status guest_walk_access(const struct guest_memory *memory,
                                           const struct guest_paging *paging, gva_t address,
                                           const struct guest_access *access, gpa_t *out,
                                           uint32_t *error_code)
{
    struct walk walk = {
        .memory = memory,
        .paging = paging,
        .access = access,
        .address = address.value & 0xFFFFFFFF,
        .is_long = (paging->efer & IA32_EFER_LMA) != 0,
        .entry_bytes = 8,
        .index_bits = 9,
        .rights = PTE_WRITE | PTE_USER,
    };

    if ((paging->cr0 & CR0_PG) == 0) {
        out->value = walk.address;
        return GUEST_ACCESS_OK;
    }
    if ((paging->cr4 & CR4_PAE) == 0) {
        walk.entry_bytes = 4;
        walk.index_bits = 10;
        walk.level = 2;
        return descend(&walk, paging->cr3 & MASK64(31, 12), out, error_code);
    }
    if (!walk.is_long) {
        walk.level = 3;
        return descend(&walk, paging->cr3 & MASK64(31, 5), out, error_code);
    }
    walk.address = address.value;
    walk.level = (paging->cr4 & CR4_LA57) != 0 ? 5 : 4;
    if (!is_canonical(address.value, walk.level)) {
        return GUEST_ACCESS_NOT_CANONICAL;
    }
    return descend(&walk, paging->cr3 & PTE_ADDRESS, out, error_code);
}
