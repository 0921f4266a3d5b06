/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypercall page. TLFS "Establishing the Hypercall Interface". */
#include "core/string.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"
#include "tests/guest/test_hv.h"

#define FILL        0x5Au
#define NO_SUCH     0xBEEFull /* a call code that nobody has */
#define BITS_IGNORE 0xFFCull

static uint64_t page_address(unsigned int page)
{
    return hv_address(hv_pages[page]);
}

static void fill_pages(void)
{
    memset(hv_pages, FILL, sizeof(hv_pages));
}

/* What a page is to look like on all processors. */
struct view {
    unsigned int page;
    bool is_code;
};

static void expect_view_here(void *arg)
{
    static const uint8_t code[] = {0x0F, 0x01, 0xC1, 0xC3};
    const struct view *view = arg;
    const volatile uint8_t *bytes = hv_pages[view->page];

    for (unsigned int i = 0; i < HV_PAGE_BYTES; i++) {
        uint8_t wanted = !view->is_code ? FILL : i < sizeof(code) ? code[i] : 0xCC;

        REQUIRE(bytes[i] == wanted, "page %u has %x at %u, not %x, on cpu %u", view->page, bytes[i],
                i, wanted, cpu_this()->index);
    }
    if (view->is_code) {
        struct hv_outcome outcome = hv_try(hv_address(bytes), NO_SUCH, 0);

        CHECK(outcome.vector == NO_FAULT && outcome.result == HV_STATUS_INVALID_CODE,
              "the page gives exception %d, result %lx", outcome.vector, outcome.result);
    }
}

static void expect_view(unsigned int page, bool is_code)
{
    struct view view = {page, is_code};

    CHECK(smp_call_each(expect_view_here, &view), "a processor does not answer");
}

static void expect_register(uint64_t wanted)
{
    uint64_t value = hv_read(HV_MSR_HYPERCALL);

    CHECK(value == wanted, "HYPERCALL is %lx, not %lx", value, wanted);
}

static void expect_no_calls(void)
{
    struct hv_outcome outcome = hv_try((uintptr_t)hv_direct, NO_SUCH, 0);

    CHECK(outcome.vector == HV_UD && outcome.rip == (uintptr_t)hv_direct,
          "VMCALL with no hypercall page gives %d at %lx", outcome.vector, outcome.rip);
}

void test_hv_page_enable(void)
{
    uint64_t enabled = page_address(0) | HV_MSR_PAGE_ENABLE;
    uint32_t address_bits = insn_cpuid(0x80000008u, 0).eax & 0xFFu;

    fill_pages();
    CHECK(hv_read(HV_MSR_GUEST_OS_ID) == 0, "GUEST_OS_ID is not 0 at first");
    expect_register(0);
    expect_no_calls();
    hv_write(HV_MSR_HYPERCALL, enabled);
    expect_register(page_address(0));
    expect_view(0, false);
    hv_write(HV_MSR_GUEST_OS_ID, HV_OS_ID);
    CHECK(hv_read(HV_MSR_GUEST_OS_ID) == HV_OS_ID, "GUEST_OS_ID does not keep its value");
    expect_no_calls();
    hv_write(HV_MSR_HYPERCALL, enabled | BITS_IGNORE);
    expect_register(enabled);
    expect_view(0, true);
    hv_expect_gp_write(HV_MSR_HYPERCALL, 1ull << address_bits | HV_MSR_PAGE_ENABLE);
    expect_view(0, true);
    hv_write(HV_MSR_GUEST_OS_ID, 0);
    expect_register(page_address(0));
    expect_view(0, false);
    expect_no_calls();
}

void test_hv_page_move(void)
{
    fill_pages();
    hv_enable();
    expect_view(0, true);
    expect_view(1, false);
    hv_write(HV_MSR_HYPERCALL, page_address(1) | HV_MSR_PAGE_ENABLE);
    expect_view(0, false);
    expect_view(1, true);
    hv_write(HV_MSR_HYPERCALL, page_address(1));
    expect_register(page_address(1));
    expect_view(1, false);
    expect_no_calls();
    hv_write(HV_MSR_HYPERCALL, page_address(0) | HV_MSR_PAGE_ENABLE);
    expect_view(0, true);
    hv_disable();
    expect_view(0, false);
}

static void write_byte(void *arg)
{
    *(volatile uint8_t *)arg = 0;
}

static void write_here(void *arg)
{
    struct fault fault = fault_catch(write_byte, arg);

    CHECK(fault.vector == HV_GP && fault.error == 0, "a write to %lx gives %d, error %x, on cpu %u",
          hv_address(arg), fault.vector, fault.error, cpu_this()->index);
}

void test_hv_page_write(void)
{
    fill_pages();
    hv_enable();
    CHECK(smp_call_each(write_here, hv_pages[0]), "a processor does not answer");
    CHECK(smp_call_each(write_here, hv_pages[0] + HV_PAGE_BYTES - 1),
          "a processor does not answer");
    expect_view(0, true);
    hv_disable();
    expect_view(0, false);
    hv_pages[0][0] = 0;
    CHECK(hv_pages[0][0] == 0, "the memory under the page cannot be written any more");
}

/* Only a machine reset undoes this. */
void test_hv_page_lock(void)
{
    uint64_t locked = page_address(0) | HV_MSR_PAGE_ENABLE | HV_MSR_PAGE_LOCKED;

    fill_pages();
    hv_enable();
    hv_write(HV_MSR_HYPERCALL, locked);
    expect_register(locked);
    hv_expect_gp_write(HV_MSR_HYPERCALL, locked);
    hv_expect_gp_write(HV_MSR_HYPERCALL, 0);
    hv_expect_gp_write(HV_MSR_HYPERCALL, page_address(1) | HV_MSR_PAGE_ENABLE);
    expect_register(locked);
    expect_view(0, true);
    expect_view(1, false);
}
