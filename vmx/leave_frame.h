/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_LEAVE_FRAME_H
#define VMX_LEAVE_FRAME_H

#include <stdint.h>

#include "core/compiler.h"
#include "core/cpu.h"
#include "core/vcpu.h"

/* What leave.asm loads; filled from the VMCS. */
struct leave_frame {
    uint64_t gpr[GPR_COUNT];
    uint64_t rip, cs, rflags, rsp, ss; /* in the order of IRETQ */
    uint64_t cr0, cr3, cr4, efer;
    uint64_t ds, es, fs, gs, ldtr, tr;
    uint64_t fs_base, gs_base;
    struct cpu_descriptor_table gdtr, idtr;
};

/* Loads everything and goes on at frame->rip. Runs in the firmware's copy of the image, which
 * both the firmware's and our page tables map at the same address as executable. VMX operation
 * is off. */
NORETURN void leave_to_firmware(const struct leave_frame *frame);

#endif
