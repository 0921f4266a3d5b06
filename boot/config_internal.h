/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_CONFIG_INTERNAL_H
#define BOOT_CONFIG_INTERNAL_H

#include "boot/config.h"

/*
 * Between boot/config.c (lines and words of the text) and boot/config_keys.c (what the keys mean).
 * Nobody else includes this.
 */

/* A piece of the text. */
struct piece {
    const char *text;
    size_t length;
};

/* What is carried through one parse. */
struct config_parser {
    struct boot_config *out;
    struct config_error *error;
    unsigned int line;
    uint32_t seen; /* bit n: config_keys[n] has been set */
};

/* A key. set takes over a value, or returns false after config_refuse(). */
struct config_key {
    const char *name;
    bool (*set)(struct config_parser *parser, struct piece value);
};

#define CONFIG_KEY_COUNT 20u

extern const struct config_key config_keys[CONFIG_KEY_COUNT];

/* Writes the reason and the line into the error. Always false. */
bool config_refuse(struct config_parser *parser, const char *format, ...) PRINTF_LIKE(2, 3);

/* How many characters of a refused piece a message shows, for "%.*s". */
int config_shown(struct piece piece);

/* Whether a piece is this text. */
bool config_piece_is(struct piece piece, const char *text);

#endif
