/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/own_leaves.h"

#include <stddef.h>

static uint64_t sum_over_vps(const struct own_leaves *own, uint32_t counter)
{
    uint64_t sum = 0;

    for (uint32_t vp_index = 0; vp_index < own->vp_count; vp_index++) {
        sum += own->counter(own->context, counter, vp_index);
    }
    return sum;
}

struct cpuid_regs own_leaves_counter(const struct own_leaves *own, uint32_t subleaf)
{
    uint32_t counter = subleaf & 0xFFFF;
    uint32_t selector = subleaf >> 16;
    uint64_t value;

    if (counter >= own->counter_count || selector > own->vp_count || own->counter == NULL) {
        return (struct cpuid_regs){0, 0, own->counter_count, 0};
    }
    value = selector == 0 ? sum_over_vps(own, counter)
                          : own->counter(own->context, counter, selector - 1);
    return (struct cpuid_regs){(uint32_t)value, (uint32_t)(value >> 32), own->counter_count, 1};
}
