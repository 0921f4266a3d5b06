/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/resident.h"

#include "core/string.h"

/* From linker.ld. */
extern const char image_start[], image_end[];
extern const char image_text_start[], image_text_end[];
extern const char image_rodata_start[], image_rodata_end[];
extern const char image_relro_start[], image_relro_end[];
extern const char image_rela_start[], image_rela_end[];

#define R_X86_64_RELATIVE 8u

struct elf_rela {
    uint64_t offset;
    uint64_t info;
    uint64_t addend;
};

/* The linker's symbols bound one object, the image; to C they are unrelated arrays. */
static uint64_t address_of(const void *symbol)
{
    return (uint64_t)(uintptr_t)symbol;
}

uint64_t resident_image_bytes(void)
{
    return address_of(image_end) - address_of(image_start);
}

uint64_t resident_address(uint64_t target, const void *address)
{
    return target + (address_of(address) - address_of(image_start));
}

enum status resident_copy(uint64_t target)
{
    const struct elf_rela *rela = (const struct elf_rela *)(const void *)image_rela_start;
    uint64_t count = (address_of(image_rela_end) - address_of(image_rela_start)) / sizeof(*rela);

    memcpy((void *)(uintptr_t)target, image_start, resident_image_bytes());
    for (uint64_t i = 0; i < count; i++, rela++) {
        if ((uint32_t)rela->info == 0) {
            continue; /* R_X86_64_NONE, in the padding */
        }
        if ((uint32_t)rela->info != R_X86_64_RELATIVE) {
            return STATUS_MALFORMED;
        }
        *(uint64_t *)(uintptr_t)(target + rela->offset) = target + rela->addend;
    }
    return STATUS_OK;
}

static enum status protect(struct host_pt *tables, uint64_t target, const char *start,
                           const char *end, enum host_pt_rights rights)
{
    return host_pt_protect(tables, resident_address(target, start),
                           address_of(end) - address_of(start), rights);
}

enum status resident_protect(struct host_pt *tables, uint64_t target)
{
    enum status status =
        protect(tables, target, image_text_start, image_text_end, HOST_PT_READ_EXECUTE);

    if (status == STATUS_OK) {
        status = protect(tables, target, image_rodata_start, image_rodata_end, HOST_PT_READ);
    }
    if (status == STATUS_OK) {
        status = protect(tables, target, image_relro_start, image_relro_end, HOST_PT_READ);
    }
    return status;
}
