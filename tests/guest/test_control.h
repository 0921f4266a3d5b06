/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GUEST_TEST_CONTROL_H
#define GUEST_TEST_CONTROL_H

/* Tests of the control registers, part of the group cpu. */
void test_control_cr0(void);
void test_control_cr3(void);
void test_control_cr4(void);
void test_control_wbinvd(void);

#endif
