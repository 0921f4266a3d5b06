/* SPDX-License-Identifier: BSD-2-Clause */
#include "hyperv/private.h"

/*
 * Reference time, TLFS "Partition Reference Time Enlightenment". The counter MSR and the page are
 * made from the same scale, correction and offset, so that a guest may mix them.
 */

/* Long division, since the compiler's division of 128 bits would call its library. */
uint64_t hyperv_scale_of(uint64_t tsc_hz)
{
    uint64_t rest = HV_REFERENCE_TIME_HZ;
    uint64_t scale = 0;

    for (uint32_t bit = 0; bit < 64; bit++) {
        bool carries = (rest >> 63) != 0;

        rest <<= 1;
        scale <<= 1;
        if (carries || rest >= tsc_hz) {
            rest -= tsc_hz;
            scale |= 1;
        }
    }
    return scale;
}

uint64_t hyperv_units_of(uint64_t ticks, uint64_t scale)
{
    return (uint64_t)(((unsigned __int128)ticks * scale) >> 64);
}

static uint64_t units_at(const struct hyperv_partition *partition, uint64_t tsc)
{
    return hyperv_units_of(tsc + partition->tsc_correction, partition->tsc_scale);
}

/* Both invalid numbers are left out. */
static uint32_t next_sequence(uint32_t sequence)
{
    sequence++;
    return sequence == HV_REFERENCE_TSC_SEQUENCE_INVALID_OLD ||
                   sequence == HV_REFERENCE_TSC_SEQUENCE_INVALID
               ? 1
               : sequence;
}

/* Readers compare the sequence before with that after, so scale and offset stand between two
 * stores of it, all in one order; they pair with the guest's loads. */
static void publish(struct hyperv_partition *partition)
{
    struct hv_reference_tsc_page *page = partition->reference_tsc_page;
    bool is_valid = partition->is_tsc_agreed &&
                    (partition->privileges & HV_ACCESS_PARTITION_REFERENCE_TSC) != 0;

    atomic_store_explicit(&page->tsc_sequence, HV_REFERENCE_TSC_SEQUENCE_INVALID,
                          memory_order_seq_cst);
    atomic_store_explicit(&page->tsc_scale, partition->tsc_scale, memory_order_seq_cst);
    atomic_store_explicit(&page->tsc_offset, partition->time_offset, memory_order_seq_cst);
    if (is_valid) {
        partition->tsc_sequence_last = next_sequence(partition->tsc_sequence_last);
        atomic_store_explicit(&page->tsc_sequence, partition->tsc_sequence_last,
                              memory_order_seq_cst);
    }
}

void hyperv_time_restart(struct hyperv_partition *partition, uint64_t tsc)
{
    partition->time_offset = (int64_t)(0 - units_at(partition, tsc));
    partition->time_next = 0;
    publish(partition);
}

uint64_t hyperv_reference_time(struct hyperv_vp *vp)
{
    struct hyperv_partition *partition = vp->partition;
    uint64_t time;

    spin_lock(&partition->lock);
    time = units_at(partition, partition->ops->read_tsc(vp->context)) +
           (uint64_t)partition->time_offset;
    /* TSCs of LPs that agree may still differ by less than an exit takes. */
    if ((int64_t)(time - partition->time_next) < 0) {
        time = partition->time_next;
    }
    partition->time_next = time + 1;
    spin_unlock(&partition->lock);
    return time;
}

void hyperv_reference_tsc_agree(struct hyperv_vp *vp, bool agrees, int64_t correction)
{
    struct hyperv_partition *partition = vp->partition;

    spin_lock(&partition->lock);
    if (agrees) {
        uint64_t tsc = partition->ops->read_tsc(vp->context);
        uint64_t before = units_at(partition, tsc) + (uint64_t)partition->time_offset;

        partition->tsc_correction = (uint64_t)correction;
        partition->time_offset = (int64_t)(before - units_at(partition, tsc));
    }
    partition->is_tsc_agreed = agrees;
    publish(partition);
    spin_unlock(&partition->lock);
}

void hyperv_vp_run_begin(struct hyperv_vp *vp)
{
    if (!vp->is_running) {
        vp->is_running = true;
        vp->run_begin_tsc = vp->partition->ops->read_tsc(vp->context);
    }
}

static uint64_t ticks_of_period(const struct hyperv_vp *vp)
{
    return vp->is_running ? vp->partition->ops->read_tsc(vp->context) - vp->run_begin_tsc : 0;
}

void hyperv_vp_run_end(struct hyperv_vp *vp)
{
    vp->run_ticks += ticks_of_period(vp);
    vp->is_running = false;
}

uint64_t hyperv_vp_runtime(const struct hyperv_vp *vp)
{
    return hyperv_units_of(vp->run_ticks + ticks_of_period(vp), vp->partition->tsc_scale);
}
