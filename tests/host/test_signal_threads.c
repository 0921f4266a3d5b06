/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/signal.c */
/* THREADS */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "vmx/signal.h"

/*
 * Threads: one target, three senders. Senders wait for what they sent to take effect; when
 * something is lost they would wait for ever, so each wait has an end and counts a failure.
 */
#define SENDERS      3u
#define ROUNDS       1500u
#define TIME_LIMIT_S 40

struct race {
    _Atomic uint32_t mailbox;
    _Atomic uint32_t running; /* senders that are not done */
    _Atomic uint32_t failures;
    _Atomic uint32_t asked[SENDERS];  /* what a sender has sent: its round */
    _Atomic uint32_t served[SENDERS]; /* what of it the target has carried out */
    _Atomic uint32_t inits_posted;    /* counted after the INIT is in the mailbox */
    _Atomic uint32_t inits_taken;
    _Atomic uint32_t starts;
    uint32_t trampoline; /* plain: only the order of post and take guards it */
    uint32_t last_start; /* the target's */
    time_t end;
};

struct sender {
    struct race *race;
    uint32_t number;
};

static time_t seconds_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Waits a little; false when the time is up, or another thread has failed. */
static bool wait_more(struct race *race)
{
    if (atomic_load_explicit(&race->failures, memory_order_relaxed) != 0) {
        return false;
    }
    if (seconds_now() >= race->end) {
        atomic_fetch_add_explicit(&race->failures, 1, memory_order_relaxed);
        return false;
    }
    (void)sched_yield();
    return true;
}

static void require(struct race *race, bool condition)
{
    if (!condition) {
        atomic_fetch_add_explicit(&race->failures, 1, memory_order_relaxed);
    }
}

static void sender_done(struct race *race)
{
    atomic_fetch_sub_explicit(&race->running, 1, memory_order_release);
}

static void serve_nmi(struct race *race)
{
    for (uint32_t i = 0; i < SENDERS; i++) {
        uint32_t asked = atomic_load_explicit(&race->asked[i], memory_order_relaxed);

        atomic_store_explicit(&race->served[i], asked, memory_order_relaxed);
    }
}

static void serve_sipi(struct race *race, uint8_t vector)
{
    require(race, vector == (race->trampoline & 0xFF));
    require(race, race->trampoline != race->last_start);
    race->last_start = race->trampoline;
    /* The sender writes the trampoline again after this. */
    atomic_fetch_add_explicit(&race->starts, 1, memory_order_release);
}

static void *run_target(void *argument)
{
    struct race *race = argument;
    bool is_last_look = false;
    bool is_waiting = false;

    for (;;) {
        uint8_t vector = 0;

        switch (signal_take(&race->mailbox, &vector)) {
        case SIGNAL_ACTION_INIT:
            is_waiting = true;
            atomic_fetch_add_explicit(&race->inits_taken, 1, memory_order_relaxed);
            break;
        case SIGNAL_ACTION_SIPI:
            require(race, is_waiting);
            is_waiting = false;
            serve_sipi(race, vector);
            break;
        case SIGNAL_ACTION_NMI:
            require(race, !is_waiting);
            serve_nmi(race);
            break;
        case SIGNAL_ACTION_NONE:
            if (is_last_look) {
                return NULL;
            }
            is_last_look = atomic_load_explicit(&race->running, memory_order_acquire) == 0;
            if (!is_last_look) {
                (void)sched_yield();
            }
            break;
        }
    }
}

/* NMIs until each round is served. One that an INIT has undone is sent again; no other may be
 * lost. */
static void *run_nmi_sender(void *argument)
{
    const struct sender *sender = argument;
    struct race *race = sender->race;

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        uint32_t inits = atomic_load(&race->inits_taken);

        atomic_store_explicit(&race->asked[sender->number], round, memory_order_relaxed);
        signal_post_nmi(&race->mailbox);
        while (atomic_load_explicit(&race->served[sender->number], memory_order_relaxed) != round) {
            if (atomic_load(&race->inits_taken) != inits) {
                inits = atomic_load(&race->inits_taken);
                signal_post_nmi(&race->mailbox);
            }
            if (!wait_more(race)) {
                sender_done(race);
                return NULL;
            }
        }
    }
    sender_done(race);
    return NULL;
}

/* INIT, SIPI, a second SIPI that must not count, until the target has started. */
static void *run_init_sender(void *argument)
{
    const struct sender *sender = argument;
    struct race *race = sender->race;

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        signal_post_init(&race->mailbox);
        atomic_fetch_add(&race->inits_posted, 1);
        race->trampoline = round;
        require(race, signal_post_sipi(&race->mailbox, (uint8_t)round));
        require(race, !signal_post_sipi(&race->mailbox, (uint8_t)~round));
        while (atomic_load_explicit(&race->starts, memory_order_acquire) != round) {
            if (!wait_more(race)) {
                sender_done(race);
                return NULL;
            }
        }
    }
    sender_done(race);
    return NULL;
}

/* SIPIs with a vector of its own while the others do the same; one that counts is followed by INIT,
 * so that the next one can count. */
static void *run_sipi_sender(void *argument)
{
    const struct sender *sender = argument;
    struct race *race = sender->race;
    uint32_t counted = 0;

    while (counted < ROUNDS && wait_more(race)) {
        if (!signal_post_sipi(&race->mailbox, (uint8_t)(0x10 + sender->number))) {
            continue;
        }
        counted++;
        atomic_store_explicit(&race->asked[sender->number], counted, memory_order_relaxed);
        /* Nobody else's SIPI counts and nobody sends INIT until this one is taken. */
        while (atomic_load_explicit(&race->served[sender->number], memory_order_relaxed) !=
                   counted &&
               wait_more(race)) {
        }
        signal_post_init(&race->mailbox);
    }
    sender_done(race);
    return NULL;
}

/* The target of SIPI senders: each vector as often as its SIPIs counted. */
static void *run_sipi_target(void *argument)
{
    struct race *race = argument;

    while (atomic_load_explicit(&race->running, memory_order_acquire) != 0) {
        uint8_t vector = 0;

        switch (signal_take(&race->mailbox, &vector)) {
        case SIGNAL_ACTION_INIT:
            atomic_fetch_add_explicit(&race->inits_taken, 1, memory_order_relaxed);
            break;
        case SIGNAL_ACTION_SIPI:
            if (vector < 0x10 || vector >= 0x10 + SENDERS) {
                require(race, false);
                return NULL;
            }
            atomic_fetch_add_explicit(&race->served[vector - 0x10], 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&race->starts, 1, memory_order_release);
            break;
        case SIGNAL_ACTION_NMI:
            require(race, false);
            break;
        case SIGNAL_ACTION_NONE:
            (void)sched_yield();
            break;
        }
    }
    return NULL;
}

static void run_race(struct race *race, void *(*target)(void *),
                     void *(*const senders[SENDERS])(void *))
{
    struct sender arguments[SENDERS];
    pthread_t threads[SENDERS + 1];

    race->running = SENDERS;
    race->end = seconds_now() + TIME_LIMIT_S;
    assert_int_equal(pthread_create(&threads[SENDERS], NULL, target, race), 0);
    for (uint32_t i = 0; i < SENDERS; i++) {
        arguments[i] = (struct sender){race, i};
        assert_int_equal(pthread_create(&threads[i], NULL, senders[i], &arguments[i]), 0);
    }
    for (uint32_t i = 0; i <= SENDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(race->failures, 0);
}

static void test_threads_nmi(void **context)
{
    struct race race = {0};

    (void)context;
    run_race(&race, run_target,
             (void *(*const[SENDERS])(void *)){run_nmi_sender, run_nmi_sender, run_nmi_sender});
    for (uint32_t i = 0; i < SENDERS; i++) {
        assert_int_equal(race.served[i], ROUNDS);
    }
    assert_int_equal(race.mailbox, 0);
}

static void test_threads_init_sipi_nmi(void **context)
{
    struct race race = {0};

    (void)context;
    run_race(&race, run_target,
             (void *(*const[SENDERS])(void *)){run_nmi_sender, run_nmi_sender, run_init_sender});
    assert_int_equal(race.inits_taken, ROUNDS);
    assert_int_equal(race.starts, ROUNDS);
    assert_int_equal(race.mailbox, 0);
}

static void test_threads_first_sipi_wins(void **context)
{
    struct race race = {.mailbox = SIGNAL_WAITING};
    uint32_t starts = 0;

    (void)context;
    run_race(&race, run_sipi_target,
             (void *(*const[SENDERS])(void *)){run_sipi_sender, run_sipi_sender, run_sipi_sender});
    for (uint32_t i = 0; i < SENDERS; i++) {
        assert_int_equal(race.asked[i], race.served[i]);
        starts += race.served[i];
    }
    assert_int_equal(starts, SENDERS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_nmi),
        cmocka_unit_test(test_threads_init_sipi_nmi),
        cmocka_unit_test(test_threads_first_sipi_wins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
