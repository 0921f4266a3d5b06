/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/efi_mp.h"

#include "core/bits.h"
#include "core/cpu.h"

#define EFI_MP_TIMEOUT_US           10000000u
#define PROCESSOR_AS_BSP            BIT32(0)
#define PROCESSOR_ENABLED           BIT32(1)
#define PROCESSOR_HEALTHY           BIT32(2)
#define CPUID_INITIAL_APIC_ID_SHIFT 24u

struct mp_location {
    UINT32 package, core, thread;
};

struct mp_processor {
    UINT64 id; /* APIC id */
    UINT32 status;
    struct mp_location location;
    UINT32 extended[6]; /* what CPU_V2_EXTENDED_TOPOLOGY adds */
};

struct mp_services {
    EFI_STATUS(EFIAPI *get_number)(struct mp_services *self, UINTN *all, UINTN *enabled);
    EFI_STATUS(EFIAPI *get_info)(struct mp_services *self, UINTN number, struct mp_processor *out);
    EFI_STATUS(EFIAPI *startup_all)
    (struct mp_services *self, efi_mp_function function, BOOLEAN single_thread, EFI_EVENT event,
     UINTN timeout_us, void *argument, UINTN **failed);
    EFI_STATUS(EFIAPI *startup_this)
    (struct mp_services *self, efi_mp_function function, UINTN number, EFI_EVENT event,
     UINTN timeout_us, void *argument, BOOLEAN *finished);
    void *switch_bsp;
    void *enable_disable;
    void *who_am_i;
};

static EFI_GUID mp_services_guid = {
    0x3fdda605, 0xa76e, 0x4f46, {0xad, 0x29, 0x12, 0xf4, 0x53, 0x1b, 0x3d, 0x08}};

static void take_only_processor(struct efi_mp *mp)
{
    uint32_t eax, ebx, ecx, edx;

    cpu_cpuid(1, 0, &eax, &ebx, &ecx, &edx);
    mp->lps[0] = (struct boot_lp){.apic_id = ebx >> CPUID_INITIAL_APIC_ID_SHIFT, .mp_number = 0};
    mp->count = 1;
    mp->boot_lp = 0;
}

static EFI_STATUS take_processor(struct efi_mp *mp, struct mp_services *services, UINTN number)
{
    struct mp_processor processor = {0};
    EFI_STATUS status = services->get_info(services, number, &processor);

    if (EFI_ERROR(status)) {
        return status;
    }
    if ((processor.status & PROCESSOR_ENABLED) == 0 ||
        (processor.status & PROCESSOR_HEALTHY) == 0) {
        return EFI_SUCCESS;
    }
    if (mp->count == BOOT_MAX_LPS) {
        return EFI_BUFFER_TOO_SMALL;
    }
    if ((processor.status & PROCESSOR_AS_BSP) != 0) {
        mp->boot_lp = mp->count;
    }
    mp->lps[mp->count++] =
        (struct boot_lp){.apic_id = (uint32_t)processor.id, .mp_number = (uint32_t)number};
    return EFI_SUCCESS;
}

EFI_STATUS efi_mp_open(struct efi_mp *mp, EFI_BOOT_SERVICES *services, struct boot_lp *lps)
{
    struct mp_services *protocol;
    UINTN all = 0;
    UINTN enabled = 0;
    EFI_STATUS status;

    *mp = (struct efi_mp){.lps = lps};
    status = services->LocateProtocol(&mp_services_guid, NULL, (void **)&protocol);
    if (EFI_ERROR(status)) {
        take_only_processor(mp);
        return EFI_SUCCESS;
    }
    mp->protocol = protocol;
    status = protocol->get_number(protocol, &all, &enabled);
    for (UINTN number = 0; !EFI_ERROR(status) && number < all; number++) {
        status = take_processor(mp, protocol, number);
    }
    return status;
}

EFI_STATUS efi_mp_run(const struct efi_mp *mp, UINTN index, efi_mp_function function,
                      void *argument)
{
    struct mp_services *protocol = mp->protocol;
    BOOLEAN finished = FALSE;
    EFI_STATUS status;

    if (index == mp->boot_lp) {
        function(argument);
        return EFI_SUCCESS;
    }
    status = protocol->startup_this(protocol, function, mp->lps[index].mp_number, NULL,
                                    EFI_MP_TIMEOUT_US, argument, &finished);
    if (!EFI_ERROR(status) && !finished) {
        return EFI_TIMEOUT;
    }
    return status;
}
