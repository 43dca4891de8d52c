/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_seen.h"

#include <string.h>

#include "base/base_hash.h"

#define SET        4u
#define STEP_US    4000000u
#define STEPS_MASK UINT64_C(0x1fffff)
#define MINUTE     15u /* steps */
#define DIED_US    10000000u

enum seen_state { SEEN_ABSENT, SEEN_ASKED, SEEN_DENIED, SEEN_CONFIRMED, SEEN_CONFIRMED_ASKED };
enum ask_state { ASK_FREE, ASK_WRITTEN, ASK_READY };

/* The longest that any state lasts: what seems to last longer has been over for long. */
#define LONGEST (60u * MINUTE)

static uint64_t seen_hash(const uint64_t key[2], const uint8_t address[16], const char *name) {
    struct base_hash h;

    base_hash_begin(&h, key);
    base_hash_add(&h, address, 16);
    base_hash_add(&h, name, strlen(name));
    return base_hash_end(h);
}

static uint64_t seen_row(uint64_t hash, enum seen_state state, uint64_t now, uint64_t steps) {
    return hash >> 24 << 24 | (uint64_t)state << 21 | ((now / STEP_US + steps) & STEPS_MASK);
}

/* Steps that it still holds; 0: it is over. */
static uint64_t seen_left(uint64_t row, uint64_t now) {
    uint64_t left = ((row & STEPS_MASK) - now / STEP_US) & STEPS_MASK;
    return left <= LONGEST ? left : 0;
}

static enum seen_state seen_state_of(uint64_t row, uint64_t now) {
    return seen_left(row, now) ? (enum seen_state)(row >> 21 & 7) : SEEN_ABSENT;
}

static bool seen_holds(uint64_t row, uint64_t now) {
    enum seen_state state = seen_state_of(row, now);
    return state == SEEN_CONFIRMED || state == SEEN_CONFIRMED_ASKED;
}

/* The bits that no row keeps choose the set. */
static _Atomic uint64_t *crowd_set(struct crawlers_seen *s, uint64_t hash) {
    return &s->row[hash % (CRAWLERS_ROWS / SET) * SET];
}

/* Its own row, whatever stands there now; NULL: it has none. */
static _Atomic uint64_t *crowd_find(_Atomic uint64_t *set, uint64_t hash) {
    for (unsigned i = 0; i < SET; i++)
        if (atomic_load_explicit(&set[i], memory_order_relaxed) >> 24 == hash >> 24) return &set[i];
    return NULL;
}

/* The row that it may have; NULL: all are worth more. */
static _Atomic uint64_t *seen_place(_Atomic uint64_t *set, uint64_t now, bool confirmed) {
    _Atomic uint64_t *best = NULL;
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < SET; i++) {
        uint64_t row = atomic_load_explicit(&set[i], memory_order_relaxed);
        uint64_t worth = seen_state_of(row, now) == SEEN_ABSENT ? 0 : seen_left(row, now);

        if (seen_holds(row, now)) worth = confirmed ? worth + LONGEST : UINT64_MAX;
        if (worth >= least) continue;
        least = worth;
        best = &set[i];
    }
    return best;
}

/* Of a network (IPv4 /24, IPv6 /64) eight may be asked for at one time, so that none keeps all others waiting. */
static bool seen_put(struct crawlers_seen *s, const uint64_t key[2], const uint8_t address[16], const char *name,
                     uint64_t now) {
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    uint8_t network[16] = { 0 };
    uint64_t hash;

    memcpy(network, address, memcmp(address, mapped, sizeof mapped) ? 8 : 15);
    hash = seen_hash(key, network, "");
    for (unsigned i = 0; i < 8; i++) {
        struct crawlers_ask *a = &s->ask[(hash + i) % CRAWLERS_ASKS];
        uint32_t is = ASK_FREE;

        if (!atomic_compare_exchange_strong(&a->state, &is, ASK_WRITTEN)) continue;
        atomic_store(&a->since, now);
        memcpy(a->address, address, sizeof a->address);
        memset(a->name, 0, sizeof a->name);
        memcpy(a->name, name, strnlen(name, sizeof a->name - 1));
        atomic_store_explicit(&a->state, ASK_READY, memory_order_release);
        return true;
    }
    atomic_fetch_add_explicit(&s->dropped, 1, memory_order_relaxed);
    return false;
}

bool crawlers_seen_confirmed(struct crawlers_seen *s, const uint64_t key[2], const uint8_t address[16],
                             const char *name, uint64_t now) {
    uint64_t hash = seen_hash(key, address, name), row;
    _Atomic uint64_t *set = crowd_set(s, hash), *at = crowd_find(set, hash);
    bool confirmed;

    if (!at) at = seen_place(set, now, false);
    if (!at) return false;
    row = atomic_load_explicit(at, memory_order_relaxed);
    confirmed = row >> 24 == hash >> 24 && seen_holds(row, now);
    if (row >> 24 == hash >> 24) switch (seen_state_of(row, now)) {
        case SEEN_ABSENT: break;
        case SEEN_CONFIRMED:
            if (seen_left(row, now) > 10 * MINUTE) return true;
            break;
        default: return confirmed;
        }
    /* One of those who see it has him asked for. */
    if (!atomic_compare_exchange_strong(at, &row,
                                        confirmed ? seen_row(hash, SEEN_CONFIRMED_ASKED, now, seen_left(row, now))
                                                  : seen_row(hash, SEEN_ASKED, now, MINUTE)))
        return confirmed;
    if (!seen_put(s, key, address, name, now)) atomic_store(at, confirmed ? row : 0);
    return confirmed;
}

bool crawlers_seen_take(struct crawlers_seen *s, uint64_t now, uint8_t address[16], char name[CRAWLERS_NAME_ROOM]) {
    /* From a place that moves on, so that none waits for all before it each time. */
    uint64_t from = atomic_load(&s->asked);

    for (unsigned i = 0; i < CRAWLERS_ASKS; i++) {
        struct crawlers_ask *a = &s->ask[(from + i) % CRAWLERS_ASKS];
        uint32_t is = ASK_READY;

        if (atomic_load(&a->state) == ASK_WRITTEN && now - atomic_load(&a->since) > DIED_US)
            atomic_store(&a->state, ASK_FREE);
        if (!atomic_compare_exchange_strong(&a->state, &is, ASK_WRITTEN)) continue;
        atomic_store(&a->since, now);
        memcpy(address, a->address, sizeof a->address);
        memcpy(name, a->name, CRAWLERS_NAME_ROOM);
        name[CRAWLERS_NAME_ROOM - 1] = 0;
        atomic_store(&a->state, ASK_FREE);
        atomic_fetch_add(&s->asked, 1);
        return true;
    }
    return false;
}

void crawlers_seen_tell(struct crawlers_seen *s, const uint64_t key[2], const uint8_t address[16], const char *name,
                        enum crawlers_said said, uint64_t now) {
    static const struct {
        enum seen_state state;
        unsigned steps;
    } becomes[] = {
        [CRAWLERS_DENIED] = { SEEN_DENIED, 10 * MINUTE },
        [CRAWLERS_CONFIRMED] = { SEEN_CONFIRMED, 60 * MINUTE },
        [CRAWLERS_NO_ANSWER] = { SEEN_DENIED, MINUTE },
    };
    uint64_t hash = seen_hash(key, address, name);
    _Atomic uint64_t *set = crowd_set(s, hash), *at = crowd_find(set, hash);

    /* Whom nobody can be asked about keeps what he had. */
    if (at && said == CRAWLERS_NO_ANSWER && seen_holds(atomic_load(at), now)) return;
    if (!at) at = seen_place(set, now, said == CRAWLERS_CONFIRMED);
    if (at) atomic_store(at, seen_row(hash, becomes[said].state, now, becomes[said].steps));
}

uint32_t crawlers_seen_waiting(const struct crawlers_seen *s) {
    uint32_t n = 0;

    for (unsigned i = 0; i < CRAWLERS_ASKS; i++) n += atomic_load(&s->ask[i].state) == ASK_READY;
    return n;
}
