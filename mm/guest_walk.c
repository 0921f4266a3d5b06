/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/guest_walk.h"

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
    const struct guest_access *access; /* NULL: only where it leads; no rights, no flags */
    uint64_t address;
    bool is_long;
    uint32_t entry_bytes;
    unsigned int index_bits; /* that a level translates */
    unsigned int level;      /* the current one, counting down to 1 */
    unsigned int shift;      /* lowest bit of the address that this level translates */
    uint64_t rights;         /* PTE_WRITE and PTE_USER, as far as all levels give them */
    struct level_entry entries[LEVELS_MAX + 1]; /* by level, those that were read */
};

/* The entries of the PAE pointer table have neither rights nor flags. */
static ALWAYS_INLINE bool is_pae_pointer(const struct walk *walk)
{
    return walk->entry_bytes == 8 && !walk->is_long && walk->level == 3;
}

static ALWAYS_INLINE bool is_leaf(const struct walk *walk, uint64_t entry)
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
        reserved |= MASK64(walk->shift - 1, 13);
    }
    return (entry & reserved) != 0;
}

static bool has_reserved(const struct walk *walk, uint64_t entry)
{
    return walk->entry_bytes == 8 ? has_reserved_8(walk, entry) : has_reserved_4(walk, entry);
}

/* Reads the current level's entry, once. */
static ALWAYS_INLINE bool read_entry(struct walk *walk, uint64_t table)
{
    uint64_t index = (walk->address >> walk->shift) & (BIT64(walk->index_bits) - 1);
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

/* Accessed flags from the level top down to the leaf, the dirty flag there. False: an entry
 * changed. */
static bool set_all_flags(struct walk *walk, unsigned int top)
{
    unsigned int leaf = walk->level;

    for (walk->level = top; walk->level > leaf; walk->level--) {
        if (!is_pae_pointer(walk) && !set_flags(walk, &walk->entries[walk->level], PTE_ACCESSED)) {
            return false;
        }
    }
    return set_flags(walk, &walk->entries[leaf],
                     walk->access->is_write ? PTE_ACCESSED | PTE_DIRTY : PTE_ACCESSED);
}

/* Where the leaf of the current level leads. */
static ALWAYS_INLINE uint64_t physical_of(const struct walk *walk, uint64_t entry)
{
    uint64_t offset = walk->address & (BIT64(walk->shift) - 1);

    if (walk->entry_bytes == 4 && walk->level == 2) {
        return (entry & 0xFFC00000) | (bits_get(entry, 20, 13) << 32) | offset;
    }
    return align_down(entry & PTE_ADDRESS, BIT64(walk->shift)) | offset;
}

/* From the current level's table down to the leaf, whose entry is *entry. */
static ALWAYS_INLINE enum guest_access_status descend(struct walk *walk, uint64_t table,
                                                      uint64_t *entry, uint32_t *error_code)
{
    for (;; walk->level--, walk->shift -= walk->index_bits) {
        if (!read_entry(walk, table)) {
            return GUEST_ACCESS_NOT_RAM;
        }
        *entry = walk->entries[walk->level].value;
        if ((*entry & PTE_PRESENT) == 0) {
            return GUEST_ACCESS_PAGE_FAULT;
        }
        if (walk->access != NULL && has_reserved(walk, *entry)) {
            *error_code |= PAGE_FAULT_PRESENT | PAGE_FAULT_RESERVED;
            return GUEST_ACCESS_PAGE_FAULT;
        }
        walk->rights &= is_pae_pointer(walk) ? walk->rights : *entry;
        if (is_leaf(walk, *entry)) {
            return GUEST_ACCESS_OK;
        }
        table = *entry & PTE_ADDRESS;
    }
}

static bool is_canonical(uint64_t address, unsigned int levels)
{
    int64_t above = (int64_t)address >> (PAGE_SHIFT + 9 * levels - 1);

    return above == 0 || above == -1;
}

/* The paging mode, and *table, the table of the highest level. Paging is on. */
static ALWAYS_INLINE void begin(struct walk *walk, const struct guest_paging *paging,
                                uint64_t address, uint64_t *table)
{
    bool is_pae = (paging->cr4 & CR4_PAE) != 0;

    walk->paging = paging;
    walk->is_long = is_pae && (paging->efer & IA32_EFER_LMA) != 0;
    walk->address = walk->is_long ? address : address & 0xFFFFFFFF;
    walk->entry_bytes = is_pae ? 8 : 4;
    walk->index_bits = is_pae ? 9 : 10;
    walk->rights = PTE_WRITE | PTE_USER;
    if (walk->is_long) {
        walk->level = (paging->cr4 & CR4_LA57) != 0 ? 5 : 4;
        *table = paging->cr3 & PTE_ADDRESS;
    } else {
        walk->level = is_pae ? 3 : 2;
        *table = paging->cr3 & (is_pae ? MASK64(31, 5) : MASK64(31, 12));
    }
    walk->shift = PAGE_SHIFT + walk->index_bits * (walk->level - 1);
}

/* The one walk; access as in struct walk. */
static ALWAYS_INLINE enum guest_access_status translate(const struct guest_memory *memory,
                                                        const struct guest_paging *paging,
                                                        gva_t address,
                                                        const struct guest_access *access,
                                                        gpa_t *out, uint32_t *error_code)
{
    struct walk walk; /* filled in by begin: clearing the entries would cost more than the walk */
    enum guest_access_status status;
    unsigned int top;
    uint64_t table;
    uint64_t entry;

    if ((paging->cr0 & CR0_PG) == 0) {
        out->value = address.value & 0xFFFFFFFF;
        return GUEST_ACCESS_OK;
    }
    begin(&walk, paging, address.value, &table);
    walk.memory = memory;
    walk.access = access;
    top = walk.level;
    if (walk.is_long && !is_canonical(address.value, top)) {
        return GUEST_ACCESS_NOT_CANONICAL;
    }
    status = descend(&walk, table, &entry, error_code);
    if (status != GUEST_ACCESS_OK) {
        return status;
    }
    out->value = physical_of(&walk, entry);
    if (access == NULL) {
        return GUEST_ACCESS_OK;
    }
    if (!is_allowed(&walk)) {
        *error_code |= PAGE_FAULT_PRESENT;
        return GUEST_ACCESS_PAGE_FAULT;
    }
    return set_all_flags(&walk, top) ? GUEST_ACCESS_OK : GUEST_ACCESS_CHANGED;
}

enum guest_access_status guest_walk_access(const struct guest_memory *memory,
                                           const struct guest_paging *paging, gva_t address,
                                           const struct guest_access *access, gpa_t *out,
                                           uint32_t *error_code)
{
    *error_code =
        (access->is_write ? PAGE_FAULT_WRITE : 0) | (access->is_user ? PAGE_FAULT_USER : 0);
    return translate(memory, paging, address, access, out, error_code);
}

bool guest_walk(const struct guest_memory *memory, const struct guest_paging *paging, gva_t address,
                gpa_t *out)
{
    uint32_t error_code = 0;

    return translate(memory, paging, address, NULL, out, &error_code) == GUEST_ACCESS_OK;
}

size_t guest_read_linear(const struct guest_memory *memory, const struct guest_paging *paging,
                         gva_t address, void *to, size_t bytes)
{
    uint8_t *out = to;
    size_t done = 0;

    while (done < bytes) {
        uint64_t linear = address.value + done;
        size_t chunk = PAGE_BYTES - (linear & (PAGE_BYTES - 1));
        const volatile uint8_t *from;
        gpa_t physical;

        chunk = chunk < bytes - done ? chunk : bytes - done;
        if (!guest_walk(memory, paging, gva(linear), &physical)) {
            break;
        }
        from = guest_memory_at(memory, physical, chunk);
        if (from == NULL) {
            break;
        }
        for (size_t i = 0; i < chunk; i++) {
            out[done + i] = from[i];
        }
        done += chunk;
    }
    return done;
}
