/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/guest_mem.h"

#include "core/bits.h"
#include "core/cr_bits.h"
#include "core/msr.h"
#include "mm/page_entry.h"

#define PDPTE_PAE_CR3 MASK64(31, 5)

bool guest_memory_add(struct guest_memory *memory, gpa_t base, uint64_t bytes)
{
    if (memory->range_count > 0) {
        struct guest_memory_range *last = &memory->ranges[memory->range_count - 1];

        if (last->base + last->bytes == base.value) {
            last->bytes += bytes;
            return true;
        }
    }
    if (memory->range_count == GUEST_MEMORY_RANGES_MAX) {
        return false;
    }
    memory->ranges[memory->range_count++] = (struct guest_memory_range){base.value, bytes};
    return true;
}

static bool is_inside(const struct guest_memory_range *range, uint64_t address, size_t bytes)
{
    return address >= range->base && address - range->base < range->bytes &&
           range->bytes - (address - range->base) >= bytes;
}

static bool touches(const struct guest_memory_range *range, uint64_t address, size_t bytes)
{
    return address + bytes > range->base &&
           (address < range->base || address - range->base < range->bytes);
}

void *guest_memory_at(const struct guest_memory *memory, gpa_t address, size_t bytes)
{
    uint32_t low = 0;
    uint32_t high = memory->range_count;

    if (bytes > PAGE_BYTES - (address.value & (PAGE_BYTES - 1)) ||
        touches(&memory->hidden, address.value, bytes)) {
        return NULL;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct guest_memory_range *range = &memory->ranges[middle];

        if (is_inside(range, address.value, bytes)) {
            return (void *)((uintptr_t)memory->host_base + address.value);
        }
        if (address.value < range->base) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}

static bool read_entry(const struct guest_memory *memory, uint64_t address, size_t bytes,
                       uint64_t *entry)
{
    const volatile void *at = guest_memory_at(memory, gpa(address), bytes);

    if (at == NULL) {
        return false;
    }
    *entry = bytes == 8 ? *(const volatile uint64_t *)at : *(const volatile uint32_t *)at;
    return (*entry & PTE_PRESENT) != 0;
}

static bool walk_32_bit(const struct guest_memory *memory, const struct guest_paging *paging,
                        uint64_t address, gpa_t *out)
{
    uint64_t entry;

    address &= 0xFFFFFFFF;
    if (!read_entry(memory, (paging->cr3 & 0xFFFFF000) + bits_get(address, 31, 22) * 4, 4,
                    &entry)) {
        return false;
    }
    if ((entry & PTE_PAGE_SIZE) != 0 && (paging->cr4 & CR4_PSE) != 0) {
        out->value =
            (entry & 0xFFC00000) | (bits_get(entry, 20, 13) << 32) | bits_get(address, 21, 0);
        return true;
    }
    if (!read_entry(memory, (entry & 0xFFFFF000) + bits_get(address, 21, 12) * 4, 4, &entry)) {
        return false;
    }
    out->value = (entry & 0xFFFFF000) | bits_get(address, 11, 0);
    return true;
}

/* Whether all bits above those that the levels translate are copies of the highest of them. */
static bool is_canonical(uint64_t address, unsigned int levels)
{
    int64_t above = (int64_t)address >> (12 + 9 * levels - 1);

    return above == 0 || above == -1;
}

/* PAE, 4-level and 5-level paging: entries of 8 bytes, 9 bits of the address a level. */
static bool walk_64_bit(const struct guest_memory *memory, const struct guest_paging *paging,
                        uint64_t address, gpa_t *out)
{
    bool is_long = (paging->efer & IA32_EFER_LMA) != 0;
    unsigned int level = !is_long ? 3 : (paging->cr4 & CR4_LA57) != 0 ? 5 : 4;
    uint64_t table = is_long ? paging->cr3 & PTE_ADDRESS : paging->cr3 & PDPTE_PAE_CR3;

    if (is_long && !is_canonical(address, level)) {
        return false;
    }
    for (; level >= 1; level--) {
        unsigned int shift = 12 + 9 * (level - 1);
        uint64_t index = (address >> shift) & (!is_long && level == 3 ? 3 : 511);
        uint64_t entry;

        if (!read_entry(memory, table + index * 8, 8, &entry)) {
            return false;
        }
        if (level == 1 || (level <= 3 && (is_long || level == 2) && (entry & PTE_PAGE_SIZE) != 0)) {
            out->value =
                ((entry & PTE_ADDRESS) & ~(BIT64(shift) - 1)) | (address & (BIT64(shift) - 1));
            return true;
        }
        table = entry & PTE_ADDRESS;
    }
    return false;
}

bool guest_walk(const struct guest_memory *memory, const struct guest_paging *paging, gva_t address,
                gpa_t *out)
{
    if ((paging->cr0 & CR0_PG) == 0) {
        out->value = address.value & 0xFFFFFFFF;
        return true;
    }
    if ((paging->cr4 & CR4_PAE) == 0) {
        return walk_32_bit(memory, paging, address.value, out);
    }
    return walk_64_bit(memory, paging, address.value, out);
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
