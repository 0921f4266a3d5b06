/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/sim_space.h"

void sim_space_init(struct sim_space *space)
{
    for (uint32_t i = 0; i < SIM_ENTRIES; i++) {
        atomic_init(&space->entries[i], 2);
    }
}

enum sim_level sim_space_walk(const struct sim_space *space, uint32_t page, struct sim_path *path)
{
    for (enum sim_level level = SIM_LEVEL_1_GIB; level < SIM_LEVELS; level++) {
        uint32_t value;

        if (path->generation[level] != 0) {
            continue; /* from a paging-structure cache: a table */
        }
        /* Acquire: pairs with sim_space_change; the frame was filled before it was mapped. */
        value =
            atomic_load_explicit(&space->entries[sim_entry_of(level, page)], memory_order_acquire);
        path->generation[level] = value / 2;
        if (value % 2 != 0) {
            return level;
        }
    }
    return SIM_LEVEL_4_KIB;
}

uint32_t sim_space_change(struct sim_space *space, uint32_t entry, bool is_large)
{
    uint32_t old = atomic_load_explicit(&space->entries[entry], memory_order_relaxed);
    uint32_t new;

    do {
        new = (old / 2 + 1) * 2 + is_large;
        /* Release: pairs with sim_space_walk. The weakest that a guest does: a plain store. */
    } while (!atomic_compare_exchange_weak_explicit(&space->entries[entry], &old, new,
                                                    memory_order_release, memory_order_relaxed));
    return new / 2;
}
