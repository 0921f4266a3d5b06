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

static bool parse_number(struct slice value, unsigned int *number)
{
    size_t at;

    *number = 0;
    for (at = 0; at < value.length; at++) {
        if (value.text[at] < '0' || value.text[at] > '9' || *number > 100000000U) {
            return false;
        }
        *number = *number * 10 + (unsigned int)(value.text[at] - '0');
    }
    return value.length > 0;
}

/* The first step is there from the start, without a name, for files with one image only. */
static bool begin_step(struct slice name, struct config *config)
{
    struct config_step *last = &config->steps[config->step_count - 1];

    if (last->name[0] != '\0' || last->image[0] != '\0') {
        if (config->step_count == CONFIG_STEPS_MAX) {
            return false;
        }
        last++;
        config->step_count++;
        *last = (struct config_step){.lock_vmx = CONFIG_LOCK_OFF};
    }
    return name.length > 0 && slice_copy(name, last->name, sizeof(last->name));
}

static bool parse_setting(struct slice key, struct slice value, struct config *config)
{
    struct config_step *step = &config->steps[config->step_count - 1];

    if (slice_is(key, "step")) {
        return begin_step(value, config);
    }
    if (slice_is(key, "image")) {
        return slice_copy(value, step->image, sizeof(step->image));
    }
    if (slice_is(key, "options")) {
        return slice_copy(value, step->options, sizeof(step->options));
    }
    if (slice_is(key, "lockvmx")) {
        return parse_lock(value, &step->lock_vmx);
    }
    if (slice_is(key, "freemem")) {
        return parse_number(value, &step->free_kib);
    }
    if (slice_is(key, "acpi")) {
        return parse_flag(value, "on", "off", &config->install_acpi);
    }
    if (slice_is(key, "onreturn")) {
        return parse_flag(value, "firmware", "off", &config->return_to_firmware);
    }
    return false;
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
    return parse_setting(key, value, config);
}

unsigned int config_parse(const char *text, size_t size, struct config *config)
{
    size_t start = 0;
    unsigned int number = 1;

    config->install_acpi = false;
    config->return_to_firmware = false;
    config->step_count = 1;
    config->steps[0] = (struct config_step){.lock_vmx = CONFIG_LOCK_OFF};
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
