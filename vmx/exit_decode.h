/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_EXIT_DECODE_H
#define VMX_EXIT_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "vmx/vmcs_fields.h"

/*
 * A VM exit's raw words turned into structs. Pure and total: no input word is refused, what the SDM
 * does not define is given as "other". SDM volume 3, "VM-Exit Information Fields" and the tables
 * "Exit Qualification for ...".
 */

enum exit_reason {
#define EXIT_REASON(number, name, words) EXIT_REASON_##name = (number),
#include "vmx/exit_reasons.def"
#undef EXIT_REASON
    EXIT_REASON_LIMIT /* one above the largest number: size for tables indexed by reason */
};

enum cr_access_type { CR_ACCESS_MOV_TO, CR_ACCESS_MOV_FROM, CR_ACCESS_CLTS, CR_ACCESS_LMSW };

struct cr_access {
    enum cr_access_type type;
    uint8_t cr;             /* control register number; 0 for CLTS and LMSW */
    uint8_t register_index; /* MOV: 0 = RAX ... 15 = R15, RSP = 4 */
};
void exit_decode_cr_access(uint64_t qualification, struct cr_access *access);

struct io_access {
    uint16_t port;
    uint8_t bytes; /* 1, 2, 4; 0 when the qualification holds an undefined size */
    bool is_in;
    bool is_string;
    bool is_rep;
    bool is_immediate; /* the port was in the instruction, not in DX */
};
void exit_decode_io(uint64_t qualification, struct io_access *access);

struct ept_violation {
    bool is_read, is_write, is_fetch;                /* the access */
    bool was_readable, was_writable, was_executable; /* what the EPT entries allow */
    bool has_linear_address;                         /* the guest linear address field is valid */
    bool is_translated; /* the access was to the translation of that linear address, not to a guest
                           paging-structure entry; defined when has_linear_address */
    bool is_nmi_unblocking; /* IRET unblocked NMIs before it faulted: block them again */
};
void exit_decode_ept_violation(uint64_t qualification, struct ept_violation *violation);

enum task_switch_source { TASK_SWITCH_CALL, TASK_SWITCH_IRET, TASK_SWITCH_JMP, TASK_SWITCH_GATE };

struct task_switch {
    uint16_t selector;
    enum task_switch_source source;
};
void exit_decode_task_switch(uint64_t qualification, struct task_switch *task);

/* A debug exception. */
struct debug_exit {
    uint8_t breakpoints; /* B0..B3 */
    bool is_bus_lock;    /* acquired; the sense is the reverse of DR6's */
    bool is_bd;          /* debug register access detected */
    bool is_single_step; /* BS */
    bool is_rtm;
};
void exit_decode_debug(uint64_t qualification, struct debug_exit *debug);

/* VM-exit interruption information or IDT-vectoring information. */
struct interruption {
    bool is_valid;
    uint8_t vector;
    enum interruption_type type;
    bool has_error_code;
    bool is_nmi_unblocking; /* VM-exit interruption information only */
};
void exit_decode_interruption(uint32_t information, struct interruption *interruption);

/* The VM-entry interruption-information word that injects this event. Software interrupts and
 * exceptions also need the VM-entry instruction length (exit_injection_needs_length). */
uint32_t exit_encode_injection(enum interruption_type type, uint8_t vector, bool with_error_code);
bool exit_injection_needs_length(enum interruption_type type);

/* Whether delivery of this exception pushes an error code (in protected mode). */
bool exception_has_error_code(uint8_t vector);

/* What to inject when an event was being delivered at the exit (IDT-vectoring information valid)
 * and a new exception comes up while handling it: SDM volume 3, "Interrupt 8--Double Fault
 * Exception (#DF)". */
enum exception_merge {
    EXCEPTION_MERGE_NEW,
    EXCEPTION_MERGE_DOUBLE_FAULT,
    EXCEPTION_MERGE_TRIPLE_FAULT
};
enum exception_merge exception_merge(uint32_t idt_vectoring_information, uint8_t new_vector);

#endif
