/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_MSR_BITMAP_H
#define VMX_MSR_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "vmx/msr_policy.h"

/*
 * The MSR bitmap page, built from the MSR policy. A set bit: the access exits. MSRs outside
 * 0-0x1FFF and 0xC0000000-0xC0001FFF always exit. SDM volume 3, "MSR-Bitmap Address".
 */

#define MSR_BITMAP_BYTES 4096u

/* Fills the whole page. */
void msr_bitmap_build(uint8_t page[MSR_BITMAP_BYTES], const struct msr_policy_context *context);

/* Sets or clears one bit. Nothing happens for an MSR outside the two ranges. */
void msr_bitmap_set(uint8_t page[MSR_BITMAP_BYTES], uint32_t msr, bool is_write, bool exits);

#endif
