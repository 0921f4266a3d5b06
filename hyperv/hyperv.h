/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HYPERV_HYPERV_H
#define HYPERV_HYPERV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/addr.h"
#include "core/compiler.h"
#include "core/cpuid_bits.h"
#include "core/flush_request.h"
#include "core/spin.h"
#include "core/vcpu.h"
#include "hyperv/tlfs.h"

/*
 * Microsoft's hypervisor interface, as pure code: CPUID leaves, synthetic MSRs and hypercalls. vmx/
 * calls what stands here from its exit handlers, and gives a hyperv_ops for what needs hardware.
 * Everything runs in root mode on the LP of the VP that is passed, unless it says otherwise.
 */

/* One switch for each enlightenment, after QEMU's names. */
struct hyperv_features {
    bool is_on;         /* hv: false: no leaf, no MSR, no call */
    bool tlbflush;      /* hv-tlbflush: the four flush calls, recommended; needs vpindex */
    bool tlbflush_ext;  /* hv-tlbflush-ext: extended ranges in their lists; needs tlbflush */
    bool xmm_input;     /* hv-xmm-input: fast calls with up to 112 bytes in registers */
    bool time;          /* hv-time: reference counter and, with an invariant TSC, the TSC page */
    bool frequencies;   /* hv-frequencies */
    bool vapic;         /* hv-vapic: EOI, ICR and TPR by MSR, VP assist page */
    bool vpindex;       /* hv-vpindex */
    bool runtime;       /* hv-runtime */
    bool reset;         /* hv-reset */
    bool tsc_invariant; /* hv-tsc-invariant: the control MSR; needs an invariant TSC */
};

/* What the machine is like. */
struct hyperv_facts {
    uint64_t tsc_hz;  /* calibrated; 0: unknown */
    uint64_t apic_hz; /* APIC timer at divide 1, calibrated; 0: unknown */
    bool is_tsc_invariant;
    uint32_t vp_limit;       /* VP indexes of this partition are below it */
    uint32_t vp_max;         /* the most that any partition can have, a constant of the build */
    uint32_t lp_count;       /* of the machine */
    uint32_t physical_bits;  /* width of guest-physical addresses */
    uint32_t canonical_bits; /* 48, or 57 when the guest may set CR4.LA57 */
    uint32_t list_pages_max; /* a list that names more pages is a flush of all */
};

/* The pages that lie over the guest's memory; where both are at one address the first is seen. */
enum hyperv_overlay {
    HYPERV_OVERLAY_HYPERCALL,
    HYPERV_OVERLAY_REFERENCE_TSC,
    HYPERV_OVERLAY_COUNT
};

#define HYPERV_OVERLAY_MAPPED BIT64(0)

/* Of the registers that fast calls use. */
#define HYPERV_XMM_WORDS 12u

/*
 * What vmx/ does for this folder. context is hyperv_vp.context of the calling VP. None may fail
 * unless it returns bool or a pointer.
 */
struct hyperv_ops {
    /* The TSC of this LP, less what the guest has added to it (lp_tsc_correction). */
    uint64_t (*read_tsc)(void *context);

    /* Where a page of guest RAM is. NULL: not RAM of this guest, or hidden. The answer for a
     * page is always the same. */
    const volatile void *(*ram_page)(void *context, gpa_t page);
    /* XMM0 to XMM5 of the calling VP, low halves first. */
    void (*read_xmm)(void *context, uint64_t words[HYPERV_XMM_WORDS]);
    /* Copies bytes (in one page) to guest RAM. False: not RAM of this guest, or hidden. */
    bool (*write_gpa)(void *context, gpa_t to, const void *from, size_t bytes);

    /* Lays an overlay page over a guest page (hypercall: read and execute; reference TSC: read).
     * Any page below the physical limit can be asked for; one that was mapped before at this
     * address is replaced. False: cannot be (hidden memory, no table page), nothing is changed.
     * Called with the partition's lock held: waits for nobody. */
    bool (*overlay_map)(void *context, enum hyperv_overlay overlay, gpa_t page);
    /* Shows the memory beneath again. */
    void (*overlay_unmap)(void *context, gpa_t page);
    /* Returns when no LP uses a translation from before the last map or unmap. No lock is held. */
    void (*overlay_sync)(void *context);

    /* This LP's own APIC, in whichever mode it is. False: #GP. ICR as in xAPIC mode: ICR2 is 63:32.
     * The value of write_tpr is below 256. */
    bool (*apic_write_eoi)(void *context, uint32_t value);
    bool (*apic_read_icr)(void *context, uint64_t *value);
    bool (*apic_write_icr)(void *context, uint64_t value);
    bool (*apic_read_tpr)(void *context, uint64_t *value);
    bool (*apic_write_tpr)(void *context, uint64_t value);

    /* Resets the machine of the guest. */
    void (*reset)(void *context);

    /* Flushes the targets that exist (the caller among them when it is named). Returns when the
     * effects are observable on all; the caller's own may wait for its next entry. */
    void (*flush)(void *context, const struct flush_request *request);
};

/* Calls as they are counted: one for all unknown codes, and the rows of hypercalls.def. */
enum hyperv_call {
    HYPERV_CALL_UNKNOWN,
#define HYPERCALL(name, code, class, bytes, element, privileges, hints, handler) HYPERV_CALL_##name,
#include "hyperv/hypercalls.def"
#undef HYPERCALL
    HYPERV_CALL_COUNT
};

/* Outcomes as they are counted; the statuses are the TLFS codes that we return. */
enum hyperv_outcome {
    HYPERV_OUTCOME_SUCCESS,
    HYPERV_OUTCOME_INVALID_CODE,
    HYPERV_OUTCOME_INVALID_INPUT,
    HYPERV_OUTCOME_INVALID_ALIGNMENT,
    HYPERV_OUTCOME_INVALID_PARAMETER,
    HYPERV_OUTCOME_ACCESS_DENIED,
    HYPERV_OUTCOME_UNDEFINED, /* #UD */
    HYPERV_OUTCOME_COUNT
};

/*
 * One guest. What is fixed is written by hyperv_partition_init only. The registers are written
 * under lock and may be read without; the time base is read and written under it. Nothing waits
 * while the lock is held (it is taken before vmx/'s lock of the EPT).
 */
struct hyperv_partition {
    const struct hyperv_ops *ops;
    struct hyperv_features features;
    struct hyperv_facts facts;
    uint64_t privileges;      /* leaf 3 EBX:EAX */
    uint32_t features_edx;    /* leaf 3 EDX */
    uint32_t recommendations; /* leaf 4 EAX */
    uint32_t calls_granted;   /* bit n: enum hyperv_call n may be made */
    uint64_t tsc_scale;       /* 100 ns units a tick, 0.64 fixed point */
    struct hv_reference_tsc_page *reference_tsc_page;

    ALIGNED(CACHE_LINE_BYTES) struct spin_lock lock;
    _Atomic uint64_t guest_os_id;
    _Atomic uint64_t hypercall;
    _Atomic uint64_t reference_tsc;
    _Atomic uint64_t tsc_invariant_control;
    /* Where each overlay lies: guest-physical address | HYPERV_OVERLAY_MAPPED, or 0. */
    _Atomic uint64_t overlay_pages[HYPERV_OVERLAY_COUNT];

    /* time = ((tsc + tsc_correction) * tsc_scale >> 64) + time_offset, the numbers of the page. */
    uint64_t tsc_correction;
    int64_t time_offset;
    uint64_t time_next;         /* the least that TIME_REF_COUNT may say next */
    bool is_tsc_agreed;         /* guest TSCs agree: the page is valid */
    uint32_t tsc_sequence_last; /* the page's last valid sequence */
};

/* One VP; only the LP that runs it writes it. Counters may be read from anywhere and may lag. */
struct hyperv_vp {
    struct hyperv_partition *partition;
    void *context; /* for ops */
    uint32_t vp_index;
    uint64_t vp_assist_page;
    bool is_running;
    uint64_t run_begin_tsc;
    uint64_t run_ticks; /* of the periods that have ended */
    /* The page that hypercall input was in last, and what ops.ram_page said of it; NULL: to be
     * asked. */
    uint64_t input_page;
    const volatile void *input_at;
    uint64_t calls[HYPERV_CALL_COUNT][HYPERV_OUTCOME_COUNT];
    /* Pages named by list calls, per call and not per target; of a list that is too long, up to
     * there. */
    uint64_t gvas_flushed;
};

/* ---- Setting up ---- */

/*
 * Makes the partition: what the machine cannot give is switched off (ask partition->features what
 * is left), MSRs take their reset values, the reference time is 0 at tsc. page is 4 KiB of zeroed
 * hypervisor memory that ops.overlay_map maps as HYPERV_OVERLAY_REFERENCE_TSC; it stays invalid
 * until hyperv_reference_tsc_agree. All of it before the first VM entry.
 */
void hyperv_partition_init(struct hyperv_partition *partition, const struct hyperv_ops *ops,
                           const struct hyperv_features *features, const struct hyperv_facts *facts,
                           struct hv_reference_tsc_page *page, uint64_t tsc);

/* Makes a VP, not running. vp_index is below facts.vp_limit. */
void hyperv_vp_init(struct hyperv_vp *vp, struct hyperv_partition *partition, uint32_t vp_index,
                    void *context);

/* Machine reset: overlays vanish, MSRs take their reset values, reference time restarts at 0.
 * Called on one VP while the others do not run. INIT calls nothing. */
void hyperv_partition_reset(struct hyperv_vp *vp);

/* Machine reset, for each VP. Counters of calls stay. */
void hyperv_vp_reset(struct hyperv_vp *vp);

/* Fills a page with the code that a guest calls: VMCALL, RET, then INT3 (TLFS "Establishing the
 * Hypercall Interface"). page is HYPERV_OVERLAY_HYPERCALL. */
void hyperv_hypercall_page_fill(uint8_t page[PAGE_BYTES]);

/* ---- CPUID ---- */

#define HYPERV_LEAF_FIRST 0x40000000u
#define HYPERV_LEAF_LAST  0x400000FFu

static inline bool hyperv_has_leaf(uint32_t leaf)
{
    return leaf - HYPERV_LEAF_FIRST <= HYPERV_LEAF_LAST - HYPERV_LEAF_FIRST;
}

/* The registers of a leaf of 0x40000000-0x400000FF; what is not offered is zero. The subleaf does
 * not matter. The same on all VPs. */
struct cpuid_regs hyperv_cpuid(const struct hyperv_partition *partition, uint32_t leaf);

/* Changes the answer of an architectural leaf: 1 (hypervisor present) and 0x80000007 (invariant TSC
 * hidden until the guest asks for it). Other leaves stay. */
void hyperv_cpuid_adjust(const struct hyperv_partition *partition, uint32_t leaf,
                         struct cpuid_regs *inout);

/* ---- MSRs ---- */

enum hyperv_msr_result { HYPERV_MSR_OK, HYPERV_MSR_GP };

static inline bool hyperv_has_msr(uint32_t msr)
{
    return msr - HV_X64_MSR_FIRST <= HV_X64_MSR_LAST - HV_X64_MSR_FIRST;
}

/* RDMSR and WRMSR of an MSR for which hyperv_has_msr holds. GP: *value is untouched, nothing is
 * changed. A write may wait for other LPs (overlay_sync): the caller holds no lock. */
MUST_CHECK enum hyperv_msr_result hyperv_read_msr(struct hyperv_vp *vp, uint32_t msr,
                                                  uint64_t *value);
MUST_CHECK enum hyperv_msr_result hyperv_write_msr(struct hyperv_vp *vp, uint32_t msr,
                                                   uint64_t value);

/* ---- Time ---- */

/* Reference time in 100 ns units: strictly increasing over all calls in the partition. */
uint64_t hyperv_reference_time(struct hyperv_vp *vp);

/*
 * Says whether the guest's TSCs now agree on all LPs, and by how much each differs from ours
 * (correction: guest TSC - ops.read_tsc()). While they do not the page is invalid. To be told
 * before the first VM entry and after each guest write to a TSC has been recorded on its LP: first
 * false, then, once all LPs agree again, true. Time does not jump.
 */
void hyperv_reference_tsc_agree(struct hyperv_vp *vp, bool agrees, int64_t correction);

/* The VP begins and ceases to be runnable on an LP, for VP_RUNTIME: with its first entry or
 * SIPI; when it begins to wait for SIPI. Time in the hypervisor on its behalf counts. May be
 * repeated. */
void hyperv_vp_run_begin(struct hyperv_vp *vp);
void hyperv_vp_run_end(struct hyperv_vp *vp);

/* ---- Overlay pages ---- */

/* Whether an overlay lies over the page that address is in. Needs no lock. Inline: part of each
 * call. */
static inline bool hyperv_overlay_covers(const struct hyperv_partition *partition, gpa_t address)
{
    uint64_t page = align_down(address.value, PAGE_BYTES) | HYPERV_OVERLAY_MAPPED;

    /* Relaxed: nothing is ordered by it. A guest that moves an overlay over the input of its own
     * call has the one or the other read. */
    for (uint32_t overlay = 0; overlay < HYPERV_OVERLAY_COUNT; overlay++) {
        if (atomic_load_explicit(&partition->overlay_pages[overlay], memory_order_relaxed) ==
            page) {
            return true;
        }
    }
    return false;
}

/* ---- Hypercalls ---- */

/* Where a VMCALL was executed. */
struct hyperv_caller {
    uint8_t cpl;         /* SS.DPL, SDM volume 3, "Guest Register State" */
    bool is_protected;   /* CR0.PE and not RFLAGS.VM */
    bool is_64_bit_code; /* EFER.LMA and CS.L: 64-bit registers, else pairs of 32-bit ones */
};

enum hyperv_call_result {
    HYPERV_RESULT_DONE, /* go past VMCALL; the result value is in its registers */
    HYPERV_RESULT_UD,   /* #UD at VMCALL; registers are as they were */
};

/*
 * Serve a VMCALL. gpr: the guest's registers by enum gpr (vcpu.gpr); RAX, and outside 64-bit code
 * RDX too, take the result. buffer: 4 KiB of this LP's own, 8-byte aligned, that nobody else
 * touches until the call returns. They wait as ops.flush does: the caller holds no lock. The three
 * differ in who calls; hyperv_hypercall chooses.
 */
MUST_CHECK enum hyperv_call_result hyperv_call_64_bit(struct hyperv_vp *vp, uint64_t gpr[GPR_COUNT],
                                                      uint64_t *buffer);
MUST_CHECK enum hyperv_call_result hyperv_call_32_bit(struct hyperv_vp *vp, uint64_t gpr[GPR_COUNT],
                                                      uint64_t *buffer);
MUST_CHECK enum hyperv_call_result hyperv_call_undefined(struct hyperv_vp *vp);

/* Inline, so that the caller's mode is looked at once. */
MUST_CHECK static inline enum hyperv_call_result hyperv_hypercall(
    struct hyperv_vp *vp, const struct hyperv_caller *caller, uint64_t gpr[GPR_COUNT],
    uint64_t *buffer)
{
    /* Relaxed: the page's contents never change, so nothing else is read by this. */
    uint64_t hypercall = atomic_load_explicit(&vp->partition->hypercall, memory_order_relaxed);

    if (caller->cpl != 0 || !caller->is_protected || (hypercall & HV_X64_MSR_PAGE_ENABLE) == 0) {
        return hyperv_call_undefined(vp);
    }
    return caller->is_64_bit_code ? hyperv_call_64_bit(vp, gpr, buffer)
                                  : hyperv_call_32_bit(vp, gpr, buffer);
}

/* ---- Reports ---- */

const char *hyperv_call_name(enum hyperv_call call);
const char *hyperv_outcome_name(enum hyperv_outcome outcome);

/* Sum over the outcomes of a call, or with HYPERV_CALL_COUNT over all calls. */
uint64_t hyperv_calls_total(const struct hyperv_vp *vp, enum hyperv_call call);
/* The part of it that did not succeed. */
uint64_t hyperv_calls_failed(const struct hyperv_vp *vp, enum hyperv_call call);

#endif
