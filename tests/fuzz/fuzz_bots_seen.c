/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_bots_seen.c - signatures that come, and come again, while the clock is set this way and that.
 *
 * Bytes, two for each step: what is done, and with which of the signatures or by how much.  What must hold: one with a
 * nonce counts once; one without for the address that came with it first, and no other.
 */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "bots/bots_seen.h"

#define KNOWN 256u
#define SETS  4u /* so few that they are soon full */
#define BEGIN 1000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct signature {
    int64_t created, until;
    uint64_t first; /* who it counted for; 0: nobody yet */
    bool made, once;
};

static struct bots_seen table;
static struct signature all[KNOWN];

/* None but those of the sets that are used was written. */
static void seen_anew(void) {
    table.since = table.over = 0;
    memset(table.forgotten, 0, SETS * sizeof *table.forgotten);
    memset(table.place, 0, SETS * sizeof *table.place);
    memset(all, 0, sizeof all);
    bots_seen_begin_locked(&table, BEGIN);
}

static int64_t clock_step(uint8_t by, int64_t now) {
    static const int64_t steps[] = { 1, 60, 301, 3600, -1, -60, -301, -3600 };

    now += steps[by % 8] * (1 + by / 64);
    /* By more than a day it begins anew, and forgets. */
    return now < BEGIN - 86400 ? BEGIN - 86400 : now;
}

static void come(struct signature *s, uint64_t id, uint64_t whose, int64_t now, bool verified) {
    struct bots_sight sight = { { id * BOTS_SEEN_SETS + id % SETS, ~id }, whose, s->created, s->until, s->once };
    enum bots_seen_as as = bots_seen_look_locked(&table, &sight, now);

    if (as == BOTS_SEEN_NEVER && verified) as = bots_seen_note_locked(&table, &sight, now);
    if (as != BOTS_SEEN_RIGHT) return;
    assert(!s->first || (!s->once && s->first == whose));
    s->first = whose;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t now = BEGIN;

    seen_anew();
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned what = data[i], which = data[i + 1];
        struct signature *s = &all[which];

        if (what % 4 == 0) {
            now = clock_step((uint8_t)which, now);
            continue;
        }
        if (!s->made) {
            static const int64_t lasts[] = { 0, 300, 3600, 86400 };
            *s = (struct signature){ now, now + lasts[what / 4 % 4], 0, true, what / 16 % 2 };
        }
        /* What is not in its time nobody looks for (bots_claim.h). */
        if (now + 60 >= s->created && now <= s->until) come(s, which + 1, 1 + what / 32 % 2, now, what % 4 != 1);
    }
    return 0;
}
