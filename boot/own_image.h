/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_OWN_IMAGE_H
#define BOOT_OWN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/compiler.h"

/*
 * Sluice's image says what it is by a section of its PE file named ".sluice". The name of the file,
 * the build and the version do not matter; a signature appended to the file does not either. Pure.
 */

#define OWN_IMAGE_SECTION ".sluice"

/* Whether a loaded PE image (its headers at the start, so many bytes in all) has our section.
 * Headers that are not those of a PE image, or reach beyond the image: false. */
MUST_CHECK bool own_image_is(const void *image, size_t bytes);

#endif
