/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flush protocol (core/flush.c, core/flush_wait.h, core/flush_wait.c, core/gva_section.h, vmx/run.c,
 * vmx/entry.asm, vmx/nmi.c). docs/model.md says what each step stands for and what is left out.
 *
 * Sizes: SENDERS, TARGETS (vCPUs, all of them named by each sender), LPS (that run targets), STAYS (of each
 * vCPU on LPs), EXITS, SECTIONS, WAITS (of each LP). LISTS: bits of the senders that ask for a list, the
 * others ask for all. TSO=1: store buffers. MUTUAL=1: the senders are the
 * vCPUs themselves (SENDERS = TARGETS). FAULT_...: what a test removes.
 * Each sender has a page of its own, bit 1 << s, which it remaps once: old, then new.
 */
#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef TARGETS
#define TARGETS 1
#endif
#ifndef LPS
#define LPS 2
#endif
#ifndef STAYS
#define STAYS 3
#endif
#ifndef EXITS
#define EXITS 1
#endif
#ifndef SECTIONS
#define SECTIONS 1
#endif
#ifndef WAITS
#define WAITS 1
#endif
#ifndef LISTS
#define LISTS 1
#endif
#ifndef TSO
#define TSO 1
#endif
#ifndef MUTUAL
#define MUTUAL 0
#endif

#if MUTUAL
#define CPU_OF_LP(l) (l)
#define CPUS LPS
#else
#define CPU_OF_LP(l) (SENDERS + (l))
#define CPUS (SENDERS + LPS)
#endif

#define ALL_PAGES ((1 << SENDERS) - 1)
#define BIT(s) (1 << (s))
/* Bits of the word. */
#define WORD_ALL 1
#define WORD_LIST 2
#define IS_LIST(s) ((LISTS & BIT(s)) != 0)
#define CACHED(l, v) cached[(l) * TARGETS + (v)]

#define ROOT 0
#define WINDOW 1
#define GUEST 2

byte page_tables;                 /* pages whose new entry is in memory */
byte returned;                    /* senders whose call has returned */
byte run_seq[LPS];
byte gva_seq[LPS];
byte kicked_seq[LPS];
bit nmi[LPS];                     /* latched */
bit restart[LPS];
bit redirected[LPS];              /* the handler has moved RIP to the pseudo-exit */
byte mode[LPS];
byte walked[LPS];                 /* old entries that root mode has walked and still uses */
byte streaming[LPS];              /* non-temporal stores through old entries on their way */
byte word[TARGETS];
byte slots[TARGETS];
byte lp_of[TARGETS];              /* flush_vcpu.lp: l + 1, or 0 */
byte last_lp[TARGETS];
byte lp_runs[LPS];                /* v + 1 while vCPU v is on the LP, for the checks */
bit is_taken[TARGETS];            /* by the scheduler of an LP */
byte stays[TARGETS];
byte used_lps;                    /* that have run a vCPU */
byte cached[LPS * TARGETS];       /* old entries, by LP and VPID */

mtype = { PAGE_TABLE, WORD, LP_OF, RUN_SEQ, GVA_SEQ, KICKED_SEQ };

#if TSO
chan buffer[CPUS] = [3] of { mtype, byte, byte };
#define drained(cpu) empty(buffer[cpu])
#define STORE(cpu, what, index, value) buffer[cpu]!what, index, value
#else
#define drained(cpu) true
#define STORE(cpu, what, index, value) write(what, index, value)
#endif

/* What a store does when it reaches memory. */
inline write(name, at, new)
{
    if
    :: name == PAGE_TABLE -> page_tables = page_tables | (new)
    :: name == WORD -> word[at] = new
    :: name == LP_OF -> lp_of[at] = new
    :: name == RUN_SEQ -> run_seq[at] = new
    :: name == GVA_SEQ -> gva_seq[at] = new
    :: name == KICKED_SEQ -> kicked_seq[at] = new
    fi
}

/* A locked instruction drains the buffer of its own processor first. */
#define LOCKED(cpu, statement) atomic { drained(cpu); statement }

#if TSO
/* Stores become visible in order, at any time. */
active proctype memory()
{
    mtype what;
    byte index, value;

end_memory:
    do
    :: atomic {
           nempty(buffer[0]) -> buffer[0]?what, index, value; write(what, index, value);
           what = 0; index = 0; value = 0
       }
#if CPUS > 1
    :: atomic {
           nempty(buffer[1]) -> buffer[1]?what, index, value; write(what, index, value);
           what = 0; index = 0; value = 0
       }
#endif
#if CPUS > 2
    :: atomic {
           nempty(buffer[2]) -> buffer[2]?what, index, value; write(what, index, value);
           what = 0; index = 0; value = 0
       }
#endif
#if CPUS > 3
    :: atomic {
           nempty(buffer[3]) -> buffer[3]?what, index, value; write(what, index, value);
           what = 0; index = 0; value = 0
       }
#endif
#if CPUS > 4
    :: atomic {
           nempty(buffer[4]) -> buffer[4]?what, index, value; write(what, index, value);
           what = 0; index = 0; value = 0
       }
#endif
#if CPUS > 5
#error "more processors than memory() serves"
#endif
    od
}
#endif

/* The moment at which the guest that called may reuse the page: nobody may have it any more. */
inline check_return(page)
{
    i = 0;
    do
    :: i < LPS ->
        j = 0;
        do
        :: j < TARGETS ->
            assert(!(mode[i] == GUEST && lp_runs[i] == j + 1 && (CACHED(i, j) & BIT(page)) != 0));
            j++
        :: else -> break
        od;
        assert((walked[i] & BIT(page)) == 0);
        assert((streaming[i] & BIT(page)) == 0);
        i++
    :: else -> break
    od;
    i = 0;
    j = 0
}

/*
 * The NMI handler in root mode: nmi_arrived, move_out_of_windows. It may run at any time after the kick.
 * Only the steps that use this macro can tell when it did, so it runs there or not yet.
 */
inline nmi_in_root(here)
{
    if
    :: nmi[here] && mode[here] != GUEST ->
        nmi[here] = 0;
        restart[here] = 1;
#ifndef FAULT_NO_RESTART_WINDOW
        redirected[here] = (mode[here] == WINDOW);
#endif
    :: true
    fi
}

/* flush_send. who: the sender; me: its vCPU + 1 in MUTUAL, or 0; here: its LP in MUTUAL. */
inline flush_send(on, who, me, here)
{
    t = 0;
    do
    :: t < TARGETS && t + 1 != me ->
        /* post: fill_slot, then the word */
#ifdef FAULT_WORD_BEFORE_SLOT
        LOCKED(on, word[t] = word[t] | (IS_LIST(who) -> WORD_LIST : WORD_ALL));
        if
        :: IS_LIST(who) -> LOCKED(on, slots[t] = slots[t] | BIT(who))
        :: else
        fi;
#else
        if
        :: IS_LIST(who) -> LOCKED(on, slots[t] = slots[t] | BIT(who))
        :: else
        fi;
#ifdef FAULT_POST_UNFENCED
        STORE(on, WORD, t, (word[t] | (IS_LIST(who) -> WORD_LIST : WORD_ALL)));
#else
        LOCKED(on, word[t] = word[t] | (IS_LIST(who) -> WORD_LIST : WORD_ALL));
#endif
#endif
        /* look */
        where = lp_of[t];
        if
        :: where == 0
        :: where != 0 ->
            /* flush_wait_add: run_seq, then gva_seq */
            atomic {
                if
                :: (run_seq[where - 1] & 1) != 0 -> seen_run[where - 1] = run_seq[where - 1]
                :: else
                fi
            };
#if SECTIONS > 0 && !defined(FAULT_NO_GVA_WAIT)
            atomic {
                if
                :: (gva_seq[where - 1] & 1) != 0 -> seen_gva[where - 1] = gva_seq[where - 1]
                :: else
                fi
            };
#endif
            where = 0
        fi;
        t++
    :: t < TARGETS && t + 1 == me -> t++
    :: else -> t = 0; break
    od;
    /* flush_wait_kick: kick_unless_kicked, then kick */
    do
    :: atomic {
           do
           :: t < LPS && seen_run[t] == 0 -> t++
           :: else -> break
           od;
           if
           :: t == LPS -> t = 0; break
           :: else
           fi;
           if
#ifdef FAULT_ANY_KICK_WILL_DO
           :: kicked_seq[t] != 0 -> t++; goto kicked
#else
           :: kicked_seq[t] == seen_run[t] -> t++; goto kicked
#endif
           :: else
           fi
       };
       atomic {
#ifndef FAULT_NO_KICK
           nmi_in_root(t);
           nmi[t] = 1;
#endif
           STORE(on, KICKED_SEQ, t, seen_run[t]);
           t++
       };
kicked:
       skip
    od;
    /* serve_caller */
    if
    :: me != 0 -> CACHED(here, me - 1) = CACHED(here, me - 1) & (IS_LIST(who) -> ALL_PAGES - BIT(who) : 0)
    :: else
    fi;
    /* flush_wait_finish: wait_for_lp */
    atomic {
        do
        :: t < LPS ->
#ifndef FAULT_NO_WAIT
            (seen_run[t] == 0 || run_seq[t] != seen_run[t]);
#endif
            (seen_gva[t] == 0 || gva_seq[t] != seen_gva[t]);
            seen_run[t] = 0;
            seen_gva[t] = 0;
            t++
        :: else -> t = 0; break
        od;
        check_return(who);
        returned = returned | BIT(who)
    }
}

#if !MUTUAL
/* A vCPU that calls once. It has changed its page table in guest mode, and a VM exit drains nothing. Its
 * run_seq is even from here to the end of the call; nobody names it. */
active [SENDERS] proctype sender()
{
    byte s, t, where, i, j;
    byte seen_run[LPS], seen_gva[LPS];

    atomic {
        s = _pid - TSO;
        STORE(s, PAGE_TABLE, 0, BIT(s))
    };
    flush_send(s, s, 0, 0)
}
#endif

/* INVVPID on this LP, in root mode: nobody else sees it, so it needs no step of its own. */
#define INVVPID(pages) CACHED(l, v) = CACHED(l, v) & (ALL_PAGES - (pages))

/* One slot: an element may come between two of them. */
#define TAKE_SLOT(page) \
    atomic { drained(cpu); ranges = ranges | (slots[v] & BIT(page)); slots[v] = slots[v] & ~BIT(page) }

/* take_ranges: all slots that a list of this size can be in. */
inline take_ranges()
{
#if LISTS & 1
    TAKE_SLOT(0);
#endif
#if LISTS & 2
    TAKE_SLOT(1);
#endif
#if LISTS & 4
    TAKE_SLOT(2);
#endif
    skip
}

/* take, then flush_carry_out: all is dropped when the word says so. */
inline flush_serve()
{
#ifdef FAULT_INVVPID_BEFORE_TAKE
    INVVPID((word[v] & WORD_ALL) != 0 -> ALL_PAGES : slots[v]);
#endif
#ifdef FAULT_SLOTS_BEFORE_WORD
    take_ranges();
#endif
    LOCKED(cpu, taken_word = word[v]; word[v] = 0);
#ifndef FAULT_SLOTS_BEFORE_WORD
    if
    :: (taken_word & WORD_LIST) != 0 -> take_ranges()
    :: else
    fi;
#endif
    atomic {
#ifndef FAULT_INVVPID_BEFORE_TAKE
        INVVPID((taken_word & WORD_ALL) != 0 -> ALL_PAGES : ranges);
#endif
        ranges = 0;
        taken_word = 0
    }
}

/* flush_serve_published: run_seq += 2 when nothing is left */
inline flush_serve_published()
{
    do
    :: word[v] != 0 ->
#ifdef FAULT_SETTLE_WITHOUT_SERVING
        LOCKED(cpu, word[v] = 0);
#else
        flush_serve();
#endif
    :: else -> break
    od;
#ifndef FAULT_NO_SETTLE_ACKNOWLEDGMENT
    LOCKED(cpu, run_seq[l] = run_seq[l] + 2);
#endif
}

/* flush_arrive */
inline flush_arrive()
{
#ifdef FAULT_ARRIVE_AFTER_PUBLISH
    skip;
#else
    LOCKED(cpu, lp_of[v] = l + 1);
#endif
#ifndef FAULT_NO_LP_CHANGE_RULE
    if
    :: last_lp[v] == l + 1
    :: else ->
        LOCKED(cpu, taken_word = word[v]; word[v] = 0);
        if
        :: (taken_word & WORD_LIST) != 0 -> take_ranges()
        :: else
        fi;
        atomic {
            ranges = 0;
            taken_word = 0;
            INVVPID(ALL_PAGES);
            last_lp[v] = l + 1
        }
    fi;
#endif
}

/* The scheduler's lock is held. LPs are alike, so they begin in the order of their numbers. */
#define PICK(x) \
    atomic { \
        l <= used_lps && !is_taken[x] && stays[x] < STAYS -> \
        used_lps = (l == used_lps -> l + 1 : used_lps); \
        is_taken[x] = 1; stays[x]++; v = x; lp_runs[l] = x + 1 \
    }

/* run_loop of an LP, and the scheduler around it. */
active [LPS] proctype lp()
{
    byte l, cpu, v, ranges, taken_word, exits, sections, waits;
#if MUTUAL
    byte t, where, i, j;
    byte seen_run[LPS], seen_gva[LPS];
    bit has_called;
#endif

    l = _pid - TSO - (MUTUAL -> 0 : SENDERS);
    cpu = CPU_OF_LP(l);

end_idle:
    if
#if MUTUAL
    :: atomic { stays[l] == 0 -> stays[l] = 1; v = l; lp_runs[l] = l + 1 }
#else
    :: PICK(0)
#if TARGETS > 1
    :: PICK(1)
#endif
#endif
    fi;
    flush_arrive();

enter:
    atomic {
        nmi_in_root(l);
        if
        :: restart[l] -> goto service
        :: else -> goto publish
        fi
    };

service: /* enter_after_service: serve */
    atomic {
        nmi_in_root(l);
        restart[l] = 0;
        if
        :: word[v] == 0 -> goto publish
        :: else
        fi
    };
    flush_serve();

publish:
#ifdef FAULT_CHECK_BEFORE_PUBLISH
    if
    :: word[v] != 0 -> flush_serve()
    :: else
    fi;
    LOCKED(cpu, run_seq[l] = run_seq[l] + 1);
#else
#ifdef FAULT_PUBLISH_UNFENCED
    STORE(cpu, RUN_SEQ, l, run_seq[l] + 1);
#else
    LOCKED(cpu, run_seq[l] = run_seq[l] + 1);
#endif
    /* settle */
    do
    :: word[v] != 0 -> flush_serve_published()
    :: else -> break
    od;
#endif
#ifdef FAULT_ARRIVE_AFTER_PUBLISH
    LOCKED(cpu, lp_of[v] = l + 1);
#endif

    /* enter_waiting_in_hardware: the activity state wait-for-SIPI, where NMIs do nothing */
    if
    :: waits < WAITS ->
        waits++;
#ifndef FAULT_WAITING_IS_RUNNING
        LOCKED(cpu, run_seq[l] = run_seq[l] + 1);
#endif
        if
        :: true -> goto end_hardware_wait
        :: true /* SIPI: vmx_exit_entry, then the second increment */
        fi;
#ifndef FAULT_WAITING_IS_RUNNING
        LOCKED(cpu, run_seq[l] = run_seq[l] + 1);
#endif
        LOCKED(cpu, run_seq[l] = run_seq[l] + 1);
        goto root
    :: true
    fi;

    /* vmx_enter, label A */
    atomic {
        nmi_in_root(l);
        mode[l] = WINDOW;
        if
#ifndef FAULT_NO_RESTART_TEST
        :: restart[l] -> goto pseudo_exit
#endif
        :: else
        fi
    };
    /* VMRESUME. From here on the guest may cache any old entry that is in memory, and use it. */
    atomic {
        nmi_in_root(l);
        if
        :: redirected[l] -> goto pseudo_exit
        :: else
        fi;
        mode[l] = GUEST;
        CACHED(l, v) = CACHED(l, v) | (ALL_PAGES & ~page_tables);
        streaming[l] = CACHED(l, v);
        assert((CACHED(l, v) & returned) == 0)
    };

end_guest:
    atomic {
        if
        :: nmi[l] -> nmi[l] = 0; restart[l] = 1
        :: exits < EXITS -> exits++
        fi;
        /* vmx_exit_entry: lock inc. The moment before it looks like guest mode to everybody. */
#ifdef FAULT_EXIT_UNLOCKED
        mode[l] = ROOT;
        STORE(cpu, RUN_SEQ, l, run_seq[l] + 1)
    };
    streaming[l] = 0;
#else
        drained(cpu);
        mode[l] = ROOT;
        streaming[l] = 0;
        run_seq[l] = run_seq[l] + 1
    };
#endif
    goto root;

pseudo_exit: /* entry_window_exit: ENTRY_RETRY */
    atomic {
        drained(cpu);
        mode[l] = ROOT;
        redirected[l] = 0;
        run_seq[l] = run_seq[l] + 1
    };
    goto service;

root: /* handle_exit */
    if
    :: sections < SECTIONS ->
        sections++;
        /* gva_begin, the walk, the access, gva_end */
#ifdef FAULT_GVA_UNFENCED
        STORE(cpu, GVA_SEQ, l, gva_seq[l] + 1);
#else
        LOCKED(cpu, gva_seq[l] = gva_seq[l] + 1);
#endif
        atomic {
            walked[l] = ALL_PAGES & ~page_tables;
            assert((walked[l] & returned) == 0)
        };
        atomic { drained(cpu); walked[l] = 0; gva_seq[l] = gva_seq[l] + 1 };
        goto root
#if MUTUAL
    :: !has_called ->
        has_called = 1;
        STORE(cpu, PAGE_TABLE, 0, BIT(v));
        flush_send(cpu, v, v + 1, l);
        goto root
#endif
    :: waits < WAITS ->
        /* INIT: run_end, serve_signals, run_begin */
        waits++;
        STORE(cpu, LP_OF, v, 0);
        if
        :: true -> goto end_signal_wait
        :: true -> flush_arrive()
        fi;
        goto service
#if !MUTUAL
    :: stays[v] < STAYS ->
        /* flush_depart, and the vCPU is free for any LP */
        STORE(cpu, LP_OF, v, 0);
        atomic { drained(cpu); is_taken[v] = 0; lp_runs[l] = 0; v = 0 };
        goto end_idle
#endif
    :: true -> goto enter
    fi;

end_hardware_wait: /* no SIPI ever comes */
end_signal_wait:
    false
}
