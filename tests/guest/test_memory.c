/* SPDX-License-Identifier: BSD-2-Clause */
/* Hidden memory: what the firmware's map calls reserved may be read and written without harm, and
 * never shows the hypervisor. */
#include "core/string.h"
#include "tests/guest/groups.h"
#include "tests/guest/guest_memory.h"
#include "tests/guest/ipi_common.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"

#define WORD_BYTES 8u
#define PAGE_BYTES 4096u
#define PATTERN    0xA5C3F00D5A3C0FF0ull

static const struct guest_info *machine;

void guest_memory_init(const struct guest_info *info)
{
    machine = info;
}

/* "SluiceSluice" as the CPUID block has it; built at run time so that no copy of this image
 * holds it by accident. */
static bool is_signature(const uint8_t *at)
{
    static const uint8_t half[6] = {'S', 'l', 'u', 'i', 'c', 'e'};

    return memcmp(at, half, sizeof(half)) == 0 && memcmp(at + 6, half, sizeof(half)) == 0;
}

static bool page_has_signature(const volatile void *page)
{
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)page;

    for (unsigned int i = 0; i + 12 <= PAGE_BYTES; i++) {
        if (bytes[i] == 'S' && is_signature(bytes + i)) {
            return true;
        }
    }
    return false;
}

static uint64_t reserved_bytes(void)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        bytes += machine->reserved[i].bytes;
    }
    return bytes;
}

static void for_each_reserved_page(void (*fn)(uint64_t physical))
{
    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        const struct guest_range *range = &machine->reserved[i];

        for (uint64_t offset = 0; offset < range->bytes; offset += PAGE_BYTES) {
            fn(range->start + offset);
        }
    }
}

static void read_page(uint64_t physical)
{
    CHECK(!page_has_signature(paging_window(physical)), "page %lx shows Sluice", physical);
}

static void test_reserved_read(void)
{
    print_line("MEASURE reserved_memory ranges=%u kib=%u", machine->reserved_count,
               (unsigned int)(reserved_bytes() / 1024));
    if (machine->reserved_count == 0) {
        test_skip("the memory map has no reserved range below the top of memory");
        return;
    }
    for_each_reserved_page(read_page);
}

static void write_page(uint64_t physical)
{
    volatile uint64_t *words = paging_window(physical);

    for (unsigned int i = 0; i < PAGE_BYTES / WORD_BYTES; i++) {
        words[i] = PATTERN ^ physical;
    }
}

static void survives_here(void *arg)
{
    (void)arg;
    CHECK(insn_cpuid(0, 0).eax != 0, "CPUID does not work on cpu %u", cpu_this()->index);
    (void)insn_rdmsr(MSR_APIC_BASE);
}

static void check_alive(void)
{
    uint64_t value = 0;

    CHECK(smp_call_each(survives_here, NULL), "a processor does not answer");
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        CHECK(smp_start(&cpus[i]), "cpu %u does not start any more", i);
    }
    if (sluice_is_present()) {
        CHECK(sluice_counter(0, 0, &value), "the counters are gone");
    }
}

static void test_reserved_write(void)
{
    bool was_present = sluice_is_present();

    if (machine->reserved_count == 0) {
        test_skip("the memory map has no reserved range below the top of memory");
        return;
    }
    for_each_reserved_page(write_page);
    check_alive();
    CHECK(sluice_is_present() == was_present, "Sluice is gone");
    for_each_reserved_page(read_page);
}

static bool is_reserved(uint64_t physical)
{
    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        const struct guest_range *range = &machine->reserved[i];

        if (physical >= range->start && physical - range->start < range->bytes) {
            return true;
        }
    }
    return false;
}

/* Memory that is the guest's keeps what is written: a page on each side of every reserved range. */
static void check_neighbour(uint64_t physical)
{
    volatile uint64_t *word;
    uint64_t old;

    if (physical < 0x100000u || physical >= machine->ram_top || is_reserved(physical)) {
        return;
    }
    word = paging_window(physical);
    old = *word;
    *word = PATTERN;
    CHECK(*word == PATTERN, "page %lx, beside a reserved range, does not keep a word", physical);
    *word = old;
}

static void test_neighbours(void)
{
    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        const struct guest_range *range = &machine->reserved[i];

        check_neighbour(range->start - PAGE_BYTES);
        check_neighbour(range->start + range->bytes);
    }
    check_alive();
}

/* Addresses where there is nothing: reads give something, nothing breaks. */
static void test_nothing_there(void)
{
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;
    const uint64_t addresses[] = {
        (machine->ram_top + PAGING_LARGE_BYTES) & ~(PAGING_LARGE_BYTES - 1),
        1ull << 33,
        1ull << (address_bits - 1),
        (1ull << address_bits) - PAGING_LARGE_BYTES,
    };

    for (unsigned int i = 0; i < ARRAY_LEN(addresses); i++) {
        volatile uint64_t *word = paging_window(addresses[i]);

        (void)*word;
        *word = PATTERN;
        (void)*word;
    }
    check_alive();
}

/* Devices are still where they were: I/O APIC and local APIC version registers make sense. */
static void test_devices(void)
{
    volatile uint32_t *ioapic = (volatile uint32_t *)(uintptr_t)0xFEC00000u;

    ioapic[0] = 1;
    CHECK((ioapic[4] & 0xFFu) != 0 && (ioapic[4] & 0xFFu) != 0xFFu, "I/O APIC version %x",
          ioapic[4]);
    CHECK((apic_read(APIC_VERSION) & 0xF0u) == 0x10u, "local APIC version %x",
          apic_read(APIC_VERSION));
}

static const struct test tests[] = {
    {"devices", test_devices},
    {"reserved_read", test_reserved_read},
    {"reserved_write", test_reserved_write},
    {"neighbours", test_neighbours},
    {"nothing_there", test_nothing_there},
};

const struct test_group group_memory = {.name = "memory", TEST_GROUP(tests)};
