/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_advance.h"

enum {                      /* microseconds */
       NO_TRAIN = 20000,    /* TRIED: the chosen connection's train was not worth sending; longer than one waits */
       SAMPLE = 100000,     /* between two trains that are watched, when the last one was a proof */
       OLD = 10000000,      /* then a train that was neither acknowledged nor sent again gives its place */
       LONG_AGO = 60000000, /* then a connection that stood still is no evidence any more */
       APART = 150000,      /* at least, between two repeats that a server's timer makes */
       NO_PROOF = 2000000,  /* at least, before there is a doubt */
       WAIT_FIRST = 60000000
};

#define WAIT_LAST UINT64_C(3600000000)

static struct pk_watched *advance_place_of(struct pk_advance *a, const struct pk_tuple *t) {
    return a->watched + (t->to_port ^ t->to_port >> 8 ^ t->to[15] ^ t->from[15]) % PK_WATCHED;
}

static void drop(struct pk_advance *a, struct pk_watched *w) {
    a->used -= w->used;
    w->used = false;
}

void pk_advance_forget(struct pk_advance *a) {
    for (unsigned i = 0; i < PK_WATCHED; i++) a->watched[i].used = false;
    a->used = a->vain = 0;
    a->next = 0;
    a->chosen = a->out = false;
}

void pk_advance_begin(struct pk_advance *a) {
    pk_advance_forget(a);
    a->state = PK_TRIED;
    a->wait = a->doubted_at = 0;
    a->failed = 0;
}

static void advance_stop(struct pk_advance *a, uint64_t now) {
    pk_advance_forget(a);
    a->wait = !a->wait ? WAIT_FIRST : 2 * a->wait < WAIT_LAST ? 2 * a->wait : WAIT_LAST;
    a->until = now + a->wait;
    a->state = PK_STOPPED;
    a->failed = 0;
    a->stops++;
}

static bool stands_still(const struct pk_watched *w, uint64_t now) {
    return w->used && w->again >= 2 && now < w->again_at + LONG_AGO;
}

/* How often servers have sent in vain to connections that stand still, beyond once each. */
unsigned pk_advance_still(const struct pk_advance *a, unsigned *flows, uint64_t now) {
    unsigned n = 0;
    *flows = 0;
    for (const struct pk_watched *w = a->watched; a->used && w < a->watched + PK_WATCHED; w++) {
        if (!stands_still(w, now)) continue;
        n += w->again - 1;
        ++*flows;
    }
    return n;
}

/* What proofs have shown may not be so any more.  several: connections stand still, and not one alone. */
static void advance_doubt(struct pk_advance *a, bool several, uint64_t now) {
    if (several && a->doubted_at && now < a->doubted_at + LONG_AGO) {
        advance_stop(a, now);
        return;
    }
    pk_advance_forget(a);
    if (several) a->doubted_at = now;
    a->state = PK_TRIED;
    a->failed = 0;
}

bool pk_advance_may(struct pk_advance *a, const struct pk_tuple *tuple, uint64_t now) {
    if (a->state == PK_GO) return true;
    if (a->state == PK_STOPPED) {
        if (now < a->until) return false;
        a->state = PK_TRIED;
    }
    if (a->chosen && now >= a->next + (a->out ? OLD : NO_TRAIN)) pk_advance_forget(a); /* nothing came of that one */
    if (!a->chosen) {
        a->chosen = true;
        a->trial = *tuple;
        a->next = now;
    }
    return !a->out && !memcmp(&a->trial, tuple, sizeof *tuple);
}

bool pk_advance_tries(const struct pk_advance *a, const struct pk_tuple *tuple) {
    return a->state == PK_TRIED && a->chosen && !memcmp(&a->trial, tuple, sizeof *tuple);
}

void pk_advance_train(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t begin, uint32_t end, uint64_t now) {
    struct pk_watched *w = advance_place_of(a, tuple);

    if (a->state == PK_STOPPED || (a->state == PK_GO && now < a->next)) return;
    if (a->state == PK_TRIED) {
        if (!pk_advance_tries(a, tuple)) return;
        drop(a, w);
        a->out = true;
        a->trial_end = end;
        a->next = now;
    }
    if (w->used && now < w->at + (w->again ? LONG_AGO : OLD)) return;
    a->used += !w->used;
    *w = (struct pk_watched){
        .used = true, .tuple = *tuple, .begin = begin, .end = end, .first = end, .at = now, .heard_at = now
    };
}

static struct pk_watched *advance_find(struct pk_advance *a, const struct pk_tuple *tuple) {
    struct pk_watched *w = advance_place_of(a, tuple);
    return w->used && !memcmp(&w->tuple, tuple, sizeof *tuple) ? w : NULL;
}

bool pk_advance_waits(const struct pk_advance *a, const struct pk_tuple *tuple, uint32_t seq) {
    return a->out && pk_advance_tries(a, tuple) && (int32_t)(seq - a->trial_end) >= 0;
}

/* The server does not know that what was in the trial's train came. */
static bool advance_fails(struct pk_advance *a, uint64_t now) {
    pk_advance_forget(a);
    if (++a->failed >= PK_TRIALS) advance_stop(a, now);
    return true;
}

void pk_advance_give_up(struct pk_advance *a, bool failed, uint64_t now) {
    if (failed) advance_fails(a, now);
    else pk_advance_forget(a);
}

bool pk_advance_again(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t seq, uint32_t n, uint64_t now) {
    struct pk_watched *w = a->used ? advance_find(a, tuple) : NULL;

    if (!w || (int32_t)(seq - w->end) >= 0) return false;
    if (a->state == PK_TRIED)
        return ((int32_t)(seq + n - w->begin) > 0 || now >= w->heard_at + APART) && advance_fails(a, now);
    if (w->again && (int32_t)(seq - w->first) > 0) return false;
    if (w->again && seq == w->first && now < w->again_at + APART) return false;
    w->again = seq == w->first ? w->again + 1 : 1;
    w->first = seq;
    w->again_at = now;
    if (w->again < 2 || now < a->proof_at + NO_PROOF) return false;
    unsigned flows, vain = pk_advance_still(a, &flows, now);
    if (vain >= (flows > 1 ? PK_STILL_FLOWS : PK_STILL)) advance_doubt(a, flows > 1, now);
    return false;
}

void pk_advance_acknowledged(struct pk_advance *a, const struct pk_tuple *tuple, uint32_t ack, uint64_t now) {
    struct pk_watched *w = a->used ? advance_find(a, tuple) : NULL;

    if (!w) return;
    if ((int32_t)(ack - w->end) < 0) {
        w->heard_at = now;
        return;
    }
    if (a->state == PK_TRIED && ack != w->end) {
        pk_advance_forget(a);
        return;
    }
    if (!w->again) {
        a->proofs++;
        a->proof_at = now;
        a->state = PK_GO;
        a->chosen = a->out = false;
        a->failed = a->vain = 0;
        a->wait = 0;
        a->next = now + SAMPLE;
        for (struct pk_watched *other = a->watched; other < a->watched + PK_WATCHED; other++)
            if (other->again) other->again = 1;
    } else if (a->state == PK_GO && now >= a->vain_at + APART) { /* what a pause has kept back comes all at once */
        a->vain_at = now;
        if (++a->vain >= PK_VAIN) {
            advance_doubt(a, false, now);
            return;
        }
    }
    drop(a, w);
}
