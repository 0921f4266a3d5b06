/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread pinned to each online processor: it must be there, compute the right sum, and show
 * the same features as the first one; the time stamp counter must never go back from one processor
 * to another. Prints RESULT lines.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#define WORK_STEPS 20000U
#define WARP_STEPS 500U
#define CPUS_MAX   1024
#define SEED       7U
/* work(SEED), computed apart from this program. */
#define EXPECTED_SUM 1716111835743122618U

struct features {
    uint32_t words[8];
};

struct worker {
    pthread_t thread;
    int number;
    bool pinned;
    bool computed;
    uint32_t warps;
    struct features features;
};

static struct worker workers[CPUS_MAX];
static atomic_flag warp_lock = ATOMIC_FLAG_INIT;
static uint64_t warp_last;

static uint64_t work(uint64_t seed)
{
    uint64_t value = seed;
    uint32_t step;

    for (step = 0; step < WORK_STEPS; step++) {
        value = value * 6364136223846793005U + 1442695040888963407U;
        value ^= value >> 29;
    }
    return value;
}

static struct features read_features(void)
{
    struct features found;
    uint32_t apic_id;
    uint32_t a;

    memset(&found, 0, sizeof(found));
    __cpuid(1, found.words[0], apic_id, found.words[1], found.words[2]);
    __cpuid_count(7, 0, a, found.words[3], found.words[4], found.words[5]);
    __cpuid(0x80000001U, a, apic_id, found.words[6], found.words[7]);
    return found;
}

static uint32_t count_warps(void)
{
    uint32_t warps = 0;
    uint32_t step;

    for (step = 0; step < WARP_STEPS; step++) {
        uint64_t now;

        while (atomic_flag_test_and_set_explicit(&warp_lock, memory_order_acquire)) {
            (void)sched_yield();
        }
        _mm_lfence();
        now = __rdtsc();
        if (now < warp_last) {
            warps++;
        }
        warp_last = now;
        atomic_flag_clear_explicit(&warp_lock, memory_order_release);
    }
    return warps;
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)worker->number, &set);
    worker->pinned =
        sched_setaffinity(0, sizeof(set), &set) == 0 && sched_getcpu() == worker->number;
    worker->computed = work(SEED) == EXPECTED_SUM;
    worker->features = read_features();
    worker->warps = count_warps();
    worker->pinned = worker->pinned && sched_getcpu() == worker->number;
    return NULL;
}

/* Start a worker on each processor of the set and wait for all. Returns how many ran. */
static int run_workers(const cpu_set_t *online)
{
    int count = 0;
    int at;

    for (int number = 0; number < CPUS_MAX; number++) {
        if (!CPU_ISSET((size_t)number, online)) {
            continue;
        }
        workers[count].number = number;
        if (pthread_create(&workers[count].thread, NULL, run_worker, &workers[count]) != 0) {
            printf("RESULT pin-cpu%d FAIL no thread\n", number);
            continue;
        }
        count++;
    }
    for (at = 0; at < count; at++) {
        (void)pthread_join(workers[at].thread, NULL);
    }
    return count;
}

static void report_worker(const struct worker *worker)
{
    const char *failure = NULL;

    if (!worker->pinned) {
        failure = "not on its processor";
    } else if (!worker->computed) {
        failure = "wrong sum";
    } else if (memcmp(&worker->features, &workers[0].features, sizeof(worker->features)) != 0) {
        failure = "CPUID differs from the first processor's";
    }
    if (failure == NULL) {
        printf("RESULT pin-cpu%d PASS\n", worker->number);
    } else {
        printf("RESULT pin-cpu%d FAIL %s\n", worker->number, failure);
    }
}

static void report_count(int ran)
{
    const char *text = getenv("rig_cpus");
    int expected = text == NULL ? ran : atoi(text);

    printf("ONLINE %d\n", ran);
    if (ran == expected) {
        printf("RESULT online-cpus PASS\n");
    } else {
        printf("RESULT online-cpus FAIL %d online, %d expected\n", ran, expected);
    }
}

int main(void)
{
    cpu_set_t online;
    uint32_t warps = 0;
    int ran;
    int at;

    if (sched_getaffinity(0, sizeof(online), &online) != 0) {
        printf("RESULT online-cpus FAIL no affinity mask\n");
        return 1;
    }
    ran = run_workers(&online);
    report_count(ran);
    for (at = 0; at < ran; at++) {
        report_worker(&workers[at]);
        warps += workers[at].warps;
    }
    if (warps == 0) {
        printf("RESULT tsc-monotonic PASS\n");
    } else {
        printf("RESULT tsc-monotonic FAIL went back %u times\n", warps);
    }
    return 0;
}
