/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/boot_config.h"
#include "core/compiler.h"
#include "core/spin.h"
#include "core/uart.h"

/*
 * The serial log: `[LP02 VP005 +12.345678 area W] text`, one line per event. Output is polled and
 * takes a lock, so nothing at level I or above may be written in the exit path of a running guest.
 */

enum log_level {
    LOG_ERROR = CONFIG_LOG_ERROR,
    LOG_WARNING = CONFIG_LOG_WARNING,
    LOG_INFO = CONFIG_LOG_INFO,
    LOG_DEBUG = CONFIG_LOG_DEBUG,
};

struct log_state {
    struct uart uart;
    enum log_level level;
    struct spin_lock lock;
    uint64_t tsc_at_start;
    uint64_t tsc_hz; /* 0: not known yet, times are shown as zero */
};

#define LOG_LP_NONE UINT32_MAX /* before LPs and vCPUs have numbers */

/* Makes state the log that this copy of the image writes to. It must outlive the image. Boot
 * context, before other LPs use the log. */
void log_attach(struct log_state *state);

/* Whether lines of this level are written. Any context. */
bool log_is_on(enum log_level level);

/* Writes one line. In root mode on an LP of ours, LP and VP are this LP's; boot code, which runs
 * on the firmware's GS base, uses log_boot instead. Lines over 400 characters are cut and say
 * so. Takes the log's lock and waits for the UART: no other lock is held that an exit path waits
 * for. */
void log_line(enum log_level level, const char *area, const char *format, ...) PRINTF_LIKE(3, 4);

/* As log_line, from boot code on the processor with this LP number (LOG_LP_NONE: unnumbered). */
void log_boot(enum log_level level, const char *area, uint32_t lp_id, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Takes the log away from all other writers for good; for panic. Waits a bounded time for a writer
 * in the middle of a line. From then on only this LP's log_line calls write. */
void log_seize(void);

/* Waits, bounded, until everything has left the UART: before the machine is switched off. */
void log_drain(void);

#endif
