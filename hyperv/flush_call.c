/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * The four flush calls (TLFS "Virtual MMU", "HvCallFlushVirtualAddressSpace" and its sisters). The
 * headers have been copied; the list is read here, each element once and no further than it
 * matters.
 */

#define KNOWN_FLAGS                                                  \
    (HV_FLUSH_ALL_PROCESSORS | HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES | \
     HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY)

#define HEADER_WORDS    (sizeof(struct hv_input_flush_virtual_address) / HYPERV_WORD_BYTES)
#define HEADER_WORDS_EX (sizeof(struct hv_input_flush_virtual_address_ex) / HYPERV_WORD_BYTES)

#define PAGE_NUMBER_BITS 52u

/*
 * Leaves of an element the pages that are canonical. There is one piece at most, since the hole is
 * far larger than an element. False: nothing is left. Page numbers do not wrap: what runs past the
 * last one is cut off.
 */
static bool clip(uint64_t element, uint32_t canonical_bits, uint64_t *range)
{
    uint64_t hole_begin = BIT64(canonical_bits - 1 - PAGE_SHIFT);
    uint64_t hole_end = BIT64(PAGE_NUMBER_BITS) - hole_begin;
    uint64_t first = element >> PAGE_SHIFT;
    uint64_t last = first + (element & FLUSH_RANGE_MORE_PAGES);
    uint64_t limit = first < hole_begin ? hole_begin - 1 : BIT64(PAGE_NUMBER_BITS) - 1;

    if (first >= hole_begin && first < hole_end) {
        first = hole_end;
    }
    if (last > limit) {
        last = limit;
    }
    if (first > last) {
        return false;
    }
    *range = first << PAGE_SHIFT | (last - first);
    return true;
}

/* Of an extended element (TLFS "HV_GVA_RANGE"): large pages, 2 MiB or 1 GiB each. Otherwise it
 * has the simple format, with one bit less for the number of pages. */
#define EXT_LARGE_PAGE BIT64(11)
#define EXT_IS_1_GIB   BIT64(12)
#define EXT_MORE_PAGES MASK64(10, 0)
#define PAGES_IN_2_MIB 512u
#define PAGES_IN_1_GIB (PAGES_IN_2_MIB * 512u)

static uint64_t large_pages_of(uint64_t element)
{
    return ((element & EXT_MORE_PAGES) + 1) *
           ((element & EXT_IS_1_GIB) != 0 ? PAGES_IN_1_GIB : PAGES_IN_2_MIB);
}

/*
 * Turns the list from rep_start on into ranges. They stand where the list has its room in the
 * buffer, which in a fast call is the list itself: a range never stands behind the element that it
 * comes from, and each element is read before its range is written. A list that names too many
 * pages, or a large page, is a flush of all, whatever else is in it: the rest is not read.
 */
static void decode_list(const struct hyperv_input *input, bool is_extended, size_t list_at,
                        struct flush_request *request)
{
    const struct hyperv_facts *facts = &input->vp->partition->facts;
    uint64_t *ranges = input->words + list_at;
    uint64_t element;

    request->kind = FLUSH_KIND_LIST;
    request->ranges = ranges;
    for (uint32_t i = input->rep_start; i < input->rep_count; i++) {
        element = input->list[i];
        if (is_extended && (element & EXT_LARGE_PAGE) != 0) {
            request->page_count += large_pages_of(element);
            request->kind = FLUSH_KIND_ALL;
            request->is_widened = true;
            return;
        }
        if (!clip(element, facts->canonical_bits, &ranges[request->range_count])) {
            continue;
        }
        request->page_count += flush_range_pages(ranges[request->range_count]);
        request->range_count++;
        if (request->page_count > facts->list_pages_max) {
            request->kind = FLUSH_KIND_ALL;
            request->is_widened = true;
            return;
        }
    }
}

/* Whether the flags are known, and mean something to this call. */
static inline bool are_flags_valid(const struct hyperv_input *input, uint64_t flags)
{
    if (__builtin_expect((flags & HV_FLUSH_USE_EXTENDED_RANGE_FORMAT) != 0, 0)) {
        return (flags & ~(KNOWN_FLAGS | HV_FLUSH_USE_EXTENDED_RANGE_FORMAT)) == 0 &&
               input->rep_count != 0 && input->vp->partition->features.tlbflush_ext;
    }
    return (flags & ~KNOWN_FLAGS) == 0;
}

/* What is to be dropped. */
static inline hv_status_t decode_kind(const struct hyperv_input *input, uint64_t flags,
                                      size_t list_at, struct flush_request *request)
{
    if (__builtin_expect(!are_flags_valid(input, flags), 0)) {
        return HV_STATUS_INVALID_PARAMETER;
    }
    request->is_widened = false;
    request->ranges = NULL; /* handed on, though read for a list only */
    request->range_count = 0;
    request->page_count = 0;
    if (input->rep_count != 0) {
        /* NON_GLOBAL means nothing here: a range is flushed with its global pages. */
        decode_list(input, (flags & HV_FLUSH_USE_EXTENDED_RANGE_FORMAT) != 0, list_at, request);
        input->vp->gvas_flushed += request->page_count;
    } else {
        request->kind = (flags & HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY) != 0 ? FLUSH_KIND_NON_GLOBAL
                                                                         : FLUSH_KIND_ALL;
    }
    return HV_STATUS_SUCCESS;
}

/* Hands the request on, unless no canonical page is left in its list. */
static inline void flush(struct hyperv_vp *vp, const struct flush_request *request)
{
    if (request->kind != FLUSH_KIND_LIST || request->range_count != 0) {
        vp->partition->ops->flush(vp->context, request);
    }
}

hv_status_t flush_handle(const struct hyperv_input *input)
{
    const struct hv_input_flush_virtual_address *header =
        (const struct hv_input_flush_virtual_address *)input->words;
    struct flush_request request;
    hv_status_t status;

    request.address_space = header->address_space;
    /* An empty mask means all: old guests were seen to rely on it, and more is always legal. */
    request.targets.is_all =
        (header->flags & HV_FLUSH_ALL_PROCESSORS) != 0 || header->processor_mask == 0;
    request.targets.valid_banks = BIT64(0);
    request.targets.banks = &header->processor_mask;
    status = decode_kind(input, header->flags, HEADER_WORDS, &request);
    if (status == HV_STATUS_SUCCESS) {
        flush(input->vp, &request);
    }
    return status;
}

/* By hand: the compiler's own would call its library. */
static uint32_t count_ones(uint64_t word)
{
    word -= (word >> 1) & 0x5555555555555555ull;
    word = (word & 0x3333333333333333ull) + ((word >> 2) & 0x3333333333333333ull);
    word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0Full;
    return (uint32_t)((word * 0x0101010101010101ull) >> 56);
}

hv_status_t flush_handle_ex(const struct hyperv_input *input)
{
    const struct hv_input_flush_virtual_address_ex *header =
        (const struct hv_input_flush_virtual_address_ex *)input->words;
    bool is_sparse = header->format == HV_GENERIC_SET_SPARSE_4K;
    struct flush_request request;
    hv_status_t status;

    if (is_sparse && input->var_words != count_ones(header->valid_bank_mask)) {
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    if (!is_sparse && header->format != HV_GENERIC_SET_ALL) {
        return HV_STATUS_INVALID_PARAMETER;
    }
    request.address_space = header->address_space;
    request.targets.is_all = !is_sparse || (header->flags & HV_FLUSH_ALL_PROCESSORS) != 0;
    request.targets.valid_banks = header->valid_bank_mask;
    request.targets.banks = input->words + HEADER_WORDS_EX;
    /* The set's size counts even where its contents do not. */
    status = decode_kind(input, header->flags, HEADER_WORDS_EX + input->var_words, &request);
    if (status == HV_STATUS_SUCCESS && (request.targets.is_all || header->valid_bank_mask != 0)) {
        flush(input->vp, &request);
    }
    return status;
}
