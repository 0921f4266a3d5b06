/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CORE_NMI_ACCOUNT_H
#define CORE_NMI_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whose NMI is it? Guest NMI IPIs are delivered in software, so every NMI IPI is a kick of ours,
 * and what no kick explains comes from the platform and belongs to the guest.
 *
 * A sender counts `started` before it writes the ICR and `issued` after it. An NMI is explained
 * when a kick was started that no earlier NMI has accounted for. What has been issued when it
 * arrives is accounted for from then on - but one of those kicks may have been issued after the
 * processor took this NMI and before we read the counter, and is latched: it comes a moment later.
 * So for a moment after an explained NMI a further one is explained too. A platform NMI in that
 * moment cannot be told from a kick and is lost; docs/limits.md says so.
 */
struct nmi_account {
    uint64_t seen;                 /* kicks accounted for */
    uint64_t doubt_until;          /* time by this LP's TSC, without what the guest added */
    uint64_t doubt_ticks;          /* how long a latched NMI may take to come */
    volatile uint64_t unexplained; /* NMIs that were no kick; only ever counts up */
};

/* Accounts for one NMI that arrived now (this LP's TSC). Returns whether a kick explains it. */
static inline bool nmi_account_arrival(struct nmi_account *account, uint64_t started,
                                       uint64_t issued, uint64_t now)
{
    if (started != account->seen) {
        account->seen = issued;
        account->doubt_until = now + account->doubt_ticks;
        return true;
    }
    if ((int64_t)(account->doubt_until - now) > 0) {
        return true;
    }
    account->unexplained++;
    return false;
}

#endif
