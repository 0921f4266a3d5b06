/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "stress_access.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static _Thread_local sigjmp_buf recovery;
static _Thread_local volatile sig_atomic_t is_recoverable;

static void on_fault(int number)
{
    if (is_recoverable == 0) {
        (void)signal(number, SIG_DFL);
        return;
    }
    is_recoverable = 0;
    siglongjmp(recovery, 1);
}

bool access_prepare(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_fault;
    /* The handler does not return, so the signal must not be blocked in it. */
    action.sa_flags = SA_NODEFER;
    return sigaction(SIGSEGV, &action, NULL) == 0;
}

bool try_load(const _Atomic uint64_t *word, uint64_t *value)
{
    if (sigsetjmp(recovery, 0) != 0) {
        return false;
    }
    is_recoverable = 1;
    *value = atomic_load(word);
    is_recoverable = 0;
    return true;
}

bool try_store(_Atomic uint64_t *word, uint64_t value)
{
    if (sigsetjmp(recovery, 0) != 0) {
        return false;
    }
    is_recoverable = 1;
    atomic_store(word, value);
    is_recoverable = 0;
    return true;
}
