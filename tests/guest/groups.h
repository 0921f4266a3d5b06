/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_GROUPS_H
#define GUEST_GROUPS_H

#include "tests/guest/runtime/test.h"

/* One group per test_*.c, in the order in which guest.efi runs them. */
extern const struct test_group group_cpuid;
extern const struct test_group group_msr;
extern const struct test_group group_mtrr;
extern const struct test_group group_apicbase;
extern const struct test_group group_apicbase_x2;
extern const struct test_group group_vmx;
extern const struct test_group group_cpu;
extern const struct test_group group_memory;
extern const struct test_group group_ipi;
extern const struct test_group group_ipi_x2;
extern const struct test_group group_init;
extern const struct test_group group_init_x2;
extern const struct test_group group_nmi;
extern const struct test_group group_nmi_x2;
extern const struct test_group group_modes;
extern const struct test_group group_modes_x2;
extern const struct test_group group_perf;
extern const struct test_group group_storm_long;
extern const struct test_group group_hvabsent;
extern const struct test_group group_hvoff;
extern const struct test_group group_hvbench;
extern const struct test_group group_hv;
extern const struct test_group group_triple;
extern const struct test_group group_reset_cf9;
extern const struct test_group group_reset_kbd;
extern const struct test_group group_s5;
extern const struct test_group group_hostile;
extern const struct test_group group_hostile_open;

#endif
