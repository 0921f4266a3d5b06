/* SPDX-License-Identifier: BSD-2-Clause */
/* UNITS: vmx/signal.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vmx/signal.h"

#define NO_VECTOR 0xEEu

static void expect_take(_Atomic uint32_t *mailbox, enum signal_action action)
{
    uint8_t vector = NO_VECTOR;

    assert_int_equal(signal_take(mailbox, &vector), action);
}

static void expect_sipi(_Atomic uint32_t *mailbox, uint8_t expected)
{
    uint8_t vector = NO_VECTOR;

    assert_int_equal(signal_take(mailbox, &vector), SIGNAL_ACTION_SIPI);
    assert_int_equal(vector, expected);
}

static void expect_empty(_Atomic uint32_t *mailbox)
{
    uint8_t vector = NO_VECTOR;

    assert_int_equal(signal_take(mailbox, &vector), SIGNAL_ACTION_NONE);
    assert_int_equal(vector, NO_VECTOR);
}

static void test_empty(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    expect_empty(&mailbox);
    assert_false(signal_is_waiting(&mailbox));
    mailbox = SIGNAL_WAITING;
    expect_empty(&mailbox);
    assert_true(signal_is_waiting(&mailbox));
    assert_int_equal(mailbox, SIGNAL_WAITING);
}

static void test_nmis_collapse(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    signal_post_nmi(&mailbox);
    signal_post_nmi(&mailbox);
    signal_post_nmi(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_NMI);
    expect_empty(&mailbox);
    signal_post_nmi(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_NMI);
    assert_int_equal(mailbox, 0);
}

static void test_sipi_counts_only_while_waiting(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    assert_false(signal_post_sipi(&mailbox, 0x10));
    expect_empty(&mailbox);
    signal_post_nmi(&mailbox);
    assert_false(signal_post_sipi(&mailbox, 0x10));
    expect_take(&mailbox, SIGNAL_ACTION_NMI);
    assert_int_equal(mailbox, 0);
}

static void test_first_sipi_wins(void **context)
{
    _Atomic uint32_t mailbox = SIGNAL_WAITING;

    (void)context;
    assert_true(signal_post_sipi(&mailbox, 0x9A));
    assert_false(signal_post_sipi(&mailbox, 0x65));
    assert_false(signal_post_sipi(&mailbox, 0x9A));
    expect_sipi(&mailbox, 0x9A);
    assert_false(signal_is_waiting(&mailbox));
    assert_false(signal_post_sipi(&mailbox, 0x65));
    assert_int_equal(mailbox, 0);
}

static void test_each_vector(void **context)
{
    (void)context;
    for (uint32_t vector = 0; vector <= 0xFF; vector++) {
        _Atomic uint32_t mailbox = SIGNAL_WAITING;

        assert_true(signal_post_sipi(&mailbox, (uint8_t)vector));
        expect_sipi(&mailbox, (uint8_t)vector);
        assert_int_equal(mailbox, 0);
    }
}

static void test_init_undoes(void **context)
{
    _Atomic uint32_t mailbox = SIGNAL_WAITING;

    (void)context;
    assert_true(signal_post_sipi(&mailbox, 0x77));
    signal_post_nmi(&mailbox);
    signal_post_init(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_INIT);
    assert_true(signal_is_waiting(&mailbox));
    expect_empty(&mailbox);
    /* The vector that was undone leaves no bit behind. */
    assert_true(signal_post_sipi(&mailbox, 0x08));
    expect_sipi(&mailbox, 0x08);
    expect_empty(&mailbox);
}

static void test_sipi_before_init_is_carried_out(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    signal_post_init(&mailbox);
    assert_true(signal_is_waiting(&mailbox));
    assert_true(signal_post_sipi(&mailbox, 0x12));
    assert_false(signal_post_sipi(&mailbox, 0x13));
    expect_take(&mailbox, SIGNAL_ACTION_INIT);
    assert_false(signal_post_sipi(&mailbox, 0x14));
    expect_sipi(&mailbox, 0x12);
    expect_empty(&mailbox);
}

static void test_nmi_is_held_while_waiting(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    signal_post_init(&mailbox);
    /* Its own, perhaps: sent before the INIT reached it. */
    signal_post_nmi(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_INIT);
    assert_int_equal(mailbox & SIGNAL_NMI, 0);
    signal_post_nmi(&mailbox);
    expect_empty(&mailbox);
    assert_true(signal_post_sipi(&mailbox, 0x20));
    expect_sipi(&mailbox, 0x20);
    expect_take(&mailbox, SIGNAL_ACTION_NMI);
    expect_empty(&mailbox);
}

static void test_clear_waiting(void **context)
{
    _Atomic uint32_t mailbox = 0;

    (void)context;
    /* The boot processor: INIT, a SIPI that means nothing to it, an NMI. */
    signal_post_init(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_INIT);
    assert_true(signal_post_sipi(&mailbox, 0xFF));
    signal_post_nmi(&mailbox);
    signal_clear_waiting(&mailbox);
    assert_false(signal_is_waiting(&mailbox));
    assert_false(signal_post_sipi(&mailbox, 0x01));
    expect_take(&mailbox, SIGNAL_ACTION_NMI);
    assert_int_equal(mailbox, 0);
    /* An INIT that comes in between stays. */
    signal_post_init(&mailbox);
    signal_clear_waiting(&mailbox);
    expect_take(&mailbox, SIGNAL_ACTION_INIT);
    assert_int_equal(mailbox, 0);
}

/* The rules once more, written down as plain state, for comparing over all orders of events. */
struct model {
    bool is_init, is_sipi, is_nmi, is_waiting;
    uint8_t vector;
};

enum event { EVENT_NMI, EVENT_INIT, EVENT_SIPI_A, EVENT_SIPI_B, EVENT_TAKE, EVENT_COUNT };

static enum signal_action model_take(struct model *model)
{
    if (model->is_init) {
        model->is_init = false;
        model->is_nmi = false;
        return SIGNAL_ACTION_INIT;
    }
    if (model->is_sipi) {
        model->is_sipi = false;
        model->is_waiting = false;
        return SIGNAL_ACTION_SIPI;
    }
    if (model->is_nmi && !model->is_waiting) {
        model->is_nmi = false;
        return SIGNAL_ACTION_NMI;
    }
    return SIGNAL_ACTION_NONE;
}

static void step_sipi(struct model *model, _Atomic uint32_t *mailbox, uint8_t vector)
{
    bool counts = model->is_waiting && !model->is_sipi;

    assert_int_equal(signal_post_sipi(mailbox, vector), counts);
    if (counts) {
        model->is_sipi = true;
        model->vector = vector;
    }
}

static enum signal_action step_take(struct model *model, _Atomic uint32_t *mailbox)
{
    uint8_t vector = NO_VECTOR;
    enum signal_action action = model_take(model);

    assert_int_equal(signal_take(mailbox, &vector), action);
    if (action == SIGNAL_ACTION_SIPI) {
        assert_int_equal(vector, model->vector);
    }
    return action;
}

static void step(struct model *model, _Atomic uint32_t *mailbox, enum event event)
{
    switch (event) {
    case EVENT_NMI:
        signal_post_nmi(mailbox);
        model->is_nmi = true;
        break;
    case EVENT_INIT:
        signal_post_init(mailbox);
        *model = (struct model){.is_init = true, .is_waiting = true};
        break;
    case EVENT_SIPI_A:
    case EVENT_SIPI_B:
        step_sipi(model, mailbox, event == EVENT_SIPI_A ? 0x5A : 0xA5);
        break;
    case EVENT_TAKE:
    case EVENT_COUNT:
        (void)step_take(model, mailbox);
        break;
    }
    assert_int_equal(signal_is_waiting(mailbox), model->is_waiting);
}

static void test_all_orders(void **context)
{
    const uint32_t length = 7;
    uint32_t sequences = 1;

    (void)context;
    for (uint32_t i = 0; i < length; i++) {
        sequences *= EVENT_COUNT;
    }
    for (uint32_t sequence = 0; sequence < 2 * sequences; sequence++) {
        struct model model = {.is_waiting = sequence >= sequences};
        _Atomic uint32_t mailbox = model.is_waiting ? SIGNAL_WAITING : 0;
        uint32_t rest = sequence;

        for (uint32_t i = 0; i < length; i++) {
            step(&model, &mailbox, (enum event)(rest % EVENT_COUNT));
            rest /= EVENT_COUNT;
        }
        while (step_take(&model, &mailbox) != SIGNAL_ACTION_NONE) {
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_nmis_collapse),
        cmocka_unit_test(test_sipi_counts_only_while_waiting),
        cmocka_unit_test(test_first_sipi_wins),
        cmocka_unit_test(test_each_vector),
        cmocka_unit_test(test_init_undoes),
        cmocka_unit_test(test_sipi_before_init_is_carried_out),
        cmocka_unit_test(test_nmi_is_held_while_waiting),
        cmocka_unit_test(test_clear_waiting),
        cmocka_unit_test(test_all_orders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
