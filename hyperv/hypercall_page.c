/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/hyperv.h"

#define INT3 0xCCu

/* Only the first four bytes are for guests without virtual secure mode. */
static const uint8_t call_code[] = {0x0F, 0x01, 0xC1 /* VMCALL */, 0xC3 /* RET */};

void hyperv_hypercall_page_fill(uint8_t page[PAGE_BYTES])
{
    for (size_t i = 0; i < PAGE_BYTES; i++) {
        page[i] = i < sizeof(call_code) ? call_code[i] : INT3;
    }
}
