/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/compiler.h"
#include "vmx/exit_decode.h"
#include "vmx/exits.h"

/* Rows only for what is handled. */
const struct exit_handler exit_handlers[EXIT_HANDLERS_COUNT] = {
    [EXIT_REASON_EXCEPTION_OR_NMI] = {exit_exception_or_nmi, true},
    [EXIT_REASON_TRIPLE_FAULT] = {exit_triple_fault, false},
    [EXIT_REASON_INIT_SIGNAL] = {exit_init_signal, false},
    [EXIT_REASON_SIPI] = {exit_sipi, false},
    [EXIT_REASON_NMI_WINDOW] = {exit_nmi_window, false},
    [EXIT_REASON_CPUID] = {exit_cpuid, false},
    [EXIT_REASON_GETSEC] = {exit_undefined, false},
    [EXIT_REASON_INVD] = {exit_invd, false},
    [EXIT_REASON_VMCALL] = {exit_undefined, false},
    [EXIT_REASON_VMCLEAR] = {exit_undefined, false},
    [EXIT_REASON_VMLAUNCH] = {exit_undefined, false},
    [EXIT_REASON_VMPTRLD] = {exit_undefined, false},
    [EXIT_REASON_VMPTRST] = {exit_undefined, false},
    [EXIT_REASON_VMREAD] = {exit_undefined, false},
    [EXIT_REASON_VMRESUME] = {exit_undefined, false},
    [EXIT_REASON_VMWRITE] = {exit_undefined, false},
    [EXIT_REASON_VMXOFF] = {exit_undefined, false},
    [EXIT_REASON_VMXON] = {exit_undefined, false},
    [EXIT_REASON_CR_ACCESS] = {exit_cr_access, false},
    [EXIT_REASON_IO_INSTRUCTION] = {exit_io, false},
    [EXIT_REASON_RDMSR] = {exit_rdmsr, false},
    [EXIT_REASON_WRMSR] = {exit_wrmsr, false},
    [EXIT_REASON_EPT_VIOLATION] = {exit_ept_violation, true},
    [EXIT_REASON_INVEPT] = {exit_undefined, false},
    [EXIT_REASON_INVVPID] = {exit_undefined, false},
    [EXIT_REASON_XSETBV] = {exit_xsetbv, false},
    [EXIT_REASON_VMFUNC] = {exit_undefined, false},
};

STATIC_ASSERT(EXIT_HANDLERS_COUNT >= EXIT_REASON_LIMIT);
