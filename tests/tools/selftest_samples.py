# SPDX-License-Identifier: BSD-2-Clause
"""The trees that check_selftest feeds to the checks: GOOD passes all, each entry of BAD is GOOD plus
one fault: (make target, what is wrong, files, commit message or None, words expected)."""

SPDX = "/* SPDX-License-Identifier: BSD-2-Clause */\n"


def header(guard, body):
    return f"{SPDX}#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"


FMT_H = header("CORE_FMT_H", "#include <stdint.h>\n\n/* Twice the value, wrapping. */\n"
               "uint32_t fmt_twice(uint32_t value);\n")
FMT_C = SPDX + """#include "core/fmt.h"

uint32_t fmt_twice(uint32_t value)
{
    return 2u * value;
}
"""
CPU_H = header("CORE_CPU_H", """static inline void cpu_pause(void)
{
    __asm__ volatile("pause");
}
""")
TEST_C = SPDX + """/* UNITS: core/fmt.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/fmt.h"

static void test_twice(void **state)
{
    (void)state;
    assert_int_equal(fmt_twice(21), 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
"""
GOOD = {"core/fmt.h": FMT_H, "core/fmt.c": FMT_C, "core/cpu.h": CPU_H,
        "tests/host/test_fmt.c": TEST_C}


def source(body, *headers):
    """A .c file: includes, then the body."""
    lines = "".join(f"#include {name}\n" for name in headers)
    return f"{SPDX}{lines}{body}"


def function(lines):
    """A function of that many lines."""
    return ("int bad(int x);\nint bad(int x)\n{\n" + "    x++;\n" * (lines - 4)
            + "    return x;\n}\n")


BAD = [
    ("check-format", "two spaces", {"core/bad.c": source("int  bad;\n")}, None,
     "clang-format-violations"),
    ("check-layers", "core includes vmx", {"core/bad.c": source("", '"vmx/run.h"')}, None,
     'core/ must not include "vmx/run.h"'),
    ("check-layers", "hyperv includes mm", {"hyperv/bad.c": source("", '"mm/ept.h"')}, None,
     'hyperv/ must not include "mm/ept.h"'),
    ("check-layers", "product includes tests", {"boot/bad.c": source("", '"tests/x.h"')}, None,
     'boot/ must not include "tests/x.h"'),
    ("check-layers", "efi.h outside boot", {"vmx/bad.c": source("", "<efi.h>")}, None,
     "belongs to boot/ only"),
    ("check-layers", "libc", {"vmx/bad.c": source("", "<stdio.h>")}, None,
     "not a freestanding header"),
    ("check-layers", "not from the top", {"core/bad.c": source("", '"fmt.h"')}, None,
     "not written from the top"),
    ("check-layers", "pure file reaches hardware",
     {"core/flush.c": source("", '"core/via.h"'), "core/via.h": source("", '"core/cpu.h"')}, None,
     "core/flush.c -> core/via.h -> core/cpu.h"),
    ("check-layers", "circle",
     {"core/a.h": source("", '"core/b.h"'), "core/b.h": source("", '"core/a.h"')}, None,
     "circular include: core/a.h -> core/b.h -> core/a.h"),
    ("check-asm", "inline assembly", {"core/bad.c": source('void f(void)\n{\n    asm("hlt");\n}\n')},
     None, "core/bad.c:4: asm outside"),
    ("check-asm", "too much NASM", {"vmx/bad.asm": "nop\n" * 401}, None, "401 lines of NASM"),
    ("check-headers", "does not stand alone",
     {"core/bad.h": header("CORE_BAD_H", "extern uint32_t bad;\n")}, None, "does not compile alone"),
    ("check-headers", "a warning", {"core/bad.h": header(
        "CORE_BAD_H", "static inline unsigned int bad(long x)\n{\n    return x;\n}\n")}, None,
     "Werror=conversion"),
    ("check-headers", "no guard", {"core/bad.h": source("extern int bad;\n")}, None,
     "no include guard CORE_BAD_H"),
    ("check-headers", "wrong guard", {"core/bad.h": header("BAD_H", "extern int bad;\n")}, None,
     "should be CORE_BAD_H"),
    ("check-headers", "the same guard twice",
     {"tests/a/bad.h": header("A_BAD_H", "extern int bad;\n"),
      "tests/b/bad.h": header("A_BAD_H", "extern int bad;\n")}, None, "is also that of tests/a"),
    ("check-headers", "no licence", {"core/bad.c": "extern int bad;\n"}, None, "core/bad.c: no line"),
    ("check-size", "long file", {"core/bad.c": source("extern int bad;\n" * 400)}, None,
     "401 lines, limit 400"),
    ("check-size", "long function", {"core/bad.c": source(function(81))}, None,
     "bad has 81 lines, limit 80"),
    ("check-size", "seven parameters",
     {"core/bad.c": source("void bad(int a, int b, int c, int d, int e, int f, int g);\n")}, None,
     "7 parameters"),
    ("check-size", "long comment", {"core/bad.c": source("/* " + "word " * 20 + "*/\n")}, None,
     "columns, limit 100"),
    ("check-words", "open end", {"core/bad.c": source("/* TO" "DO: later */\n")}, None, "open end"),
    ("check-words", "a path", {"docs/bad.md": "See /ho" "me/somebody/x\n"}, None, "path of one"),
    ("check-words", "a package host", {"tests/bad": "https:/" "/deb.example.org/\n"}, None,
     "package host"),
    ("check-cppcheck", "out of bounds",
     {"core/bad.c": source("int f(void)\n{\n    int a[2] = {0, 0};\n    return a[2];\n}\n")}, None,
     "arrayIndexOutOfBounds"),
    ("check-analyze", "NULL pointer", {"core/stats.c": source(
        "int f(int c);\nint f(int c)\n{\n    int x = 1, *p = 0;\n    if (c) {\n        p = &x;\n"
        "    }\n    return *p;\n}\n")}, None, "Werror=analyzer"),
    ("check-analyze", "a warning", {"core/stats.c": source(
        "int f(long c);\nint f(long c)\n{\n    return c;\n}\n")}, None, "Werror=conversion"),
    ("check-tidy", "sizeof of sizeof", {"core/bad.c": source(
        "unsigned long f(int c);\nunsigned long f(int c)\n{\n"
        "    return sizeof(sizeof(c));\n}\n")}, None, "bugprone-sizeof-expression"),
    ("check-tidy", "clang's warnings", {"core/bad.c": source(
        "int f(int c);\nint f(int c)\n{\n    c = c;\n    return c;\n}\n")}, None,
     "clang-diagnostic-self-assign"),
    ("check-commits", "no folder", {}, "Add things\n\nA body that says why.", "Title does not match"),
    ("check-commits", "long subject", {}, "tests: Add " + "x" * 70 + "\n\nA body that says why.",
     "exceeds max length"),
    ("check-commits", "no body", {}, "tests: Add things", "Body message is missing"),
    ("test-host", "wrong value", {"core/fmt.c": FMT_C.replace("2u", "3u")}, None,
     "failed: test_twice"),
    ("test-host", "write past the end", {"core/fmt.c": FMT_C.replace(
        "    return", "    uint32_t a[2] = {0, 0}, *volatile p = a;\n    p[value - 19u] = 1;\n    return")}, None,
     "ERROR: AddressSanitizer"),
    ("test-host", "undefined shift", {"core/fmt.c": FMT_C.replace(
        "2u * value", "1u << (value + 11u)")}, None, "shift exponent"),
    ("test-host", "does not compile", {"core/fmt.c": FMT_C.replace("2u", "two")}, None,
     "does not build"),
    ("test-host", "no test at all", {"tests/host/test_fmt.c": source(
        "int main(void)\n{\n    return 0;\n}\n")}, None, "ran no test"),
]
