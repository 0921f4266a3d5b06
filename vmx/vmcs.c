/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/vmcs.h"

#include "core/panic.h"
#include "vmx/names.h"

/* Written by boot code only, on one LP at a time. */
static bool is_bringing_up;
static bool has_failure;
static uint32_t failed_encoding;

void vmcs_begin_bring_up(void)
{
    is_bringing_up = true;
    has_failure = false;
}

bool vmcs_take_failure(uint32_t *encoding)
{
    bool failed = has_failure;

    *encoding = failed_encoding;
    has_failure = false;
    return failed;
}

NORETURN static void say_refused(const char *instruction, uint32_t encoding,
                                 struct vmx_result result)
{
    uint64_t error = 0;

    if (result.is_fail_valid && vmx_failed(vmx_read(VMCS_VM_INSTRUCTION_ERROR, &error))) {
        error = 0;
    }
    panic("%s of VMCS field %s (%x) failed: %s", instruction, vmcs_field_name(encoding), encoding,
          result.is_fail_valid ? vmx_instruction_error_name((uint32_t)error)
                               : "there is no current VMCS");
}

NORETURN void vmcs_read_refused(uint32_t encoding)
{
    uint64_t value;

    say_refused("VMREAD", encoding, vmx_read(encoding, &value));
}

void vmcs_write_refused(uint32_t encoding, uint64_t value)
{
    if (!is_bringing_up) {
        say_refused("VMWRITE", encoding, vmx_write(encoding, value));
    }
    if (!has_failure) {
        failed_encoding = encoding;
    }
    has_failure = true;
}
