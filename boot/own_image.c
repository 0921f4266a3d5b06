/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/own_image.h"

#include <stdint.h>

#include "core/string.h"

/* Offsets of the Microsoft Portable Executable format: the DOS header, then at the place that it
 * names the signature, the COFF header, the optional header and the section table. */
#define DOS_PE_OFFSET      60u
#define DOS_HEADER_BYTES   64u
#define PE_SECTION_COUNT   6u
#define PE_OPTIONAL_BYTES  20u
#define PE_HEADER_BYTES    24u
#define SECTION_BYTES      40u
#define SECTION_NAME_BYTES 8u
#define IS_TEXT(at, text)  (memcmp(at, text, sizeof(text) - 1) == 0)

/* What marks this image. The content is for people who look at the file. */
extern const char own_image_mark[];
__attribute__((section(OWN_IMAGE_SECTION), used)) const char own_image_mark[] = "Sluice";

static uint32_t field(const uint8_t *at, unsigned int bytes)
{
    uint32_t value = 0;

    for (unsigned int i = 0; i < bytes; i++) {
        value |= (uint32_t)at[i] << (8 * i);
    }
    return value;
}

bool own_image_is(const void *image, size_t bytes)
{
    static const char name[SECTION_NAME_BYTES] = OWN_IMAGE_SECTION;
    const uint8_t *start = image;
    const uint8_t *pe;
    size_t pe_offset;
    size_t at;

    if (bytes < DOS_HEADER_BYTES || !IS_TEXT(start, "MZ")) {
        return false;
    }
    pe_offset = field(start + DOS_PE_OFFSET, 4);
    if (pe_offset > bytes || bytes - pe_offset < PE_HEADER_BYTES) {
        return false;
    }
    pe = start + pe_offset;
    if (!IS_TEXT(pe, "PE\0\0")) {
        return false;
    }
    at = pe_offset + PE_HEADER_BYTES + field(pe + PE_OPTIONAL_BYTES, 2);
    for (uint32_t left = field(pe + PE_SECTION_COUNT, 2); left > 0; left--) {
        if (at > bytes || bytes - at < SECTION_BYTES) {
            return false;
        }
        if (memcmp(start + at, name, sizeof(name)) == 0) {
            return true;
        }
        at += SECTION_BYTES;
    }
    return false;
}
