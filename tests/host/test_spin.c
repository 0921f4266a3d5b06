/* SPDX-License-Identifier: BSD-2-Clause */
/* THREADS */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/spin.h"

#define THREADS 3u
#define ROUNDS  400u

static void test_order_of_tickets(void **context)
{
    struct spin_lock lock = {0};

    (void)context;
    spin_lock(&lock);
    assert_int_equal(lock.next, 1);
    assert_int_equal(lock.serving, 0);
    spin_unlock(&lock);
    assert_int_equal(lock.next, 1);
    assert_int_equal(lock.serving, 1);
}

static void test_try(void **context)
{
    struct spin_lock lock = {0};

    (void)context;
    assert_true(spin_try(&lock));
    /* A failed try takes no ticket, or nobody would serve it. */
    assert_false(spin_try(&lock));
    assert_false(spin_try(&lock));
    spin_unlock(&lock);
    assert_true(spin_try(&lock));
    spin_unlock(&lock);
    spin_lock(&lock);
    assert_false(spin_try(&lock));
    spin_unlock(&lock);
    assert_int_equal(lock.next, lock.serving);
}

static void test_try_with_a_queue(void **context)
{
    struct spin_lock lock = {0};

    (void)context;
    spin_lock(&lock);
    lock.next++; /* another LP waits */
    assert_false(spin_try(&lock));
    spin_unlock(&lock);
    assert_false(spin_try(&lock)); /* it is the other one's turn */
    spin_unlock(&lock);
    assert_true(spin_try(&lock));
}

static void test_ticket_wrap(void **context)
{
    struct spin_lock lock = {.next = UINT32_MAX, .serving = UINT32_MAX};

    (void)context;
    spin_lock(&lock);
    assert_false(spin_try(&lock));
    spin_unlock(&lock);
    assert_int_equal(lock.serving, 0);
    lock.next = UINT32_MAX;
    lock.serving = UINT32_MAX;
    assert_true(spin_try(&lock));
    spin_unlock(&lock);
    spin_lock(&lock);
    spin_unlock(&lock);
    assert_int_equal(lock.next, 1);
}

/* What the lock guards has no order of its own, so that the thread sanitizer sees a lock that gives
 * none. */
struct guarded {
    struct spin_lock lock;
    uint32_t inside;
    uint32_t total;
    uint32_t overlaps;
};

static void use(struct guarded *guarded)
{
    guarded->inside++;
    guarded->total++;
    if (guarded->inside != 1) {
        guarded->overlaps++;
    }
    guarded->inside--;
}

static void *run_locker(void *argument)
{
    struct guarded *guarded = argument;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        spin_lock(&guarded->lock);
        use(guarded);
        spin_unlock(&guarded->lock);
        (void)sched_yield();
    }
    return NULL;
}

static void *run_trier(void *argument)
{
    struct guarded *guarded = argument;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        while (!spin_try(&guarded->lock)) {
            (void)sched_yield();
        }
        use(guarded);
        spin_unlock(&guarded->lock);
    }
    return NULL;
}

static void check_threads(void *(*const bodies[THREADS])(void *))
{
    struct guarded guarded = {0};
    pthread_t threads[THREADS];

    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], &guarded), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(guarded.total, THREADS * ROUNDS);
    assert_int_equal(guarded.overlaps, 0);
    assert_int_equal(guarded.lock.next, guarded.lock.serving);
}

static void test_threads_lock(void **context)
{
    (void)context;
    check_threads((void *(*const[THREADS])(void *)){run_locker, run_locker, run_locker});
}

static void test_threads_try(void **context)
{
    (void)context;
    check_threads((void *(*const[THREADS])(void *)){run_trier, run_trier, run_trier});
}

static void test_threads_mixed(void **context)
{
    (void)context;
    check_threads((void *(*const[THREADS])(void *)){run_locker, run_trier, run_locker});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_tickets), cmocka_unit_test(test_try),
        cmocka_unit_test(test_try_with_a_queue), cmocka_unit_test(test_ticket_wrap),
        cmocka_unit_test(test_threads_lock),     cmocka_unit_test(test_threads_try),
        cmocka_unit_test(test_threads_mixed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
