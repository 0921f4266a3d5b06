/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: boot/config.c boot/config_keys.c core/fmt.c core/string.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "boot/config.h"

/* Parses from a heap block of exactly this size, so that the sanitizer sees a step too far. */
static enum status parse_bytes(const char *text, size_t bytes, struct boot_config *config,
                               struct config_error *error)
{
    char *copy = malloc(bytes > 0 ? bytes : 1);
    enum status status;

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    config_defaults(config);
    status = config_parse(copy, bytes, config, error);
    free(copy);
    return status;
}

static struct boot_config parse_ok(const char *text)
{
    struct boot_config config;
    struct config_error error;

    if (parse_bytes(text, strlen(text), &config, &error) != STATUS_OK) {
        fail_msg("'%s': line %u: %s", text, error.line, error.text);
    }
    return config;
}

static void expect_refused(const char *text, size_t bytes, unsigned int line, const char *reason)
{
    struct boot_config config;
    struct config_error error;

    assert_int_equal(parse_bytes(text, bytes, &config, &error), STATUS_MALFORMED);
    if (error.line != line || strstr(error.text, reason) == NULL) {
        fail_msg("'%s': line %u: '%s', not '%s'", text, error.line, error.text, reason);
    }
}

static void test_defaults(void **context)
{
    struct boot_config config = parse_ok("");

    (void)context;
    assert_int_equal(config.mode, CONFIG_MODE_PASSTHROUGH);
    assert_int_equal(config.log_level, CONFIG_LOG_INFO);
    assert_int_equal(config.triple_fault, CONFIG_TRIPLE_FAULT_RESET);
    assert_int_equal(config.guest_ipi, CONFIG_GUEST_IPI_TRAP);
    assert_true(config.hv_enabled);
    assert_int_equal(config.flush_pages, 32);
    assert_true(config.console_enabled);
    assert_int_equal(config.console_port, 0x3F8);
    assert_int_equal(config.console_baud, 115200);
    assert_string_equal(config.boot_path, "");
    assert_string_equal(config.options, "");
}

static void test_all_keys(void **context)
{
    struct boot_config config =
        parse_ok("mode=passthrough\n"
                 "boot=\\EFI\\Linux\\vmlinuz.efi\n"
                 "options=console=ttyS0 root=/dev/sda1 # no comment\n"
                 "hv=off\nconsole=com2\nbaud=57600\nlog=debug\n"
                 "triplefault=halt\nguest-ipi=direct\n"
                 "hv-xmm-input=off\nhv-tlbflush-ext=on\nflush-pages=4096\n");

    (void)context;
    assert_string_equal(config.boot_path, "\\EFI\\Linux\\vmlinuz.efi");
    assert_string_equal(config.options, "console=ttyS0 root=/dev/sda1 # no comment");
    assert_false(config.hv_enabled);
    assert_int_equal(config.hv.xmm_input, CONFIG_SWITCH_OFF);
    assert_int_equal(config.hv.tlbflush_ext, CONFIG_SWITCH_ON);
    assert_int_equal(config.flush_pages, 4096);
    assert_int_equal(config.console_port, 0x2F8);
    assert_int_equal(config.console_baud, 57600);
    assert_int_equal(config.log_level, CONFIG_LOG_DEBUG);
    assert_int_equal(config.triple_fault, CONFIG_TRIPLE_FAULT_HALT);
    assert_int_equal(config.guest_ipi, CONFIG_GUEST_IPI_DIRECT);
}

static void test_layout(void **context)
{
    struct boot_config config;

    (void)context;
    config = parse_ok("\xEF\xBB\xBF# comment with \xC3\xA4\r\n\r\n  \t \r\n \tlog \t= error \t\r\n"
                      "#log=debug\r\noptions= a = b \r\nconsole=com3");
    assert_int_equal(config.log_level, CONFIG_LOG_ERROR);
    assert_string_equal(config.options, "a = b");
    assert_int_equal(config.console_port, 0x3E8);
    assert_string_equal(parse_ok("options=\n").options, "");
    assert_string_equal(parse_ok("options==\n").options, "=");
    assert_string_equal(parse_ok("options=a#b").options, "a#b");
    assert_string_equal(parse_ok("\n\n").options, "");
    assert_string_equal(parse_ok("#").options, "");
    assert_string_equal(parse_ok("\r\n").options, "");
}

static void test_console(void **context)
{
    static const struct {
        const char *text;
        unsigned int port;
    } cases[] = {
        {"console=com1", 0x3F8},    {"console=com2", 0x2F8}, {"console=com3", 0x3E8},
        {"console=com4", 0x2E8},    {"console=none", 0},     {"console=0x3f8", 0x3F8},
        {"console=0XB008", 0xB008}, {"console=0x1", 1},      {"console=0xFFF8", 0xFFF8},
    };

    (void)context;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct boot_config config = parse_ok(cases[i].text);

        assert_int_equal(config.console_enabled, cases[i].port != 0);
        assert_int_equal(config.console_port, cases[i].port);
    }
}

static void test_baud(void **context)
{
    (void)context;
    assert_int_equal(parse_ok("baud=115200").console_baud, 115200);
    assert_int_equal(parse_ok("baud=9600").console_baud, 9600);
    assert_int_equal(parse_ok("baud=50").console_baud, 50);
    assert_int_equal(parse_ok("baud=2").console_baud, 2);
}

static void test_refusals(void **context)
{
    static const struct {
        const char *text;
        unsigned int line;
        const char *reason;
    } cases[] = {
        {"colour=blue", 1, "unknown key 'colour'"},
        {"\n# x\n\nMODE=passthrough", 4, "unknown key 'MODE'"},
        {"log2=info", 1, "unknown key 'log2'"},
        {"lo=info", 1, "unknown key 'lo'"},
        {"logs=info", 1, "unknown key 'logs'"},
        {"=info", 1, "unknown key ''"},
        {"log", 1, "'log' is not of the form key=value"},
        {"log info", 1, "not of the form key=value"},
        {" # indented", 1, "not of the form key=value"},
        {"log=info\nlog=info", 2, "key 'log' is set twice"},
        {"log=", 1, "log=: must be error, warning, info or debug"},
        {"log=\x1B[2J\xFF", 1, "log=?[2J?: must be"},
        {"log=Info", 1, "log=Info: must be"},
        {"log=info # why", 1, "log=info # why: must be"},
        {"mode=overcommit", 1, "no overcommit mode yet"},
        {"mode=native", 1, "mode=native: must be passthrough"},
        {"hv-time=maybe", 1, "hv-time=maybe: must be auto, on or off"},
        {"hv-xmm-input=1", 1, "hv-xmm-input=1: must be auto, on or off"},
        {"flush-pages=", 1, "flush-pages=: must be a number from 0 to 4096"},
        {"flush-pages=4097", 1, "flush-pages=4097: must be a number from 0 to 4096"},
        {"flush-pages=0000032", 1, "flush-pages=0000032: must be a number from 0 to 4096"},
        {"flush-pages=-1", 1, "flush-pages=-1: must be a number from 0 to 4096"},
        {"hv=yes", 1, "hv=yes: must be on or off"},
        {"boot=", 1, "must be a path from the root"},
        {"boot=EFI\\x.efi", 1, "must be a path from the root"},
        {"boot=\\EFI\\\xC3\xA4.efi", 1, "not printable ASCII"},
        {"options=a\tb", 1, "not printable ASCII"},
        {"options=a\rb", 1, "not printable ASCII"},
        {"triplefault=reboot", 1, "must be reset or halt"},
        {"guest-ipi=", 1, "must be trap or direct"},
        {"console=com5", 1, "must be com1"},
        {"console=COM1", 1, "must be com1"},
        {"console=0x", 1, "must be com1"},
        {"console=0x0", 1, "must be com1"},
        {"console=0xfff9", 1, "must be com1"},
        {"console=0x10000", 1, "must be com1"},
        {"console=0x3g8", 1, "must be com1"},
        {"console=3f8", 1, "must be com1"},
        {"baud=0", 1, "must divide 115200"},
        {"baud=", 1, "must divide 115200"},
        {"baud=1", 1, "must divide 115200"},
        {"baud=115201", 1, "must divide 115200"},
        {"baud=230400", 1, "must divide 115200"},
        {"baud=-9600", 1, "must divide 115200"},
        {"baud=9600n1", 1, "must divide 115200"},
        {"baud=4294968896", 1, "must divide 115200"},
        {"l\xC3\xB6g=info", 1, "character 0xc3 in the name of a key"},
        {"l\x01og=info", 1, "character 0x01 in the name of a key"},
    };

    (void)context;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_refused(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].reason);
    }
    expect_refused("log=info\n\0", 10, 2, "a NUL byte");
    expect_refused("options=a\0b", 11, 1, "a NUL byte");
    expect_refused("#\0", 2, 1, "a NUL byte");
    expect_refused("\xFF\xFEl\0o\0g\0", 8, 1, "a NUL byte"); /* UTF-16 */
}

static void test_lengths(void **context)
{
    static char text[CONFIG_OPTIONS_CHARS + 16];
    static const struct {
        const char *key;
        size_t size;
    } cases[] = {{"boot=\\", CONFIG_PATH_CHARS}, {"options=x", CONFIG_OPTIONS_CHARS}};

    (void)context;
    for (size_t i = 0; i < 2; i++) {
        struct boot_config config;
        size_t key = strlen(cases[i].key) - 1; /* the last character belongs to the value */

        memset(text, 'y', sizeof(text));
        memcpy(text, cases[i].key, key + 1);
        text[key + cases[i].size - 1] = '\0';
        config = parse_ok(text);
        assert_int_equal(strlen(i == 0 ? config.boot_path : config.options), cases[i].size - 1);
        text[key + cases[i].size - 1] = 'y';
        text[key + cases[i].size] = '\0';
        expect_refused(text, strlen(text), 1, i == 0 ? "longer than 255" : "longer than 2047");
    }
    /* A long unknown key is shown in part. */
    memset(text, 'y', sizeof(text));
    text[sizeof(text) - 2] = '=';
    expect_refused(text, sizeof(text), 1, "unknown key 'yyyyyyyy");
}

static enum status parse_options(const char *text, struct boot_config *config,
                                 struct config_error *error)
{
    size_t bytes = strlen(text);
    char *copy = malloc(bytes + 1);
    enum status status;

    assert_non_null(copy);
    memcpy(copy, text, bytes);
    config_defaults(config);
    status = config_parse_options(copy, bytes, config, error);
    free(copy);
    return status;
}

static void test_load_option_words(void **context)
{
    struct boot_config config;
    struct config_error error;

    (void)context;
    assert_int_equal(parse_options("", &config, &error), STATUS_OK);
    assert_int_equal(parse_options("  sluice.efi ", &config, &error), STATUS_OK);
    assert_int_equal(parse_options("fs0:\\sluice.efi log=debug\tboot=\\a.efi", &config, &error),
                     STATUS_OK);
    assert_int_equal(config.log_level, CONFIG_LOG_DEBUG);
    assert_string_equal(config.boot_path, "\\a.efi");
    assert_int_equal(parse_options("options=root=/dev/sda", &config, &error), STATUS_OK);
    assert_string_equal(config.options, "root=/dev/sda");
    error.line = 7;
    assert_int_equal(parse_options("x.efi log=debug quiet", &config, &error), STATUS_MALFORMED);
    assert_int_equal(error.line, 0);
    assert_non_null(strstr(error.text, "'quiet' is not of the form key=value"));
    assert_int_equal(parse_options("log=info log=debug", &config, &error), STATUS_MALFORMED);
    assert_non_null(strstr(error.text, "set twice"));
    assert_int_equal(parse_options("log=loud", &config, &error), STATUS_MALFORMED);
    assert_int_equal(error.line, 0);
}

/* Load options go over the file. */
static void test_load_options_win(void **context)
{
    struct boot_config config;
    struct config_error error;

    (void)context;
    config_defaults(&config);
    assert_int_equal(config_parse("log=error\nbaud=9600", 19, &config, &error), STATUS_OK);
    assert_int_equal(config_parse_options("log=debug", 9, &config, &error), STATUS_OK);
    assert_int_equal(config.log_level, CONFIG_LOG_DEBUG);
    assert_int_equal(config.console_baud, 9600);
}

static void test_firmware_load_options(void **context)
{
    static const uint16_t text[] = {'l', 'o', 'g', '=', 'd', 'e', 'b', 'u', 'g', 0, 0xFFFF};
    static const uint16_t mark[] = {0xA2B3, 0x1122, 'l', 'o', 'g', '=', 'x'};
    static const uint16_t bad[] = {'l', 'o', 'g', '=', 'x'};
    static uint16_t longest[2049];
    struct boot_config config;
    struct config_error error;
    bool ignored;

    (void)context;
    config_defaults(&config);
    assert_int_equal(config_parse_load_options(text, sizeof(text), &config, &error, &ignored),
                     STATUS_OK);
    assert_false(ignored);
    assert_int_equal(config.log_level, CONFIG_LOG_DEBUG);
    assert_int_equal(config_parse_load_options(NULL, 0, &config, &error, &ignored), STATUS_OK);
    assert_false(ignored);
    assert_int_equal(config_parse_load_options(mark, sizeof(mark), &config, &error, &ignored),
                     STATUS_OK);
    assert_true(ignored);
    assert_int_equal(config_parse_load_options(text, 7, &config, &error, &ignored), STATUS_OK);
    assert_true(ignored);
    assert_int_equal(config_parse_load_options(bad, sizeof(bad), &config, &error, &ignored),
                     STATUS_MALFORMED);
    for (size_t i = 0; i < 2049; i++) {
        longest[i] = ' ';
    }
    assert_int_equal(config_parse_load_options(longest, 4096, &config, &error, &ignored),
                     STATUS_OK);
    assert_int_equal(config_parse_load_options(longest, 4098, &config, &error, &ignored),
                     STATUS_MALFORMED);
    assert_non_null(strstr(error.text, "longer than 2048"));
}

/* Any bytes: an answer, a bounded message, a line that exists. */
static void test_random_text(void **context)
{
    static const char *const parts[] = {
        "log=",         "info",           "\n",    "=",    "\r\n", "#",    " ",     "\t",
        "boot=\\",      "console=0x",     "baud=", "9600", "\0",   "\xFF", "mode=", "options=",
        "\xEF\xBB\xBF", "guest-ipi=trap", "hv=off"};
    uint32_t seed = 12345;

    (void)context;
    for (unsigned int round = 0; round < 20000; round++) {
        char text[256];
        size_t bytes = 0;
        unsigned int lines = 1;
        struct boot_config config;
        struct config_error error;

        while (bytes < 100 && (seed = seed * 1664525u + 1013904223u) >> 28 != 0) {
            const char *part = parts[(seed >> 8) % (sizeof(parts) / sizeof(parts[0]))];
            size_t length = strlen(part) > 0 ? strlen(part) : 1;

            memcpy(text + bytes, part, length);
            bytes += length;
            lines += part[0] == '\n' || part[0] == '\r';
        }
        if (parse_bytes(text, bytes, &config, &error) != STATUS_OK) {
            assert_in_range(error.line, 1, lines);
            assert_in_range(strlen(error.text), 5, sizeof(error.text) - 1);
        }
        if (config_parse_options(text, bytes, &config, &error) != STATUS_OK) {
            assert_int_equal(error.line, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_all_keys),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_console),
        cmocka_unit_test(test_baud),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_load_option_words),
        cmocka_unit_test(test_load_options_win),
        cmocka_unit_test(test_firmware_load_options),
        cmocka_unit_test(test_random_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
