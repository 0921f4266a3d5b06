/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_FLUSH_STEP_H
#define CORE_FLUSH_STEP_H

/* Places between two steps of the protocol, where the simulation delays a thread. Nothing in the
 * image. */
#ifdef SLUICE_HOST
extern void (*flush_step_hook)(void);

static inline void flush_step(void)
{
    if (flush_step_hook != 0) {
        flush_step_hook();
    }
}
#else
static inline void flush_step(void)
{
}
#endif

#endif
