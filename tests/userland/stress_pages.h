/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_USERLAND_STRESS_PAGES_H
#define TESTS_USERLAND_STRESS_PAGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Pieces of memory whose mapping one thread, the changer, changes while all others use them.
 *
 * A piece has a generation. The changer sets `begun` to a new one before it starts a change, and
 * `published` to it when the change has returned. The first word of the piece's first and last page
 * holds the generation of the contents, of which every mapping that is current has at least the
 * published one. So who loads `published`, accesses the piece and then loads `begun` knows what it
 * must have met, without any lock: an older generation, or a success where the published rights
 * forbid it, went through a mapping that was gone before the access began.
 */

#define PAGE_BYTES  4096u
#define THREADS_MAX (PAGE_BYTES / sizeof(uint64_t) - 1)
#define PIECE_COUNT 14u

enum rights {
    RIGHTS_NONE,
    RIGHTS_READ,
    RIGHTS_WRITE,
};

enum piece_kind {
    KIND_SHARED,
    KIND_ANONYMOUS,
    KIND_PRIVATE_FILE,
    KIND_COUNT,
};

enum change {
    CHANGE_READ_ONLY,
    CHANGE_NO_ACCESS,
    CHANGE_MAP_AGAIN,
    CHANGE_MAP_OVER,
    CHANGE_MOVE,
    CHANGE_DISCARD,
    CHANGE_PUNCH,
    CHANGE_COUNT,
};

/* A page as its users see it. */
struct page_words {
    _Atomic uint64_t generation;
    /* Of each thread: the generation that was published before its last store. */
    _Atomic uint64_t tags[THREADS_MAX];
};

struct piece {
    _Atomic uint64_t published; /* PUBLISHED(generation, rights) */
    _Atomic uint64_t begun;
    enum piece_kind kind;
    uint32_t page_count;
    struct page_words *address;
    /* Shared: two backings, used in turn, the mapped one first in file order when `backing` is
     * 0. */
    uint64_t file_offset;
    uint32_t backing;
    uint64_t retired; /* the generation that took the other backing out of use */
};

#define PUBLISHED(generation, rights)   ((generation) << 2 | (uint64_t)(rights))
#define PUBLISHED_GENERATION(published) ((published) >> 2)
#define PUBLISHED_RIGHTS(published)     ((enum rights)((published)&3))

extern struct piece pieces[PIECE_COUNT];

/* The first page of a piece, and the last if that is another one. */
#define PIECE_ENDS(piece) ((piece)->page_count > 1 ? 2u : 1u)

static inline struct page_words *piece_end(const struct piece *piece, uint32_t end)
{
    return piece->address + (end == 0 ? 0 : piece->page_count - 1);
}

/* Calls of the changer back to the program. */
struct change_ops {
    /* Returns when every user has touched the piece that is being changed, from now on. */
    void (*settle)(void);
    /* A store went through an old mapping. */
    void (*stale_store)(const struct piece *piece, uint32_t thread, uint64_t tag, uint64_t limit);
    /* A system call failed. */
    void (*failed)(const char *what);
    uint32_t thread_count;
    /* Wrong on purpose: publish before the change, to see that it is noticed. */
    bool is_early;
};

/* Maps all pieces. Returns whether that worked. */
bool pieces_create(void);

/* Makes one change, and takes it back when rights were taken. By the changer alone. */
void piece_change(struct piece *piece, enum change change, const struct change_ops *ops);

const char *change_name(enum change change);
const char *kind_name(enum piece_kind kind);

#endif
