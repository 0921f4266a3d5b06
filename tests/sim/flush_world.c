/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/sim/flush_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/flush_step.h"

struct flush_world world;

static bool take_kick(void *self, uint32_t lp_id)
{
    assert_ptr_equal(self, &world);
    assert_true(lp_id < LPS);
    world.kicks[lp_id]++;
    return !world.is_kick_refused;
}

static void note_invvpid(void *self, const struct flush_vcpu *vcpu, enum flush_invvpid type,
                         gva_t address)
{
    assert_ptr_equal(self, &world);
    assert_true(world.call_count < CALLS);
    world.calls[world.call_count++] =
        (struct call){.vcpu = vcpu, .type = type, .address = address.value};
}

static void leave(_Atomic uint64_t *seq)
{
    if ((atomic_load(seq) & 1) != 0) {
        atomic_fetch_add(seq, 1);
    }
}

static void pass_time(void *self)
{
    assert_ptr_equal(self, &world);
    world.now += WATCHDOG / 4;
    if (++world.turns == world.turns_until_exit) {
        for (uint32_t i = 1; i < LPS; i++) {
            leave(&world.lps[i].run_seq);
            leave(&world.lps[i].gva_seq);
        }
    }
}

static uint64_t tell_time(void *self)
{
    assert_ptr_equal(self, &world);
    return world.now;
}

static void note_report(void *self, const struct flush_late *late)
{
    assert_ptr_equal(self, &world);
    world.reports++;
    world.late = *late;
}

static const struct flush_ops ops = {.kick = take_kick,
                                     .invvpid = note_invvpid,
                                     .relax = pass_time,
                                     .now = tell_time,
                                     .report = note_report};

int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.machine = (struct flush_machine){.ops = &ops,
                                           .lps = world.lp_table,
                                           .lp_count = LPS,
                                           .vps = world.vp_table,
                                           .vp_count = VPS,
                                           .invvpid_types = ALL_TYPES,
                                           .pages_max = FLUSH_PAGES_DEFAULT,
                                           .watchdog_ticks = WATCHDOG};
    for (uint32_t i = 0; i < LPS; i++) {
        world.lp_table[i] = &world.lps[i];
        atomic_store(&world.lps[i].run_seq, 10);
    }
    for (uint32_t i = 0; i < VPS; i++) {
        world.vp_table[i] = i < LPS || i % VP_STEP == 0 ? &world.vcpus[i] : NULL;
    }
    flush_lp_init(&world.self, &world.machine, 0, &world, world.scratch);
    atomic_store(&world.vcpus[0].lp, 1);
    world.vcpus[0].last_lp = 1;
    world.turns_until_exit = 2;
    flush_step_hook = NULL;
    return 0;
}

uint64_t counted(enum flush_counter counter)
{
    uint64_t count = world.vcpus[0].counters[counter];

    return world.caller == 0 ? count : count + world.vcpus[world.caller].counters[counter];
}

uint64_t word_of(uint32_t vp_index)
{
    return atomic_load(&world.vcpus[vp_index].pending.word);
}

void send_to_bank(enum flush_kind kind, uint64_t bank, const uint64_t *ranges, uint32_t range_count)
{
    struct flush_request request = {.targets = {.valid_banks = 1, .banks = &bank},
                                    .kind = kind,
                                    .ranges = ranges,
                                    .range_count = range_count};

    for (uint32_t i = 0; i < range_count && kind == FLUSH_KIND_LIST; i++) {
        request.page_count += flush_range_pages(ranges[i]);
    }
    flush_send(&world.self, &world.vcpus[world.caller], &request);
}

void expect_call(uint32_t index, enum flush_invvpid type, uint64_t address)
{
    assert_true(index < world.call_count);
    assert_ptr_equal(world.calls[index].vcpu, &world.vcpus[0]);
    assert_int_equal(world.calls[index].type, type);
    assert_int_equal(world.calls[index].address, address);
}
