/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hyperv/hyperv.h"
#include "tests/host/hv_no_overlays.h"

/*
 * libFuzzer target: one hypercall with any registers and any input page. What may be handed on is
 * checked against the plainest reading; what may be touched is left to the sanitizers, for which
 * the LP's buffer is exactly a page.
 *
 * Input: struct header, then the contents of the page at INPUT (zeros behind).
 */

#define INPUT     0x100000ull
#define PHYS_BITS 39u

struct header {
    uint64_t control;
    uint64_t offset; /* of the input from INPUT */
    uint16_t vp_limit;
    uint8_t cpl;
    uint8_t bits; /* protected, 64-bit code, 57-bit addresses, flush off */
    uint32_t unused;
};

#define BIT_PROTECTED 1u
#define BIT_64        2u
#define BIT_LA57      4u
#define BIT_NO_FLUSH  8u
#define BIT_XMM       16u
#define BIT_EXTENDED  32u

struct guest {
    struct hyperv_partition partition;
    struct hyperv_vp vp;
    struct hv_reference_tsc_page page;
    uint8_t memory[PAGE_BYTES];
    uint32_t lookups, flushes, xmm_reads;
    const uint8_t *input; /* the copy, up to */
    const uint8_t *input_end;
};

static struct guest guest;

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static uint64_t read_tsc(void *context)
{
    (void)context;
    return 0;
}

static const volatile void *ram_page(void *context, gpa_t page)
{
    (void)context;
    guest.lookups++;
    require(is_aligned(page.value, PAGE_BYTES) && page.value >> PHYS_BITS == 0);
    return page.value == INPUT ? guest.memory : NULL;
}

/* The beginning of the page, too. */
static void read_xmm(void *context, uint64_t words[HYPERV_XMM_WORDS])
{
    (void)context;
    guest.xmm_reads++;
    memcpy(words, guest.memory, HYPERV_XMM_WORDS * sizeof(*words));
}

static bool is_canonical(uint64_t address)
{
    uint32_t unused_bits = 64 - guest.partition.facts.canonical_bits;

    return (uint64_t)((int64_t)(address << unused_bits) >> unused_bits) == address;
}

/* Nothing behind what was copied may be believed. */
static void require_in_input(const void *words, uint64_t count)
{
    const uint8_t *begin = words;

    require(count == 0 || (begin >= guest.input && begin + count * 8 <= guest.input_end));
}

static uint32_t count_ones(uint64_t word)
{
    return (uint32_t)__builtin_popcountll(word);
}

static void flush(void *context, const struct flush_request *request)
{
    uint64_t pages = 0;

    (void)context;
    guest.flushes++;
    require_in_input(request->targets.banks,
                     request->targets.is_all ? 0 : count_ones(request->targets.valid_banks));
    require_in_input(request->ranges, request->range_count);
    for (uint32_t i = 0; i < request->range_count; i++) {
        uint64_t first = flush_range_start(request->ranges[i]).value;
        uint64_t last = first + (flush_range_pages(request->ranges[i]) - 1) * PAGE_BYTES;

        require(last >= first && is_canonical(first) && is_canonical(last) &&
                first >> 63 == last >> 63);
        pages += flush_range_pages(request->ranges[i]);
    }
    require(request->is_widened || pages == request->page_count);
    require(!request->is_widened || request->kind == FLUSH_KIND_ALL);
    require(request->is_widened ||
            (request->kind == FLUSH_KIND_LIST) == (request->range_count != 0));
    require(request->kind != FLUSH_KIND_LIST || pages <= 32);
}

static const struct hyperv_ops ops = {
    .read_tsc = read_tsc,
    .ram_page = ram_page,
    .read_xmm = read_xmm,
    .overlay_map = no_overlay_map,
    .overlay_sync = no_overlay_sync,
    .flush = flush,
};

static void set_up(const struct header *header)
{
    struct hyperv_features features = {
        .is_on = true,
        .vpindex = true,
        .tlbflush = (header->bits & BIT_NO_FLUSH) == 0,
        .tlbflush_ext = (header->bits & BIT_EXTENDED) != 0,
        .xmm_input = (header->bits & BIT_XMM) != 0,
    };
    struct hyperv_facts facts = {
        .vp_limit = header->vp_limit,
        .vp_max = 4096,
        .physical_bits = PHYS_BITS,
        .canonical_bits = (header->bits & BIT_LA57) != 0 ? 57 : 48,
        .list_pages_max = 32,
    };

    guest.lookups = 0;
    guest.xmm_reads = 0;
    guest.flushes = 0;
    hyperv_partition_init(&guest.partition, &ops, &features, &facts, &guest.page, 0);
    hyperv_vp_init(&guest.vp, &guest.partition, 0, NULL);
    require(hyperv_write_msr(&guest.vp, HV_X64_MSR_GUEST_OS_ID, 1) == HYPERV_MSR_OK);
    require(hyperv_write_msr(&guest.vp, HV_X64_MSR_HYPERCALL, 0x7001) == HYPERV_MSR_OK);
}

static void check_result(const struct header *header, uint64_t result)
{
    uint64_t reps = bits_get(result, 43, 32);
    uint64_t status = result & 0xFFFF;

    require((result & ~0x00000FFF0000FFFFull) == 0);
    require(status == 0 || (status >= 2 && status <= 6));
    require(status != 0 || reps == bits_get(header->control, 43, 32));
    require(status == 0 || guest.flushes == 0);
    require(status == 5 || status == 0 || reps == 0 ||
            (status == 3 &&
             guest.lookups + guest.xmm_reads == 1)); /* the set's size is seen after the copy */
    require((header->bits & BIT_NO_FLUSH) == 0 || status != 0);
    require(guest.flushes == 0 || bits_get(header->control, 31, 27) == 0);
}

/* As the control word of a flush call says. */
static uint64_t input_bytes(uint64_t control)
{
    uint64_t code = control & 0xFFFF;
    uint64_t fixed = code == 0x13 || code == 0x14 ? 32 : 24;

    return fixed + 8 * (bits_get(control, 26, 17) + bits_get(control, 43, 32));
}

static void call(const struct header *header)
{
    struct hyperv_caller caller = {header->cpl & 3u, (header->bits & BIT_PROTECTED) != 0,
                                   (header->bits & BIT_64) != 0};
    uint64_t address = INPUT + header->offset;
    uint64_t gpr[GPR_COUNT] = {0};
    uint64_t *buffer = malloc(PAGE_BYTES);
    bool is_fast = (header->control & HV_HYPERCALL_FAST) != 0;

    require(buffer != NULL);
    gpr[GPR_RCX] = caller.is_64_bit_code ? header->control : (uint32_t)address;
    gpr[GPR_RDX] = caller.is_64_bit_code ? address : header->control >> 32;
    gpr[GPR_RAX] = header->control;
    gpr[GPR_RBX] = address >> 32;
    guest.input = (const uint8_t *)buffer;
    guest.input_end = guest.input + input_bytes(header->control);
    if (hyperv_hypercall(&guest.vp, &caller, gpr, buffer) == HYPERV_RESULT_UD) {
        require(caller.cpl != 0 || !caller.is_protected ||
                (is_fast && (header->bits & BIT_XMM) == 0));
        require(guest.lookups + guest.xmm_reads + guest.flushes == 0);
    } else {
        require(caller.cpl == 0 && caller.is_protected);
        check_result(header, caller.is_64_bit_code ? gpr[GPR_RAX]
                                                   : gpr[GPR_RDX] << 32 | (uint32_t)gpr[GPR_RAX]);
    }
    require(guest.lookups + guest.xmm_reads <= 1 &&
            guest.flushes <= guest.lookups + guest.xmm_reads);
    require(hyperv_calls_total(&guest.vp, HYPERV_CALL_COUNT) == 1);
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct header header;
    size_t rest = size - sizeof(header);

    if (size < sizeof(header)) {
        return -1;
    }
    memcpy(&header, data, sizeof(header));
    memset(guest.memory, 0, sizeof(guest.memory));
    memcpy(guest.memory, data + sizeof(header), rest < PAGE_BYTES ? rest : PAGE_BYTES);
    set_up(&header);
    call(&header);
    return 0;
}
