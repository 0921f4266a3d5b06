/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_BUILD_H
#define CORE_BUILD_H

/* The switches of the build; the only place with #ifdef. */

/* Fault injection for the tests (`make VARIANT=inject`): the key `inject` is accepted. */
#ifdef SLUICE_INJECT
#define BUILD_HAS_INJECTION 1
#else
#define BUILD_HAS_INJECTION 0
#endif

#endif
