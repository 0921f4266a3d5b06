/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MM_PAGE_ENTRY_H
#define MM_PAGE_ENTRY_H

#include "core/bits.h"

/* Bits of a paging-structure entry, the guest's and our own (SDM volume 3, "Paging"). */

#define PTE_PRESENT       BIT64(0)
#define PTE_WRITE         BIT64(1)
#define PTE_USER          BIT64(2)
#define PTE_WRITE_THROUGH BIT64(3)
#define PTE_CACHE_DISABLE BIT64(4)
#define PTE_ACCESSED      BIT64(5)
#define PTE_DIRTY         BIT64(6)
#define PTE_PAGE_SIZE     BIT64(7)
#define PTE_NO_EXECUTE    BIT64(63)
#define PTE_ADDRESS       MASK64(51, 12)

#endif
