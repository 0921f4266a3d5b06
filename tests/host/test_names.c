/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/names.c vmx/control_names.c core/fmt.c core/string.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/compiler.h"
#include "vmx/exit_decode.h"
#include "vmx/names.h"
#include "vmx/vmcs_fields.h"

/* Encodings as the SDM's tables print them, typed here by hand and not from the list. */
static void fields_have_the_sdm_encodings(void **state)
{
    static const struct {
        uint32_t encoding;
        uint32_t listed;
        const char *name;
    } sdm[] = {
        {0x0000, VMCS_VPID, "VPID"},
        {0x080E, VMCS_GUEST_TR_SELECTOR, "GUEST_TR_SELECTOR"},
        {0x0C0C, VMCS_HOST_TR_SELECTOR, "HOST_TR_SELECTOR"},
        {0x2004, VMCS_MSR_BITMAP_ADDRESS, "MSR_BITMAP_ADDRESS"},
        {0x201A, VMCS_EPT_POINTER, "EPT_POINTER"},
        {0x202C, VMCS_XSS_EXITING_BITMAP, "XSS_EXITING_BITMAP"},
        {0x2032, VMCS_TSC_MULTIPLIER, "TSC_MULTIPLIER"},
        {0x2044, VMCS_SECONDARY_VM_EXIT_CONTROLS, "SECONDARY_VM_EXIT_CONTROLS"},
        {0x204A, VMCS_IA32_SPEC_CTRL_MASK, "IA32_SPEC_CTRL_MASK"},
        {0x2400, VMCS_GUEST_PHYSICAL_ADDRESS, "GUEST_PHYSICAL_ADDRESS"},
        {0x2800, VMCS_VMCS_LINK_POINTER, "VMCS_LINK_POINTER"},
        {0x2806, VMCS_GUEST_IA32_EFER, "GUEST_IA32_EFER"},
        {0x2812, VMCS_GUEST_IA32_BNDCFGS, "GUEST_IA32_BNDCFGS"},
        {0x2818, VMCS_GUEST_IA32_PKRS, "GUEST_IA32_PKRS"},
        {0x2C02, VMCS_HOST_IA32_EFER, "HOST_IA32_EFER"},
        {0x4012, VMCS_VM_ENTRY_CONTROLS, "VM_ENTRY_CONTROLS"},
        {0x401E, VMCS_SECONDARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS,
         "SECONDARY_PROCESSOR_BASED_VM_EXECUTION_CONTROLS"},
        {0x4402, VMCS_EXIT_REASON, "EXIT_REASON"},
        {0x440E, VMCS_VM_EXIT_INSTRUCTION_INFORMATION, "VM_EXIT_INSTRUCTION_INFORMATION"},
        {0x4812, VMCS_GUEST_IDTR_LIMIT, "GUEST_IDTR_LIMIT"},
        {0x4814, VMCS_GUEST_ES_ACCESS_RIGHTS, "GUEST_ES_ACCESS_RIGHTS"},
        {0x4822, VMCS_GUEST_TR_ACCESS_RIGHTS, "GUEST_TR_ACCESS_RIGHTS"},
        {0x4826, VMCS_GUEST_ACTIVITY_STATE, "GUEST_ACTIVITY_STATE"},
        {0x482A, VMCS_GUEST_IA32_SYSENTER_CS, "GUEST_IA32_SYSENTER_CS"},
        {0x482E, VMCS_VMX_PREEMPTION_TIMER_VALUE, "VMX_PREEMPTION_TIMER_VALUE"},
        {0x4C00, VMCS_HOST_IA32_SYSENTER_CS, "HOST_IA32_SYSENTER_CS"},
        {0x6006, VMCS_CR4_READ_SHADOW, "CR4_READ_SHADOW"},
        {0x6400, VMCS_EXIT_QUALIFICATION, "EXIT_QUALIFICATION"},
        {0x640A, VMCS_GUEST_LINEAR_ADDRESS, "GUEST_LINEAR_ADDRESS"},
        {0x6818, VMCS_GUEST_IDTR_BASE, "GUEST_IDTR_BASE"},
        {0x681E, VMCS_GUEST_RIP, "GUEST_RIP"},
        {0x6826, VMCS_GUEST_IA32_SYSENTER_EIP, "GUEST_IA32_SYSENTER_EIP"},
        {0x682A, VMCS_GUEST_SSP, "GUEST_SSP"},
        {0x6C16, VMCS_HOST_RIP, "HOST_RIP"},
        {0x6C1C, VMCS_HOST_IA32_INTERRUPT_SSP_TABLE_ADDR, "HOST_IA32_INTERRUPT_SSP_TABLE_ADDR"},
    };

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(sdm); i++) {
        assert_int_equal(sdm[i].encoding, sdm[i].listed);
        assert_string_equal(vmcs_field_name(sdm[i].encoding), sdm[i].name);
    }
    assert_string_equal(vmcs_field_name(0x2401), "GUEST_PHYSICAL_ADDRESS");
    assert_string_equal(vmcs_field_name(0x7FFE), "unknown VMCS field");
}

#define WIDTH_BITS_16      16
#define WIDTH_BITS_32      32
#define WIDTH_BITS_64      64
#define WIDTH_BITS_NATURAL 64

/* The encoding itself tells the width (SDM, "Structure of VMCS Component Encoding"). */
static void widths_agree_with_the_encodings(void **state)
{
    static const uint8_t width_bits[4] = {16, 64, 32, 64};
    static const struct {
        uint16_t encoding;
        uint8_t width_bits;
        const char *name;
    } fields[] = {
#define VMCS_FIELD(width, name, encoding) {encoding, WIDTH_BITS_##width, #name},
#include "vmx/vmcs_fields.def"
#undef VMCS_FIELD
    };

    (void)state;
    assert_true(ARRAY_LEN(fields) > 150);
    for (unsigned int i = 0; i < ARRAY_LEN(fields); i++) {
        assert_int_equal(fields[i].width_bits, width_bits[fields[i].encoding >> 13 & 3]);
        assert_int_equal(fields[i].encoding & 1, 0);
        assert_string_equal(vmcs_field_name(fields[i].encoding), fields[i].name);
        for (unsigned int j = 0; j < i; j++) {
            assert_int_not_equal(fields[i].encoding, fields[j].encoding);
            assert_string_not_equal(fields[i].name, fields[j].name);
        }
    }
}

static void reasons_and_errors_have_words(void **state)
{
    (void)state;
    assert_string_equal(exit_reason_name(10), "CPUID");
    assert_string_equal(exit_reason_name(48), "EPT violation");
    assert_string_equal(exit_reason_name(55), "XSETBV");
    assert_string_equal(exit_reason_name(33), "VM-entry failure: invalid guest state");
    assert_string_equal(exit_reason_name(35), "unknown exit reason");
    assert_string_equal(exit_reason_name(0xFFFF), "unknown exit reason");
    assert_string_equal(vmx_instruction_error_name(5), "VMRESUME with non-launched VMCS");
    assert_string_equal(vmx_instruction_error_name(7), "VM entry with invalid control field(s)");
    assert_string_equal(vmx_instruction_error_name(28), "invalid operand to INVEPT/INVVPID");
    assert_string_equal(vmx_instruction_error_name(0), "unknown VM-instruction error");
    assert_string_equal(vmx_instruction_error_name(14), "unknown VM-instruction error");
    assert_string_equal(vmx_instruction_error_name(29), "unknown VM-instruction error");
    assert_string_equal(exception_name(13), "#GP general protection");
    assert_string_equal(exception_name(22), "reserved exception");
    assert_string_equal(exception_name(255), "external or software interrupt");
    assert_string_equal(interruption_type_name(2), "NMI");
    assert_string_equal(interruption_type_name(8), "unknown interruption type");
    assert_string_equal(activity_state_name(3), "wait-for-SIPI");
    assert_string_equal(activity_state_name(4), "unknown activity state");
    assert_string_equal(entry_failure_name(33, 2), "loading the PDPTEs failed");
    assert_string_equal(entry_failure_name(33, 4), "invalid VMCS link pointer");
    assert_string_equal(entry_failure_name(33, 5ull << 32), "unknown exit qualification");
    assert_string_equal(entry_failure_name(48, 0), "not a VM-entry failure");
}

static void control_bits_have_words(void **state)
{
    char text[64];

    (void)state;
    assert_string_equal(control_bit_name(CONTROLS_PROC2, 7), "unrestricted guest");
    assert_null(control_bit_name(CONTROLS_PIN, 1));
    assert_null(control_bit_name(CONTROLS_PIN, 32));
    control_bits_text(CONTROLS_PIN, PIN_NMI_EXITING | PIN_VIRTUAL_NMIS | 2, text, sizeof(text));
    assert_string_equal(text, "bit 1, NMI exiting, virtual NMIs");
    assert_int_equal(control_bits_text(CONTROLS_PIN, 0, text, sizeof(text)), 0);
    assert_string_equal(text, "");
    assert_int_equal(interruptibility_text(INTERRUPTIBILITY_BLOCKING_BY_NMI, text, sizeof(text)),
                     strlen("blocking by NMI"));
    assert_string_equal(text, "blocking by NMI");
    interruptibility_text(0, text, sizeof(text));
    assert_string_equal(text, "none");
}

/* The whole length is returned and nothing is written past the end. */
static void control_text_is_cut_at_the_end(void **state)
{
    char whole[2048];
    char part[40];
    size_t length = control_bits_text(CONTROLS_PROC, ~0u, whole, sizeof(whole));

    (void)state;
    assert_int_equal(length, strlen(whole));
    memset(part, 'x', sizeof(part));
    assert_int_equal(control_bits_text(CONTROLS_PROC, ~0u, part, 30), length);
    assert_int_equal(strlen(part), 29);
    assert_memory_equal(part, whole, 29);
    assert_int_equal(part[30], 'x');
    assert_int_equal(control_bits_text(CONTROLS_PROC, ~0u, NULL, 0), length);
}

/* The control names and the bit macros are two lists: they must agree. */
static void macros_and_control_names_agree(void **state)
{
    static const struct {
        enum control_group group;
        uint32_t bit;
        const char *name;
    } pairs[] = {
        {CONTROLS_PIN, PIN_PROCESS_POSTED_INTERRUPTS, "process posted interrupts"},
        {CONTROLS_PROC, PROC_NMI_WINDOW_EXITING, "NMI-window exiting"},
        {CONTROLS_PROC, PROC_USE_IO_BITMAPS, "use I/O bitmaps"},
        {CONTROLS_PROC, PROC_USE_MSR_BITMAPS, "use MSR bitmaps"},
        {CONTROLS_PROC, PROC_ACTIVATE_SECONDARY_CONTROLS, "activate secondary controls"},
        {CONTROLS_PROC2, PROC2_ENABLE_RDTSCP, "enable RDTSCP"},
        {CONTROLS_PROC2, PROC2_ENABLE_INVPCID, "enable INVPCID"},
        {CONTROLS_PROC2, PROC2_ENABLE_XSAVES_XRSTORS, "enable XSAVES/XRSTORS"},
        {CONTROLS_PROC2, PROC2_ENABLE_USER_WAIT_AND_PAUSE, "enable user wait and pause"},
        {CONTROLS_EXIT, EXIT_HOST_ADDRESS_SPACE_SIZE, "host address-space size"},
        {CONTROLS_EXIT, EXIT_LOAD_IA32_EFER, "load IA32_EFER"},
        {CONTROLS_EXIT, EXIT_LOAD_CET_STATE, "load CET state"},
        {CONTROLS_ENTRY, ENTRY_IA32E_MODE_GUEST, "IA-32e mode guest"},
        {CONTROLS_ENTRY, ENTRY_LOAD_IA32_PAT, "load IA32_PAT"},
        {CONTROLS_ENTRY, ENTRY_LOAD_CET_STATE, "load CET state"},
    };
    char text[64];

    (void)state;
    for (unsigned int i = 0; i < ARRAY_LEN(pairs); i++) {
        control_bits_text(pairs[i].group, pairs[i].bit, text, sizeof(text));
        assert_string_equal(text, pairs[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_the_sdm_encodings),
        cmocka_unit_test(widths_agree_with_the_encodings),
        cmocka_unit_test(reasons_and_errors_have_words),
        cmocka_unit_test(control_bits_have_words),
        cmocka_unit_test(control_text_is_cut_at_the_end),
        cmocka_unit_test(macros_and_control_names_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
