/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_room.h"

#define DRAWS 512u /* so that of a class that has a thirtieth of the tickets some are found */
#define DRAWN 16u

struct drawn {
    rs_ticket_t ticket;
    uint64_t tag, since;
};

/* Under the segment's lock. */
static uint32_t draw_index(uint32_t n) {
    static uint64_t state;

    if (!state) state = shm_now() | 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) * n >> 32);
}

static bool is_drawn(const struct drawn *d, unsigned n, rs_ticket_t t) {
    while (n--)
        if (d[n].ticket == t) return true;
    return false;
}

static unsigned draw_locked(const struct shm_view *v, uint32_t class, struct drawn *d) {
    unsigned n = 0;

    for (unsigned i = 0; i < DRAWS && n < DRAWN; i++) {
        const struct shm_row *row = &v->rows[draw_index(v->size.tickets)];
        rs_ticket_t t = atomic_load_explicit(&row->ticket, memory_order_relaxed);
        if (rs_ticket_index(t) != (uint32_t)(row - v->rows) || rs_state(v->engine, t) != RS_QUEUED ||
            rs_class(v->engine, t) != class || is_drawn(d, n, t))
            continue;
        d[n++] = (struct drawn){ t, rs_tag(v->engine, t), rs_submitted(v->engine, t) };
    }
    return n;
}

static unsigned shared(uint64_t a, uint64_t b) {
    return (unsigned)(a >> 32 == b >> 32) + (unsigned)((uint32_t)a == (uint32_t)b);
}

static unsigned weight_of(const struct drawn *d, unsigned n, uint64_t tag) {
    unsigned weight = 0;

    while (n--) weight += shared(d[n].tag, tag);
    return weight;
}

rs_ticket_t ccn_room_locked(const struct shm_view *v, uint32_t class, uint64_t tag) {
    struct drawn d[DRAWN];
    unsigned n = draw_locked(v, class, d), heaviest = weight_of(d, n, tag) + shared(tag, tag);
    const struct drawn *best = NULL;

    for (unsigned i = 0; i < n; i++) {
        unsigned weight = weight_of(d, n, d[i].tag) + shared(d[i].tag, tag);
        if (weight < heaviest || (weight == heaviest && (!best || d[i].since <= best->since))) continue;
        heaviest = weight;
        best = &d[i];
    }
    return best ? best->ticket : RS_NO_TICKET;
}
