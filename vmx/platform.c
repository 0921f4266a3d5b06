/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/platform.h"

#include "core/bits.h"
#include "core/cpu.h"
#include "core/log.h"
#include "core/machine.h"
#include "vmx/console_shadow.h"
#include "vmx/nmi.h"
#include "vmx/port_watch.h"
#include "vmx/report.h"

#define RESET_CONTROL_FULL  0x06u
#define KEYBOARD_RESET      0xFEu
#define PCI_CONFIG_ENABLE   (1u << 31)
#define ALWAYS_MAPPED_BYTES (4ull << 30) /* of memory in root mode, at least */
#define RESET_WAIT_POLLS    50000000u

/* A register that cannot be watched works, unseen. */
static void warn_unless_watched(const struct boot_register *where, const char *name)
{
    if (where->address == 0 || (where->space == GAS_IO && where->address <= UINT16_MAX)) {
        return;
    }
    log_boot(LOG_WARNING, "platform", LOG_LP_NONE, "the %s is not watched: it lies at %llx in %s",
             name, (unsigned long long)where->address,
             where->space == GAS_MEMORY       ? "memory"
             : where->space == GAS_PCI_CONFIG ? "PCI configuration space"
                                              : "a space that is not known");
}

void platform_build_io_bitmaps(const struct machine *machine, uint8_t *bitmaps)
{
    const struct boot_acpi *acpi = &machine->acpi;

    port_watch_build(acpi, bitmaps);
    if (machine->log.uart.is_present) {
        port_watch_add(bitmaps, machine->log.uart.port, CONSOLE_SHADOW_PORTS);
    }
    warn_unless_watched(&acpi->pm1a_control, "PM1a control register");
    warn_unless_watched(&acpi->pm1b_control, "PM1b control register");
    warn_unless_watched(&acpi->sleep_control, "sleep control register");
    warn_unless_watched(&acpi->reset, "reset register");
}

/* The bytes of an access that belong to the console. */
static uint8_t console_bytes(const struct machine *machine, uint16_t port, uint8_t bytes)
{
    if (!machine->log.uart.is_present) {
        return 0;
    }
    return port_watch_overlap(machine->log.uart.port, CONSOLE_SHADOW_PORTS, port, bytes);
}

static uint32_t in_port(uint16_t port, uint8_t bytes)
{
    return bytes == 1 ? cpu_in8(port) : bytes == 2 ? cpu_in16(port) : cpu_in32(port);
}

static void out_port(uint16_t port, uint8_t bytes, uint32_t value)
{
    if (bytes == 1) {
        cpu_out8(port, (uint8_t)value);
    } else if (bytes == 2) {
        cpu_out16(port, (uint16_t)value);
    } else {
        cpu_out32(port, value);
    }
}

uint32_t platform_guest_in(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes)
{
    const struct machine *machine = lp->machine;
    uint8_t console = console_bytes(machine, port, bytes);
    uint32_t value = 0;

    if (console == 0) {
        return in_port(port, bytes);
    }
    for (uint8_t i = 0; i < bytes; i++) {
        uint16_t at = (uint16_t)(port + i);
        uint8_t byte = (console & (1u << i)) == 0
                           ? cpu_in8(at)
                           : console_shadow_read(&vcpu->partition->console,
                                                 (uint8_t)(at - machine->log.uart.port));

        value |= (uint32_t)byte << (i * 8);
    }
    return value;
}

static void out_around_console(const struct machine *machine, struct vcpu *vcpu, uint16_t port,
                               uint8_t bytes, uint32_t value)
{
    uint8_t console = console_bytes(machine, port, bytes);

    for (uint8_t i = 0; i < bytes; i++) {
        uint16_t at = (uint16_t)(port + i);
        uint8_t byte = (uint8_t)(value >> (i * 8));

        if ((console & (1u << i)) == 0) {
            cpu_out8(at, byte);
        } else {
            console_shadow_write(&vcpu->partition->console, (uint8_t)(at - machine->log.uart.port),
                                 byte);
        }
    }
}

enum { END_REPORT_NONE, END_REPORT_WRITING, END_REPORT_DONE };

static void report_event(struct vcpu *vcpu, const char *event)
{
    log_line(LOG_INFO, "platform", "the guest %s", event);
    report_counters(vcpu->partition);
    log_drain();
}

/* The machine is about to go down by the guest's wish: what was counted is printed once, and an
 * LP that would switch it off meanwhile waits for that. */
static void report_end(struct vcpu *vcpu, const char *event)
{
    _Atomic uint32_t *state = &vcpu->partition->end_report;
    uint32_t none = END_REPORT_NONE;

    /* Acquire and release pair with each other: who goes on after DONE comes after the report. */
    if (atomic_compare_exchange_strong_explicit(state, &none, END_REPORT_WRITING,
                                                memory_order_acq_rel, memory_order_acquire)) {
        report_event(vcpu, event);
        atomic_store_explicit(state, END_REPORT_DONE, memory_order_release);
    }
    while (atomic_load_explicit(state, memory_order_acquire) != END_REPORT_DONE) {
        cpu_pause();
    }
}

/* What precedes a write with this meaning. Returns the bits of the value that are to be cleared. */
static uint64_t prepare(struct vcpu *vcpu, const struct port_meaning *meaning)
{
    if (meaning->has_system_control_b) {
        nmi_guest_wrote_port61(vcpu, meaning->system_control_b);
    }
    if (meaning->is_reset) {
        report_end(vcpu, "resets the machine");
    }
    switch (meaning->sleep) {
    case PORT_SLEEP_NONE:
        break;
    case PORT_SLEEP_OTHER:
        /* The guest may come back and end later. */
        report_event(vcpu, "enters another sleep state");
        break;
    case PORT_SLEEP_S5:
        report_end(vcpu, "switches the machine off (S5)");
        break;
    case PORT_SLEEP_S3:
        log_line(LOG_WARNING, "platform",
                 "the guest asked for sleep state S3, which would end VMX operation: refused");
        return meaning->sleep_enable;
    }
    return 0;
}

void platform_guest_out(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes,
                        uint32_t value)
{
    const struct machine *machine = lp->machine;
    struct port_access access = {GAS_IO, port, bytes, value};
    struct port_meaning meaning;

    if (port == PORT_PCI_ADDRESS && bytes == 4) {
        cpu_out32(port, value); /* by far the most frequent */
        return;
    }
    port_watch_decode(&machine->acpi, &access, &meaning);
    value &= ~(uint32_t)prepare(vcpu, &meaning);
    if (console_bytes(machine, port, bytes) != 0) {
        out_around_console(machine, vcpu, port, bytes, value);
    } else {
        out_port(port, bytes, value);
    }
}

/* The reset register that the FADT names. */
static void write_reset_register(const struct boot_acpi *acpi)
{
    uint64_t address = acpi->reset.address;

    if (address == 0) {
        return;
    }
    if (acpi->reset.space == GAS_IO) {
        cpu_out8((uint16_t)address, acpi->reset_value);
    } else if (acpi->reset.space == GAS_MEMORY && address < ALWAYS_MAPPED_BYTES) {
        *(volatile uint8_t *)(uintptr_t)address = acpi->reset_value;
    } else if (acpi->reset.space == GAS_PCI_CONFIG) {
        cpu_out32(PORT_PCI_ADDRESS, PCI_CONFIG_ENABLE | (uint32_t)bits_get(address, 36, 32) << 11 |
                                        (uint32_t)bits_get(address, 18, 16) << 8 |
                                        (uint32_t)(address & 0xFC));
        cpu_out8((uint16_t)(PORT_PCI_DATA + (address & 3)), acpi->reset_value);
    }
}

/* Every way to reset that the machine may have, one after another. */
static void reset_platform(const struct boot_acpi *acpi)
{
    write_reset_register(acpi);
    cpu_out8(PORT_RESET_CONTROL, RESET_CONTROL_FULL);
    cpu_out8(PORT_KEYBOARD_COMMAND, KEYBOARD_RESET);
    for (uint32_t poll = 0; poll < RESET_WAIT_POLLS; poll++) {
        cpu_pause();
    }
}

void platform_guest_triple_fault(struct lp *lp)
{
    const struct machine *machine = lp->machine;

    if (machine->config.triple_fault == CONFIG_TRIPLE_FAULT_HALT) {
        return;
    }
    report_end(lp->vcpu, "is reset after its triple fault");
    reset_platform(&machine->acpi);
    log_line(LOG_ERROR, "platform", "the machine did not reset");
}
