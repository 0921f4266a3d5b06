/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/platform.h"

#include "core/apic.h"
#include "core/cpu.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/panic.h"
#include "vmx/console_shadow.h"
#include "vmx/nmi.h"
#include "vmx/report.h"

#define PORT_SYSTEM_CONTROL_B     0x61u
#define PORT_KEYBOARD_COMMAND     0x64u
#define KEYBOARD_PULSE_RESET_MASK 0xF1u /* commands F0h-FFh pulse lines; bit 0 clear: reset */
#define KEYBOARD_PULSE_RESET      0xF0u
#define PORT_SYSTEM_CONTROL_A     0x92u
#define SYSTEM_CONTROL_A_RESET    0x01u
#define PORT_RESET_CONTROL        0xCF9u
#define RESET_CONTROL_GO          0x04u
#define RESET_CONTROL_FULL        0x06u

#define PM1_SLEEP_TYPE(value)     (((value) >> 10) & 7u)
#define PM1_SLEEP_ENABLE          (1u << 13)
#define SLEEP_CONTROL_TYPE(value) (((value) >> 2) & 7u)
#define SLEEP_CONTROL_ENABLE      (1u << 5)

#define RESET_WAIT_POLLS 50000000u

static void watch(uint8_t *bitmaps, uint32_t first, uint32_t count)
{
    for (uint32_t port = first; port < first + count && port <= UINT16_MAX; port++) {
        bitmaps[port / 8] |= (uint8_t)(1u << (port % 8));
    }
}

static void watch_register(uint8_t *bitmaps, const struct boot_register *where, uint32_t bytes)
{
    if (where->address != 0 && where->space == GAS_IO && where->address <= UINT16_MAX) {
        watch(bitmaps, (uint32_t)where->address, bytes);
    }
}

void platform_build_io_bitmaps(const struct machine *machine, uint8_t *bitmaps)
{
    watch(bitmaps, PORT_SYSTEM_CONTROL_B, 1);
    watch(bitmaps, PORT_KEYBOARD_COMMAND, 1);
    watch(bitmaps, PORT_SYSTEM_CONTROL_A, 1);
    watch(bitmaps, PORT_RESET_CONTROL, 1);
    watch_register(bitmaps, &machine->acpi.pm1a_control, 2);
    watch_register(bitmaps, &machine->acpi.pm1b_control, 2);
    watch_register(bitmaps, &machine->acpi.sleep_control, 1);
    watch_register(bitmaps, &machine->acpi.reset, 1);
    if (machine->log.uart.is_present) {
        watch(bitmaps, machine->log.uart.port, CONSOLE_SHADOW_PORTS);
    }
}

static bool is_console(const struct machine *machine, uint16_t port)
{
    return machine->log.uart.is_present &&
           (uint16_t)(port - machine->log.uart.port) < CONSOLE_SHADOW_PORTS;
}

static bool is_register(const struct boot_register *where, uint16_t port)
{
    return where->address != 0 && where->space == GAS_IO && where->address == port;
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

    if (is_console(machine, port)) {
        return console_shadow_read(&vcpu->partition->console,
                                   (uint8_t)(port - machine->log.uart.port));
    }
    return in_port(port, bytes);
}

/* The machine is about to go down by the guest's wish: what was counted is printed once. */
static void report_before(struct vcpu *vcpu, const char *event)
{
    /* Sequentially consistent: one reporter of however many try at once. */
    if (atomic_exchange(&vcpu->partition->is_power_off_reported, true)) {
        return;
    }
    log_line(LOG_INFO, "platform", "the guest %s", event);
    report_counters(vcpu->partition);
    log_drain();
}

/* Returns whether the write goes on to the hardware. */
static bool handle_sleep(struct lp *lp, struct vcpu *vcpu, uint32_t type, bool is_a)
{
    const struct boot_acpi *acpi = &lp->machine->acpi;

    if (acpi->has_s3 && type == (is_a ? acpi->s3_type_a : acpi->s3_type_b) &&
        !(acpi->has_s5 && type == (is_a ? acpi->s5_type_a : acpi->s5_type_b))) {
        log_line(LOG_WARNING, "platform",
                 "the guest asked for sleep state S3, which would end VMX operation: refused");
        return false;
    }
    if (acpi->has_s5 && type == (is_a ? acpi->s5_type_a : acpi->s5_type_b)) {
        report_before(vcpu, "switches the machine off (S5)");
    } else {
        report_before(vcpu, "enters another sleep state");
    }
    return true;
}

static bool handle_pm1(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes,
                       uint32_t value)
{
    const struct boot_acpi *acpi = &lp->machine->acpi;
    bool is_a = acpi->pm1a_control.address == port || acpi->pm1a_control.address + 1u == port;
    uint32_t word = value;

    if (bytes == 1) {
        /* SLP_EN and SLP_TYP lie in the high byte. */
        if (acpi->pm1a_control.address == port || acpi->pm1b_control.address == port) {
            return true;
        }
        word = value << 8;
    }
    if ((word & PM1_SLEEP_ENABLE) == 0) {
        return true;
    }
    return handle_sleep(lp, vcpu, PM1_SLEEP_TYPE(word), is_a);
}

static bool is_pm1(const struct boot_acpi *acpi, uint16_t port)
{
    return is_register(&acpi->pm1a_control, port) || is_register(&acpi->pm1b_control, port) ||
           (port != 0 && (is_register(&acpi->pm1a_control, (uint16_t)(port - 1)) ||
                          is_register(&acpi->pm1b_control, (uint16_t)(port - 1))));
}

static bool is_reset(const struct boot_acpi *acpi, uint16_t port, uint32_t value)
{
    if (port == PORT_RESET_CONTROL) {
        return (value & RESET_CONTROL_GO) != 0;
    }
    if (port == PORT_KEYBOARD_COMMAND) {
        return (value & KEYBOARD_PULSE_RESET_MASK) == KEYBOARD_PULSE_RESET;
    }
    if (port == PORT_SYSTEM_CONTROL_A) {
        return (value & SYSTEM_CONTROL_A_RESET) != 0;
    }
    return is_register(&acpi->reset, port) && (uint8_t)value == acpi->reset_value;
}

void platform_guest_out(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes,
                        uint32_t value)
{
    const struct machine *machine = lp->machine;
    const struct boot_acpi *acpi = &machine->acpi;

    if (is_console(machine, port)) {
        console_shadow_write(&vcpu->partition->console, (uint8_t)(port - machine->log.uart.port),
                             (uint8_t)value);
        return;
    }
    if (is_reset(acpi, port, value)) {
        report_before(vcpu, "resets the machine");
    } else if (is_pm1(acpi, port) && !handle_pm1(lp, vcpu, port, bytes, value)) {
        return;
    } else if (is_register(&acpi->sleep_control, port) && (value & SLEEP_CONTROL_ENABLE) != 0 &&
               !handle_sleep(lp, vcpu, SLEEP_CONTROL_TYPE(value), true)) {
        return;
    }
    if (port == PORT_SYSTEM_CONTROL_B) {
        nmi_guest_wrote_port61(vcpu, (uint8_t)value);
    }
    out_port(port, bytes, value);
}

/* Every way to reset that the machine may have, one after another. */
static void reset_platform(const struct boot_acpi *acpi)
{
    if (acpi->reset.address != 0 && acpi->reset.space == GAS_IO) {
        cpu_out8((uint16_t)acpi->reset.address, acpi->reset_value);
    }
    cpu_out8(PORT_RESET_CONTROL, RESET_CONTROL_FULL);
    cpu_out8(PORT_KEYBOARD_COMMAND, 0xFE);
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
    report_before(lp->vcpu, "is reset after its triple fault");
    reset_platform(&machine->acpi);
    log_line(LOG_ERROR, "platform", "the machine did not reset");
}
