/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/sim_exact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void sim_owed_add(struct sim_owed *owed, const struct sim_named *named)
{
    atomic_fetch_or(&owed->pages, named->pages);
    atomic_fetch_or(&owed->spaces, named->spaces);
    atomic_fetch_or(&owed->non_global, named->non_global);
}

void sim_owed_take(struct sim_owed *owed, struct sim_named *named)
{
    named->pages = atomic_exchange(&owed->pages, 0);
    named->spaces = atomic_exchange(&owed->spaces, 0);
    named->non_global = atomic_exchange(&owed->non_global, 0);
}

void sim_owed_look(struct sim_owed *owed, struct sim_named *named)
{
    named->pages |= atomic_load(&owed->pages);
    named->spaces |= atomic_load(&owed->spaces);
    named->non_global |= atomic_load(&owed->non_global);
}

enum sim_reason sim_reason_of(const struct sim_named *named, uint32_t tag, uint64_t pages)
{
    uint64_t region_of_space = ((1ull << SIM_REGION_PAGES) - 1) << tag * SIM_REGION_PAGES;
    uint64_t same_addresses = named->pages;

    if ((named->pages & pages) != 0) {
        return SIM_REASON_NAMED;
    }
    if (tag == SIM_TAG_GLOBAL) {
        if (named->spaces != 0) {
            return SIM_REASON_NAMED;
        }
        return named->non_global != 0 ? SIM_REASON_GLOBAL : SIM_REASON_UNNAMED;
    }
    if (((named->spaces | named->non_global) >> tag & 1) != 0) {
        return SIM_REASON_NAMED;
    }
    if ((named->spaces | named->non_global) != 0) {
        return SIM_REASON_OTHER_SPACE;
    }
    /* The same addresses in the other space. */
    same_addresses =
        tag == 0 ? same_addresses >> SIM_REGION_PAGES : same_addresses << SIM_REGION_PAGES;
    return (same_addresses & region_of_space & pages) != 0 ? SIM_REASON_OTHER_SPACE
                                                           : SIM_REASON_UNNAMED;
}

void sim_exactness_print(const struct sim_exactness *exactness)
{
    static const char *const causes[SIM_CAUSES] = {"by address", "single context", "all contexts",
                                                   "retaining globals", "change of LP"};

    print_message("  %-18s %9s %9s %9s %11s %9s %9s %9s %7s\n", "INVVPID", "executed", "dropped",
                  "named", "other space", "global", "unnamed", "other VP", "ratio");
    for (uint32_t cause = 0; cause < SIM_CAUSES; cause++) {
        const uint64_t *dropped = exactness->dropped[cause];
        uint64_t named = dropped[SIM_REASON_NAMED], sum = 0;

        for (uint32_t reason = 0; reason < SIM_REASONS; reason++) {
            sum += dropped[reason];
        }
        print_message("  %-18s %9llu %9llu %9llu %11llu %9llu %9llu %9llu ", causes[cause],
                      (unsigned long long)exactness->executed[cause], (unsigned long long)sum,
                      (unsigned long long)named,
                      (unsigned long long)dropped[SIM_REASON_OTHER_SPACE],
                      (unsigned long long)dropped[SIM_REASON_GLOBAL],
                      (unsigned long long)dropped[SIM_REASON_UNNAMED],
                      (unsigned long long)dropped[SIM_REASON_OTHER_VP]);
        if (named == 0) {
            print_message("%7s\n", "-");
        } else {
            print_message("%7.3f\n", (double)sum / (double)named);
        }
    }
}
