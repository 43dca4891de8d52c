/* SPDX-License-Identifier: BSD-2-Clause */
#include "bots_seen.h"

#include <string.h>

#include "bots_claim.h"

#define WRONG_S 86400 /* a clock that is behind the beginning by more */

static unsigned sights_set(const struct bots_sight *s) { return (unsigned)(s->id[0] % BOTS_SEEN_SETS); }

void bots_seen_begin_locked(struct bots_seen *t, int64_t now) {
    if (!t->since) t->since = now;
}

static struct bots_seen_place *sights_find(struct bots_seen *t, const struct bots_sight *s, int64_t now) {
    struct bots_seen_place *set = t->place[sights_set(s)];

    for (unsigned i = 0; i < BOTS_SEEN_WAYS; i++)
        if (set[i].until && set[i].until >= now && set[i].id[0] == s->id[0] && set[i].id[1] == s->id[1]) return &set[i];
    return NULL;
}

enum bots_seen_as bots_seen_look_locked(struct bots_seen *t, const struct bots_sight *s, int64_t now) {
    const struct bots_seen_place *p = sights_find(t, s, now);

    if (now < t->since - WRONG_S) t->since = now;
    if (p) return !s->once && p->whose == s->whose ? BOTS_SEEN_RIGHT : BOTS_SEEN_REPLAYED;
    if (s->created <= t->forgotten[sights_set(s)] || s->created < t->since || s->until <= t->over)
        return BOTS_SEEN_REPLAYED;
    return BOTS_SEEN_NEVER;
}

/* One that nobody needs, else the one that was made first. */
static struct bots_seen_place *sights_room(struct bots_seen *t, unsigned set, int64_t now) {
    struct bots_seen_place *all = t->place[set], *first = all;

    for (unsigned i = 0; i < BOTS_SEEN_WAYS; i++) {
        if (all[i].until < now) {
            if (all[i].until > t->over) t->over = all[i].until;
            return &all[i];
        }
        if (all[i].created < first->created) first = &all[i];
    }
    if (first->created > t->forgotten[set]) t->forgotten[set] = first->created;
    return first;
}

enum bots_seen_as bots_seen_note_locked(struct bots_seen *t, const struct bots_sight *s, int64_t now) {
    enum bots_seen_as as = bots_seen_look_locked(t, s, now);

    if (as != BOTS_SEEN_NEVER) return as;
    *sights_room(t, sights_set(s), now) =
        (struct bots_seen_place){ { s->id[0], s->id[1] }, s->whose, s->created, s->until };
    return BOTS_SEEN_RIGHT;
}

void bots_seen_forget_locked(struct bots_seen *t, int64_t now) {
    memset(t, 0, sizeof *t);
    t->since = now + BOTS_SKEW + 1;
}
