/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_OWN_LEAVES_H
#define VMX_OWN_LEAVES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cpuid_bits.h"

/*
 * Sluice's own CPUID block, there with and without Microsoft's interface.
 *
 * 0x40000100  EAX 0x40000102 (largest leaf of the block); EBX ECX EDX "SluiceSluice"
 * 0x40000101  EAX version (major << 16 | minor << 8 | patch); EBX mode (1: passthrough);
 *             ECX number of VPs; EDX VP index of the caller
 * 0x40000102  a counter. Subleaf (ECX) bits 15:0: counter number; bits 31:16: 0 for the sum over
 *             all VPs, n for VP index n-1. Out: EAX value 31:0, EBX value 63:32, ECX number of
 *             counters, EDX 1 when counter and VP exist, else EAX EBX EDX are 0.
 * The subleaf of 0x40000100 and 0x40000101 is ignored.
 */

#define OWN_LEAF_BASE        0x40000100u
#define OWN_LEAF_INFO        0x40000101u
#define OWN_LEAF_COUNTER     0x40000102u
#define OWN_LEAF_LAST        OWN_LEAF_COUNTER
#define OWN_SIGNATURE_SLUI   0x69756C53u /* "Slui" */
#define OWN_SIGNATURE_CESL   0x6C536563u /* "ceSl" */
#define OWN_SIGNATURE_UICE   0x65636975u /* "uice" */
#define OWN_MODE_PASSTHROUGH 1u

struct own_leaves {
    uint32_t version; /* OWN_VERSION(...) */
    uint32_t mode;
    uint32_t vp_count;
    uint32_t counter_count;
    /* The value of a counter (below counter_count) of one VP (below vp_count). */
    uint64_t (*counter)(void *context, uint32_t counter, uint32_t vp_index);
    void *context;
};

#define OWN_VERSION(major, minor, patch) \
    ((uint32_t)(major) << 16 | (uint32_t)(minor) << 8 | (uint32_t)(patch))

/* Whether the leaf belongs to the block; then, and only then, own_leaves_read answers it. */
static inline bool own_leaves_has(uint32_t leaf)
{
    return leaf - OWN_LEAF_BASE <= OWN_LEAF_LAST - OWN_LEAF_BASE;
}

/* Leaf 0x40000102. */
struct cpuid_regs own_leaves_counter(const struct own_leaves *own, uint32_t subleaf);

/* The four registers for a leaf of the block. Context: exit path of the VP vp_index. Inline: the
 * first leaf is what an exit's cost is measured by. */
static inline struct cpuid_regs own_leaves_read(const struct own_leaves *own, uint32_t leaf,
                                                uint32_t subleaf, uint32_t vp_index)
{
    if (leaf == OWN_LEAF_BASE) {
        return (struct cpuid_regs){OWN_LEAF_LAST, OWN_SIGNATURE_SLUI, OWN_SIGNATURE_CESL,
                                   OWN_SIGNATURE_UICE};
    }
    if (leaf == OWN_LEAF_INFO) {
        return (struct cpuid_regs){own->version, own->mode, own->vp_count, vp_index};
    }
    if (leaf == OWN_LEAF_COUNTER) {
        return own_leaves_counter(own, subleaf);
    }
    return (struct cpuid_regs){0, 0, 0, 0};
}

#endif
