/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/config.h"

#include "boot/config_internal.h"
#include "core/fmt.h"
#include "core/string.h"

#define LOAD_OPTIONS_CHARS 2048u
#define SHOWN_CHARS        40

bool config_refuse(struct config_parser *parser, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fmt_vprint(parser->error->text, sizeof(parser->error->text), format, args);
    va_end(args);
    for (char *at = parser->error->text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?'; /* a terminal will show it */
        }
    }
    parser->error->line = parser->line;
    return false;
}

int config_shown(struct piece piece)
{
    return piece.length < SHOWN_CHARS ? (int)piece.length : SHOWN_CHARS;
}

bool config_piece_is(struct piece piece, const char *text)
{
    return str_length(text, piece.length + 1) == piece.length &&
           memcmp(piece.text, text, piece.length) == 0;
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

static struct piece trim(struct piece piece)
{
    while (piece.length > 0 && is_blank(piece.text[0])) {
        piece.text++;
        piece.length--;
    }
    while (piece.length > 0 && is_blank(piece.text[piece.length - 1])) {
        piece.length--;
    }
    return piece;
}

/* One key=value, blanks around it dropped already. */
static bool parse_setting(struct config_parser *parser, struct piece setting)
{
    struct piece key = setting;
    struct piece value;
    size_t equals = 0;

    while (equals < setting.length && setting.text[equals] != '=') {
        equals++;
    }
    key.length = equals;
    key = trim(key);
    for (size_t i = 0; i < key.length; i++) {
        if (key.text[i] < ' ' || key.text[i] > '~') {
            return config_refuse(parser, "character 0x%02x in the name of a key",
                                 (unsigned int)(unsigned char)key.text[i]);
        }
    }
    if (equals == setting.length) {
        return config_refuse(parser, "'%.*s' is not of the form key=value", config_shown(key),
                             key.text);
    }
    value.text = setting.text + equals + 1;
    value.length = setting.length - equals - 1;
    for (size_t i = 0; i < CONFIG_KEY_COUNT; i++) {
        if (config_piece_is(key, config_keys[i].name)) {
            if ((parser->seen & (1u << i)) != 0) {
                return config_refuse(parser, "key '%s' is set twice", config_keys[i].name);
            }
            parser->seen |= 1u << i;
            return config_keys[i].set(parser, trim(value));
        }
    }
    return config_refuse(parser, "unknown key '%.*s'", config_shown(key), key.text);
}

static bool parse_line(struct config_parser *parser, struct piece line)
{
    if (line.length > 0 && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    for (size_t i = 0; i < line.length; i++) {
        if (line.text[i] == '\0') {
            return config_refuse(parser, "a NUL byte: is this a text file in ASCII or UTF-8?");
        }
    }
    if (line.length > 0 && line.text[0] == '#') {
        return true;
    }
    line = trim(line);
    return line.length == 0 || parse_setting(parser, line);
}

enum status config_parse(const char *text, size_t bytes, struct boot_config *out,
                         struct config_error *error)
{
    struct config_parser parser = {.out = out, .error = error};
    size_t at = 0;

    *error = (struct config_error){0};
    if (bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        at = 3;
    }
    while (at < bytes) {
        struct piece line = {text + at, 0};

        while (at + line.length < bytes && text[at + line.length] != '\n') {
            line.length++;
        }
        at += line.length + 1;
        parser.line++;
        if (!parse_line(&parser, line)) {
            return STATUS_MALFORMED;
        }
    }
    return STATUS_OK;
}

enum status config_parse_options(const char *text, size_t bytes, struct boot_config *out,
                                 struct config_error *error)
{
    struct config_parser parser = {.out = out, .error = error};
    size_t end = str_length(text, bytes);
    size_t at = 0;
    bool is_first = true;

    *error = (struct config_error){0};
    while (at < end) {
        struct piece word = {text + at, 0};
        bool has_equals = false;

        if (is_blank(text[at])) {
            at++;
            continue;
        }
        while (at + word.length < end && !is_blank(word.text[word.length])) {
            has_equals = has_equals || word.text[word.length] == '=';
            word.length++;
        }
        at += word.length;
        if ((has_equals || !is_first) && !parse_setting(&parser, word)) {
            return STATUS_MALFORMED;
        }
        is_first = false;
    }
    return STATUS_OK;
}

enum status config_parse_load_options(const uint16_t *text, size_t bytes, struct boot_config *out,
                                      struct config_error *error, bool *ignored)
{
    char narrow[LOAD_OPTIONS_CHARS];
    size_t length = 0;

    *error = (struct config_error){0};
    *ignored = bytes % 2 != 0;
    while (!*ignored && length < bytes / 2 && text[length] != 0) {
        uint16_t character = text[length];

        if (character != '\t' && (character < ' ' || character > '~')) {
            *ignored = true;
        } else if (length == LOAD_OPTIONS_CHARS) {
            (void)fmt_print(error->text, sizeof(error->text), "longer than %u characters",
                            LOAD_OPTIONS_CHARS);
            return STATUS_MALFORMED;
        } else {
            narrow[length++] = (char)character;
        }
    }
    if (*ignored) {
        return STATUS_OK;
    }
    return config_parse_options(narrow, length, out, error);
}
