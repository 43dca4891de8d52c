/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_liveness.h"

enum { /* microseconds */
       SILENCE_LEAST = 350000,
       SILENCE_MOST = 900000,  /* unless a round trip takes longer */
       SILENCE_USUAL = 150000, /* besides a round trip; the child speaks every 100 ms while trains come */
       AGAIN_FIRST = 250000,   /* GONE: until the next probe; twice as long after each */
       AGAIN_LAST = 1000000,   /* so that who asks knows within 2 s that the link carries again */
       ANSWER = 2000000,       /* for a probe, while trains tell by themselves whether they come */
       CHECK = 10000000,
       BEAT = 1250000,      /* and the child speaks each half of a second */
       TRIP_MOST = 2000000, /* what takes longer is a pause of one of the hosts, or a link that we are not for */
       TRIES = 3
};

static uint64_t silence(const struct pk_liveness *l) {
    uint64_t trip = l->round_trip + l->deviation, t = SILENCE_USUAL + l->round_trip + 4 * l->deviation;
    if (t < SILENCE_LEAST) t = SILENCE_LEAST;
    if (t > SILENCE_MOST) t = SILENCE_MOST;
    return t < trip + SILENCE_USUAL / 2 ? trip + SILENCE_USUAL / 2 : t;
}

void pk_liveness_begin(struct pk_liveness *l, uint64_t now) {
    *l = (struct pk_liveness){
        .round_trip = l->round_trip, .deviation = l->deviation, .here = true, .spoke = now, .limit = 1
    };
}

void pk_liveness_renew(struct pk_liveness *l) {
    l->train_at = l->probe_at = l->beat_at = l->newest = l->first = 0;
    l->tries = 0;
}

static enum pk_news gone(struct pk_liveness *l) {
    if (!l->here) return PK_NO_NEWS;
    l->here = false;
    l->train_at = l->beat_at = l->first = 0;
    l->limit = TRIES;
    l->again = AGAIN_FIRST;
    return PK_NOW_GONE;
}

void pk_liveness_train(struct pk_liveness *l, uint64_t number, uint64_t now) {
    if (!l->here || l->train_at) return;
    l->train = number;
    l->train_at = now;
}

void pk_liveness_beat(struct pk_liveness *l, uint64_t number, uint64_t now) {
    if (!l->here || l->beat_at) return;
    l->beat = number;
    l->beat_at = now;
}

void pk_liveness_aside(struct pk_liveness *l) { l->beat_at = 0; }

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t train_due(const struct pk_liveness *l) {
    return later(l->train_at + silence(l), l->newer_at + SILENCE_LEAST);
}

static uint64_t beat_due(const struct pk_liveness *l) {
    return later(l->beat_at + (silence(l) > BEAT / 2 ? silence(l) + BEAT / 2 : BEAT), l->newer_at + BEAT);
}

void pk_liveness_probe(struct pk_liveness *l, uint64_t number, uint64_t now) {
    l->probe = number;
    l->probe_at = now;
    if (!l->here && !l->first) {
        l->first = number;
        l->first_at = now;
    }
    l->tries++;
    if (l->here) l->check_at = now + (l->limit == 1 ? silence(l) : ANSWER);
    else if (l->again < AGAIN_LAST) l->again *= 2;
}

bool pk_liveness_asks(const struct pk_liveness *l, uint64_t now) {
    if (!l->probe_at) return true;
    if (l->here) return l->train_at && now >= l->check_at && l->tries < l->limit;
    return l->spoke > l->probe_at && now >= l->probe_at + l->again;
}

static void sample(struct pk_liveness *l, uint64_t t) {
    if (t > TRIP_MOST) return;
    uint64_t off = t > l->round_trip ? t - l->round_trip : l->round_trip - t;
    l->deviation = l->round_trip ? (3 * l->deviation + off) / 4 : t / 2;
    l->round_trip = l->round_trip ? (7 * l->round_trip + t) / 8 : t;
}

enum pk_news pk_liveness_status(struct pk_liveness *l, uint64_t newest, uint64_t newest_probe, uint64_t now) {
    /* GONE: on a way that takes longer than a second the newest one is never there yet. */
    uint64_t probe = l->here ? l->probe : l->first ? l->first : UINT64_MAX;
    bool came = l->tries && newest_probe >= probe, train_came = l->train_at && newest >= l->train;

    l->spoke = now;
    if (newest > l->newest) l->newer_at = now;
    l->newest = newest;
    /* One sample of a word: a train and a probe that both waited for it would count it twice. */
    if (train_came) sample(l, now - l->train_at);
    else if (came) sample(l, now - (newest_probe >= l->probe ? l->probe_at : l->first_at));
    if (train_came) l->train_at = 0;
    if (newest >= l->beat) l->beat_at = 0;
    if (came) {
        l->tries = 0;
        l->limit = TRIES;
        l->check_at = now + CHECK;
    }
    if (l->here || !came) return PK_NO_NEWS;
    l->here = true;
    return PK_NOW_HERE;
}

enum pk_news pk_liveness_tick(struct pk_liveness *l, uint64_t now) {
    bool silent = l->train_at && now >= train_due(l), small_only = l->tries >= l->limit && now >= l->check_at,
         still = l->beat_at && now >= beat_due(l);
    return silent || small_only || still ? gone(l) : PK_NO_NEWS;
}

uint64_t pk_liveness_due(const struct pk_liveness *l) {
    uint64_t due = UINT64_MAX;

    if (!l->probe_at) return 0;
    if (!l->here) return l->spoke > l->probe_at ? l->probe_at + l->again : UINT64_MAX;
    if (l->train_at) due = train_due(l);
    if ((l->train_at || l->tries >= l->limit) && l->check_at < due) due = l->check_at;
    if (l->beat_at && beat_due(l) < due) due = beat_due(l);
    return due;
}
