/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_replay.h"

#include "pk_memory.h"

#include <assert.h>

enum { REPLAY_MAGIC = 0x504b5250, REMEMBERED = 64 };

enum { /* whether the link loses datagrams is seen of so many; one of so many is enough */
       LOSS_OF = 64,
       LOSS_ONE_OF = 256,
       LOSSY = 10000000 /* microseconds that it counts as one that loses, after that was seen */
};

enum {                       /* microseconds */
       TIMER_LEAST = 200000, /* of a server's timer, beside the round trip (RFC 6298: a second) */
       LONG_SINCE = 5000000  /* 4 GB have passed: at more than 5 Gbit/s numbers come again */
};

struct pk_replay {
    unsigned magic;
    unsigned next;                   /* place */
    uint64_t seen_newest, seen_came; /* as the child said last, of the present session */
    uint64_t lossy_until;            /* of what was sent lately, some did not come */
    struct pk_replay_train train[REMEMBERED];
};

pk_replay_t *pk_replay_make(void) {
    pk_replay_t *r = pk_memory(sizeof *r);
    if (r) r->magic = REPLAY_MAGIC;
    return r;
}

void pk_replay_free(pk_replay_t **replay) {
    pk_replay_t *r = *replay;
    *replay = NULL;
    if (!r) return;
    assert(r->magic == REPLAY_MAGIC);
    free(r);
}

void pk_replay_add(pk_replay_t *r, const struct pk_tuple *tuple, const struct pk_train *t, uint64_t now) {
    struct pk_replay_train *of = r->train + r->next;
    struct pk_reader reader;

    assert(r->magic == REPLAY_MAGIC);
    if (!pk_train_read(&reader, t->bytes, t->n)) return;
    r->next = (r->next + 1) % REMEMBERED;
    of->tuple = *tuple;
    of->at = now;
    of->again = false;
    of->from = of->behind = pk_head_seq(&reader.next);
    of->to = pk_head_seq(&t->next);
    of->n = (uint32_t)t->n;
    of->tos = t->tos;
    memcpy(of->bytes, t->bytes, t->n);
}

bool pk_replay_again(pk_replay_t *r, const struct pk_tuple *tuple, uint32_t seq, uint32_t n, uint64_t round_trip,
                     uint64_t now, const struct pk_replay_train **train) {
    assert(r->magic == REPLAY_MAGIC);
    *train = NULL;
    for (struct pk_replay_train *t = r->train; t < r->train + REMEMBERED; t++) {
        if (seq - t->from >= t->to - t->from || now >= t->at + LONG_SINCE || memcmp(&t->tuple, tuple, sizeof *tuple))
            continue;
        if (!t->again) *train = t;
        t->again = true;
        if (n > t->to - seq || (int32_t)(seq - t->behind) < 0) return false;
        t->behind = seq + n;
        return now < t->at + round_trip + TIMER_LEAST;
    }
    return false;
}

void pk_replay_forget(pk_replay_t *r, const struct pk_tuple *tuple) {
    assert(r->magic == REPLAY_MAGIC);
    for (struct pk_replay_train *t = r->train; t < r->train + REMEMBERED; t++)
        if (t->from != t->to && !memcmp(&t->tuple, tuple, sizeof *tuple)) t->to = t->from;
}

void pk_replay_begin(pk_replay_t *r) { r->seen_newest = r->seen_came = 0; }

void pk_replay_seen(pk_replay_t *r, uint64_t newest, uint64_t came, uint64_t now) {
    uint64_t sent = newest - r->seen_newest, here = came - r->seen_came;

    assert(r->magic == REPLAY_MAGIC);
    if (newest < r->seen_newest + LOSS_OF || came < r->seen_came) return;
    if (here < sent && (sent - here) * LOSS_ONE_OF > sent) r->lossy_until = now + LOSSY;
    r->seen_newest = newest;
    r->seen_came = came;
}

bool pk_replay_loses(const pk_replay_t *r, uint64_t now) { return now < r->lossy_until; }
