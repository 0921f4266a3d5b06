/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/config_internal.h"
#include "core/build.h"
#include "core/compiler.h"
#include "core/flush_vcpu.h"
#include "core/string.h"

/* The keys, one function each, and the list of all at the end. docs/configuration.md explains
 * them. */

#define BAUD_BASE 115200u

struct word {
    const char *name;
    unsigned int value;
};

/* A key whose value is one of some words. */
struct choice {
    const char *key;
    const char *rule; /* names the words */
    unsigned int count;
    struct word words[10];
};

void config_defaults(struct boot_config *out)
{
    *out = (struct boot_config){
        .mode = CONFIG_MODE_PASSTHROUGH,
        .log_level = CONFIG_LOG_INFO,
        .triple_fault = CONFIG_TRIPLE_FAULT_RESET,
        .guest_ipi = CONFIG_GUEST_IPI_TRAP,
        .hv_enabled = true,
        .flush_pages = FLUSH_PAGES_DEFAULT,
        .console_enabled = true,
        .console_port = 0x3F8,
        .console_baud = BAUD_BASE,
    };
}

/* Finds value among words; *out is its number. */
static bool find_word(struct piece value, const struct word *words, size_t count, unsigned int *out)
{
    for (size_t i = 0; i < count; i++) {
        if (config_piece_is(value, words[i].name)) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

/* One of a list of words. */
static bool choose(struct config_parser *parser, struct piece value, const struct choice *choice,
                   unsigned int *out)
{
    if (find_word(value, choice->words, choice->count, out)) {
        return true;
    }
    return config_refuse(parser, "%s=%.*s: must be %s", choice->key, config_shown(value),
                         value.text, choice->rule);
}

static bool set_mode(struct config_parser *parser, struct piece value)
{
    if (config_piece_is(value, "overcommit")) {
        return config_refuse(parser, "mode=overcommit: this version has no overcommit mode yet, "
                                     "only passthrough");
    }
    if (!config_piece_is(value, "passthrough")) {
        return config_refuse(parser, "mode=%.*s: must be passthrough", config_shown(value),
                             value.text);
    }
    parser->out->mode = CONFIG_MODE_PASSTHROUGH;
    return true;
}

static bool copy_text(struct config_parser *parser, const char *key, struct piece value, char *out,
                      size_t size)
{
    if (value.length >= size) {
        return config_refuse(parser, "%s: the value is longer than %zu characters", key, size - 1);
    }
    for (size_t i = 0; i < value.length; i++) {
        if (value.text[i] < ' ' || value.text[i] > '~') {
            return config_refuse(parser,
                                 "%s: the value has a character that is not printable ASCII", key);
        }
    }
    memcpy(out, value.text, value.length);
    out[value.length] = '\0';
    return true;
}

static bool set_boot(struct config_parser *parser, struct piece value)
{
    if (value.length == 0 || value.text[0] != '\\') {
        return config_refuse(parser,
                             "boot=%.*s: must be a path from the root of the volume, like "
                             "\\EFI\\BOOT\\other.efi",
                             config_shown(value), value.text);
    }
    return copy_text(parser, "boot", value, parser->out->boot_path, CONFIG_PATH_CHARS);
}

static bool set_options(struct config_parser *parser, struct piece value)
{
    return copy_text(parser, "options", value, parser->out->options, CONFIG_OPTIONS_CHARS);
}

static bool set_hv(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {"hv", "on or off", 2, {{"on", 1}, {"off", 0}}};
    unsigned int is_on = 0;
    bool is_known = choose(parser, value, &choice, &is_on);

    parser->out->hv_enabled = is_on != 0;
    return is_known;
}

/* The switches of the Microsoft interface: what is not auto in the end is on or off. */
static bool set_switch(struct config_parser *parser, struct piece value, const char *key,
                       enum config_switch *out)
{
    unsigned int choice = CONFIG_SWITCH_AUTO;
    static const struct word words[] = {
        {"auto", CONFIG_SWITCH_AUTO}, {"on", CONFIG_SWITCH_ON}, {"off", CONFIG_SWITCH_OFF}};

    if (!find_word(value, words, ARRAY_LEN(words), &choice)) {
        return config_refuse(parser, "%s=%.*s: must be auto, on or off", key, config_shown(value),
                             value.text);
    }
    *out = (enum config_switch)choice;
    return true;
}

#define HV_SWITCH(name)                                                         \
    static bool set_hv_##name(struct config_parser *parser, struct piece value) \
    {                                                                           \
        return set_switch(parser, value, "hv-" #name, &parser->out->hv.name);   \
    }

HV_SWITCH(tlbflush)
HV_SWITCH(time)
HV_SWITCH(frequencies)
HV_SWITCH(vapic)
HV_SWITCH(vpindex)
HV_SWITCH(runtime)

static bool set_hv_tlbflush_ext(struct config_parser *parser, struct piece value)
{
    return set_switch(parser, value, "hv-tlbflush-ext", &parser->out->hv.tlbflush_ext);
}

static bool set_hv_xmm_input(struct config_parser *parser, struct piece value)
{
    return set_switch(parser, value, "hv-xmm-input", &parser->out->hv.xmm_input);
}

static bool set_hv_tsc_invariant(struct config_parser *parser, struct piece value)
{
    return set_switch(parser, value, "hv-tsc-invariant", &parser->out->hv.tsc_invariant);
}

static int hex_digit(char character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + 10;
    }
    if (character >= 'A' && character <= 'F') {
        return character - 'A' + 10;
    }
    return -1;
}

/* 0x and one to four hexadecimal digits: a port with room for the UART's eight registers. */
static bool parse_port(struct piece value, unsigned int *port)
{
    *port = 0;
    if (value.length < 3 || value.length > 6 || value.text[0] != '0' ||
        (value.text[1] != 'x' && value.text[1] != 'X')) {
        return false;
    }
    for (size_t i = 2; i < value.length; i++) {
        int digit = hex_digit(value.text[i]);

        if (digit < 0) {
            return false;
        }
        *port = *port * 16 + (unsigned int)digit;
    }
    return *port != 0 && *port <= 0xFFF8;
}

static bool set_console(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {
        "console",
        "com1, com2, com3, com4, none, or a port as in 0x3f8, at most 0xfff8",
        5,
        {{"com1", 0x3F8}, {"com2", 0x2F8}, {"com3", 0x3E8}, {"com4", 0x2E8}, {"none", 0}}};
    unsigned int port;

    if (!parse_port(value, &port) && !choose(parser, value, &choice, &port)) {
        return false;
    }
    parser->out->console_enabled = port != 0;
    parser->out->console_port = (uint16_t)port;
    return true;
}

/* A decimal number of at most 6 digits, which cannot overflow. */
static bool read_decimal(struct piece value, uint32_t *out)
{
    *out = 0;
    if (value.length == 0 || value.length > 6) {
        return false;
    }
    for (size_t i = 0; i < value.length; i++) {
        if (value.text[i] < '0' || value.text[i] > '9') {
            return false;
        }
        *out = *out * 10 + (uint32_t)(value.text[i] - '0');
    }
    return true;
}

static bool set_baud(struct config_parser *parser, struct piece value)
{
    uint32_t baud;

    if (!read_decimal(value, &baud) || baud == 0 || BAUD_BASE % baud != 0 ||
        BAUD_BASE / baud > 0xFFFF) {
        return config_refuse(parser,
                             "baud=%.*s: must divide 115200, like 115200, 57600, 38400, 9600",
                             config_shown(value), value.text);
    }
    parser->out->console_baud = baud;
    return true;
}

static bool set_flush_pages(struct config_parser *parser, struct piece value)
{
    uint32_t pages;

    if (!read_decimal(value, &pages) || pages > FLUSH_PAGES_LIMIT) {
        return config_refuse(parser, "flush-pages=%.*s: must be a number from 0 to 4096",
                             config_shown(value), value.text);
    }
    parser->out->flush_pages = pages;
    return true;
}

static bool set_log(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {"log",
                                         "error, warning, info or debug",
                                         4,
                                         {{"error", CONFIG_LOG_ERROR},
                                          {"warning", CONFIG_LOG_WARNING},
                                          {"info", CONFIG_LOG_INFO},
                                          {"debug", CONFIG_LOG_DEBUG}}};
    unsigned int level = 0;
    bool is_known = choose(parser, value, &choice, &level);

    parser->out->log_level = (enum config_log_level)level;
    return is_known;
}

static bool set_triplefault(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {
        "triplefault",
        "reset or halt",
        2,
        {{"reset", CONFIG_TRIPLE_FAULT_RESET}, {"halt", CONFIG_TRIPLE_FAULT_HALT}}};
    unsigned int action = 0;
    bool is_known = choose(parser, value, &choice, &action);

    parser->out->triple_fault = (enum config_triple_fault)action;
    return is_known;
}

static bool set_guest_ipi(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {
        "guest-ipi",
        "trap or direct",
        2,
        {{"trap", CONFIG_GUEST_IPI_TRAP}, {"direct", CONFIG_GUEST_IPI_DIRECT}}};
    unsigned int way = 0;
    bool is_known = choose(parser, value, &choice, &way);

    parser->out->guest_ipi = (enum config_guest_ipi)way;
    return is_known;
}

static bool set_inject(struct config_parser *parser, struct piece value)
{
    static const struct choice choice = {"inject",
                                         "the name of a fault (core/boot_config.h)",
                                         10,
                                         {{"lp1-caps", CONFIG_INJECT_LP1_CAPS},
                                          {"lp1-vmxon", CONFIG_INJECT_LP1_VMXON},
                                          {"lp1-entry", CONFIG_INJECT_LP1_ENTRY},
                                          {"lp1-state", CONFIG_INJECT_LP1_STATE},
                                          {"bsp-entry", CONFIG_INJECT_BSP_ENTRY},
                                          {"vmlaunch", CONFIG_INJECT_VMLAUNCH},
                                          {"vmresume", CONFIG_INJECT_VMRESUME},
                                          {"entry-state", CONFIG_INJECT_ENTRY_STATE},
                                          {"panic", CONFIG_INJECT_PANIC},
                                          {"skip-flush-target", CONFIG_INJECT_SKIP_FLUSH_TARGET}}};
    unsigned int fault = 0;
    bool is_known;

    if (!BUILD_HAS_INJECTION) {
        return config_refuse(parser, "inject: only a build for tests has fault injection");
    }
    is_known = choose(parser, value, &choice, &fault);
    parser->out->inject = (enum config_inject)fault;
    return is_known;
}

const struct config_key config_keys[CONFIG_KEY_COUNT] = {
    {"mode", set_mode},
    {"boot", set_boot},
    {"options", set_options},
    {"hv", set_hv},
    {"hv-tlbflush", set_hv_tlbflush},
    {"hv-tlbflush-ext", set_hv_tlbflush_ext},
    {"hv-xmm-input", set_hv_xmm_input},
    {"flush-pages", set_flush_pages},
    {"hv-time", set_hv_time},
    {"hv-frequencies", set_hv_frequencies},
    {"hv-vapic", set_hv_vapic},
    {"hv-vpindex", set_hv_vpindex},
    {"hv-runtime", set_hv_runtime},
    {"hv-tsc-invariant", set_hv_tsc_invariant},
    {"console", set_console},
    {"baud", set_baud},
    {"log", set_log},
    {"triplefault", set_triplefault},
    {"guest-ipi", set_guest_ipi},
    {"inject", set_inject},
};
