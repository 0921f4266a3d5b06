/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BOOT_CONFIG_H
#define BOOT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/boot_config.h"
#include "core/compiler.h"
#include "core/status.h"

/*
 * The configuration: text to struct boot_config (docs/configuration.md lists the keys). Pure. The
 * text never has to be NUL-terminated.
 */

/* Where and why a text was refused. */
struct config_error {
    unsigned int line; /* from 1; 0: the load options */
    char text[160];    /* in words, without the line number, NUL-terminated */
};

/* The configuration of an empty file. */
void config_defaults(struct boot_config *out);

/*
 * The contents of \sluice.cfg, laid over *out, which the caller has set to the defaults. One
 * `key=value` a line; blanks and tabs before the key, around '=' and at the end of the line are
 * dropped, so is a carriage return at the end; the value is all the rest. A line whose first
 * character is '#' is a comment, an empty or blank line nothing. A UTF-8 byte order mark at the
 * start is skipped. STATUS_MALFORMED: see *error; *out must not be used.
 */
MUST_CHECK enum status config_parse(const char *text, size_t bytes, struct boot_config *out,
                                    struct config_error *error);

/*
 * The load options: the same keys, as `key=value` words that blanks separate; laid over *out. A
 * first word without '=' is skipped, since the UEFI shell puts the program's name there. ASCII
 * text, ends at bytes or at the first NUL. Errors as above, with line 0.
 */
MUST_CHECK enum status config_parse_options(const char *text, size_t bytes, struct boot_config *out,
                                            struct config_error *error);

/*
 * The same from what the firmware passes: UCS-2 characters, bytes long. Data that is not text (an
 * odd size, characters other than printable ASCII, blanks and tabs before the first NUL) is not
 * meant for us, since firmware marks its own boot entries so: it is ignored, and *ignored set.
 */
MUST_CHECK enum status config_parse_load_options(const uint16_t *text, size_t bytes,
                                                 struct boot_config *out,
                                                 struct config_error *error, bool *ignored);

#endif
