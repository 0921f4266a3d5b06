/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * The four flush calls as what they ask for (TLFS "Virtual MMU", "HvCallFlushVirtualAddressSpace" and
 * its sisters). The input has been copied; nothing here reads the guest's memory.
 */

#define KNOWN_FLAGS                                                  \
    (HV_FLUSH_ALL_PROCESSORS | HV_FLUSH_ALL_VIRTUAL_ADDRESS_SPACES | \
     HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY)

#define WORD_BYTES sizeof(uint64_t)

#define HEADER_WORDS    (sizeof(struct hv_input_flush_virtual_address) / WORD_BYTES)
#define HEADER_WORDS_EX (sizeof(struct hv_input_flush_virtual_address_ex) / WORD_BYTES)

#define PAGE_NUMBER_BITS 52u

/*
 * Leaves of an element the pages that are canonical. There is one piece at most, since the hole is far
 * larger than an element. False: nothing is left. Page numbers do not wrap: what runs past the last
 * one is cut off.
 */
static bool clip(uint64_t element, uint32_t canonical_bits, flush_range_t *out)
{
    uint64_t hole_begin = BIT64(canonical_bits - 1 - PAGE_SHIFT);
    uint64_t hole_end = BIT64(PAGE_NUMBER_BITS) - hole_begin;
    uint64_t first = element >> PAGE_SHIFT;
    uint64_t last = first + (element & (PAGE_BYTES - 1));
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
    out->value = first << PAGE_SHIFT | (last - first);
    return true;
}

/* Turns the list from rep_start on into ranges. They take the place of the elements: never more of
 * them than have been read. */
static void parse_list(const struct hyperv_input *input, size_t list_at,
                       struct hyperv_flush_request *request)
{
    uint32_t canonical_bits = input->vp->partition->facts.canonical_bits;
    uint64_t *list = input->words + list_at;
    flush_range_t *ranges = (flush_range_t *)list;
    flush_range_t range;

    for (uint32_t i = input->rep_start; i < input->rep_count; i++) {
        if (clip(list[i], canonical_bits, &range)) {
            request->page_count += flush_range_pages(range);
            ranges[request->range_count++] = range;
        }
    }
    request->ranges = ranges;
}

static hv_status_t parse_request(const struct hyperv_input *input, uint64_t address_space,
                                 uint64_t flags, size_t list_at,
                                 struct hyperv_flush_request *request)
{
    /* The extended range format is among the unknown: it is not offered. */
    if ((flags & ~KNOWN_FLAGS) != 0) {
        return HV_STATUS_INVALID_PARAMETER;
    }
    *request = (struct hyperv_flush_request){.address_space = address_space};
    if (input->rep_count != 0) {
        /* NON_GLOBAL means nothing here: a range is flushed with its global pages. */
        request->kind = HYPERV_FLUSH_RANGES;
        parse_list(input, list_at, request);
    } else if ((flags & HV_FLUSH_NON_GLOBAL_MAPPINGS_ONLY) != 0) {
        request->kind = HYPERV_FLUSH_ALL_BUT_GLOBALS;
    } else {
        request->kind = HYPERV_FLUSH_ALL;
    }
    return HV_STATUS_SUCCESS;
}

hv_status_t flush_parse(const struct hyperv_input *input, struct flush_plan *plan)
{
    const struct hv_input_flush_virtual_address *header =
        (const struct hv_input_flush_virtual_address *)input->words;

    /* An empty mask means all: old guests were seen to rely on it, and more is always legal. */
    if ((header->flags & HV_FLUSH_ALL_PROCESSORS) != 0 || header->processor_mask == 0) {
        vp_set_of_all(&plan->targets);
    } else {
        vp_set_of_banks(&plan->targets, BIT64(0), &header->processor_mask);
    }
    return parse_request(input, header->address_space, header->flags, HEADER_WORDS, &plan->request);
}

hv_status_t flush_parse_ex(const struct hyperv_input *input, struct flush_plan *plan)
{
    const struct hv_input_flush_virtual_address_ex *header =
        (const struct hv_input_flush_virtual_address_ex *)input->words;
    bool is_sparse = header->format == HV_GENERIC_SET_SPARSE_4K;

    if (is_sparse && input->var_words != vp_set_bank_count(header->valid_bank_mask)) {
        return HV_STATUS_INVALID_HYPERCALL_INPUT;
    }
    if (!is_sparse && header->format != HV_GENERIC_SET_ALL) {
        return HV_STATUS_INVALID_PARAMETER;
    }
    if (!is_sparse || (header->flags & HV_FLUSH_ALL_PROCESSORS) != 0) {
        vp_set_of_all(&plan->targets);
    } else {
        vp_set_of_banks(&plan->targets, header->valid_bank_mask, input->words + HEADER_WORDS_EX);
    }
    /* The set's size counts even where its contents do not. */
    return parse_request(input, header->address_space, header->flags,
                         HEADER_WORDS_EX + input->var_words, &plan->request);
}
