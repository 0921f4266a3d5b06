/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_RESIDENT_H
#define BOOT_RESIDENT_H

#include <stdint.h>

#include "core/status.h"
#include "mm/host_pt.h"

/*
 * Two copies of the image. The one that the firmware loaded runs the start-up, first natively and
 * then as the guest; it is the firmware's memory, which the next OS takes. The resident one lies in
 * reserved memory, hidden from the guest; VM exits arrive there. A function or constant of this
 * copy is found in the other at a fixed distance.
 */

/* Bytes of the image, whole pages. */
uint64_t resident_image_bytes(void);

/* Copies the image to target and applies its relocations for there. STATUS_MALFORMED: a relocation
 * of a kind that the linker should not have made. */
MUST_CHECK enum status resident_copy(uint64_t target);

/* The address in the copy at target of what lies at address in this one. */
uint64_t resident_address(uint64_t target, const void *address);

/* Gives the sections of the copy at target their rights: no page is writable and executable.
 * STATUS_NO_MEMORY: the page pool is empty. */
MUST_CHECK enum status resident_protect(struct host_pt *tables, uint64_t target);

#endif
