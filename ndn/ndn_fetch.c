/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Retransmission times are those of RFC 6298, with RFC 7323's appendix G: each answer of a round trip measures, so each
 * weighs less the more there are.  Karn's rule: what comes after several tries measures nothing, and gives no sign,
 * since nobody knows which of them it belongs to; that the earlier ones were lost was one.
 */
#include "ndn_window.h"

#include <math.h>

#define FETCH_RTO_FIRST 1000000u
#define FETCH_RTO_LEAST 200000u
#define FETCH_RTO_MOST  4000000u
#define FETCH_RTO_GRAIN 10000.0 /* RFC 6298's G: so far behind the mean, at least, is late */

static const struct ndn_window_ops *fetch_ops(const struct ndn_fetch *f) {
    static const struct ndn_window_ops *const all[NDN_WINDOW_KINDS] = {
        [NDN_WINDOW_FIXED] = &ndn_window_fixed,
        [NDN_WINDOW_HINT] = &ndn_window_hint,
        [NDN_WINDOW_AIMD] = &ndn_window_aimd,
        [NDN_WINDOW_CUBIC] = &ndn_window_cubic,
    };
    return all[f->window.kind];
}

bool ndn_fetch_begin(struct ndn_fetch *f, const struct ndn_fetch_settings *s, struct ndn_asked *places, uint64_t first,
                     uint64_t now) {
    if ((unsigned)s->kind >= NDN_WINDOW_KINDS || s->window < 1 || s->window > NDN_WINDOW_MAX) return false;
    if (s->tries < 1 || s->tries > NDN_TRIES_MAX || first == NDN_NO_NUMBER) return false;
    if (s->first_wait < 1 || s->first_wait > NDN_FIRST_WAIT_MAX) return false;
    *f = (struct ndn_fetch){ .settings = *s,
                             .window = { .kind = s->kind, .most = s->window },
                             .place = places,
                             .places = ndn_fetch_places(s->window),
                             .first = first,
                             .low = first,
                             .next = first,
                             .last = NDN_NO_NUMBER,
                             .due_from = first,
                             .now = now,
                             .earliest = UINT64_MAX,
                             .rto = FETCH_RTO_FIRST };
    fetch_ops(f)->begin(&f->window);
    return true;
}

static struct ndn_asked *fetch_place(const struct ndn_fetch *f, uint64_t segment) {
    return f->place + (segment & (f->places - 1));
}

static void fetch_clock(struct ndn_fetch *f, uint64_t now) {
    if (now > f->now) f->now = now;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static uint32_t fetch_doubled(const struct ndn_fetch *f, uint32_t times) {
    uint32_t wait = f->rto;
    for (; times && wait < FETCH_RTO_MOST; times--) wait *= 2;
    return wait < FETCH_RTO_MOST ? wait : FETCH_RTO_MOST;
}

static uint64_t fetch_deadline(const struct ndn_asked *a) {
    return a->sent > UINT64_MAX - a->wait ? UINT64_MAX : a->sent + a->wait;
}

static void fetch_watch(struct ndn_fetch *f, const struct ndn_asked *a) {
    uint64_t deadline = fetch_deadline(a);
    if (deadline < f->earliest) f->earliest = deadline;
}

static void fetch_measure(struct ndn_fetch *f, uint64_t sent) {
    double rtt = f->now > sent ? (double)(f->now - sent) : 1, n = f->outstanding ? f->outstanding : 1, rto;

    if (f->srtt == 0) {
        f->srtt = rtt;
        f->rttvar = rtt / 2;
    } else {
        f->rttvar += (fabs(f->srtt - rtt) - f->rttvar) / (4 * n);
        f->srtt += (rtt - f->srtt) / (8 * n);
    }
    rto = f->srtt + fmax(4 * f->rttvar, FETCH_RTO_GRAIN);
    f->rto = rto < FETCH_RTO_LEAST ? FETCH_RTO_LEAST : rto > FETCH_RTO_MOST ? FETCH_RTO_MOST : (uint32_t)rto;
    f->doublings = 0;
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

/* What was sent before the last sign met the congestion that this one told of. */
static bool fetch_sign(struct ndn_fetch *f, uint64_t sent) {
    if (!f->came || (f->signs && sent < f->sign)) return false;
    f->sign = f->now;
    f->signs++;
    if (fetch_ops(f)->sign) fetch_ops(f)->sign(&f->window, f->now);
    return true;
}

static void fetch_due(struct ndn_fetch *f, uint64_t segment, struct ndn_asked *a) {
    a->state = NDN_ASKED_DUE;
    f->due++;
    if (segment < f->due_from) f->due_from = segment;
}

/* Whose time is up is due, or ends it all; and when the next one's will be. */
static void fetch_look(struct ndn_fetch *f) {
    f->earliest = UINT64_MAX;
    for (uint64_t s = f->low; s < f->next; s++) {
        struct ndn_asked *a = fetch_place(f, s);

        if (a->state != NDN_ASKED_OUT && a->state != NDN_ASKED_HELD) continue;
        /* Answers have become slower since it was sent: its own may be no later than the others. */
        if (a->state == NDN_ASKED_OUT && f->came && fetch_doubled(f, a->tries - 1) > a->wait)
            a->wait = fetch_doubled(f, a->tries - 1);
        if (f->now < fetch_deadline(a)) {
            fetch_watch(f, a);
            continue;
        }
        if (a->state == NDN_ASKED_OUT) {
            f->outstanding--;
            f->losses++;
            if (fetch_sign(f, a->sent) && f->doublings < 5) f->doublings++;
            if (a->tries >= f->settings.tries) f->failed = true;
        }
        fetch_due(f, s, a);
    }
}

void ndn_fetch_nack(struct ndn_fetch *f, uint64_t now, uint64_t segment, bool congested) {
    struct ndn_asked *a;
    uint64_t wait;

    fetch_clock(f, now);
    if (segment < f->low || segment >= f->next || ndn_fetch_failed(f)) return;
    a = fetch_place(f, segment);
    if (a->state != NDN_ASKED_OUT) return;
    f->outstanding--;
    f->losses++;
    if (congested && a->tries == 1) fetch_sign(f, a->sent);
    if (a->tries >= f->settings.tries) f->failed = true;
    wait = f->now - a->sent + fetch_doubled(f, a->tries - 1);
    a->wait = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
    a->state = NDN_ASKED_HELD;
    fetch_watch(f, a);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static uint64_t fetch_ask(struct ndn_fetch *f, uint64_t segment, struct ndn_asked *a) {
    a->state = NDN_ASKED_OUT;
    a->sent = f->now;
    a->tries++;
    a->wait = (uint32_t)f->settings.first_wait;
    if (f->came) a->wait = fetch_doubled(f, a->tries - 1u > f->doublings ? a->tries - 1u : f->doublings);
    f->outstanding++;
    f->interests++;
    f->retransmissions += a->tries > 1;
    fetch_watch(f, a);
    return segment;
}

uint64_t ndn_fetch_next(struct ndn_fetch *f, uint64_t now, uint64_t *again) {
    *again = UINT64_MAX;
    fetch_clock(f, now);
    if (f->failed || ndn_fetch_whole(f)) return NDN_NO_NUMBER;
    if (f->now >= f->earliest) fetch_look(f);
    if (f->failed) return NDN_NO_NUMBER;
    if (f->outstanding < ndn_fetch_window(f)) {
        if (f->due) {
            while (fetch_place(f, f->due_from)->state != NDN_ASKED_DUE) f->due_from++;
            f->due--;
            return fetch_ask(f, f->due_from, fetch_place(f, f->due_from));
        }
        /* Before the first answer only the first: one that is held keeps others from going out, too. */
        if (f->next - f->low < (f->came ? f->places : 1) && (f->last == NDN_NO_NUMBER || f->next <= f->last) &&
            f->next != NDN_NO_NUMBER) {
            struct ndn_asked *a = fetch_place(f, f->next);
            a->tries = 0;
            return fetch_ask(f, f->next++, a);
        }
    }
    *again = f->earliest;
    return NDN_NO_NUMBER;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void fetch_forget_behind(struct ndn_fetch *f, uint64_t last) {
    f->last = last;
    while (f->next > last && f->next - last > 1) {
        const struct ndn_asked *a = fetch_place(f, --f->next);
        if (a->state == NDN_ASKED_OUT) f->outstanding--;
        if (a->state == NDN_ASKED_DUE) f->due--;
    }
}

/* All answers agree on the last segment, and none lies behind it. */
static bool fetch_agrees(const struct ndn_fetch *f, uint64_t segment, uint64_t last) {
    if (last == NDN_NO_NUMBER) return true;
    if (f->last != NDN_NO_NUMBER) return last == f->last;
    return last >= segment && (!f->came || last >= f->highest);
}

enum ndn_came ndn_fetch_data(struct ndn_fetch *f, uint64_t now, uint64_t segment, uint64_t last, uint64_t window,
                             bool marked) {
    const struct ndn_window_ops *ops = fetch_ops(f);
    struct ndn_asked *a;

    fetch_clock(f, now);
    if (segment < f->first || segment >= f->next || f->failed || !fetch_agrees(f, segment, last))
        return NDN_CAME_STRANGE;
    a = fetch_place(f, segment);
    if (segment < f->low || a->state == NDN_ASKED_CAME) return NDN_CAME_AGAIN;

    if (a->tries == 1 && f->came) fetch_measure(f, a->sent);
    if (a->state == NDN_ASKED_OUT) f->outstanding--;
    if (a->state == NDN_ASKED_DUE) f->due--;
    a->state = NDN_ASKED_CAME;
    if (!f->came++ || segment > f->highest) f->highest = segment;
    if (last != NDN_NO_NUMBER && f->last == NDN_NO_NUMBER) fetch_forget_behind(f, last);

    if (window != NDN_NO_NUMBER && ops->told && !f->window.hinted) ops->told(&f->window, window ? window : 1);
    f->marks += marked;
    if (!marked && ops->answer) ops->answer(&f->window, f->now, f->srtt);
    if (marked && a->tries == 1) fetch_sign(f, a->sent);

    while (f->low < f->next && fetch_place(f, f->low)->state == NDN_ASKED_CAME) f->low++;
    if (f->due_from < f->low) f->due_from = f->low;
    return NDN_CAME_NEW;
}

bool ndn_fetch_whole(const struct ndn_fetch *f) { return f->last != NDN_NO_NUMBER && f->low > f->last; }

bool ndn_fetch_failed(const struct ndn_fetch *f) { return f->failed; }

uint32_t ndn_fetch_window(const struct ndn_fetch *f) { return f->came ? (uint32_t)f->window.size : 1; }
