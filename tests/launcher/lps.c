/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/lps.h"

#include "tests/launcher/cpu.h"

#define MSR_IA32_FEATURE_CONTROL        0x3AU
#define FEATURE_CONTROL_LOCK            0x1U
#define FEATURE_CONTROL_VMX_OUTSIDE_SMX 0x4U
#define CPUID_1_ECX_VMX                 (1U << 5)
#define LPS_ALL                         0xFFFFFFFFU

/* EFI_MP_SERVICES_PROTOCOL, UEFI Platform Initialization specification, volume 2. */
struct mp_processor_info {
    UINT64 processor_id;
    UINT32 status_flags;
    UINT32 location[3];
    UINT32 extended_location[6];
};

struct mp_services {
    EFI_STATUS(EFIAPI *get_number_of_processors)
    (struct mp_services *self, UINTN *all, UINTN *enabled);
    EFI_STATUS(EFIAPI *get_processor_info)
    (struct mp_services *self, UINTN number, struct mp_processor_info *info);
    EFI_STATUS(EFIAPI *startup_all_aps)
    (struct mp_services *self, void(EFIAPI *procedure)(void *), BOOLEAN single_thread,
     EFI_EVENT wait_event, UINTN timeout_us, void *argument, UINTN **failed);
    void *startup_this_ap;
    void *switch_bsp;
    void *enable_disable_ap;
    void *who_am_i;
};

#define MP_PROCESSOR_ENABLED 0x2U

struct lock_job {
    uint32_t apic_id;
    UINTN locked;
};

static struct mp_services *find_mp_services(EFI_BOOT_SERVICES *services)
{
    EFI_GUID guid = {
        0x3FDDA605U, 0xA76EU, 0x4F46U, {0xAD, 0x29, 0x12, 0xF4, 0x53, 0x1B, 0x3D, 0x08}};
    void *found = NULL;

    if (services->LocateProtocol(&guid, NULL, &found) != EFI_SUCCESS) {
        return NULL;
    }
    return found;
}

static uint32_t own_apic_id(void)
{
    uint32_t regs[4];

    cpu_cpuid(1, regs);
    return regs[1] >> 24;
}

EFI_STATUS lps_find(EFI_BOOT_SERVICES *services, struct lps *lps)
{
    struct mp_services *mp = find_mp_services(services);
    UINTN all = 0;
    UINTN enabled = 0;
    UINTN number;
    EFI_STATUS status;

    lps->count = 1;
    lps->apic_id[0] = own_apic_id();
    if (mp == NULL) {
        return EFI_SUCCESS;
    }
    status = mp->get_number_of_processors(mp, &all, &enabled);
    if (status != EFI_SUCCESS) {
        return status;
    }
    lps->count = 0;
    for (number = 0; number < all; number++) {
        struct mp_processor_info info;

        status = mp->get_processor_info(mp, number, &info);
        if (status != EFI_SUCCESS) {
            return status;
        }
        if ((info.status_flags & MP_PROCESSOR_ENABLED) == 0) {
            continue;
        }
        if (lps->count == LPS_MAX) {
            return EFI_OUT_OF_RESOURCES;
        }
        lps->apic_id[lps->count] = (uint32_t)info.processor_id;
        lps->count++;
    }
    return EFI_SUCCESS;
}

static void EFIAPI lock_this_lp(void *argument)
{
    struct lock_job *job = argument;
    uint32_t regs[4];
    uint64_t control;

    cpu_cpuid(1, regs);
    if ((regs[2] & CPUID_1_ECX_VMX) == 0) {
        return;
    }
    if (job->apic_id != LPS_ALL && job->apic_id != regs[1] >> 24) {
        return;
    }
    control = cpu_rdmsr(MSR_IA32_FEATURE_CONTROL);
    if ((control & FEATURE_CONTROL_LOCK) == 0) {
        control = FEATURE_CONTROL_LOCK;
        cpu_wrmsr(MSR_IA32_FEATURE_CONTROL, control);
    }
    if ((control & FEATURE_CONTROL_VMX_OUTSIDE_SMX) == 0) {
        (void)__atomic_add_fetch(&job->locked, 1, __ATOMIC_SEQ_CST);
    }
}

void lps_each(EFI_BOOT_SERVICES *services, const struct lps *lps, void(EFIAPI *procedure)(void *),
              void *argument)
{
    struct mp_services *mp = find_mp_services(services);

    procedure(argument);
    if (mp != NULL && lps->count > 1) {
        (void)mp->startup_all_aps(mp, procedure, TRUE, NULL, 0, argument, NULL);
    }
}

UINTN lps_lock_vmx(EFI_BOOT_SERVICES *services, const struct lps *lps, bool last_only)
{
    struct lock_job job = {LPS_ALL, 0};

    if (last_only) {
        job.apic_id = lps->apic_id[lps->count - 1];
    }
    lps_each(services, lps, lock_this_lp, &job);
    return job.locked;
}
