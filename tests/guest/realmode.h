/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_REALMODE_H
#define GUEST_REALMODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/guest/runtime/cpu.h"

/* 16-bit code on another processor (realmode.asm). All of it uses LOW_PAGE_SCRATCH. */

struct real_image {
    const uint8_t *start;
    const uint8_t *end;
};

extern const struct real_image real_image_spin;
extern const struct real_image real_image_halt;
extern const struct real_image real_image_halt_nmi;
extern const struct real_image real_image_spin32;
extern const struct real_image real_image_tour;
extern const struct real_image real_image_direct;

/* What the code leaves in its page. */
struct real_results {
    uint32_t beat; /* offset E00h */
    uint32_t padding0[3];
    uint32_t signature;
    uint32_t apic_base;
    uint8_t port_read;
    uint8_t padding1;
    uint16_t stack_word;
    uint32_t protected_signature;
    uint32_t apic_version;
    uint32_t flat_copy;
    uint32_t cr0;
    uint16_t smsw;
    uint16_t padding2;
    uint32_t own_block;
    uint32_t padding3[19];
    uint32_t nmi_count; /* offset E80h */
};

/* INIT and SIPI: the processor runs the image. The NMI vector of the real-mode table points to a
 * handler that counts. Returns the results when BEAT has moved, NULL after a second. */
volatile struct real_results *real_start(struct cpu *cpu, const struct real_image *image);

#endif
