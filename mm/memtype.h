/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_MEMTYPE_H
#define MM_MEMTYPE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Memory types by the MTRRs (SDM volume 3, "Memory Type Range Registers (MTRRs)"): the type of an
 * address, and whether a whole block has one type. Pure: works on a copy of the registers.
 */

/* The encodings that MTRRs, PAT and EPT entries share. */
enum mem_type {
    MEM_TYPE_UC = 0,
    MEM_TYPE_WC = 1,
    MEM_TYPE_WT = 4,
    MEM_TYPE_WP = 5,
    MEM_TYPE_WB = 6,
};

#define MTRR_VARIABLE_MAX 32u /* pairs that we keep; processors so far have at most 10 */
#define MTRR_FIXED_COUNT  11u

struct mtrr_variable {
    uint64_t base; /* IA32_MTRR_PHYSBASEn */
    uint64_t mask; /* IA32_MTRR_PHYSMASKn */
};

/* The MTRR MSRs of one LP or vCPU, as RDMSR gives them. Pairs from VCNT on are zero. */
struct mtrr_state {
    uint64_t cap;                     /* IA32_MTRRCAP; VCNT at most MTRR_VARIABLE_MAX */
    uint64_t def_type;                /* IA32_MTRR_DEF_TYPE */
    uint64_t fixed[MTRR_FIXED_COUNT]; /* in the order of mtrr_fixed_msr() */
    struct mtrr_variable variable[MTRR_VARIABLE_MAX];
    unsigned int phys_bits; /* CPUID.80000008H:EAX[7:0] */
};

/* The MSR number of fixed-range register index (0 to MTRR_FIXED_COUNT - 1): 250h, 258h, 259h, 268h
 * to 26Fh. 0 for any other index. Any context. */
uint32_t mtrr_fixed_msr(unsigned int index);

/* The number of variable pairs, VCNT of cap limited to MTRR_VARIABLE_MAX. Any context. */
unsigned int mtrr_variable_count(const struct mtrr_state *state);

/* Whether value is a type that an MTRR, or an EPT entry, may hold. Any context. */
bool memtype_is_valid(uint64_t value);

/* "UC", "WC", "WT", "WP", "WB", or "??" for any other value. Any context. */
const char *memtype_name(enum mem_type type);

/*
 * The memory type of one address: MTRRs off is UC; fixed ranges rule below 1 MiB when switched on;
 * of overlapping variable ranges UC wins, WT wins over WB, and any other mix, which the SDM leaves
 * undefined, is UC (SDM volume 3, "MTRR Precedences"). *end (may not be NULL) becomes an address
 * above address, such that all addresses from address up to *end - 1 have this type; there may be
 * more beyond. Any context.
 */
enum mem_type memtype_at(const struct mtrr_state *state, uint64_t address, uint64_t *end);

/*
 * Whether all of [base, base + bytes) has one type; *type is that of base in any case. bytes must
 * not be 0, nor base + bytes wrap. Takes at most 1024 steps, and says false when these do not reach
 * (only masks with holes need more in a block of 2 MiB or above; one of 4 KiB never does).
 */
bool memtype_is_uniform(const struct mtrr_state *state, uint64_t base, uint64_t bytes,
                        enum mem_type *type);

/*
 * Whether two states give every address the same type for certain: default type, the fixed ranges
 * where they rule, and the valid variable pairs are equal. MTRRCAP does not count. May say false
 * for two states that differ in form only. Any context.
 */
bool mtrr_state_equal(const struct mtrr_state *a, const struct mtrr_state *b);

#endif
