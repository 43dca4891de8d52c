/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_way.h"

enum { /* microseconds */
       NOTHING_FOR = 350000,
       OVER = 200000,
       LOOK = 10000000,
       ENOUGH = 3000000,        /* for a new connection to come about */
       MAY_BE_OTHERS = 1000000, /* for the other end to say that it was its doing */
       WAIT_FIRST = 30000000,
       LOOK_FIRST = 10000000,
       CLOSED_AGAIN = 10000000 /* the rules are looked at again */
};

#define WAIT_LAST UINT64_C(1800000000)
#define LOOK_LAST UINT64_C(3600000000)

enum { DUE = 3, ALONE = 2, AGAIN = 5 };

static uint64_t longer(uint64_t wait, uint64_t first, uint64_t last) {
    return !wait ? first : 2 * wait < last ? 2 * wait : last;
}

static bool change(struct pk_way *w, int state, enum pk_why why, uint64_t now, uint64_t until) {
    w->state = state;
    w->why = why;
    w->since = now;
    w->until = until;
    return true;
}

static bool way_aside(struct pk_way *w, enum pk_why why, uint64_t now) {
    w->wait = longer(w->wait, WAIT_FIRST, WAIT_LAST);
    return change(w, PK_ASIDE_NOW, why, now, now + w->wait);
}

static bool led(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now) {
    if (n->goes_on) w->wait = w->look_wait = w->look_from = 0;
    if (n->closed) return change(w, PK_ASIDE_NOW, PK_WHY_FILTERED, now, now + CLOSED_AGAIN);
    if (!n->came && s->due >= DUE && s->due_last >= s->due_first + OVER && now >= s->due_first + NOTHING_FOR)
        return way_aside(w, PK_WHY_FILTERED, now);
    if ((n->alone < ALONE && (n->again < AGAIN || n->other)) || now < w->look_from) return false;
    w->alone = n->alone >= ALONE;
    return change(w, PK_LOOKS, PK_WHY_LOOKS, now, now + LOOK);
}

static bool looks(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now) {
    if (n->other && !w->alone) return change(w, PK_LED, PK_WHY_NOTHING, now, 0);
    if (s->done) {
        if (!w->alone && now < s->done_at + MAY_BE_OTHERS) return false;
        w->in_doubt = n->unheard && !w->alone;
        return way_aside(w, PK_WHY_UNANSWERED, now);
    }
    /* Without a new connection there is nothing to see, and going back would help nobody. */
    if (now < w->until && (!s->begun || now < s->begun_at + ENOUGH)) return false;
    w->look_wait = longer(w->look_wait, LOOK_FIRST, LOOK_LAST);
    w->look_from = now + w->look_wait;
    return change(w, PK_LED, PK_WHY_NOTHING, now, 0);
}

bool pk_way_look(struct pk_way *w, const struct pk_way_news *n, const struct pk_sights *s, uint64_t now) {
    if (w->state == PK_LED) return led(w, n, s, now);
    if (w->state == PK_LOOKS) return looks(w, n, s, now);
    if (now < w->until && !(w->in_doubt && !n->unheard)) return false;
    w->in_doubt = false;
    if (n->closed) {
        w->until = now + CLOSED_AGAIN;
        return false;
    }
    return change(w, PK_LED, PK_WHY_NOTHING, now, 0);
}
