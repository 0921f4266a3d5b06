/* SPDX-License-Identifier: BSD-2-Clause */
/* Sluice's own counters, by CPUID. The numbers come from the headers of the image under test. */
#include "stress_calls.h"

#include <stdbool.h>

#include "vmx/own_counters.h"
#include "vmx/own_leaves.h"

/* Not <cpuid.h>: the compiler takes its CPUID for a function of its input, and would ask once. */
static struct cpuid_regs ask(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_regs regs = {.eax = leaf, .ecx = subleaf};

    __asm__ volatile("cpuid" : "+a"(regs.eax), "=b"(regs.ebx), "+c"(regs.ecx), "=d"(regs.edx));
    return regs;
}

static bool is_sluice(void)
{
    struct cpuid_regs regs = ask(OWN_LEAF_BASE, 0);

    return regs.ebx == OWN_SIGNATURE_SLUI && regs.ecx == OWN_SIGNATURE_CESL &&
           regs.edx == OWN_SIGNATURE_UICE && regs.eax >= OWN_LEAF_COUNTER;
}

uint64_t flush_calls_served(void)
{
    static const enum hyperv_call calls[] = {HYPERV_CALL_FLUSH_SPACE, HYPERV_CALL_FLUSH_LIST,
                                             HYPERV_CALL_FLUSH_SPACE_EX, HYPERV_CALL_FLUSH_LIST_EX};
    uint64_t sum = 0;

    for (uint32_t i = 0; i < ARRAY_LEN(calls) && is_sluice(); i++) {
        struct cpuid_regs regs =
            ask(OWN_LEAF_COUNTER, own_counter_of_call(calls[i], HYPERV_OUTCOME_SUCCESS));

        sum += (uint64_t)regs.ebx << 32 | regs.eax;
    }
    return sum;
}
