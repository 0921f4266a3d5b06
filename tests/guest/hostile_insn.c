/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that exit, that must not, or that do not exist; prefixed, in shadows,
 * single-stepped. */
#include "core/compiler.h"
#include "core/string.h"
#include "tests/guest/hostile.h"
#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/fault.h"
#include "tests/guest/runtime/insn.h"

#define BYTES_MAX      32u
#define PREFIXES_MAX   13u
#define SCRATCH_BYTES  4096u
#define SELECTOR_STACK SELECTOR_DATA

struct snippet {
    uint8_t count;
    uint8_t bytes[7];
};

/* RDI and RSI point to memory, RAX, RCX, RDX are random. */
static const struct snippet snippets[] = {
    {2, {0x0F, 0xA2}},                         /* CPUID */
    {2, {0x0F, 0xA2}},                         /* CPUID */
    {2, {0x0F, 0x08}},                         /* INVD */
    {2, {0x0F, 0x09}},                         /* WBINVD */
    {3, {0xF3, 0x0F, 0x09}},                   /* WBNOINVD */
    {3, {0x0F, 0x01, 0xC0}},                   /* ENCLV */
    {3, {0x0F, 0x01, 0xC1}},                   /* VMCALL */
    {3, {0x0F, 0x01, 0xC2}},                   /* VMLAUNCH */
    {3, {0x0F, 0x01, 0xC3}},                   /* VMRESUME */
    {3, {0x0F, 0x01, 0xC4}},                   /* VMXOFF */
    {3, {0x0F, 0x01, 0xC5}},                   /* PCONFIG */
    {3, {0x0F, 0x01, 0xC8}},                   /* MONITOR */
    {3, {0x0F, 0x01, 0xCA}},                   /* CLAC */
    {3, {0x0F, 0x01, 0xCF}},                   /* ENCLS */
    {3, {0x0F, 0x01, 0xD0}},                   /* XGETBV */
    {3, {0x0F, 0x01, 0xD1}},                   /* XSETBV */
    {3, {0x0F, 0x01, 0xD4}},                   /* VMFUNC */
    {3, {0x0F, 0x01, 0xD7}},                   /* ENCLU */
    {3, {0x0F, 0x01, 0xD9}},                   /* VMMCALL */
    {3, {0x0F, 0x01, 0xE0}},                   /* SMSW AX */
    {3, {0x0F, 0x01, 0x27}},                   /* SMSW [RDI] */
    {3, {0x0F, 0x01, 0xF0}},                   /* LMSW AX */
    {3, {0x0F, 0x01, 0x37}},                   /* LMSW [RDI] */
    {6, {0x0F, 0x01, 0xF8, 0x0F, 0x01, 0xF8}}, /* SWAPGS twice */
    {3, {0x0F, 0x01, 0xF9}},                   /* RDTSCP */
    {4, {0x66, 0x0F, 0x01, 0xCC}},             /* TDCALL */
    {4, {0x66, 0x0F, 0x01, 0xCD}},             /* SEAMRET */
    {4, {0x66, 0x0F, 0x01, 0xCF}},             /* SEAMCALL */
    {2, {0x0F, 0x37}},                         /* GETSEC */
    {2, {0x0F, 0xAA}},                         /* RSM */
    {2, {0x0F, 0x33}},                         /* RDPMC */
    {2, {0x0F, 0x06}},                         /* CLTS */
    {3, {0x0F, 0x78, 0x07}},                   /* VMREAD */
    {3, {0x0F, 0x79, 0x07}},                   /* VMWRITE */
    {3, {0x0F, 0xC7, 0x37}},                   /* VMPTRLD */
    {3, {0x0F, 0xC7, 0x3F}},                   /* VMPTRST */
    {4, {0x66, 0x0F, 0xC7, 0x37}},             /* VMCLEAR */
    {4, {0xF3, 0x0F, 0xC7, 0x37}},             /* VMXON */
    {5, {0x66, 0x0F, 0x38, 0x80, 0x07}},       /* INVEPT */
    {5, {0x66, 0x0F, 0x38, 0x81, 0x07}},       /* INVVPID */
    {5, {0x66, 0x0F, 0x38, 0x82, 0x07}},       /* INVPCID */
    {3, {0x0F, 0x01, 0x3F}},                   /* INVLPG */
    {3, {0x0F, 0x01, 0x07}},                   /* SGDT */
    {3, {0x0F, 0x01, 0x0F}},                   /* SIDT */
    {3, {0x0F, 0x00, 0xC0}},                   /* SLDT */
    {3, {0x0F, 0x00, 0xC8}},                   /* STR */
    {3, {0x0F, 0x00, 0xD8}},                   /* LTR: of a random selector */
    {3, {0x0F, 0xC7, 0xF0}},                   /* RDRAND */
    {3, {0x0F, 0xC7, 0xF8}},                   /* RDSEED */
    {3, {0x0F, 0xC7, 0x2F}},                   /* XSAVES */
    {3, {0x0F, 0xC7, 0x1F}},                   /* XRSTORS */
    {4, {0xF3, 0x0F, 0xAE, 0xF0}},             /* UMONITOR */
    {2, {0x0F, 0x0B}},                         /* UD2 */
    {1, {0xF1}},                               /* INT1 */
    {1, {0xCC}},                               /* INT3 */
    {2, {0xCD, 0x01}},                         /* INT 1 */
    {2, {0xCD, 0x20}},                         /* INT 20h */
    {2, {0xF3, 0x90}},                         /* PAUSE */
    {2, {0x0F, 0x34}},                         /* SYSENTER: its CS is 0 */
};

/* No REX.B: RDI would become R15. */
static const uint8_t prefixes[] = {0x66, 0x67, 0xF2, 0xF3, 0xF0, 0x2E, 0x36,
                                   0x3E, 0x26, 0x64, 0x65, 0x40, 0x48, 0x4E};

static _Alignas(4096) uint8_t scratch[GUEST_MAX_CPUS][SCRATCH_BYTES];

struct code {
    uint8_t bytes[BYTES_MAX];
    unsigned int count;
};

static void append(struct code *code, const void *bytes, unsigned int count)
{
    if (code->count + count <= BYTES_MAX) {
        memcpy(code->bytes + code->count, bytes, count);
        code->count += count;
    }
}

/* What stands before the instruction: nothing, a shadow, single-stepping, both. */
static void append_lead(struct code *code, struct hostile_random *random)
{
    static const uint8_t sti[] = {0xFB};
    static const uint8_t mov_ss[] = {0x41, 0x8E, 0xD7}; /* from R15 */
    static const uint8_t step[] = {0x9C, 0x81, 0x0C, 0x24, 0, 1, 0, 0, 0x9D};
    uint32_t choice = hostile_below(random, 10);

    if (choice == 6 || choice == 7) {
        append(code, step, sizeof(step));
    }
    if (choice == 4 || choice == 6) {
        append(code, mov_ss, sizeof(mov_ss));
    }
    if (choice == 5 || choice == 7) {
        append(code, sti, sizeof(sti));
    }
}

static void append_prefixes(struct code *code, struct hostile_random *random)
{
    unsigned int count = hostile_below(random, 4) == 0 ? hostile_below(random, PREFIXES_MAX) : 0;

    for (unsigned int i = 0; i < count; i++) {
        append(code, &prefixes[hostile_below(random, ARRAY_LEN(prefixes))], 1);
    }
}

void hostile_instruction(struct hostile_random *random)
{
    const struct snippet *snippet = &snippets[hostile_below(random, ARRAY_LEN(snippets))];
    uint8_t *memory = scratch[cpu_this()->index];
    struct hostile_registers registers = {
        .rax = hostile_value(random),
        .rcx = hostile_below(random, 2) == 0 ? 0 : hostile_value(random),
        .rdx = hostile_value(random),
        .rbx = hostile_value(random),
        .rsi = (uintptr_t)memory + SCRATCH_BYTES / 2,
        .rdi = (uintptr_t)memory,
        .r15 = SELECTOR_STACK,
    };
    struct code code = {.count = 0};

    append_lead(&code, random);
    append_prefixes(&code, random);
    append(&code, snippet->bytes, snippet->count);
    (void)hostile_execute(&registers, code.bytes, code.count);
}
