/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/compiler.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"

#define UNEXPECTED_BETWEEN(before, after) \
    [EXIT_REASON_##before + 1 ... EXIT_REASON_##after - 1] = exit_unexpected

/* No row is empty: the exit path does not test for it. */
exit_function *const exit_handlers[EXIT_HANDLERS_COUNT] = {
    [EXIT_REASON_EXCEPTION_OR_NMI] = exit_exception_or_nmi,
    UNEXPECTED_BETWEEN(EXCEPTION_OR_NMI, TRIPLE_FAULT),
    [EXIT_REASON_TRIPLE_FAULT] = exit_triple_fault,
    [EXIT_REASON_INIT_SIGNAL] = exit_init_signal,
    [EXIT_REASON_SIPI] = exit_sipi,
    UNEXPECTED_BETWEEN(SIPI, NMI_WINDOW),
    [EXIT_REASON_NMI_WINDOW] = exit_nmi_window,
    UNEXPECTED_BETWEEN(NMI_WINDOW, CPUID),
    [EXIT_REASON_CPUID] = exit_cpuid,
    [EXIT_REASON_GETSEC] = exit_undefined,
    UNEXPECTED_BETWEEN(GETSEC, INVD),
    [EXIT_REASON_INVD] = exit_invd,
    UNEXPECTED_BETWEEN(INVD, VMCALL),
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
    UNEXPECTED_BETWEEN(CR_ACCESS, IO_INSTRUCTION),
    [EXIT_REASON_IO_INSTRUCTION] = exit_io,
    [EXIT_REASON_RDMSR] = exit_rdmsr,
    [EXIT_REASON_WRMSR] = exit_wrmsr,
    UNEXPECTED_BETWEEN(WRMSR, EPT_VIOLATION),
    [EXIT_REASON_EPT_VIOLATION] = exit_ept_violation,
    UNEXPECTED_BETWEEN(EPT_VIOLATION, INVEPT),
    [EXIT_REASON_INVEPT] = exit_undefined,
    UNEXPECTED_BETWEEN(INVEPT, INVVPID),
    [EXIT_REASON_INVVPID] = exit_undefined,
    UNEXPECTED_BETWEEN(INVVPID, XSETBV),
    [EXIT_REASON_XSETBV] = exit_xsetbv,
    UNEXPECTED_BETWEEN(XSETBV, VMFUNC),
    [EXIT_REASON_VMFUNC] = exit_undefined,
    [EXIT_REASON_VMFUNC + 1 ... EXIT_HANDLERS_COUNT - 1] = exit_unexpected,
};

STATIC_ASSERT(EXIT_HANDLERS_COUNT >= EXIT_REASON_LIMIT);
