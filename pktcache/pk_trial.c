/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_trial.h"

#include "pk_memory.h"

#include <assert.h>
#include <string.h>

enum { TRIAL_MAGIC = 0x504b5452, HELD = 32 };

enum {                       /* microseconds */
       TRIAL_MORE = 1000000, /* that a trial may last, beside two round trips */
       TRIAL_LAST = 6000000  /* and at most */
};

struct pk_trial {
    unsigned magic;
    unsigned n;
    struct pk_train train; /* its bytes are `bytes` */
    uint8_t bytes[PK_DATAGRAM_MAX];
    struct pk_held held[HELD];
};

pk_trial_t *pk_trial_make(void) {
    pk_trial_t *t = pk_memory(sizeof *t);
    if (t) t->magic = TRIAL_MAGIC;
    return t;
}

void pk_trial_free(pk_trial_t **trial) {
    pk_trial_t *t = *trial;
    *trial = NULL;
    if (!t) return;
    assert(t->magic == TRIAL_MAGIC);
    free(t);
}

void pk_trial_keep(pk_trial_t *t, const struct pk_train *train) {
    assert(t->magic == TRIAL_MAGIC);
    t->train = *train;
    t->train.bytes = t->bytes;
    memcpy(t->bytes, train->bytes, train->n);
}

const struct pk_train *pk_trial_train(const pk_trial_t *t) { return &t->train; }

bool pk_trial_hold(pk_trial_t *t, const void *piece, size_t bytes) {
    assert(t->magic == TRIAL_MAGIC);
    if (t->n == HELD) return false;
    t->held[t->n].n = bytes;
    memcpy(t->held[t->n++].bytes, piece, bytes);
    return true;
}

unsigned pk_trial_held(const pk_trial_t *t) { return t->n; }

struct pk_held *pk_trial_at(pk_trial_t *t, unsigned i) {
    assert(i < t->n);
    return t->held + i;
}

void pk_trial_release(pk_trial_t *t, unsigned n) {
    assert(n <= t->n);
    t->n -= n;
    if (n) memmove(t->held, t->held + n, t->n * sizeof *t->held);
}

uint64_t pk_trial_most(uint64_t round_trip, uint64_t deviation) {
    uint64_t most = 2 * (round_trip + 4 * deviation) + TRIAL_MORE;
    return most < TRIAL_LAST ? most : TRIAL_LAST;
}
