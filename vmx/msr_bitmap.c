/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/msr_bitmap.h"

#include "core/string.h"

#define MSR_LOW_LAST   0x1FFFu
#define MSR_HIGH_FIRST 0xC0000000u
#define MSR_HIGH_LAST  0xC0001FFFu

/* Where each part of the page starts, in bytes. */
#define BITMAP_READ_LOW   0u
#define BITMAP_READ_HIGH  1024u
#define BITMAP_WRITE_LOW  2048u
#define BITMAP_WRITE_HIGH 3072u

/* The number of the MSR's bit in the page, or -1 when it has none. */
static int32_t bit_of(uint32_t msr, bool is_write)
{
    if (msr <= MSR_LOW_LAST) {
        return (int32_t)((is_write ? BITMAP_WRITE_LOW : BITMAP_READ_LOW) * 8 + msr);
    }
    if (msr >= MSR_HIGH_FIRST && msr <= MSR_HIGH_LAST) {
        return (int32_t)((is_write ? BITMAP_WRITE_HIGH : BITMAP_READ_HIGH) * 8 + msr -
                         MSR_HIGH_FIRST);
    }
    return -1;
}

void msr_bitmap_set(uint8_t page[MSR_BITMAP_BYTES], uint32_t msr, bool is_write, bool exits)
{
    int32_t bit = bit_of(msr, is_write);
    uint8_t mask = (uint8_t)(1u << (bit & 7));

    if (bit < 0) {
        return;
    }
    if (exits) {
        page[bit / 8] = (uint8_t)(page[bit / 8] | mask);
    } else {
        page[bit / 8] = (uint8_t)(page[bit / 8] & ~mask);
    }
}

void msr_bitmap_build(uint8_t page[MSR_BITMAP_BYTES], const struct msr_policy_context *context)
{
    struct msr_range range;

    memset(page, 0xFF, MSR_BITMAP_BYTES);
    for (unsigned int i = 0; msr_policy_range(context, i, &range); i++) {
        for (uint32_t msr = range.first; msr <= range.last; msr++) {
            msr_bitmap_set(page, msr, false, range.rule.read != MSR_PASS);
            msr_bitmap_set(page, msr, true, range.rule.write != MSR_PASS);
        }
    }
}
