/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VMX_VMCS_H
#define VMX_VMCS_H

#include <stdint.h>

#include "vmx/vmcs_fields.h"
#include "vmx/vmx_insn.h"

/*
 * Typed access to the current VMCS. A field of the wrong width does not compile. A failing VMREAD
 * or VMWRITE is our bug (the field does not exist, or there is no current VMCS): it is said and we
 * stop. Any LP in VMX operation.
 */

/* A VMREAD failed: says so and does not return. Root mode. */
NORETURN void vmcs_read_refused(uint32_t encoding);

/* A VMWRITE failed: the same, but before the first VM entry of this LP (boot context) it is
 * noted for vmcs_take_failure, so that bring-up can be undone. */
void vmcs_write_refused(uint32_t encoding, uint64_t value);

/* Tells that what follows runs before the LP's first VM entry: failures are noted, not fatal.
 * Boot context; LPs are set up one after another. Root mode has a copy of the image in which
 * this was never called (boot/resident.c). */
void vmcs_begin_bring_up(void);

/* Whether an access failed since the last call, and which field it was (by encoding). Boot
 * context. */
bool vmcs_take_failure(uint32_t *encoding);

static inline uint64_t vmcs_read_raw(uint32_t encoding)
{
    uint64_t value;

    if (__builtin_expect(vmx_read_failed(encoding, &value), 0)) {
        vmcs_read_refused(encoding);
    }
    return value;
}

static inline void vmcs_write_raw(uint32_t encoding, uint64_t value)
{
    if (__builtin_expect(vmx_write_failed(encoding, value), 0)) {
        vmcs_write_refused(encoding, value);
    }
}

static inline uint16_t vmcs_read16(enum vmcs_field16 field)
{
    return (uint16_t)vmcs_read_raw(field);
}

static inline uint32_t vmcs_read32(enum vmcs_field32 field)
{
    return (uint32_t)vmcs_read_raw(field);
}

static inline uint64_t vmcs_read64(enum vmcs_field64 field)
{
    return vmcs_read_raw(field);
}

static inline uint64_t vmcs_read(enum vmcs_field_natural field)
{
    return vmcs_read_raw(field);
}

static inline void vmcs_write16(enum vmcs_field16 field, uint16_t value)
{
    vmcs_write_raw(field, value);
}

static inline void vmcs_write32(enum vmcs_field32 field, uint32_t value)
{
    vmcs_write_raw(field, value);
}

static inline void vmcs_write64(enum vmcs_field64 field, uint64_t value)
{
    vmcs_write_raw(field, value);
}

static inline void vmcs_write(enum vmcs_field_natural field, uint64_t value)
{
    vmcs_write_raw(field, value);
}

#endif
