/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/realmode.h"

#include "core/compiler.h"
#include "core/string.h"
#include "tests/guest/runtime/apic.h"
#include "tests/guest/runtime/clock.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/smp.h"

#define RESULTS_OFFSET   0xE00u
#define NMI_CODE_OFFSET  0xD00u
#define NMI_VECTOR_ENTRY 8u /* physical address of entry 2 of the real-mode vector table */
#define INIT_PAUSE_US    200u
#define LIMIT_US         1000000u

STATIC_ASSERT(__builtin_offsetof(struct real_results, signature) == 0x10);
STATIC_ASSERT(__builtin_offsetof(struct real_results, own_block) == 0x30);
STATIC_ASSERT(__builtin_offsetof(struct real_results, nmi_count) == 0x80);

#define REAL_IMAGE(name)                      \
    extern const uint8_t real_##name[];       \
    extern const uint8_t real_##name##_end[]; \
    const struct real_image real_image_##name = {real_##name, real_##name##_end}

REAL_IMAGE(spin);
REAL_IMAGE(halt);
REAL_IMAGE(halt_nmi);
REAL_IMAGE(spin32);
REAL_IMAGE(tour);
REAL_IMAGE(direct);
REAL_IMAGE(nmi_handler);

static void place_nmi_handler(uint64_t page)
{
    volatile uint16_t *entry = paging_window(NMI_VECTOR_ENTRY);
    const struct real_image *image = &real_image_nmi_handler;

    memcpy((void *)(uintptr_t)(page + NMI_CODE_OFFSET), image->start,
           (size_t)(image->end - image->start));
    entry[0] = NMI_CODE_OFFSET;
    entry[1] = (uint16_t)(page >> 4);
}

volatile struct real_results *real_start(struct cpu *cpu, const struct real_image *image)
{
    uint64_t page = smp_low_page(LOW_PAGE_SCRATCH);
    struct real_results *results = (struct real_results *)(uintptr_t)(page + RESULTS_OFFSET);

    apic_send(cpu->apic_id, ICR_INIT | ICR_ASSERT);
    clock_wait_us(INIT_PAUSE_US);
    smp_place_code(LOW_PAGE_SCRATCH, image->start, (uint64_t)(image->end - image->start));
    place_nmi_handler(page);
    apic_send(cpu->apic_id, ICR_SIPI | ICR_ASSERT | smp_low_vector(LOW_PAGE_SCRATCH));
    if (!clock_wait_change((atomic_uint *)(void *)&results->beat, 0, LIMIT_US)) {
        return NULL;
    }
    return results;
}
