/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/string.h"

size_t str_length(const char *text, size_t limit)
{
    size_t length = 0;

    while (length < limit && text[length] != '\0') {
        length++;
    }
    return length;
}
