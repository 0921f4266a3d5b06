/* SPDX-License-Identifier: BSD-2-Clause */
#include "vmx/inject_fault.h"

#include "core/bits.h"
#include "core/cr_bits.h"
#include "core/panic.h"
#include "vmx/hv_ops.h"
#include "vmx/partition.h"
#include "vmx/vmcs.h"
#include "vmx/vmx_state.h"

#define SKIPPED_VP 1u

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

bool inject_fault_on_flush(const struct lp *lp, const struct flush_request *request)
{
    const struct flush_targets *targets = &request->targets;
    struct flush_request spoilt = *request;
    uint64_t banks[HV_VP_SET_BANKS];
    uint32_t bank_count = 0;

    if (!inject_fault_is(&lp->machine->config, CONFIG_INJECT_SKIP_FLUSH_TARGET)) {
        return false;
    }
    spoilt.targets = (struct flush_targets){.valid_banks = targets->valid_banks, .banks = banks};
    if (targets->is_all) {
        bank_count =
            (lp->machine->partition->vcpu_count + HV_VP_SET_BANK_VPS - 1) / HV_VP_SET_BANK_VPS;
        spoilt.targets.valid_banks = ~0ull >> (HV_VP_SET_BANKS - bank_count);
    } else {
        for (uint64_t left = targets->valid_banks; left != 0; left &= left - 1) {
            bank_count++;
        }
    }
    for (uint32_t bank = 0; bank < bank_count; bank++) {
        banks[bank] = targets->is_all ? ~0ull : targets->banks[bank];
    }
    if (lp->vcpu->vp_index != SKIPPED_VP && (spoilt.targets.valid_banks & 1) != 0) {
        banks[0] &= ~BIT64(SKIPPED_VP);
    }
    flush_send(&lp->hv->flush_lp, &lp->hv->flush_vcpu, &spoilt);
    return true;
}
