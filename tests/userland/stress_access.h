/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_USERLAND_STRESS_ACCESS_H
#define TESTS_USERLAND_STRESS_ACCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Accesses that may fault, by any thread. */

/* Installs the handler. Returns whether that worked. */
bool access_prepare(void);

/* Return false when the access faulted; then nothing was loaded or stored. */
bool try_load(const _Atomic uint64_t *word, uint64_t *value);
bool try_store(_Atomic uint64_t *word, uint64_t value);

#endif
