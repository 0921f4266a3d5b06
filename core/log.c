/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log.h"

#include <stdatomic.h>

#include "core/cpu.h"
#include "core/fmt.h"
#include "core/lp.h"

#define LOG_LINE_CHARS  400u
#define LOG_SEIZE_TRIES 1000000u

static struct log_state *attached;
/* Set once, by the LP that panics or stops the guest: only its lines are written from then on.
 * Relaxed: who does not see it yet still takes the lock, and writes a last line. */
static _Atomic(const struct lp *) seized_by;

static const char level_letters[] = {'E', 'W', 'I', 'D'};

void log_attach(struct log_state *state)
{
    attached = state;
}

bool log_is_on(enum log_level level)
{
    return attached != NULL && level <= attached->level;
}

/* Who writes: nobody's numbers, for boot code, or an LP of ours. */
struct writer {
    uint32_t lp_id;
    const struct vcpu *vcpu;
    int64_t tsc_correction;
};

static size_t put_prefix(char *line, size_t size, enum log_level level, const char *area,
                         const struct writer *writer)
{
    uint64_t now = cpu_read_tsc() - (uint64_t)writer->tsc_correction;
    uint64_t ticks = now - attached->tsc_at_start;
    uint64_t hz = attached->tsc_hz;
    uint64_t seconds = hz == 0 ? 0 : ticks / hz;
    uint64_t micros = hz == 0 ? 0 : (ticks % hz) * 1000000 / hz;
    char lp_text[12] = "LP--";
    char vp_text[12] = "VP---";

    if (writer->lp_id != LOG_LP_NONE) {
        (void)fmt_print(lp_text, sizeof(lp_text), "LP%02u", writer->lp_id);
    }
    if (writer->vcpu != NULL) {
        (void)fmt_print(vp_text, sizeof(vp_text), "VP%03u", writer->vcpu->vp_index);
    }
    return fmt_print(line, size, "[%s %s +%u.%06u %s %c] ", lp_text, vp_text, (unsigned int)seconds,
                     (unsigned int)micros, area, level_letters[level]);
}

static void write_line(enum log_level level, const char *area, const struct writer *writer,
                       const char *format, va_list args)
{
    const struct lp *owner;
    char line[LOG_LINE_CHARS];
    size_t length = put_prefix(line, sizeof(line), level, area, writer);

    if (length < sizeof(line)) {
        length += fmt_vprint(line + length, sizeof(line) - length, format, args);
    }
    if (length >= sizeof(line) - 1) {
        length = sizeof(line) - 1;
        line[length - 4] = line[length - 3] = line[length - 2] = '.';
    }
    line[length++] = '\n';
    owner = atomic_load_explicit(&seized_by, memory_order_relaxed);
    if (owner != NULL) {
        if (owner == this_lp()) {
            uart_write(&attached->uart, line, length);
        }
        return;
    }
    spin_lock(&attached->lock);
    uart_write(&attached->uart, line, length);
    spin_unlock(&attached->lock);
}

void log_line(enum log_level level, const char *area, const char *format, ...)
{
    const struct lp *lp = this_lp();
    struct writer writer = {lp->lp_id, lp->vcpu, lp_tsc_correction(lp)};
    va_list args;

    if (!log_is_on(level)) {
        return;
    }
    va_start(args, format);
    write_line(level, area, &writer, format, args);
    va_end(args);
}

void log_boot(enum log_level level, const char *area, uint32_t lp_id, const char *format, ...)
{
    struct writer writer = {lp_id, NULL, 0};
    va_list args;

    if (!log_is_on(level)) {
        return;
    }
    va_start(args, format);
    write_line(level, area, &writer, format, args);
    va_end(args);
}

void log_seize(void)
{
    for (uint32_t attempt = 0; attempt < LOG_SEIZE_TRIES; attempt++) {
        if (spin_try(&attached->lock)) {
            break;
        }
        cpu_pause();
    }
    atomic_store_explicit(&seized_by, this_lp(), memory_order_relaxed);
}

void log_drain(void)
{
    if (attached != NULL) {
        uart_drain(&attached->uart);
    }
}
