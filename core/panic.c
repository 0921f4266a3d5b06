/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/panic.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "core/cpu.h"
#include "core/fmt.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/ops.h"

#define PANIC_TEXT_CHARS 300u
#define PANIC_STOP_POLLS 20000000u
#define PANIC_FRAMES     16u

NORETURN void panic_park(void)
{
    /* A flag, not a count: an NMI that comes before or after the store leads here again, and
     * neither forgets this LP nor counts it twice. Release: what this LP wrote is visible to the
     * one that waits in panic_stop_others. */
    atomic_store_explicit(&this_lp()->is_parked, true, memory_order_release);
    for (;;) {
        cpu_disable_interrupts();
        cpu_halt();
    }
}

/* How many other LPs run a guest and have not parked. */
static uint32_t running_others(const struct lp *self)
{
    const struct machine *machine = self->machine;
    uint32_t count = 0;

    for (uint32_t i = 0; i < machine->lp_count; i++) {
        const struct lp *lp = machine->lps[i];

        /* Acquire pairs with the release in panic_park. */
        if (lp != self && lp_is_virtualised(lp) &&
            !atomic_load_explicit(&lp->is_parked, memory_order_acquire)) {
            count++;
        }
    }
    return count;
}

bool panic_stop_others(void)
{
    const struct lp *self = this_lp();
    const struct machine *machine = self->machine;
    uint32_t left;

    for (uint32_t i = 0; i < machine->lp_count; i++) {
        if (machine->lps[i] != self && lp_is_virtualised(machine->lps[i])) {
            root_ops.stop_lp(machine->lps[i]);
        }
    }
    left = running_others(self);
    for (uint32_t poll = 0; poll < PANIC_STOP_POLLS && left > 0; poll++) {
        cpu_pause();
        left = running_others(self);
    }
    if (left > 0) {
        log_line(LOG_ERROR, "panic", "%u other LPs have not stopped", left);
    }
    return left == 0;
}

/* The LP whose report is being written. Relaxed: equal to an LP only if that one has written it. */
static _Atomic(const struct lp *) reporter;

/* This LP becomes the one that reports, or parks: one report is written whole. */
static void become_reporter(struct machine *machine)
{
    /* Sequentially consistent: one winner; pairs with the loads in the NMI handler and run loop. */
    if (atomic_exchange_explicit(&machine->stop_requested, 1, memory_order_seq_cst) == 0) {
        atomic_store_explicit(&reporter, this_lp(), memory_order_relaxed);
        log_seize();
        return;
    }
    if (atomic_load_explicit(&reporter, memory_order_relaxed) == this_lp()) {
        log_line(LOG_ERROR, "panic", "another panic while the first was being reported");
        (void)panic_stop_others();
        log_drain();
    }
    panic_park();
}

static void print_stack(const struct machine *machine, uint64_t rbp)
{
    const struct lp *lp = this_lp();
    uint64_t low = lp->stack_top - LP_STACK_BYTES;

    for (uint32_t depth = 0; depth < PANIC_FRAMES; depth++) {
        const uint64_t *frame;

        if (rbp < low || rbp >= lp->stack_top - 16 || (rbp & 7) != 0) {
            return;
        }
        frame = (const uint64_t *)(uintptr_t)rbp;
        if (frame[1] - machine->image_base >= machine->image_bytes) {
            return;
        }
        log_line(LOG_ERROR, "panic", "  called from image+%llx",
                 (unsigned long long)(frame[1] - machine->image_base));
        rbp = frame[0];
    }
}

static const char *mode_of(const struct lp *lp, uint64_t run_seq)
{
    if (!lp_is_virtualised(lp)) {
        return "not virtualised";
    }
    return (run_seq & 1) != 0 ? "in guest mode" : "in root mode";
}

/* Relaxed: a picture of the moment, of LPs that may still run; nothing follows from it. */
static void print_lps(const struct machine *machine)
{
    for (uint32_t i = 0; i < machine->lp_count; i++) {
        const struct lp *lp = machine->lps[i];
        uint64_t run_seq = atomic_load_explicit(&lp->shared.run_seq, memory_order_relaxed);
        uint64_t gva_seq = atomic_load_explicit(&lp->shared.gva_seq, memory_order_relaxed);
        /* Acquire pairs with the release in boot/virtualise.c: the vCPU is filled in. */
        const struct vcpu *vcpu = atomic_load_explicit(&lp->shared.running, memory_order_acquire);
        char vp_text[12] = "no VP";

        if (vcpu != NULL) {
            (void)fmt_print(vp_text, sizeof(vp_text), "VP%03u", vcpu->vp_index);
        }
        log_line(LOG_ERROR, "panic", "LP%02u APIC id %x: %s %s, run_seq %llu, gva_seq %llu",
                 lp->lp_id, lp->apic_id, vp_text, mode_of(lp, run_seq), (unsigned long long)run_seq,
                 (unsigned long long)gva_seq);
    }
}

NORETURN static void finish(struct machine *machine, uint64_t rbp)
{
    struct lp *lp = this_lp();

    print_stack(machine, rbp);
    root_ops.describe(lp);
    print_lps(machine);
    if (panic_stop_others()) {
        log_line(LOG_ERROR, "panic", "all LPs are stopped");
    }
    log_drain();
    panic_park();
}

NORETURN void panic(const char *format, ...)
{
    struct machine *machine = this_lp()->machine;
    char text[PANIC_TEXT_CHARS];
    va_list args;

    become_reporter(machine);
    va_start(args, format);
    (void)fmt_vprint(text, sizeof(text), format, args);
    va_end(args);
    log_line(LOG_ERROR, "panic", "PANIC: %s", text);
    finish(machine, cpu_read_rbp());
}

NORETURN void panic_exception(const struct idt_frame *frame)
{
    struct machine *machine = this_lp()->machine;

    become_reporter(machine);
    log_line(LOG_ERROR, "panic", "PANIC: exception %llu in root mode, error code %llx",
             (unsigned long long)frame->vector, (unsigned long long)frame->error);
    log_line(LOG_ERROR, "panic", "RIP %016llx (image+%llx) RSP %016llx RFLAGS %llx CR2 %016llx",
             (unsigned long long)frame->rip, (unsigned long long)(frame->rip - machine->image_base),
             (unsigned long long)frame->rsp, (unsigned long long)frame->rflags,
             (unsigned long long)cpu_read_cr2());
    log_line(LOG_ERROR, "panic", "RAX %016llx RBX %016llx RCX %016llx RDX %016llx",
             (unsigned long long)frame->rax, (unsigned long long)frame->rbx,
             (unsigned long long)frame->rcx, (unsigned long long)frame->rdx);
    log_line(LOG_ERROR, "panic", "RSI %016llx RDI %016llx RBP %016llx R8  %016llx",
             (unsigned long long)frame->rsi, (unsigned long long)frame->rdi,
             (unsigned long long)frame->rbp, (unsigned long long)frame->r8);
    log_line(LOG_ERROR, "panic", "R9  %016llx R10 %016llx R11 %016llx R12 %016llx",
             (unsigned long long)frame->r9, (unsigned long long)frame->r10,
             (unsigned long long)frame->r11, (unsigned long long)frame->r12);
    log_line(LOG_ERROR, "panic", "R13 %016llx R14 %016llx R15 %016llx",
             (unsigned long long)frame->r13, (unsigned long long)frame->r14,
             (unsigned long long)frame->r15);
    finish(machine, frame->rbp);
}
