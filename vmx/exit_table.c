/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/compiler.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"

/* Rows only for what is handled. */
exit_function *const exit_handlers[EXIT_HANDLERS_COUNT] = {
    [EXIT_REASON_EXCEPTION_OR_NMI] = exit_exception_or_nmi,
    [EXIT_REASON_TRIPLE_FAULT] = exit_triple_fault,
    [EXIT_REASON_INIT_SIGNAL] = exit_init_signal,
    [EXIT_REASON_SIPI] = exit_sipi,
    [EXIT_REASON_NMI_WINDOW] = exit_nmi_window,
    [EXIT_REASON_CPUID] = exit_cpuid,
    [EXIT_REASON_GETSEC] = exit_undefined,
    [EXIT_REASON_INVD] = exit_invd,
    [EXIT_REASON_VMCALL] = exit_vmcall,
    [EXIT_REASON_VMCLEAR] = exit_undefined,
    [EXIT_REASON_VMLAUNCH] = exit_undefined,
    [EXIT_REASON_VMPTRLD] = exit_undefined,
    [EXIT_REASON_VMPTRST] = exit_undefined,
    [EXIT_REASON_VMREAD] = exit_undefined,
    [EXIT_REASON_VMRESUME] = exit_undefined,
    [EXIT_REASON_VMWRITE] = exit_undefined,
    [EXIT_REASON_VMXOFF] = exit_undefined,
    [EXIT_REASON_VMXON] = exit_undefined,
    [EXIT_REASON_CR_ACCESS] = exit_cr_access,
    [EXIT_REASON_IO_INSTRUCTION] = exit_io,
    [EXIT_REASON_RDMSR] = exit_rdmsr,
    [EXIT_REASON_WRMSR] = exit_wrmsr,
    [EXIT_REASON_EPT_VIOLATION] = exit_ept_violation,
    [EXIT_REASON_INVEPT] = exit_undefined,
    [EXIT_REASON_INVVPID] = exit_undefined,
    [EXIT_REASON_XSETBV] = exit_xsetbv,
    [EXIT_REASON_VMFUNC] = exit_undefined,
};

STATIC_ASSERT(EXIT_HANDLERS_COUNT >= EXIT_REASON_LIMIT);
