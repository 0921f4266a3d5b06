/* SPDX-License-Identifier: BSD-2-Clause */
/* Code, stacks and page tables where nobody puts them. */
#include "core/compiler.h"
#include "tests/guest/hostile.h"
#include "tests/guest/hostile_events.h"
#include "tests/guest/hostile_memory.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/print.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/runtime/traps.h"

#define PAGE_BYTES   4096u
#define TABLE_WORDS  512u
#define LINK         0x03ull
#define LOW_END      0x00007FFFFFFFFFFEull
#define HIGH_END     0xFFFFFFFFFFFFFFFEull
#define STACKS_MAX   64u /* of a range */
#define VIDEO_MEMORY 0xA0000u
#define VIDEO_TEXT   0xB8000u

static _Alignas(4096) uint64_t end_pdpt[TABLE_WORDS];
static _Alignas(4096) uint64_t end_directory[TABLE_WORDS];
static _Alignas(4096) uint64_t end_table[TABLE_WORDS];
static _Alignas(4096) uint8_t end_page[PAGE_BYTES];

static uint64_t *root(void)
{
    return (uint64_t *)(uintptr_t)paging_root();
}

static int call_at(uint64_t address)
{
    struct hostile_registers registers = {.code = address};
    int vector = fault_vector_of(hostile_call, &registers);

    hostile_restore();
    return vector;
}

/* CPUID in the last two bytes below the hole, and below 2^64. */
static void test_rip_ends(void)
{
    volatile uint8_t *zero = hostile_window(0);
    uint8_t old = *zero;
    int vector;

    end_page[PAGE_BYTES - 2] = 0x0F;
    end_page[PAGE_BYTES - 1] = 0xA2;
    end_table[TABLE_WORDS - 1] = (uintptr_t)end_page | LINK;
    end_directory[TABLE_WORDS - 1] = (uintptr_t)end_table | LINK;
    end_pdpt[TABLE_WORDS - 1] = (uintptr_t)end_directory | LINK;
    root()[255] = (uintptr_t)end_pdpt | LINK;
    root()[511] = (uintptr_t)end_pdpt | LINK;
    vector = call_at(LOW_END);
    CHECK(vector == (int)VECTOR_GP, "behind the last address below the hole: %d", vector);
    *zero = 0xC3;
    vector = call_at(HIGH_END);
    CHECK(vector == NO_FAULT, "behind 2^64: %d", vector);
    *zero = old;
}

/* CPUID at offset FFFEh of a 16-bit segment. */
static void test_ip_end(void)
{
    static const uint8_t far_jump[] = {0xFF, 0x2F}; /* JMP FAR [RDI] */
    struct {
        uint32_t offset;
        uint16_t selector;
    } PACKED target = {0xFFFE, SELECTOR_CODE16};
    volatile uint8_t *at = hostile_window(0xFFFE);
    struct hostile_registers registers = {.rdi = (uintptr_t)&target};
    uint8_t old[2] = {at[0], at[1]};
    int vector;

    at[0] = 0x0F;
    at[1] = 0xA2;
    vector = hostile_execute(&registers, far_jump, sizeof(far_jump));
    CHECK(vector == (int)VECTOR_GP, "behind offset FFFFh: %d", vector);
    at[0] = old[0];
    at[1] = old[1];
}

/* Where video memory keeps what is written, depends on the mode; 0: nowhere. */
static uint64_t video_memory(void)
{
    static const uint32_t starts[] = {VIDEO_MEMORY, VIDEO_TEXT};

    for (unsigned int i = 0; i < ARRAY_LEN(starts); i++) {
        volatile uint64_t *word = hostile_window(starts[i]);

        word[1] = 0x123456789ABCDEFull;
        word[2] = ~0x123456789ABCDEFull;
        if (word[1] == 0x123456789ABCDEFull && word[2] == ~0x123456789ABCDEFull) {
            return starts[i];
        }
    }
    return 0;
}

/* Events whose frame is the first access to a page that was perhaps never mapped. */
static void test_stack_at(uint64_t end, unsigned int i)
{
    static const struct {
        uint8_t count;
        uint8_t bytes[8];
        int vector;
    } events[] = {
        {4, {0x48, 0x89, 0xC4, 0xCC}, 3},
        {4, {0x48, 0x89, 0xC4, 0xF1}, 1},
        {5, {0x48, 0x89, 0xC4, 0x0F, 0x0B}, 6},
        {5, {0x48, 0x89, 0xC4, 0x0F, 0x30}, 13},            /* WRMSR */
        {7, {0x48, 0x89, 0xC4, 0x8E, 0xD1, 0xCC, 0x90}, 3}, /* MOV SS, INT3 */
        {7, {0x48, 0x89, 0xC4, 0x8E, 0xD1, 0xF1, 0x90}, 1}, /* MOV SS, INT1 */
        {5, {0x48, 0x89, 0xC4, 0xCD, 0x01}, 1},
        {6, {0x48, 0x89, 0xC4, 0x48, 0x8B, 0x03}, 14}, /* MOV RAX, [RBX] */
    };

    struct hostile_registers registers = {
        .rax = end,
        .rcx = SELECTOR_DATA,
        .rbx = 0x50000000000ull,
    };
    int vector;

    i %= ARRAY_LEN(events);
    if (events[i].vector == 13) {
        registers.rcx = 0x12345678;
    }
    vector = hostile_execute(&registers, events[i].bytes, events[i].count);
    CHECK(vector == events[i].vector, "event %u on a stack below %lx gives %d", i, end, vector);
}

/* Reserved memory is the hypervisor's, hidden, or the firmware's, which is mapped when it is
 * touched. */
static void test_stacks(void)
{
    const struct guest_info *machine = hostile_machine();

    for (uint32_t r = 0; r < machine->reserved_count; r++) {
        const struct guest_range *range = &machine->reserved[r];
        unsigned int number = 0;

        for (uint64_t at = PAGE_BYTES; at <= range->bytes && number < STACKS_MAX;
             at += PAGE_BYTES) {
            test_stack_at(range->start + at, number++);
        }
    }
}

/* All kinds of exits while the page tables lie at physical, a page that holds what is written. */
static void test_tables_at(uint64_t physical, const char *what)
{
    static const uint8_t exits[][8] = {
        {0x0F, 0xA2},       /* CPUID */
        {0x0F, 0x32},       /* RDMSR */
        {0x0F, 0x01, 0xC1}, /* VMCALL */
        {0xEC},             /* IN AL, DX */
        {0x0F, 0x08},       /* INVD */
        {0xCC},             /* INT3 */
        {0xF1},             /* INT1 */
    };
    static const uint8_t counts[] = {2, 2, 3, 1, 2, 1, 1};
    volatile uint64_t *words = hostile_window(physical);

    for (unsigned int i = 0; i < TABLE_WORDS; i++) {
        words[i] = root()[i];
    }
    for (unsigned int i = 0; i < TABLE_WORDS; i++) {
        if ((words[i] & ~0x60ull) != (root()[i] & ~0x60ull)) {
            print_line("MEASURE %s holds no page table", what);
            return;
        }
    }
    insn_write_cr3(physical);
    for (unsigned int i = 0; i < ARRAY_LEN(counts); i++) {
        struct hostile_registers registers = {.rcx = 0x1B, .rdx = 0x2FD, .rax = 0x40000100};

        (void)hostile_execute(&registers, exits[i], counts[i]);
    }
    insn_write_cr3(paging_root());
}

static void test_tables(uint64_t memory)
{
    const struct guest_info *machine = hostile_machine();

    if (memory != 0) {
        test_tables_at(memory, "video memory");
    }
    for (uint32_t i = 0; i < machine->reserved_count; i++) {
        test_tables_at(machine->reserved[i].start, "reserved memory");
        test_tables_at(machine->reserved[i].start +
                           machine->reserved[i].bytes / 2 / PAGE_BYTES * PAGE_BYTES,
                       "reserved memory");
    }
}

void hostile_test_edges(void)
{
    uint64_t memory = video_memory();

    print_line("MEASURE video_memory at %lx", memory);
    test_stacks();
    test_tables(memory);
    test_rip_ends();
    test_ip_end();
    hostile_check_alive();
}
