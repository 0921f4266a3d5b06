/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SIM_FLUSH_WORLD_H
#define TESTS_SIM_FLUSH_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/flush.h"

/* One thread, one executing LP (0), others that stand still: for tests of the flush engine step by
 * step. The ops note what they are asked to do. */

#define LPS      3u
#define VPS      200u /* four banks, with holes */
#define VP_STEP  7u   /* what VPs exist: every multiple of this, and 0 to 2 */
#define CALLS    64u
#define PAGE(n)  (0x7F0000000000ull + (n)*PAGE_BYTES)
#define WATCHDOG 1000u
#define ALL_TYPES                                                         \
    (FLUSH_HAS(FLUSH_INVVPID_ADDRESS) | FLUSH_HAS(FLUSH_INVVPID_SINGLE) | \
     FLUSH_HAS(FLUSH_INVVPID_ALL) | FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS))

struct call {
    const struct flush_vcpu *vcpu;
    enum flush_invvpid type;
    uint64_t address;
};

struct flush_world {
    struct lp_shared lps[LPS];
    struct lp_shared *lp_table[LPS];
    struct flush_vcpu vcpus[VPS];
    struct flush_vcpu *vp_table[VPS];
    struct flush_machine machine;
    struct flush_lp self;
    struct flush_seen scratch[VPS];
    struct call calls[CALLS];
    uint32_t call_count;
    uint32_t caller; /* the vCPU that send_to_bank sends from; 0 */
    uint32_t kicks[LPS];
    uint32_t reports;
    struct flush_late late;
    uint64_t now;
    uint32_t turns;
    uint32_t turns_until_exit; /* of LP 1 and 2 */
    bool is_kick_refused;
    uint32_t posts_left; /* by the hook: requests that arrive while one is served */
};

extern struct flush_world world;

/* A new world: LP 0 runs vCPU 0 in root mode, all others are in root mode and run nobody. For
 * cmocka. */
int set_up(void **state);

/* A counter of vCPU 0. */
uint64_t counted(enum flush_counter counter);

/* The pending word of a VP. */
uint64_t word_of(uint32_t vp_index);

/* The caller sends to VPs of bank 0. */
void send_to_bank(enum flush_kind kind, uint64_t bank, const uint64_t *ranges,
                  uint32_t range_count);

/* Asserts what an invalidation was; its vCPU is vCPU 0. */
void expect_call(uint32_t index, enum flush_invvpid type, uint64_t address);

#endif
