/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_PLATFORM_H
#define VMX_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lp.h"
#include "vmx/exit_decode.h"
#include "vmx/partition.h"

/*
 * The platform's ports that are watched: sleep and reset registers, the keyboard controller's
 * reset, port 61h, and the console. ACPI specification, "ACPI Hardware Specification"; the ports
 * not named there are the PC's.
 */

/* Sets in the two zeroed I/O bitmap pages (A, then B) the ports that are watched. Boot context. */
void platform_build_io_bitmaps(const struct machine *machine, uint8_t *bitmaps);

/* One access of the guest to a port that exits. For IN the value that the guest reads is
 * returned, for OUT value is written, after what had to be done before. bytes is 1, 2 or 4. Root
 * mode, on the vCPU's LP; an OUT that ends the machine prints the counters first. */
uint32_t platform_guest_in(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes);
void platform_guest_out(struct lp *lp, struct vcpu *vcpu, uint16_t port, uint8_t bytes,
                        uint32_t value);

/* The guest shut down by a triple fault: counters, then the platform is reset, or nothing more
 * (triplefault=halt). Returns only in the latter case. */
void platform_guest_triple_fault(struct lp *lp);

#endif
