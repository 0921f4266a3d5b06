/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/fmt.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/string.h"

#define DIGITS_MAX 20u     /* of UINT64_MAX in decimal */
#define WIDTH_MAX  1000000 /* larger ones are a mistake in the format */

/* Where the text goes. length counts on when the buffer is full. */
struct output {
    char *out;
    size_t size;
    size_t length;
};

/* One conversion, from the character after '%'. */
struct conversion {
    bool is_left;
    bool is_zero_padded;
    bool has_precision;
    int width;
    int precision;
    int length; /* -2 hh, -1 h, 0 none, 1 l, 2 ll, 3 z */
    char kind;
};

/* va_list as a parameter may be an array type, which decays: hand it around inside a struct. */
struct arguments {
    va_list list;
};

static void put(struct output *output, char character)
{
    if (output->length + 1 < output->size) {
        output->out[output->length] = character;
    }
    output->length++;
}

static void put_many(struct output *output, char character, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(output, character);
    }
}

static void put_bytes(struct output *output, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(output, text[i]);
    }
}

/* Text with blanks around it, as width and '-' ask. */
static void put_padded(struct output *output, const struct conversion *conversion, const char *text,
                       size_t count)
{
    size_t width = (size_t)conversion->width;
    size_t padding = width > count ? width - count : 0;

    if (!conversion->is_left) {
        put_many(output, ' ', padding);
    }
    put_bytes(output, text, count);
    if (conversion->is_left) {
        put_many(output, ' ', padding);
    }
}

static void put_number(struct output *output, const struct conversion *conversion, uint64_t value,
                       unsigned int base, const char *prefix)
{
    const char *digits = conversion->kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[DIGITS_MAX];
    size_t first = DIGITS_MAX;
    size_t prefix_length = str_length(prefix, 2);
    size_t width = (size_t)conversion->width;
    size_t padding;

    do {
        text[--first] = digits[value % base];
        value /= base;
    } while (value != 0);
    padding = DIGITS_MAX - first + prefix_length;
    padding = width > padding ? width - padding : 0;
    if (!conversion->is_left && !conversion->is_zero_padded) {
        put_many(output, ' ', padding);
    }
    put_bytes(output, prefix, prefix_length);
    if (!conversion->is_left && conversion->is_zero_padded) {
        put_many(output, '0', padding);
    }
    put_bytes(output, text + first, DIGITS_MAX - first);
    if (conversion->is_left) {
        put_many(output, ' ', padding);
    }
}

static int64_t take_signed(int length, struct arguments *args)
{
    switch (length) {
    case -2:
        return (signed char)va_arg(args->list, int);
    case -1:
        return (short)va_arg(args->list, int);
    case 1:
        return va_arg(args->list, long);
    case 2:
        return va_arg(args->list, long long);
    case 3:
        return (int64_t)va_arg(args->list, size_t);
    default:
        return va_arg(args->list, int);
    }
}

static uint64_t take_unsigned(int length, struct arguments *args)
{
    switch (length) {
    case -2:
        return (unsigned char)va_arg(args->list, unsigned int);
    case -1:
        return (unsigned short)va_arg(args->list, unsigned int);
    case 1:
        return va_arg(args->list, unsigned long);
    case 2:
        return va_arg(args->list, unsigned long long);
    case 3:
        return va_arg(args->list, size_t);
    default:
        return va_arg(args->list, unsigned int);
    }
}

static void put_signed(struct output *output, const struct conversion *conversion,
                       struct arguments *args)
{
    int64_t value = take_signed(conversion->length, args);
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    put_number(output, conversion, magnitude, 10, value < 0 ? "-" : "");
}

static void put_string(struct output *output, const struct conversion *conversion,
                       struct arguments *args)
{
    const char *text = va_arg(args->list, const char *);
    size_t limit = conversion->has_precision ? (size_t)conversion->precision : SIZE_MAX;

    if (text == NULL) {
        text = "(null)";
    }
    put_padded(output, conversion, text, str_length(text, limit));
}

/* A number or '*'. Leaves *format behind it; -1 for a negative '*' argument is the caller's. */
static int parse_count(const char **format, struct arguments *args)
{
    int value = 0;

    if (**format == '*') {
        (*format)++;
        value = va_arg(args->list, int);
        if (value > WIDTH_MAX || value < -WIDTH_MAX) {
            value = value < 0 ? -WIDTH_MAX : WIDTH_MAX;
        }
        return value;
    }
    while (**format >= '0' && **format <= '9') {
        if (value < WIDTH_MAX) {
            value = value * 10 + (**format - '0');
        }
        (*format)++;
    }
    return value < WIDTH_MAX ? value : WIDTH_MAX;
}

static int parse_length(const char **format)
{
    const char *at = *format;
    int length = 0;

    if (at[0] == 'h') {
        length = at[1] == 'h' ? -2 : -1;
    } else if (at[0] == 'l') {
        length = at[1] == 'l' ? 2 : 1;
    } else if (at[0] == 'z') {
        length = 3;
    }
    if (length != 0) {
        *format += (length == -2 || length == 2) ? 2 : 1;
    }
    return length;
}

/* Reads a conversion; format stands behind '%'. Returns where the text goes on. */
static const char *parse_conversion(const char *format, struct conversion *out,
                                    struct arguments *args)
{
    *out = (struct conversion){0};
    while (*format == '0' || *format == '-') {
        if (*format == '-') {
            out->is_left = true;
        } else {
            out->is_zero_padded = true;
        }
        format++;
    }
    out->width = parse_count(&format, args);
    if (out->width < 0) {
        out->is_left = true;
        out->width = -out->width;
    }
    if (*format == '.') {
        format++;
        out->precision = parse_count(&format, args);
        out->has_precision = out->precision >= 0;
    }
    out->length = parse_length(&format);
    out->kind = *format;
    return *format != '\0' ? format + 1 : format;
}

/* Prints one argument. False: the conversion is none that we know. */
static bool put_conversion(struct output *output, const struct conversion *conversion,
                           struct arguments *args)
{
    bool is_plain = conversion->length == 0;
    char character;

    if (conversion->has_precision && conversion->kind != 's') {
        return false;
    }
    switch (conversion->kind) {
    case 'd':
    case 'i':
        put_signed(output, conversion, args);
        return true;
    case 'u':
        put_number(output, conversion, take_unsigned(conversion->length, args), 10, "");
        return true;
    case 'x':
    case 'X':
        put_number(output, conversion, take_unsigned(conversion->length, args), 16, "");
        return true;
    case 'p':
        if (is_plain) {
            put_number(output, conversion, (uintptr_t)va_arg(args->list, void *), 16, "0x");
        }
        return is_plain;
    case 'c':
        if (is_plain) {
            character = (char)va_arg(args->list, int);
            put_padded(output, conversion, &character, 1);
        }
        return is_plain;
    case 's':
        if (is_plain) {
            put_string(output, conversion, args);
        }
        return is_plain;
    default:
        return false;
    }
}

size_t fmt_vprint(char *out, size_t size, const char *format, va_list args)
{
    struct output output = {out, size, 0};
    struct arguments arguments;

    va_copy(arguments.list, args);
    while (*format != '\0') {
        struct conversion conversion;
        const char *start = format;

        if (*format != '%') {
            put(&output, *format++);
            continue;
        }
        if (format[1] == '%') {
            put(&output, '%');
            format += 2;
            continue;
        }
        format = parse_conversion(format + 1, &conversion, &arguments);
        if (!put_conversion(&output, &conversion, &arguments)) {
            put_bytes(&output, start, (size_t)(format - start));
        }
    }
    va_end(arguments.list);
    if (size > 0) {
        out[output.length < size ? output.length : size - 1] = '\0';
    }
    return output.length;
}

size_t fmt_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    size_t length;

    va_start(args, format);
    length = fmt_vprint(out, size, format, args);
    va_end(args);
    return length;
}
