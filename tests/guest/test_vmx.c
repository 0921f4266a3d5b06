/* SPDX-License-Identifier: BSD-2-Clause */
/* VMX and SMX are not there; XSETBV takes valid values only; INVD loses nothing. */
#include "tests/guest/groups.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"
#include "tests/guest/runtime/paging.h"
#include "tests/guest/runtime/sluice.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/traps.h"
#include "tests/guest/test_cpuid_insn.h"
#include "tests/guest/user.h"

#define UD          ((int)VECTOR_UD)
#define GP          ((int)VECTOR_GP)
#define BP          ((int)VECTOR_BP)
#define CR4_UMIP    (1ull << 11)
#define CR4_VMXE    (1ull << 13)
#define CR4_OSXSAVE (1ull << 18)

#define VMX_FUNCTIONS(apply)                                                                     \
    apply(vmcall) apply(vmlaunch) apply(vmresume) apply(vmxoff) apply(vmxon) apply(vmclear)      \
        apply(vmptrld) apply(vmptrst) apply(vmread) apply(vmwrite) apply(invept) apply(invvpid)  \
            apply(vmfunc) apply(getsec) apply(vmmcall) apply(seamcall) apply(encls) apply(enclv) \
                apply(rsm)

#define DECLARE(name) void try_##name(void *scratch);
VMX_FUNCTIONS(DECLARE)

struct vmx_function {
    const char *name;
    void (*run)(void *scratch);
};

#define ROW(name) {#name, try_##name},
static const struct vmx_function vmx_functions[] = {VMX_FUNCTIONS(ROW)};

static _Alignas(4096) uint8_t scratch[4096];
static _Alignas(16) uint8_t user_stack[GUEST_MAX_CPUS][1024];

static void do_enter(void *arg)
{
    user_enter(arg);
}

int user_run(void (*snippet)(void))
{
    struct cpu *cpu = cpu_this();
    uint8_t *stack_end = user_stack[cpu->index] + sizeof(user_stack[0]);
    struct user_entry entry = {
        .rip = PAGING_USER_BASE + (uintptr_t)snippet,
        .rsp = PAGING_USER_BASE + (uintptr_t)stack_end,
        .tss_rsp0 = (uint64_t *)((uintptr_t)cpu + __builtin_offsetof(struct cpu, tss.rsp[0])),
    };
    int vector = fault_vector_of(do_enter, &entry);

    cpu->tss.rsp[0] = cpu->stack_top;
    return vector;
}

static void instructions_here(void *arg)
{
    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(vmx_functions); i++) {
        int vector = fault_vector_of(vmx_functions[i].run, scratch);

        CHECK(vector == UD, "%s gives %d on cpu %u", vmx_functions[i].name, vector,
              cpu_this()->index);
    }
    CHECK(user_run(user_vmcall) == UD, "VMCALL at CPL 3 gives no #UD");
}

static void test_instructions(void)
{
    CHECK(smp_call_each(instructions_here, NULL), "a processor does not answer");
}

static void vmxe_here(void *arg)
{
    uint64_t old = insn_read_cr4();

    (void)arg;
    CHECK((old & CR4_VMXE) == 0, "CR4.VMXE reads 1");
    CHECK(fault_write_cr4(old | CR4_VMXE) == GP, "CR4.VMXE is settable");
    CHECK(insn_read_cr4() == old, "CR4 changed");
}

static void test_vmxe(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice: the machine has VMX");
        return;
    }
    CHECK(smp_call_each(vmxe_here, NULL), "a processor does not answer");
}

static void invd_here(void *arg)
{
    static volatile uint64_t words[512];

    (void)arg;
    for (unsigned int i = 0; i < ARRAY_LEN(words); i++) {
        words[i] = i * 0x123456789ull;
    }
    insn_invd();
    for (unsigned int i = 0; i < ARRAY_LEN(words); i++) {
        CHECK(words[i] == i * 0x123456789ull, "INVD lost word %u", i);
    }
}

/* On a real bare machine INVD would lose data: run it where it must not. */
static void test_invd(void)
{
    if (!sluice_is_present()) {
        test_skip("not under Sluice: INVD may lose data");
        return;
    }
    CHECK(smp_call_each(invd_here, NULL), "a processor does not answer");
}

static void check_xsetbv(uint32_t index, uint64_t value)
{
    int vector = fault_xsetbv(index, value);

    CHECK(vector == GP, "XSETBV(%u) := %lx gives %d on cpu %u", index, value, vector,
          cpu_this()->index);
    CHECK(insn_xgetbv(0) == 1, "a refused XSETBV changed XCR0 to %lx", insn_xgetbv(0));
}

static void xsetbv_here(void *arg)
{
    uint64_t cr4 = insn_read_cr4();
    struct cpuid_regs leaf = insn_cpuid(0xD, 0);
    uint64_t supported = ((uint64_t)leaf.edx << 32) | leaf.eax;
    int vector;

    (void)arg;
    CHECK(fault_xsetbv(0, 1) == UD, "XSETBV without OSXSAVE gives no #UD");
    insn_write_cr4(cr4 | CR4_OSXSAVE);
    CHECK(fault_xsetbv(0, 1) == NO_FAULT, "XCR0 := 1 faults");
    check_xsetbv(0, 0);       /* x87 must be on */
    check_xsetbv(0, 2);       /* likewise */
    check_xsetbv(0, 5);       /* AVX without SSE */
    check_xsetbv(0, 0x27);    /* a part of AVX-512 */
    check_xsetbv(0, 0x63);    /* AVX-512 without AVX */
    check_xsetbv(0, 0x0B);    /* a part of MPX */
    check_xsetbv(0, 0x103);   /* bit 8 belongs to IA32_XSS */
    check_xsetbv(0, 0x20003); /* a part of AMX */
    check_xsetbv(0, 1ull << 62 | 3u);
    check_xsetbv(0, 1ull << 63 | 3u);
    check_xsetbv(1, 1);
    check_xsetbv(0xFFFFFFFFu, 1);
    for (unsigned int bit = 0; bit < 64; bit++) {
        if ((supported & 1ull << bit) == 0) {
            check_xsetbv(0, 3u | 1ull << bit);
        }
    }
    vector = user_run(user_xsetbv);
    CHECK(vector == GP, "XSETBV at CPL 3 gives %d", vector);
    CHECK(fault_xsetbv(0, supported) == NO_FAULT && insn_xgetbv(0) == supported,
          "XCR0 := %lx, as CPUID shows, reads %lx", supported, insn_xgetbv(0));
    insn_xsetbv(0, 1);
    insn_write_cr4(cr4);
}

static void test_xsetbv(void)
{
    if (!cpuid_shows(1, 0, 2, 26)) {
        test_skip("no XSAVE");
        return;
    }
    CHECK(smp_call_each(xsetbv_here, NULL), "a processor does not answer");
}

static void user_mode_here(void *arg)
{
    uint64_t cr4 = insn_read_cr4();

    (void)arg;
    CHECK(user_run(user_nothing) == BP, "user mode does not work");
    CHECK(user_run(user_cpuid) == BP, "CPUID faults at CPL 3");
    CHECK(user_run(user_rdmsr) == GP, "RDMSR gives no #GP at CPL 3");
    CHECK(user_run(user_hlt) == GP, "HLT gives no #GP at CPL 3");
    CHECK(user_run(user_invd) == GP, "INVD gives no #GP at CPL 3");
    if (cpuid_shows(7, 0, 2, 2)) {
        CHECK(user_run(user_sgdt) == BP, "SGDT faults at CPL 3 without UMIP");
        insn_write_cr4(cr4 | CR4_UMIP);
        CHECK(user_run(user_sgdt) == GP, "SGDT gives no #GP with UMIP");
        insn_write_cr4(cr4);
    }
}

static void test_user_mode(void)
{
    CHECK(smp_call_each(user_mode_here, NULL), "a processor does not answer");
}

static const struct test tests[] = {
    {"instructions", test_instructions},
    {"vmxe", test_vmxe},
    {"invd", test_invd},
    {"xsetbv", test_xsetbv},
    {"user_mode", test_user_mode},
};

const struct test_group group_vmx = {.name = "vmx", TEST_GROUP(tests)};
