/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_seen.h"

#include <stdatomic.h>
#include <string.h>

/* Also if the time is ahead of a clock that was set back: it will be accepted by that clock again. */
static bool seen_counts(uint64_t time, uint64_t now) { return time && (time >= now || now - time <= CCN_SEEN_MS); }

static void seen_raise_floor(struct ccn_seen *s, uint64_t time) {
    uint64_t floor = atomic_load(&s->floor);

    while (floor < time && !atomic_compare_exchange_weak(&s->floor, &floor, time)) continue;
}

void ccn_seen_begin(struct ccn_seen *s, uint64_t now) { atomic_store(&s->floor, now + CCN_SEEN_AHEAD_MS); }

enum ccn_fresh ccn_seen_add(struct ccn_seen *s, const uint8_t *digest, uint64_t made, uint64_t now) {
    uint64_t word, set, before = 0;
    unsigned room = CCN_SEEN_WAYS;

    if (made > now ? made - now > CCN_SEEN_AHEAD_MS : now - made > CCN_SEEN_MS) return CCN_STALE;
    memcpy(&word, digest, sizeof word);
    memcpy(&set, digest + sizeof word, sizeof set);
    set %= CCN_SEEN_SETS;
    for (unsigned i = 0; i < CCN_SEEN_WAYS; i++) {
        uint64_t time = atomic_load(&s->row[set][i].time);
        if (!seen_counts(time, now)) {
            room = i;
            before = time;
        } else if (atomic_load(&s->row[set][i].digest) == word) {
            return CCN_REPLAYED;
        }
    }
    if (made <= atomic_load(&s->floor)) return CCN_TOO_EARLY;
    if (room == CCN_SEEN_WAYS || !atomic_compare_exchange_strong(&s->row[set][room].time, &before, made))
        return CCN_SEEN_FULL;
    seen_raise_floor(s, before);
    atomic_store(&s->row[set][room].digest, word);
    /* Another one may have come meanwhile, and have found another place: of two at least one sees the other. */
    for (unsigned i = 0; i < CCN_SEEN_WAYS; i++)
        if (i != room && atomic_load(&s->row[set][i].digest) == word &&
            seen_counts(atomic_load(&s->row[set][i].time), now))
            return CCN_REPLAYED;
    return CCN_FRESH;
}
