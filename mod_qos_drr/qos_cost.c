/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_cost.h"

#define SECOND_US UINT64_C(1000000)
#define PRICE     20u /* bits behind the point */
#define PRICE_MAX (1u << PRICE)
#define SCARCE    UINT64_C(1000000)   /* bytes/s: nobody runs out of fewer */
#define FORGETS   12u                 /* a peak loses 1 / 2^12 of itself in a second: half in 47 minutes */
#define COST_MAX  (UINT64_C(1) << 40) /* of one look: more than anything takes or brings */

static uint64_t at_most(uint64_t n, uint64_t most) { return n < most ? n : most; }

/* ---- how fast answers leave -------------------------------------------------------------------------------------- */

static void rate_second_over(const struct qos_costs *k, uint32_t outlet, uint64_t elapsed_us) {
    struct qos_rate *r = &k->rate[outlet];
    uint64_t rate = atomic_exchange(&r->bytes, 0) * SECOND_US / elapsed_us, peak = atomic_load(&r->peak);
    uint64_t before = atomic_exchange(&r->before[0], rate), earlier = atomic_exchange(&r->before[1], before);
    uint64_t steady = at_most(at_most(rate, before), earlier);
    unsigned __int128 price;

    peak -= peak >> FORGETS;
    if (steady > peak) peak = steady;
    atomic_store(&r->peak, peak);
    if (rate < SCARCE || rate < peak / 2) {
        atomic_store(&r->price, at_most(atomic_load(&r->price), PRICE_MAX) / 2);
        return;
    }
    if (peak < rate) peak = rate;
    price = ((unsigned __int128)rs_window_at(k->view->engine, outlet) * SECOND_US << PRICE) / peak;
    atomic_store(&r->price, price && price < PRICE_MAX ? (uint32_t)price : price ? PRICE_MAX : 1);
}

static void rate_add(const struct qos_costs *k, uint32_t outlet, uint64_t now, uint64_t bytes) {
    struct qos_rate *r = &k->rate[outlet];
    uint64_t since = atomic_load(&r->since);

    atomic_fetch_add(&r->bytes, at_most(bytes, COST_MAX));
    if (now < since + SECOND_US || !atomic_compare_exchange_strong(&r->since, &since, now)) return;
    if (since && now < since + 3 * SECOND_US) {
        rate_second_over(k, outlet, now - since);
        return;
    }
    /* Nobody came for a while: how fast it was in that is not what it can be. */
    atomic_store(&r->bytes, 0);
    atomic_store(&r->before[0], 0);
    atomic_store(&r->price, 0);
}

uint64_t qos_cost_of_bytes(const struct qos_costs *k, uint32_t outlet, uint64_t bytes) {
    uint32_t price;

    if (k->charge == QOS_CHARGE_BYTES) return bytes;
    if (k->charge == QOS_CHARGE_TIME) return 0;
    price = outlet < QOS_OUTLETS ? atomic_load_explicit(&k->rate[outlet].price, memory_order_relaxed) : PRICE_MAX;
    return (at_most(bytes, COST_MAX) * at_most(price, PRICE_MAX)) >> PRICE;
}

/* ---- what a class has had ---------------------------------------------------------------------------------------- */

/*
 * `more` of what it is `ahead` by in the other: that is free as far as it only catches up.  Returns the cost; *ahead is
 * what is left, below 0 once this is what it has more of.
 */
static uint64_t catch_up(int64_t *ahead, uint64_t more) {
    uint64_t free = *ahead > 0 ? at_most((uint64_t)*ahead, more) : 0;

    *ahead -= (int64_t)more;
    return more - free;
}

static int64_t lead_within(const struct qos_costs *k, uint32_t outlet, int64_t lead) {
    int64_t most = (int64_t)(rs_window_at(k->view->engine, outlet) * SECOND_US);
    return lead > most ? most : lead < -most ? -most : lead;
}

/* Anybody may have written what it was: judged before it is used. */
static int64_t lead_of(const struct qos_costs *k, uint32_t outlet, const _Atomic int64_t *at) {
    return lead_within(k, outlet, atomic_load_explicit(at, memory_order_relaxed));
}

static void set_lead(const struct qos_costs *k, uint32_t outlet, _Atomic int64_t *at, int64_t lead) {
    atomic_store_explicit(at, lead_within(k, outlet, lead), memory_order_relaxed);
}

static bool can_be(const struct qos_costs *k, uint32_t class, uint32_t outlet) {
    return class < k->view->size.classes && outlet < k->view->size.outlets && outlet < QOS_OUTLETS;
}

static _Atomic int64_t *lead_at(const struct qos_costs *k, uint32_t class, uint32_t outlet) {
    return &k->view->leads[(size_t)outlet * k->view->size.classes + class];
}

void qos_cost_saw(const struct qos_costs *k, uint32_t outlet, uint64_t now, uint64_t bytes) {
    if (k->charge == QOS_CHARGE_BOTH && can_be(k, 0, outlet)) rate_add(k, outlet, now, bytes);
}

uint64_t qos_cost_bytes(const struct qos_costs *k, uint32_t class, uint32_t outlet, uint64_t now, uint64_t bytes) {
    uint64_t cost = qos_cost_of_bytes(k, outlet, bytes);
    int64_t behind;

    if (!can_be(k, class, outlet)) return cost;
    atomic_fetch_add_explicit(&k->view->classes[class].bytes, bytes, memory_order_relaxed);
    if (k->charge != QOS_CHARGE_BOTH) return cost;
    rate_add(k, outlet, now, bytes);
    behind = -lead_of(k, outlet, lead_at(k, class, outlet));
    cost = catch_up(&behind, cost);
    set_lead(k, outlet, lead_at(k, class, outlet), -behind);
    return cost;
}

uint64_t qos_cost_time(const struct qos_costs *k, uint32_t class, uint32_t outlet, uint64_t us) {
    int64_t lead;

    us = at_most(us, COST_MAX);
    if (!can_be(k, class, outlet)) return 0;
    atomic_fetch_add_explicit(&k->view->classes[class].slot_us, us, memory_order_relaxed);
    if (k->charge == QOS_CHARGE_BYTES) return 0;
    if (k->charge == QOS_CHARGE_TIME) return us;
    lead = lead_of(k, outlet, lead_at(k, class, outlet));
    us = catch_up(&lead, us);
    set_lead(k, outlet, lead_at(k, class, outlet), lead);
    return us;
}

uint64_t qos_cost_expected(const struct qos_costs *k, uint32_t outlet, uint64_t us, uint64_t bytes) {
    uint64_t cost = qos_cost_of_bytes(k, outlet, bytes);
    return k->charge == QOS_CHARGE_BYTES || us < cost ? cost : us;
}

uint64_t qos_cost_taught(uint64_t usual, uint64_t took, bool crowded) {
    uint64_t most = crowded ? usual + usual / 4 : 2 * usual;
    if (most < QOS_AWAIT_US) most = QOS_AWAIT_US;
    return usual && took > most ? most : took;
}
