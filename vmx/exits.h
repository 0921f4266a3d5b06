/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_EXITS_H
#define VMX_EXITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lp.h"
#include "vmx/partition.h"

/*
 * The exit handlers: one family of exits a file, one table that names them. A handler runs in root
 * mode on the vCPU's LP with its VMCS current and run_seq even, takes no lock unless it says so,
 * and says what is to be done; only vmx/run.c does it.
 */

/* Exit reason bit 31: the guest has not run. */
#define VM_EXIT_ENTRY_FAILURE (1u << 31)

enum exit_action {
    EXIT_ACTION_RESUME,  /* nothing more */
    EXIT_ACTION_ADVANCE, /* go past the instruction */
    EXIT_ACTION_GP,      /* #GP(0) */
    EXIT_ACTION_UD,      /* #UD */
    EXIT_ACTION_STOP,    /* cannot be emulated: report and stop the guest */
    EXIT_ACTION_UNKNOWN, /* nobody expects such an exit: the same */
};

typedef enum exit_action exit_function(struct lp *lp, struct vcpu *vcpu);

/* By basic exit reason (vmx/exit_table.c); none is NULL. */
#define EXIT_HANDLERS_COUNT STATS_EXIT_REASONS
extern exit_function *const exit_handlers[EXIT_HANDLERS_COUNT] HIDDEN;

/* The handlers, by the SDM's names of the exit reasons (volume 3, appendix "VMX Basic Exit
 * Reasons"). lp and vcpu are the executing LP and its vCPU. */
enum exit_action exit_cpuid(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_vmcall(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_rdmsr(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_wrmsr(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_cr_access(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_xsetbv(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_io(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_ept_violation(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_exception_or_nmi(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_nmi_window(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_init_signal(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_sipi(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_triple_fault(struct lp *lp, struct vcpu *vcpu);
enum exit_action exit_invd(struct lp *lp, struct vcpu *vcpu);

/* Instructions that the guest does not have: #UD. */
enum exit_action exit_undefined(struct lp *lp, struct vcpu *vcpu);
/* Exits that no control asks for. */
enum exit_action exit_unexpected(struct lp *lp, struct vcpu *vcpu);

/* What the guest writes to IA32_APIC_BASE, to the x2APIC ICR, and to the register at offset (a
 * multiple of 16) of the xAPIC page (vmx/apic_access.c). The first two answer as a WRMSR handler
 * does. SDM volume 3, "Local APIC State" and "Issuing Interprocessor Interrupts". May send kicks
 * and log a refusal. */
enum exit_action apic_guest_wrote_base(struct lp *lp, struct vcpu *vcpu, uint64_t value);
enum exit_action apic_guest_wrote_x2apic_icr(struct lp *lp, struct vcpu *vcpu, uint64_t value);
void apic_guest_wrote_page(struct lp *lp, struct vcpu *vcpu, uint32_t offset, uint32_t value);

/* The guest's MTRRs changed while they are on: EPT types follow. Takes the EPT lock, kicks every
 * LP and waits until it has invalidated. No lock held; run_seq even. When tables run out, the
 * types stay as they are, and the log says so. */
void mtrr_guest_changed(struct lp *lp, struct vcpu *vcpu);

#endif
