/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/ipi_common.h"

#include "tests/guest/runtime/machine.h"
#include "tests/guest/runtime/smp.h"
#include "tests/guest/runtime/test.h"

#define FLAT_CPUS       8u
#define CLUSTER_CPUS    4u
#define X2_CLUSTER_CPUS 16u

void ipi_nothing(void *arg)
{
    (void)arg;
}

static void set_mode_here(void *arg)
{
    enum apic_mode mode = *(const enum apic_mode *)arg;

    if (apic_current_mode() != mode) {
        apic_set_mode(mode);
    }
}

bool ipi_revive_all(enum apic_mode mode)
{
    bool all = true;

    set_mode_here(&mode);
    for (uint32_t i = 1; i < smp_cpu_count(); i++) {
        if (!smp_call(&cpus[i], set_mode_here, &mode) &&
            (!smp_start(&cpus[i]) || !smp_call(&cpus[i], set_mode_here, &mode))) {
            test_fail("cpu %u does not come back", i);
            all = false;
        }
    }
    return all;
}

void ipi_in_mode(enum apic_mode mode, void (*body)(void))
{
    if (smp_cpu_count() < 2) {
        test_skip("one processor");
        return;
    }
    if (mode == APIC_X2APIC && !apic_has_x2apic()) {
        test_skip("CPUID shows no x2APIC");
        return;
    }
    if (mode == APIC_XAPIC && apic_current_mode() == APIC_X2APIC && machine_is_bochs()) {
        test_skip("this emulator cannot leave x2APIC mode");
        return;
    }
    if (ipi_revive_all(mode)) {
        body();
    }
    (void)ipi_revive_all(mode);
}

static uint32_t logical_id(uint32_t cpu_index, enum ipi_logical model)
{
    if (model == LOGICAL_FLAT) {
        return 1u << (cpu_index % FLAT_CPUS);
    }
    return (cpu_index / CLUSTER_CPUS) << 4 | 1u << (cpu_index % CLUSTER_CPUS);
}

static void set_logical_here(void *arg)
{
    enum ipi_logical model = *(const enum ipi_logical *)arg;

    if (apic_current_mode() != APIC_XAPIC) {
        return;
    }
    apic_write(APIC_DFR, model == LOGICAL_FLAT ? APIC_DFR_FLAT : APIC_DFR_CLUSTER);
    apic_write(APIC_LDR, logical_id(cpu_this()->index, model) << 24);
}

void ipi_set_logical(enum ipi_logical model)
{
    CHECK(smp_call_each(set_logical_here, &model), "a processor does not answer");
}

struct target_list {
    struct ipi_target *targets;
    unsigned int count;
    bool may_include_self;
};

static void add(struct target_list *list, const char *name, uint32_t destination, uint32_t command,
                uint32_t cpu_mask)
{
    if ((!list->may_include_self && (cpu_mask & 1u) != 0) || list->count >= IPI_MAX_TARGETS ||
        cpu_mask == 0) {
        return;
    }
    list->targets[list->count++] = (struct ipi_target){name, destination, command, cpu_mask};
}

static void add_xapic_logical(struct target_list *list, enum ipi_logical model, uint32_t all)
{
    if (model == LOGICAL_FLAT) {
        for (uint32_t mask = 1; mask <= all && mask < 256; mask++) {
            add(list, "logical flat", mask, ICR_LOGICAL, mask & all);
        }
        return;
    }
    for (uint32_t mask = 1; mask < 16; mask++) {
        add(list, "logical cluster", mask, ICR_LOGICAL, mask & all);
    }
    if (all >= 16) {
        add(list, "logical cluster 1", 0x1F, ICR_LOGICAL, (all >> 4 & 15u) << 4);
    }
}

/* The logical x2APIC id is made from the APIC id: cluster in the high half. */
static void add_x2apic_logical(struct target_list *list)
{
    for (uint32_t bits = 1; bits < 256; bits++) {
        uint32_t cpu_mask = 0;

        for (uint32_t i = 0; i < smp_cpu_count(); i++) {
            uint32_t apic = cpus[i].apic_id;

            if (apic < X2_CLUSTER_CPUS && (bits & 1u << apic) != 0) {
                cpu_mask |= 1u << i;
            }
        }
        if ((bits & (bits - 1)) == 0 || bits % 5 == 0) {
            add(list, "logical x2apic", bits, ICR_LOGICAL, cpu_mask);
        }
    }
}

unsigned int ipi_list_targets(struct ipi_target *targets, enum ipi_logical model,
                              bool may_include_self)
{
    struct target_list list = {targets, 0, may_include_self};
    uint32_t all = (1u << smp_cpu_count()) - 1;
    bool is_x2apic = apic_current_mode() == APIC_X2APIC;

    for (uint32_t i = 0; i < smp_cpu_count(); i++) {
        add(&list, "physical", cpus[i].apic_id, 0, 1u << i);
    }
    add(&list, "all but self", 0, ICR_TO_ALL_BUT_SELF, all & ~1u);
    add(&list, "all", 0, ICR_TO_ALL, all);
    add(&list, "broadcast id", is_x2apic ? APIC_BROADCAST_X2 : APIC_BROADCAST_X, 0, all);
    if (is_x2apic) {
        add_x2apic_logical(&list);
    } else {
        add_xapic_logical(&list, model, all);
    }
    return list.count;
}
