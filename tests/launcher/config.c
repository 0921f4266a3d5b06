/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/launcher/config.h"

struct slice {
    const char *text;
    size_t length;
};

static bool slice_is(struct slice slice, const char *word)
{
    size_t at;

    for (at = 0; at < slice.length; at++) {
        if (word[at] == '\0' || word[at] != slice.text[at]) {
            return false;
        }
    }
    return word[at] == '\0';
}

static bool slice_copy(struct slice slice, char *target, size_t size)
{
    size_t at;

    if (slice.length >= size) {
        return false;
    }
    for (at = 0; at < slice.length; at++) {
        target[at] = slice.text[at];
    }
    target[at] = '\0';
    return true;
}

static bool parse_flag(struct slice value, const char *yes, const char *no, bool *flag)
{
    *flag = slice_is(value, yes);
    return *flag || slice_is(value, no);
}

static bool parse_lock(struct slice value, enum config_lock *lock)
{
    if (slice_is(value, "on")) {
        *lock = CONFIG_LOCK_ALL;
    } else if (slice_is(value, "last")) {
        *lock = CONFIG_LOCK_LAST;
    } else if (slice_is(value, "off")) {
        *lock = CONFIG_LOCK_OFF;
    } else {
        return false;
    }
    return true;
}

static bool parse_line(struct slice line, struct config *config)
{
    struct slice key = {line.text, 0};
    struct slice value;

    if (line.length == 0 || line.text[0] == '#') {
        return true;
    }
    while (key.length < line.length && line.text[key.length] != '=') {
        key.length++;
    }
    if (key.length == line.length) {
        return false;
    }
    value.text = line.text + key.length + 1;
    value.length = line.length - key.length - 1;
    if (slice_is(key, "image")) {
        return slice_copy(value, config->image, sizeof(config->image));
    }
    if (slice_is(key, "options")) {
        return slice_copy(value, config->options, sizeof(config->options));
    }
    if (slice_is(key, "acpi")) {
        return parse_flag(value, "on", "off", &config->install_acpi);
    }
    if (slice_is(key, "lockvmx")) {
        return parse_lock(value, &config->lock_vmx);
    }
    if (slice_is(key, "onreturn")) {
        return parse_flag(value, "firmware", "off", &config->return_to_firmware);
    }
    return false;
}

unsigned int config_parse(const char *text, size_t size, struct config *config)
{
    size_t start = 0;
    unsigned int number = 1;

    config->image[0] = '\0';
    config->options[0] = '\0';
    config->install_acpi = false;
    config->lock_vmx = CONFIG_LOCK_OFF;
    config->return_to_firmware = false;
    while (start < size) {
        struct slice line = {text + start, 0};

        while (start + line.length < size && line.text[line.length] != '\n') {
            line.length++;
        }
        start += line.length + 1;
        if (line.length > 0 && line.text[line.length - 1] == '\r') {
            line.length--;
        }
        if (!parse_line(line, config)) {
            return number;
        }
        number++;
    }
    return 0;
}
