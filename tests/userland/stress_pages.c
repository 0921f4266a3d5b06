/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "stress_pages.h"

#include <sys/mman.h>
#include <unistd.h>

/* Each piece lies in a range of its own that has its own page table, so unmapping frees that
 * too. */
#define SLOT_BYTES (2u << 20)
#define AREA_SLOTS (PIECE_COUNT + 2u)
#define BACKINGS   2u
/* More pages than Linux flushes one by one: a flush of the whole address space. */
#define LONG_PAGES     64u
#define READ_AND_WRITE (PROT_READ | PROT_WRITE)

struct piece pieces[PIECE_COUNT];

static struct page_words *away;  /* where pieces are moved to and back from */
static struct page_words *alias; /* the whole file, always mapped */
static int file;
static uint64_t last_generation;

static const char *const change_names[CHANGE_COUNT] = {
    [CHANGE_READ_ONLY] = "mprotect-read",
    [CHANGE_NO_ACCESS] = "mprotect-none",
    [CHANGE_MAP_AGAIN] = "munmap-mmap",
    [CHANGE_MAP_OVER] = "mmap-over",
    [CHANGE_MOVE] = "mremap",
    [CHANGE_DISCARD] = "dontneed",
    [CHANGE_PUNCH] = "remove",
};

static const char *const kind_names[KIND_COUNT] = {
    [KIND_SHARED] = "shared",
    [KIND_ANONYMOUS] = "anonymous",
    [KIND_PRIVATE_FILE] = "private-file",
};

const char *change_name(enum change change)
{
    return change_names[change];
}

const char *kind_name(enum piece_kind kind)
{
    return kind_names[kind];
}

static uint64_t bytes_of(const struct piece *piece)
{
    return (uint64_t)piece->page_count * PAGE_BYTES;
}

static uint64_t mapped_offset(const struct piece *piece)
{
    return piece->file_offset + piece->backing * bytes_of(piece);
}

static bool map_piece(const struct piece *piece)
{
    int flags = MAP_FIXED | (piece->kind == KIND_SHARED ? MAP_SHARED : MAP_PRIVATE);
    bool is_anonymous = piece->kind == KIND_ANONYMOUS;

    return mmap(piece->address, bytes_of(piece), READ_AND_WRITE,
                flags | (is_anonymous ? MAP_ANONYMOUS : 0), is_anonymous ? -1 : file,
                is_anonymous ? 0 : (off_t)mapped_offset(piece)) == piece->address;
}

static void set_generation(struct page_words *first, uint32_t page_count, uint64_t generation)
{
    atomic_store(&first->generation, generation);
    atomic_store(&first[page_count - 1].generation, generation);
}

static struct page_words *alias_of(const struct piece *piece)
{
    return alias + mapped_offset(piece) / PAGE_BYTES;
}

/* Every store of a page that was let go at `limit` must have begun before that was published. */
static void check_tags(const struct piece *piece, const struct page_words *first, uint64_t limit,
                       const struct change_ops *ops)
{
    for (uint32_t end = 0; end < PIECE_ENDS(piece); end++) {
        const struct page_words *page = first + (end == 0 ? 0 : piece->page_count - 1);

        for (uint32_t thread = 0; thread < ops->thread_count; thread++) {
            uint64_t tag = atomic_load(&page->tags[thread]);

            if (tag >= limit) {
                ops->stale_store(piece, thread, tag, limit);
            }
        }
    }
}

static void clear_tags(struct page_words *first, uint32_t page_count, uint32_t thread_count)
{
    for (uint32_t thread = 0; thread < thread_count; thread++) {
        atomic_store(&first->tags[thread], 0);
        atomic_store(&first[page_count - 1].tags[thread], 0);
    }
}

static uint64_t begin_change(struct piece *piece)
{
    last_generation++;
    atomic_store(&piece->begun, last_generation);
    return last_generation;
}

/* With is_early, before the change: whoever uses the piece now meets what it must not. */
static void publish_early(struct piece *piece, uint64_t generation, enum rights rights,
                          const struct change_ops *ops)
{
    if (ops->is_early) {
        atomic_store(&piece->published, PUBLISHED(generation, rights));
        ops->settle();
    }
}

static void publish(struct piece *piece, uint64_t generation, enum rights rights,
                    const struct change_ops *ops)
{
    atomic_store(&piece->published, PUBLISHED(generation, rights));
    ops->settle();
}

static void change_rights(struct piece *piece, enum rights rights, const struct change_ops *ops)
{
    uint64_t generation = begin_change(piece);

    set_generation(piece->address, piece->page_count, generation);
    publish_early(piece, generation, rights, ops);
    if (mprotect(piece->address, bytes_of(piece), rights == RIGHTS_READ ? PROT_READ : PROT_NONE) !=
        0) {
        ops->failed("mprotect");
    }
    publish(piece, generation, rights, ops);
    if (rights == RIGHTS_READ) {
        check_tags(piece, piece->address, generation, ops);
    }
    generation = begin_change(piece);
    if (mprotect(piece->address, bytes_of(piece), READ_AND_WRITE) != 0) {
        ops->failed("mprotect back");
    }
    set_generation(piece->address, piece->page_count, generation);
    publish(piece, generation, RIGHTS_WRITE, ops);
}

static void move(struct piece *piece, const struct change_ops *ops)
{
    uint64_t bytes = bytes_of(piece);
    uint64_t generation = begin_change(piece);

    set_generation(piece->address, piece->page_count, generation);
    publish_early(piece, generation, RIGHTS_NONE, ops);
    if (mremap(piece->address, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, away) != away) {
        ops->failed("mremap");
        return;
    }
    publish(piece, generation, RIGHTS_NONE, ops);
    check_tags(piece, away, generation, ops);
    generation = begin_change(piece);
    set_generation(away, piece->page_count, generation);
    if (mremap(away, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, piece->address) !=
        piece->address) {
        ops->failed("mremap back");
    }
    publish(piece, generation, RIGHTS_WRITE, ops);
}

/* The contents that a new mapping is to show, where a file holds them. */
static void prepare_backing(struct piece *piece, uint64_t generation, const struct change_ops *ops)
{
    if (piece->kind == KIND_SHARED) {
        piece->backing ^= 1;
        check_tags(piece, alias_of(piece), piece->retired, ops);
        clear_tags(alias_of(piece), piece->page_count, ops->thread_count);
        /* What was published too early has led stores astray already. */
        piece->retired = ops->is_early ? UINT64_MAX : generation;
    }
    if (piece->kind != KIND_ANONYMOUS) {
        set_generation(alias_of(piece), piece->page_count, generation);
    }
}

static void map_again(struct piece *piece, bool is_unmapped_first, const struct change_ops *ops)
{
    uint64_t generation = begin_change(piece);

    prepare_backing(piece, generation, ops);
    publish_early(piece, generation, RIGHTS_WRITE, ops);
    if (is_unmapped_first && munmap(piece->address, bytes_of(piece)) != 0) {
        ops->failed("munmap");
    }
    if (!map_piece(piece)) {
        ops->failed("mmap");
    }
    if (piece->kind == KIND_ANONYMOUS) {
        set_generation(piece->address, piece->page_count, generation);
    }
    publish(piece, generation, RIGHTS_WRITE, ops);
}

/* MADV_DONTNEED lets the frames of anonymous memory and private copies go; those of a shared file
 * stay, so nothing old can be told apart there unless MADV_REMOVE takes them out of the file. */
static void discard(struct piece *piece, bool is_removed, const struct change_ops *ops)
{
    uint64_t generation = begin_change(piece);

    if (piece->kind == KIND_PRIVATE_FILE) {
        set_generation(alias_of(piece), piece->page_count, generation);
    }
    if (piece->kind == KIND_SHARED && !is_removed) {
        set_generation(piece->address, piece->page_count, generation);
    }
    publish_early(piece, generation, RIGHTS_WRITE, ops);
    if (madvise(piece->address, bytes_of(piece), is_removed ? MADV_REMOVE : MADV_DONTNEED) != 0) {
        ops->failed("madvise");
    }
    if (piece->kind == KIND_ANONYMOUS || is_removed) {
        set_generation(piece->address, piece->page_count, generation);
    }
    publish(piece, generation, RIGHTS_WRITE, ops);
}

void piece_change(struct piece *piece, enum change change, const struct change_ops *ops)
{
    switch (change) {
    case CHANGE_READ_ONLY:
        change_rights(piece, RIGHTS_READ, ops);
        break;
    case CHANGE_NO_ACCESS:
        change_rights(piece, RIGHTS_NONE, ops);
        break;
    case CHANGE_MAP_AGAIN:
    case CHANGE_MAP_OVER:
        map_again(piece, change == CHANGE_MAP_AGAIN, ops);
        break;
    case CHANGE_MOVE:
        move(piece, ops);
        break;
    case CHANGE_DISCARD:
    case CHANGE_PUNCH:
        discard(piece, change == CHANGE_PUNCH && piece->kind == KIND_SHARED, ops);
        break;
    case CHANGE_COUNT:
        break;
    }
}

/* One piece of each kind is long. */
static uint32_t page_count_of(uint32_t number)
{
    return number / KIND_COUNT % 3 == 2 ? LONG_PAGES : 1;
}

bool pieces_create(void)
{
    size_t area_bytes = (size_t)AREA_SLOTS * SLOT_BYTES;
    uint8_t *area = mmap(NULL, area_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t file_bytes = 0;

    file = memfd_create("stress", 0);
    if (area == MAP_FAILED || file < 0) {
        return false;
    }
    area += SLOT_BYTES - (uintptr_t)area % SLOT_BYTES;
    for (uint32_t number = 0; number < PIECE_COUNT; number++) {
        struct piece *piece = &pieces[number];

        piece->kind = (enum piece_kind)(number % KIND_COUNT);
        piece->page_count = page_count_of(number);
        piece->address = (void *)(area + (size_t)number * SLOT_BYTES);
        piece->file_offset = file_bytes;
        piece->retired = UINT64_MAX;
        file_bytes += BACKINGS * bytes_of(piece);
    }
    away = (void *)(area + (size_t)PIECE_COUNT * SLOT_BYTES);
    if (ftruncate(file, (off_t)file_bytes) != 0) {
        return false;
    }
    alias = mmap(NULL, file_bytes, READ_AND_WRITE, MAP_SHARED, file, 0);
    for (uint32_t number = 0; number < PIECE_COUNT && alias != MAP_FAILED; number++) {
        if (!map_piece(&pieces[number])) {
            return false;
        }
        atomic_store(&pieces[number].published, PUBLISHED(UINT64_C(0), RIGHTS_WRITE));
    }
    return alias != MAP_FAILED;
}
