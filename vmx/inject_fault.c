/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/inject_fault.h"

#include "core/cr_bits.h"
#include "core/panic.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

void inject_fault_on_own_leaf(struct lp *lp)
{
    const struct boot_config *config = &lp->machine->config;
    uint64_t vmcs = lp->vcpu->vmx->vmcs.value;

    if (inject_fault_is(config, CONFIG_INJECT_VMLAUNCH)) {
        lp->vcpu->is_launched = 0; /* VMLAUNCH of a VMCS that is not clear */
    } else if (inject_fault_is(config, CONFIG_INJECT_VMRESUME)) {
        /* VMRESUME of a VMCS that is clear. */
        ASSERT(!vmx_failed(vmx_clear(vmcs)) && !vmx_failed(vmx_load(vmcs)));
    } else if (inject_fault_is(config, CONFIG_INJECT_ENTRY_STATE)) {
        vmcs_write(VMCS_GUEST_RFLAGS, vmcs_read(VMCS_GUEST_RFLAGS) & ~RFLAGS_RESERVED_1);
    } else if (inject_fault_is(config, CONFIG_INJECT_PANIC)) {
        panic("a panic that a test asked for");
    }
}
