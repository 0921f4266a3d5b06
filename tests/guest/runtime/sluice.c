/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/sluice.h"

#include "core/string.h"
#include "tests/guest/runtime/insn.h"

bool sluice_is_present(void)
{
    struct cpuid_regs r = insn_cpuid(SLUICE_LEAF_VENDOR, 0);
    uint32_t words[3] = {r.ebx, r.ecx, r.edx};

    return r.eax == SLUICE_LAST_LEAF && memcmp(words, "SluiceSluice", sizeof(words)) == 0;
}

bool sluice_counter(uint32_t vp_index, uint32_t number, uint64_t *value)
{
    struct cpuid_regs r = insn_cpuid(SLUICE_LEAF_COUNTERS, number | ((vp_index + 1) << 16));

    if (r.edx == 0) {
        return false;
    }
    *value = ((uint64_t)r.ebx << 32) | r.eax;
    return true;
}

uint32_t sluice_counter_count(void)
{
    return insn_cpuid(SLUICE_LEAF_COUNTERS, 1u << 16).ecx;
}
