/* SPDX-License-Identifier: BSD-2-Clause */
#include "mm/guest_mem.h"

#include "core/bits.h"

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
