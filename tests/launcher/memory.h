/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LAUNCHER_MEMORY_H
#define LAUNCHER_MEMORY_H

/* The firmware's memory: how much there is, and taking nearly all of it. */

#include <efi.h>
#include <stdint.h>

#define MEMORY_HELD_MAX 512

struct memory_held {
    UINTN count;
    struct {
        EFI_PHYSICAL_ADDRESS address;
        UINTN pages;
    } ranges[MEMORY_HELD_MAX];
};

/* Return how many 4 KiB pages of one type the memory map has, 0 when it cannot be read. */
uint64_t memory_pages(EFI_BOOT_SERVICES *services, UINT32 type);

/* Allocate until no more than `leave` pages are free. Returns how many are. */
uint64_t memory_hold(EFI_BOOT_SERVICES *services, uint64_t leave, struct memory_held *held);

/* Give it all back. */
void memory_release(EFI_BOOT_SERVICES *services, struct memory_held *held);

#endif
