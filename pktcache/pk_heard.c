/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_heard.h"

enum {                          /* microseconds */
    SILENCE_LEAST = 350000,
    SILENCE_MOST = 900000,      /* unless a round trip takes longer */
    SILENCE_USUAL = 150000,     /* and a round trip, of which that of the child's word, every 100 ms while trains come, is a part */
    AGAIN_FIRST = 250000,       /* GONE: until the next probe; twice as long after each */
    AGAIN_LAST = 2000000,
    CHECK = 10000000,
    TRIP_MOST = 2000000,        /* what takes longer is a pause of one of the hosts, or a link that we are not for */
    TRIES = 3
};

static uint64_t silence(const struct pk_heard *h) {
    uint64_t trip = h->round_trip + h->deviation, t = SILENCE_USUAL + h->round_trip + 4 * h->deviation;
    if (t < SILENCE_LEAST) t = SILENCE_LEAST;
    if (t > SILENCE_MOST) t = SILENCE_MOST;
    return t < trip + SILENCE_USUAL / 2 ? trip + SILENCE_USUAL / 2 : t;
}

void pk_heard_begin(struct pk_heard *h, uint64_t now) {
    *h = (struct pk_heard){ .round_trip = h->round_trip, .deviation = h->deviation, .here = true, .spoke = now, .limit = 1 };
}

static enum pk_news gone(struct pk_heard *h) {
    if (!h->here) return PK_NO_NEWS;
    h->here = false;
    h->train_at = 0;
    h->limit = TRIES;
    h->again = AGAIN_FIRST;
    return PK_NOW_GONE;
}

void pk_heard_train(struct pk_heard *h, uint64_t number, uint64_t now) {
    if (!h->here || h->train_at) return;
    h->train = number;
    h->train_at = now;
}

void pk_heard_probe(struct pk_heard *h, uint64_t number, uint64_t now) {
    h->probe = number;
    h->probe_at = now;
    h->tries++;
    if (h->here) h->check_at = now + (h->limit == 1 ? silence(h) : AGAIN_LAST);
    else if (h->again < AGAIN_LAST) h->again *= 2;
}

bool pk_heard_asks(const struct pk_heard *h, uint64_t now) {
    if (!h->probe_at) return true;
    if (h->here) return h->train_at && now >= h->check_at && h->tries < h->limit;
    return h->spoke > h->probe_at && now >= h->probe_at + h->again;
}

static void sample(struct pk_heard *h, uint64_t t) {
    if (t > TRIP_MOST) return;
    uint64_t off = t > h->round_trip ? t - h->round_trip : h->round_trip - t;
    h->deviation = h->round_trip ? (3 * h->deviation + off) / 4 : t / 2;
    h->round_trip = h->round_trip ? (7 * h->round_trip + t) / 8 : t;
}

enum pk_news pk_heard_status(struct pk_heard *h, uint64_t newest, uint64_t newest_probe, uint64_t now) {
    bool came = h->tries && newest_probe >= h->probe, train_came = h->train_at && newest >= h->train;

    h->spoke = now;
    /* One at a time: two that waited for the same thing would count it twice. */
    if (train_came) sample(h, now - h->train_at);
    else if (came) sample(h, now - h->probe_at);
    if (train_came) h->train_at = 0;
    if (came) {
        h->tries = 0;
        h->limit = TRIES;
        h->check_at = now + CHECK;
    }
    if (h->here || !came) return PK_NO_NEWS;
    h->here = true;
    return PK_NOW_HERE;
}

enum pk_news pk_heard_tick(struct pk_heard *h, uint64_t now) {
    bool silent = h->train_at && now >= h->train_at + silence(h), small_only = h->tries >= h->limit && now >= h->check_at;
    return silent || small_only ? gone(h) : PK_NO_NEWS;
}

uint64_t pk_heard_due(const struct pk_heard *h) {
    uint64_t due = UINT64_MAX;

    if (!h->probe_at) return 0;
    if (!h->here) return h->spoke > h->probe_at ? h->probe_at + h->again : UINT64_MAX;
    if (h->train_at) due = h->train_at + silence(h);
    if ((h->train_at || h->tries >= h->limit) && h->check_at < due) due = h->check_at;
    return due;
}
