/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/guest/runtime/fault.h"

#include "tests/guest/runtime/cpu.h"
#include "tests/guest/runtime/insn.h"

struct register_access {
    uint32_t index;
    uint64_t value;
};

struct fault fault_catch(void (*fn)(void *arg), void *arg)
{
    struct cpu *cpu = cpu_this();
    struct fault result = {NO_FAULT, 0, 0, 0};

    cpu->is_catching = true;
    if (fault_try(fn, arg, &cpu->recovery) != 0) {
        result.vector = cpu->fault_vector;
        result.error = cpu->fault_error;
        result.rip = cpu->fault_rip;
        result.cr2 = cpu->fault_cr2;
    }
    cpu->is_catching = false;
    return result;
}

int fault_vector_of(void (*fn)(void *arg), void *arg)
{
    return fault_catch(fn, arg).vector;
}

static void do_rdmsr(void *arg)
{
    struct register_access *access = arg;

    access->value = insn_rdmsr(access->index);
}

static void do_wrmsr(void *arg)
{
    const struct register_access *access = arg;

    insn_wrmsr(access->index, access->value);
}

static void do_xsetbv(void *arg)
{
    const struct register_access *access = arg;

    insn_xsetbv(access->index, access->value);
}

static void do_write_cr0(void *arg)
{
    insn_write_cr0(*(const uint64_t *)arg);
}

static void do_write_cr3(void *arg)
{
    insn_write_cr3(*(const uint64_t *)arg);
}

static void do_write_cr4(void *arg)
{
    insn_write_cr4(*(const uint64_t *)arg);
}

static void do_write_cr8(void *arg)
{
    insn_write_cr8(*(const uint64_t *)arg);
}

int fault_rdmsr(uint32_t msr, uint64_t *value)
{
    struct register_access access = {msr, 0};
    int vector = fault_vector_of(do_rdmsr, &access);

    if (vector == NO_FAULT) {
        *value = access.value;
    }
    return vector;
}

int fault_wrmsr(uint32_t msr, uint64_t value)
{
    struct register_access access = {msr, value};

    return fault_vector_of(do_wrmsr, &access);
}

int fault_xsetbv(uint32_t index, uint64_t value)
{
    struct register_access access = {index, value};

    return fault_vector_of(do_xsetbv, &access);
}

int fault_write_cr0(uint64_t value)
{
    return fault_vector_of(do_write_cr0, &value);
}

int fault_write_cr3(uint64_t value)
{
    return fault_vector_of(do_write_cr3, &value);
}

int fault_write_cr4(uint64_t value)
{
    return fault_vector_of(do_write_cr4, &value);
}

int fault_write_cr8(uint64_t value)
{
    return fault_vector_of(do_write_cr8, &value);
}
