/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/exit_decode.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vmx/exit_decode.h"

static void control_register_accesses(void **state)
{
    struct cr_access access;

    (void)state;
    exit_decode_cr_access(0xF04, &access); /* MOV CR4, R15 */
    assert_int_equal(access.type, CR_ACCESS_MOV_TO);
    assert_int_equal(access.cr, 4);
    assert_int_equal(access.register_index, 15);
    exit_decode_cr_access(0x018, &access); /* MOV RAX, CR8 */
    assert_int_equal(access.type, CR_ACCESS_MOV_FROM);
    assert_int_equal(access.cr, 8);
    assert_int_equal(access.register_index, 0);
    exit_decode_cr_access(0x20, &access);
    assert_int_equal(access.type, CR_ACCESS_CLTS);
    exit_decode_cr_access(0xBEEF0070, &access);
    assert_int_equal(access.type, CR_ACCESS_LMSW);
}

static void port_accesses(void **state)
{
    struct io_access access;

    (void)state;
    exit_decode_io(0x02F80000, &access); /* OUT DX, AL with DX = 2F8h */
    assert_int_equal(access.port, 0x2F8);
    assert_int_equal(access.bytes, 1);
    assert_false(access.is_in || access.is_string || access.is_rep || access.is_immediate);
    exit_decode_io(0xB004003B, &access); /* REP INSD */
    assert_int_equal(access.port, 0xB004);
    assert_int_equal(access.bytes, 4);
    assert_true(access.is_in && access.is_string && access.is_rep);
    exit_decode_io(0x00640041, &access); /* OUT 64h, AX */
    assert_int_equal(access.bytes, 2);
    assert_true(access.is_immediate);
    exit_decode_io(0x00000002, &access);
    assert_int_equal(access.bytes, 0);
}

static void ept_violations(void **state)
{
    struct ept_violation violation;

    (void)state;
    exit_decode_ept_violation(0x18A, &violation); /* write to a read-only page */
    assert_true(violation.is_write && violation.was_readable && violation.is_translated);
    assert_false(violation.is_read || violation.is_fetch || violation.was_writable);
    assert_true(violation.has_linear_address);
    exit_decode_ept_violation(0x081, &violation); /* page walk */
    assert_true(violation.is_read && violation.has_linear_address);
    assert_false(violation.is_translated);
    exit_decode_ept_violation(0x101, &violation); /* bit 8 is undefined without bit 7 */
    assert_false(violation.has_linear_address || violation.is_translated);
    exit_decode_ept_violation(0x1034, &violation);
    assert_true(violation.is_fetch && violation.was_writable && violation.was_executable);
    assert_true(violation.is_nmi_unblocking);
}

static void other_qualifications(void **state)
{
    struct task_switch task;
    struct debug_exit debug;

    (void)state;
    exit_decode_task_switch(0xC0000028, &task);
    assert_int_equal(task.selector, 0x28);
    assert_int_equal(task.source, TASK_SWITCH_GATE);
    exit_decode_task_switch(0x40000030, &task);
    assert_int_equal(task.source, TASK_SWITCH_IRET);
    exit_decode_debug(0x14805, &debug);
    assert_int_equal(debug.breakpoints, 5);
    assert_true(debug.is_single_step && debug.is_rtm && debug.is_bus_lock);
    assert_false(debug.is_bd);
}

static void interruptions(void **state)
{
    struct interruption interruption;

    (void)state;
    exit_decode_interruption(0x80000202, &interruption);
    assert_true(interruption.is_valid);
    assert_int_equal(interruption.type, INTERRUPTION_NMI);
    assert_int_equal(interruption.vector, 2);
    exit_decode_interruption(0x80001B0E, &interruption);
    assert_int_equal(interruption.type, INTERRUPTION_HARDWARE_EXCEPTION);
    assert_true(interruption.has_error_code && interruption.is_nmi_unblocking);
    exit_decode_interruption(0x00000B0E, &interruption);
    assert_false(interruption.is_valid);
}

static void injections(void **state)
{
    (void)state;
    assert_int_equal(exit_encode_injection(INTERRUPTION_HARDWARE_EXCEPTION, EXCEPTION_GP, true),
                     0x80000B0D);
    assert_int_equal(exit_encode_injection(INTERRUPTION_HARDWARE_EXCEPTION, EXCEPTION_UD, false),
                     0x80000306);
    assert_int_equal(exit_encode_injection(INTERRUPTION_NMI, EXCEPTION_NMI, false), 0x80000202);
    assert_true(exit_injection_needs_length(INTERRUPTION_SOFTWARE_EXCEPTION));
    assert_true(exit_injection_needs_length(INTERRUPTION_SOFTWARE_INTERRUPT));
    assert_true(exit_injection_needs_length(INTERRUPTION_PRIVILEGED_SOFTWARE_EXCEPTION));
    assert_false(exit_injection_needs_length(INTERRUPTION_HARDWARE_EXCEPTION));
    assert_false(exit_injection_needs_length(INTERRUPTION_NMI));
    assert_true(exception_has_error_code(EXCEPTION_PF));
    assert_true(exception_has_error_code(EXCEPTION_CP));
    assert_false(exception_has_error_code(EXCEPTION_UD));
    assert_false(exception_has_error_code(200));
}

/* SDM volume 3, table "Conditions for Generating a Double Fault". */
static void double_and_triple_faults(void **state)
{
    const uint32_t exception = 0x80000300;

    (void)state;
    assert_int_equal(exception_merge(0, EXCEPTION_GP), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(0x80000030, EXCEPTION_GP), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(0x80000202, EXCEPTION_GP), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(exception | EXCEPTION_UD, EXCEPTION_GP), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(exception | EXCEPTION_GP, EXCEPTION_NP),
                     EXCEPTION_MERGE_DOUBLE_FAULT);
    assert_int_equal(exception_merge(exception | EXCEPTION_GP, EXCEPTION_PF), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(exception | EXCEPTION_PF, EXCEPTION_PF),
                     EXCEPTION_MERGE_DOUBLE_FAULT);
    assert_int_equal(exception_merge(exception | EXCEPTION_PF, EXCEPTION_GP),
                     EXCEPTION_MERGE_DOUBLE_FAULT);
    assert_int_equal(exception_merge(exception | EXCEPTION_PF, EXCEPTION_UD), EXCEPTION_MERGE_NEW);
    assert_int_equal(exception_merge(exception | EXCEPTION_DF, EXCEPTION_GP),
                     EXCEPTION_MERGE_TRIPLE_FAULT);
    assert_int_equal(exception_merge(exception | EXCEPTION_DF, EXCEPTION_PF),
                     EXCEPTION_MERGE_TRIPLE_FAULT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_register_accesses),
        cmocka_unit_test(port_accesses),
        cmocka_unit_test(ept_violations),
        cmocka_unit_test(other_qualifications),
        cmocka_unit_test(interruptions),
        cmocka_unit_test(injections),
        cmocka_unit_test(double_and_triple_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
