/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_console.h"
#include "boot/resident.h"
#include "boot/startup.h"
#include "core/apic.h"
#include "core/cpu.h"
#include "core/cpuid_bits.h"
#include "vmx/hv_ops.h"
#include "vmx/vmx_state.h"

/* The Microsoft interface and the flush engine: memory, switches, frequencies. */

#define APIC_TIMER_DIVIDE_BY_1 0xBu
#define APIC_TIMER_CURRENT     0x390u
#define CALIBRATION_DIVISOR    100u /* a hundredth of a second */
#define WATCHDOG_DIVISOR       10u  /* 100 ms */
#define VPS_MAX                4096u
#define CANONICAL_BITS_4_LEVEL 48u
#define CANONICAL_BITS_5_LEVEL 57u

/* What one LP is asked for: the frequency of its APIC timer, by the TSC. */
struct timer_request {
    uint64_t tsc_hz;
    uint64_t apic_hz;
};

/* On one LP. The timer is masked meanwhile and then goes on with the period that it had. */
static void EFIAPI calibrate_timer(void *argument)
{
    struct timer_request *request = argument;
    uint32_t lvt = apic_read(APIC_LVT_TIMER);
    uint32_t divide = apic_read(APIC_TIMER_DIVIDE);
    uint32_t initial = apic_read(APIC_TIMER_INITIAL);
    uint64_t begin;
    uint64_t ticks;

    apic_write(APIC_LVT_TIMER, APIC_LVT_MASKED);
    apic_write(APIC_TIMER_DIVIDE, APIC_TIMER_DIVIDE_BY_1);
    apic_write(APIC_TIMER_INITIAL, UINT32_MAX);
    begin = cpu_read_tsc();
    do {
        ticks = cpu_read_tsc() - begin;
    } while (ticks < request->tsc_hz / CALIBRATION_DIVISOR);
    ticks = cpu_read_tsc() - begin;
    request->apic_hz = (uint64_t)(UINT32_MAX - apic_read((enum apic_register)APIC_TIMER_CURRENT)) *
                       request->tsc_hz / ticks;
    apic_write(APIC_TIMER_DIVIDE, divide);
    apic_write(APIC_TIMER_INITIAL, initial);
    apic_write(APIC_LVT_TIMER, lvt);
}

/* On another LP than the boot processor where there is one: firmware may use the timer of that. */
static uint64_t apic_timer_hz(const struct startup *startup)
{
    struct timer_request request = {.tsc_hz = startup->tsc_hz};
    UINTN index = startup->mp.boot_lp == 0 && startup->mp.count > 1 ? 1 : 0;

    if (EFI_ERROR(efi_mp_run(&startup->mp, index, calibrate_timer, &request))) {
        return 0;
    }
    return request.apic_hz;
}

static bool has_invariant_tsc(void)
{
    uint32_t eax, ebx, ecx, edx;

    cpu_cpuid(0x80000000, 0, &eax, &ebx, &ecx, &edx);
    if (eax < 0x80000007) {
        return false;
    }
    cpu_cpuid(0x80000007, 0, &eax, &ebx, &ecx, &edx);
    return (edx & CPUID_80000007_EDX_INVARIANT_TSC) != 0;
}

/* auto: where vCPUs outnumber LPs, or IPIs cannot address all of them; in passthrough with few LPs
 * the guest's own IPIs are as good. */
static bool wants_tlbflush(const struct startup *startup)
{
    enum config_switch choice = startup->config.hv.tlbflush;

    return choice == CONFIG_SWITCH_ON || (choice == CONFIG_SWITCH_AUTO && startup->mp.count > 64);
}

static bool is_on(enum config_switch choice)
{
    return choice != CONFIG_SWITCH_OFF;
}

static void init_partition(struct startup *startup, uint64_t apic_hz)
{
    struct partition *partition = startup->machine->partition;
    const struct config_hv *hv = &startup->config.hv;
    struct hyperv_features features = {
        .is_on = startup->config.hv_enabled,
        .tlbflush = wants_tlbflush(startup),
        .tlbflush_ext = is_on(hv->tlbflush_ext),
        .xmm_input = is_on(hv->xmm_input),
        .time = is_on(hv->time),
        .frequencies = is_on(hv->frequencies),
        .vapic = is_on(hv->vapic),
        .vpindex = is_on(hv->vpindex),
        .runtime = is_on(hv->runtime),
        .tsc_invariant = is_on(hv->tsc_invariant),
    };
    struct hyperv_facts facts = {
        .tsc_hz = startup->tsc_hz,
        .apic_hz = apic_hz,
        .is_tsc_invariant = has_invariant_tsc(),
        .vp_limit = partition->vcpu_count,
        .vp_max = VPS_MAX,
        .lp_count = startup->machine->lp_count,
        .physical_bits = startup->controls.physical_address_bits,
        .canonical_bits = (partition->cpuid.shown_7.ecx & CPUID_7_ECX_LA57) != 0
                              ? CANONICAL_BITS_5_LEVEL
                              : CANONICAL_BITS_4_LEVEL,
        .list_pages_max = startup->config.flush_pages,
    };

    hyperv_hypercall_page_fill(partition->hypercall_page);
    hyperv_partition_init(&partition->hyperv, &hv_ops, &features, &facts,
                          partition->reference_tsc_page, cpu_read_tsc());
}

static uint32_t invvpid_types(const struct vmx_controls *controls)
{
    return (controls->has_invvpid_address ? FLUSH_HAS(FLUSH_INVVPID_ADDRESS) : 0) |
           (controls->has_invvpid_single ? FLUSH_HAS(FLUSH_INVVPID_SINGLE) : 0) |
           (controls->has_invvpid_all ? FLUSH_HAS(FLUSH_INVVPID_ALL) : 0) |
           (controls->has_invvpid_single_globals ? FLUSH_HAS(FLUSH_INVVPID_RETAINING_GLOBALS) : 0);
}

static void init_engine(struct startup *startup)
{
    struct machine *machine = startup->machine;
    struct partition *partition = machine->partition;

    partition->flush = (struct flush_machine){
        /* Used by the resident copy only. */
        .ops =
            (const struct flush_ops *)(uintptr_t)resident_address(startup->resident, &hv_flush_ops),
        .lps = partition->flush_lps,
        .lp_count = machine->lp_count,
        .vp_count = partition->vcpu_count,
        .vps = partition->flush_vps,
        .invvpid_types = invvpid_types(&startup->controls),
        .pages_max = startup->config.flush_pages,
        .watchdog_ticks = startup->tsc_hz / WATCHDOG_DIVISOR,
    };
}

static bool init_lp(struct startup *startup, uint32_t index)
{
    struct machine *machine = startup->machine;
    struct partition *partition = machine->partition;
    struct lp *lp = machine->lps[index];
    void *scratch = page_pool_take(
        &startup->pool, pages_of(flush_lp_scratch_bytes(machine->lp_count, partition->vcpu_count)));

    lp->hv = page_pool_take(&startup->pool, pages_of(sizeof(struct hv_lp)));
    if (lp->hv == NULL || scratch == NULL) {
        return false;
    }
    partition->flush_lps[index] = &lp->shared;
    partition->flush_vps[index] = &lp->hv->flush_vcpu;
    flush_lp_init(&lp->hv->flush_lp, &partition->flush, index, lp, scratch);
    /* What flush_arrive would say: vmx_enable has just dropped everything that VPIDs had cached. */
    atomic_store_explicit(&lp->hv->flush_vcpu.lp, index + 1, memory_order_relaxed);
    lp->hv->flush_vcpu.last_lp = index + 1;
    hyperv_vp_init(&lp->hv->vp, &partition->hyperv, partition->vcpus[index]->vp_index, lp);
    hyperv_vp_run_begin(&lp->hv->vp);
    return true;
}

uint64_t startup_hv_pages(const struct startup *startup)
{
    uint64_t count = startup->mp.count;

    return 2 + 2 * pages_of(count * sizeof(void *)) +
           count * (pages_of(sizeof(struct hv_lp)) +
                    pages_of(flush_lp_scratch_bytes((uint32_t)count, (uint32_t)count)));
}

static void describe(const struct startup *startup)
{
    const struct hyperv_partition *hyperv = &startup->machine->partition->hyperv;

    if (!hyperv->features.is_on) {
        efi_console_line(LOG_INFO, "Microsoft interface: off");
        return;
    }
    for (uint32_t leaf = HYPERV_LEAF_FIRST; leaf <= HYPERV_LEAF_FIRST + 6; leaf++) {
        struct cpuid_regs regs = hyperv_cpuid(hyperv, leaf);

        efi_console_line(LOG_INFO, "CPUID %08x: %08x %08x %08x %08x", leaf, regs.eax, regs.ebx,
                         regs.ecx, regs.edx);
    }
    efi_console_line(LOG_INFO, "APIC timer: %u.%03u MHz",
                     (unsigned int)(hyperv->facts.apic_hz / 1000000),
                     (unsigned int)(hyperv->facts.apic_hz / 1000 % 1000));
    if (!startup->acpi.has_mcfg) {
        efi_console_line(LOG_WARNING,
                         "there is no MCFG table: under the Microsoft interface Linux finds no PCI "
                         "device on this machine (use hv=off)");
    }
}

bool startup_build_hv(struct startup *startup)
{
    struct machine *machine = startup->machine;
    struct partition *partition = machine->partition;
    uint64_t pointers = pages_of(machine->lp_count * sizeof(void *));

    partition->hypercall_page = page_pool_take(&startup->pool, 1);
    partition->reference_tsc_page = page_pool_take(&startup->pool, 1);
    partition->flush_lps = page_pool_take(&startup->pool, pointers);
    partition->flush_vps = page_pool_take(&startup->pool, pointers);
    if (partition->hypercall_page == NULL || partition->reference_tsc_page == NULL ||
        partition->flush_lps == NULL || partition->flush_vps == NULL) {
        return false;
    }
    init_partition(startup, startup->config.hv_enabled ? apic_timer_hz(startup) : 0);
    init_engine(startup);
    for (uint32_t i = 0; i < machine->lp_count; i++) {
        if (!init_lp(startup, i)) {
            return false;
        }
    }
    if (startup->config.hv_enabled) {
        hyperv_reference_tsc_agree(&machine->lps[startup->mp.boot_lp]->hv->vp, true, 0);
    }
    partition->hyperv.ops =
        (const struct hyperv_ops *)(uintptr_t)resident_address(startup->resident, &hv_ops);
    describe(startup);
    return true;
}
