/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stress ROUNDS: a thread on each processor; one changes mappings, the others read and write
 * through them and check that nothing goes through a mapping that is gone (stress_pages.h says
 * how). The threads take turns as the changer. First, changes are published too early, which must
 * be noticed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "stress_access.h"
#include "stress_calls.h"
#include "stress_pages.h"

#define ROUNDS_A_TURN  50u
#define FAILURES_SHOWN 5u

struct user {
    pthread_t thread;
    uint32_t number;
    int processor;
    _Atomic uint64_t seen_epoch;
    uint64_t faults;
    uint64_t refused; /* the last generation whose change made an access fault */
};

static struct user users[THREADS_MAX];
static struct change_ops change_ops;

static _Atomic uint64_t epoch;
static _Atomic uint32_t changer;
static _Atomic bool is_finished;
/* What all users look at in each step: the piece that is changed, and the next. */
static _Atomic uint32_t attention[2];

static uint64_t rounds_wanted;
static uint64_t rounds_done;
static uint64_t random_state = 88172645463325252U;
static enum change current_change;
static uint32_t unnoticed;

static _Atomic uint64_t stale;
static _Atomic uint64_t wrong_faults;
static _Atomic uint64_t failed_calls;

/* Count a failure, and show the first few. */
static void note(_Atomic uint64_t *count, const char *what, const struct piece *piece,
                 const uint64_t values[3])
{
    if (atomic_fetch_add(count, 1) < FAILURES_SHOWN && !change_ops.is_early) {
        printf("STRESS %s: %s %s of %u pages, published %llu, begun %llu, met %llu\n", what,
               change_name(current_change), kind_name(piece->kind), piece->page_count,
               (unsigned long long)values[0], (unsigned long long)values[1],
               (unsigned long long)values[2]);
    }
}

static void on_stale_store(const struct piece *piece, uint32_t thread, uint64_t tag, uint64_t limit)
{
    const uint64_t values[3] = {limit, thread, tag};

    note(&stale, "store into a page let go (begun: the thread)", piece, values);
}

static void on_failed_call(const char *what)
{
    if (atomic_fetch_add(&failed_calls, 1) < FAILURES_SHOWN) {
        printf("STRESS %s failed\n", what);
    }
}

static void note_fault(struct user *user, uint64_t begun)
{
    user->faults++;
    user->refused = begun;
}

static void check_load(struct user *user, struct piece *piece, struct page_words *page)
{
    uint64_t published = atomic_load(&piece->published);
    uint64_t met = 0;
    bool is_loaded = try_load(&page->generation, &met);
    uint64_t begun = atomic_load(&piece->begun);
    const uint64_t values[3] = {published, begun, met};
    uint64_t generation = PUBLISHED_GENERATION(published);
    bool is_changing = begun != generation;

    if (!is_loaded) {
        note_fault(user, begun);
        if (!is_changing && PUBLISHED_RIGHTS(published) != RIGHTS_NONE) {
            note(&wrong_faults, "load refused", piece, values);
        }
    } else if (!is_changing && PUBLISHED_RIGHTS(published) == RIGHTS_NONE) {
        note(&stale, "load through a mapping that is gone", piece, values);
    } else if (met > begun || (met < generation && (met != 0 || !is_changing))) {
        /* A new page is 0 until the changer has written to it. */
        note(&stale, "load of old contents", piece, values);
    }
}

static void check_store(struct user *user, struct piece *piece, struct page_words *page)
{
    uint64_t published = atomic_load(&piece->published);
    uint64_t generation = PUBLISHED_GENERATION(published);
    bool is_stored = try_store(&page->tags[user->number], generation);
    uint64_t begun = atomic_load(&piece->begun);
    const uint64_t values[3] = {published, begun, generation};

    if (!is_stored) {
        note_fault(user, begun);
    }
    if (begun != generation) {
        return;
    }
    if (!is_stored && PUBLISHED_RIGHTS(published) == RIGHTS_WRITE) {
        note(&wrong_faults, "store refused", piece, values);
    } else if (is_stored && PUBLISHED_RIGHTS(published) != RIGHTS_WRITE) {
        note(&stale, "store through a mapping that is gone", piece, values);
    }
}

static void touch(struct user *user, struct piece *piece)
{
    uint64_t begun = atomic_load(&piece->begun);

    /* Faults are slow, and hold the changer up: one in each change is enough. */
    if (begun == user->refused && begun != PUBLISHED_GENERATION(atomic_load(&piece->published))) {
        return;
    }
    for (uint32_t end = 0; end < PIECE_ENDS(piece); end++) {
        check_load(user, piece, piece_end(piece, end));
        check_store(user, piece, piece_end(piece, end));
    }
}

/* One access is enough to show that the piece is out of reach. */
static void touch_forbidden(struct user *user, struct piece *piece, uint64_t now)
{
    struct page_words *page = piece_end(piece, (uint32_t)(now >> 1) % PIECE_ENDS(piece));

    if (now % 2 == 0 && PUBLISHED_RIGHTS(atomic_load(&piece->published)) == RIGHTS_NONE) {
        check_load(user, piece, page);
    } else {
        check_store(user, piece, page);
    }
}

/* One look of a user at the two pieces that matter now and at one of the others. */
static void use_step(struct user *user, uint32_t other)
{
    uint64_t now = atomic_load(&epoch);
    struct piece *piece = &pieces[atomic_load(&attention[0])];

    if (PUBLISHED_RIGHTS(atomic_load(&piece->published)) == RIGHTS_WRITE) {
        touch(user, piece);
    } else if (atomic_load(&user->seen_epoch) != now) {
        touch_forbidden(user, piece, now);
    }
    if (PUBLISHED_RIGHTS(atomic_load(&pieces[other].published)) == RIGHTS_WRITE) {
        touch(user, &pieces[other]);
    }
    touch(user, &pieces[atomic_load(&attention[1])]);
    atomic_store(&user->seen_epoch, now);
}

/* Wait until every other thread has made a step that began after this call. */
static void settle(void)
{
    uint64_t now = atomic_fetch_add(&epoch, 1) + 1;

    for (uint32_t number = 0; number < change_ops.thread_count; number++) {
        while (number != atomic_load(&changer) && atomic_load(&users[number].seen_epoch) < now) {
            _mm_pause();
        }
    }
}

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static void change_one(uint32_t number, enum change change)
{
    current_change = change;
    piece_change(&pieces[number], change, &change_ops);
    rounds_done++;
}

static void change_turn(void)
{
    for (uint32_t i = 0; i < ROUNDS_A_TURN && rounds_done < rounds_wanted; i++) {
        uint32_t number = atomic_load(&attention[1]);

        atomic_store(&attention[0], number);
        atomic_store(&attention[1], random_below(PIECE_COUNT));
        change_one(number, (enum change)random_below(CHANGE_COUNT));
    }
    if (rounds_done >= rounds_wanted) {
        atomic_store(&is_finished, true);
        return;
    }
    atomic_store(&changer, (atomic_load(&changer) + 1) % change_ops.thread_count);
}

/* Each change of each kind, published too early: count those that nobody notices. */
static void early_turn(void)
{
    for (uint32_t kind = 0; kind < KIND_COUNT; kind++) {
        atomic_store(&attention[0], kind);
        for (uint32_t change = 0; change < CHANGE_COUNT; change++) {
            uint64_t before = atomic_load(&stale);

            settle();
            change_one(kind, (enum change)change);
            /* There the old page is the new one. */
            if (change == CHANGE_DISCARD && pieces[kind].kind == KIND_SHARED) {
                continue;
            }
            if (atomic_load(&stale) == before) {
                unnoticed++;
                printf("STRESS not noticed: %s %s\n", change_name((enum change)change),
                       kind_name(pieces[kind].kind));
            }
        }
    }
    atomic_store(&is_finished, true);
}

static void *run_user(void *argument)
{
    struct user *user = argument;
    uint32_t other = user->number;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)user->processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        on_failed_call("sched_setaffinity");
    }
    while (!atomic_load(&is_finished)) {
        if (atomic_load(&changer) == user->number) {
            change_ops.is_early ? early_turn() : change_turn();
        } else {
            other = (other + 1) % PIECE_COUNT;
            use_step(user, other);
        }
    }
    return NULL;
}

/* Let the threads run until that many rounds are done, or the early turn is. */
static bool run_users(uint64_t rounds)
{
    uint32_t started = 0;

    rounds_wanted = rounds;
    rounds_done = 0;
    atomic_store(&is_finished, false);
    /* Held back until all run: settle waits for all. */
    atomic_store(&changer, UINT32_MAX);
    while (started < change_ops.thread_count &&
           pthread_create(&users[started].thread, NULL, run_user, &users[started]) == 0) {
        started++;
    }
    if (started < change_ops.thread_count) {
        atomic_store(&is_finished, true);
    } else {
        atomic_store(&changer, 0);
    }
    for (uint32_t number = 0; number < started; number++) {
        (void)pthread_join(users[number].thread, NULL);
    }
    return started == change_ops.thread_count;
}

static uint64_t faults_seen(void)
{
    uint64_t sum = 0;

    for (uint32_t number = 0; number < change_ops.thread_count; number++) {
        sum += users[number].faults;
    }
    return sum;
}

static double seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool prepare(void)
{
    cpu_set_t online;

    if (sched_getaffinity(0, sizeof(online), &online) != 0 || !access_prepare() ||
        !pieces_create()) {
        return false;
    }
    change_ops.settle = settle;
    change_ops.stale_store = on_stale_store;
    change_ops.failed = on_failed_call;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (CPU_ISSET((size_t)processor, &online) && change_ops.thread_count < THREADS_MAX) {
            users[change_ops.thread_count].number = change_ops.thread_count;
            users[change_ops.thread_count].processor = processor;
            change_ops.thread_count++;
        }
    }
    return true;
}

static void try_detection(void)
{
    if (change_ops.thread_count < 2) {
        printf("RESULT stress-notices SKIP one processor\n");
        return;
    }
    change_ops.is_early = true;
    if (!run_users(0) || unnoticed != 0) {
        printf("RESULT stress-notices FAIL %u kinds of wrong change were not noticed\n", unnoticed);
    } else {
        printf("RESULT stress-notices PASS\n");
    }
    change_ops.is_early = false;
    atomic_store(&stale, 0);
    atomic_store(&wrong_faults, 0);
}

int main(int count, char **arguments)
{
    uint64_t rounds = count > 1 ? strtoull(arguments[1], NULL, 10) : 10000;
    uint64_t calls;
    uint64_t faults;
    double begin;
    bool is_good;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!prepare()) {
        printf("RESULT stress FAIL cannot prepare\n");
        return 1;
    }
    try_detection();
    begin = seconds_now();
    calls = flush_calls_served();
    faults = faults_seen();
    is_good = run_users(rounds) && rounds_done == rounds;
    printf("STRESS rounds=%llu faults=%llu stale=%llu wrong-faults=%llu calls=%llu seconds=%.2f\n",
           (unsigned long long)rounds_done, (unsigned long long)(faults_seen() - faults),
           (unsigned long long)atomic_load(&stale), (unsigned long long)atomic_load(&wrong_faults),
           (unsigned long long)(flush_calls_served() - calls), seconds_now() - begin);
    is_good = is_good && atomic_load(&stale) == 0 && atomic_load(&wrong_faults) == 0 &&
              atomic_load(&failed_calls) == 0;
    printf("RESULT stress %s\n", is_good ? "PASS" : "FAIL stale or wrong accesses, or no threads");
    return 0;
}
