/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/acpi.h"

#include "boot/acpi_internal.h"
#include "core/string.h"

/* RSDP (ACPI specification, "Root System Description Pointer (RSDP)"). */
#define RSDP_V1_BYTES 20u
#define RSDP_V2_BYTES 36u
#define RSDP_REVISION 15u
#define RSDP_RSDT     16u
#define RSDP_LENGTH   20u
#define RSDP_XSDT     24u

#define TABLE_LENGTH    4u
#define TABLE_BYTES_MAX (64u << 20) /* more is nonsense, and would take long to sum up */

/* MADT (ACPI specification, "Multiple APIC Description Table (MADT)"). */
#define MADT_FIRST_ENTRY      44u
#define MADT_LOCAL_APIC       0u
#define MADT_LOCAL_APIC_BYTES 8u
#define MADT_LOCAL_X2APIC     9u
#define MADT_X2APIC_BYTES     16u
#define MADT_FLAG_ENABLED     0x1u
#define MADT_FLAG_ONLINE      0x2u
#define XAPIC_ID_NONE         0xFFu
#define X2APIC_ID_NONE        0xFFFFFFFFu

static uint64_t read_bytes(const uint8_t *bytes, unsigned int count)
{
    uint64_t value = 0;

    for (unsigned int i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

uint64_t acpi_field(const struct acpi_table *table, uint32_t offset, unsigned int bytes)
{
    if (offset > table->length || bytes > table->length - offset) {
        return 0;
    }
    return read_bytes(table->bytes + offset, bytes);
}

/* "All bytes must sum to zero". */
static bool checksum_is_right(const uint8_t *bytes, uint32_t count)
{
    uint8_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum = (uint8_t)(sum + bytes[i]);
    }
    return sum == 0;
}

bool acpi_table_is(const struct acpi_table *table, const char *signature)
{
    return memcmp(table->bytes, signature, 4) == 0;
}

bool acpi_table_at(const struct acpi_reader *reader, uint64_t address, struct acpi_table *out)
{
    const uint8_t *header;
    uint64_t length;

    if (address == 0) {
        return false;
    }
    header = reader->map(reader->context, address, ACPI_HEADER_BYTES);
    if (header == NULL) {
        return false;
    }
    length = read_bytes(header + TABLE_LENGTH, 4);
    if (length < ACPI_HEADER_BYTES || length > TABLE_BYTES_MAX) {
        return false;
    }
    out->bytes = reader->map(reader->context, address, length);
    out->length = (uint32_t)length;
    out->address = address;
    return out->bytes != NULL && checksum_is_right(out->bytes, out->length);
}

static bool open_list(struct acpi_root *root, uint64_t address, const char *signature,
                      unsigned int pointer_bytes)
{
    root->pointer_bytes = pointer_bytes;
    return acpi_table_at(&root->reader, address, &root->list) &&
           acpi_table_is(&root->list, signature);
}

enum status acpi_open(struct acpi_root *root, const struct acpi_reader *reader, uint64_t address)
{
    const uint8_t *rsdp = reader->map(reader->context, address, RSDP_V1_BYTES);
    uint64_t rsdt;
    uint64_t length;

    *root = (struct acpi_root){.reader = *reader};
    if (rsdp == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (memcmp(rsdp, "RSD PTR ", 8) != 0 || !checksum_is_right(rsdp, RSDP_V1_BYTES)) {
        return STATUS_MALFORMED;
    }
    rsdt = read_bytes(rsdp + RSDP_RSDT, 4);
    if (rsdp[RSDP_REVISION] >= 2) {
        rsdp = reader->map(reader->context, address, RSDP_V2_BYTES);
        if (rsdp == NULL) {
            return STATUS_NOT_FOUND;
        }
        length = read_bytes(rsdp + RSDP_LENGTH, 4);
        if (length < RSDP_V2_BYTES || length > 4096) {
            return STATUS_MALFORMED;
        }
        rsdp = reader->map(reader->context, address, length);
        if (rsdp == NULL) {
            return STATUS_NOT_FOUND;
        }
        if (!checksum_is_right(rsdp, (uint32_t)length)) {
            return STATUS_MALFORMED;
        }
        if (open_list(root, read_bytes(rsdp + RSDP_XSDT, 8), "XSDT", 8)) {
            return STATUS_OK;
        }
    }
    return open_list(root, rsdt, "RSDT", 4) ? STATUS_OK : STATUS_MALFORMED;
}

bool acpi_find(const struct acpi_root *root, const char *signature, unsigned int instance,
               struct acpi_table *out)
{
    uint32_t offset = ACPI_HEADER_BYTES;

    for (; root->list.length - offset >= root->pointer_bytes; offset += root->pointer_bytes) {
        uint64_t address = acpi_field(&root->list, offset, root->pointer_bytes);
        const uint8_t *header = NULL;

        if (address != 0) {
            header = root->reader.map(root->reader.context, address, ACPI_HEADER_BYTES);
        }
        if (header == NULL || memcmp(header, signature, 4) != 0 ||
            !acpi_table_at(&root->reader, address, out)) {
            continue;
        }
        if (instance == 0) {
            return true;
        }
        instance--;
    }
    return false;
}

/* Adds a processor, unless it is there: an id that is listed twice is enabled if either entry is.
 * False: the list is full. */
static bool add_lp(struct acpi_lp *lps, size_t capacity, size_t *count, const struct acpi_lp *lp)
{
    for (size_t i = 0; i < *count; i++) {
        if (lps[i].apic_id == lp->apic_id) {
            lps[i].is_enabled = lps[i].is_enabled || lp->is_enabled;
            lps[i].is_online_capable = !lps[i].is_enabled;
            return true;
        }
    }
    if (*count == capacity) {
        return false;
    }
    lps[(*count)++] = *lp;
    return true;
}

/* Reads one entry; false: it names no processor that could run. */
static bool read_lp(const struct acpi_table *madt, uint32_t offset, uint32_t length,
                    struct acpi_lp *out)
{
    uint64_t type = acpi_field(madt, offset, 1);
    uint64_t flags = 0;

    if (type == MADT_LOCAL_APIC && length >= MADT_LOCAL_APIC_BYTES) {
        out->apic_id = (uint32_t)acpi_field(madt, offset + 3, 1);
        flags = out->apic_id != XAPIC_ID_NONE ? acpi_field(madt, offset + 4, 4) : 0;
    } else if (type == MADT_LOCAL_X2APIC && length >= MADT_X2APIC_BYTES) {
        out->apic_id = (uint32_t)acpi_field(madt, offset + 4, 4);
        flags = out->apic_id != X2APIC_ID_NONE ? acpi_field(madt, offset + 8, 4) : 0;
    }
    out->is_enabled = (flags & MADT_FLAG_ENABLED) != 0;
    out->is_online_capable = !out->is_enabled && (flags & MADT_FLAG_ONLINE) != 0;
    return out->is_enabled || out->is_online_capable;
}

enum status acpi_madt_lps(const struct acpi_root *root, struct acpi_lp *lps, size_t capacity,
                          size_t *count)
{
    struct acpi_table madt;
    uint32_t offset = MADT_FIRST_ENTRY;

    *count = 0;
    if (!acpi_find(root, "APIC", 0, &madt)) {
        return STATUS_NOT_FOUND;
    }
    while (offset < madt.length) {
        uint32_t length = (uint32_t)acpi_field(&madt, offset + 1, 1);
        struct acpi_lp lp;

        if (length < 2 || length > madt.length - offset) {
            return STATUS_MALFORMED;
        }
        if (read_lp(&madt, offset, length, &lp) && !add_lp(lps, capacity, count, &lp)) {
            return STATUS_OUT_OF_RANGE;
        }
        offset += length;
    }
    return STATUS_OK;
}
