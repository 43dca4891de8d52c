/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_load_client.c - one client's life: see the states in ndn_load.h. */
#include "ndn_load.h"

#include "ndn/ndn_lp.h"

#include <stdlib.h>
#include <string.h>

#define INTEREST_ROOM (NLOAD_NAME_MAX + 128)
#define REST_AFTER_US 10000 /* a page that failed at once is not asked for again at once */

/* ---- whose Data it is -------------------------------------------------------------------------------------------- */

/* Servers that are measured do not aim at our buckets: any hash will do (FNV-1a, by eight bytes). */
static uint64_t client_key(const struct nload_face *f, const uint8_t *name, size_t n) {
    uint64_t h = 0xcbf29ce484222325ull ^ f->number;
    for (; n >= 8; name += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, name, 8);
        h = (h ^ w) * 0x100000001b3ull;
        h ^= h >> 29;
    }
    for (; n; name++, n--) h = (h ^ *name) * 0x100000001b3ull;
    return h ^ (h >> 32);
}

static void client_unlist(struct nload *l, struct nload_client *c) {
    struct nload_client **at = &l->bucket[c->key & l->mask];
    while (*at && *at != c) at = &(*at)->next;
    if (*at) *at = c->next;
}

static void client_list(struct nload *l, struct nload_client *c) {
    c->key = client_key(c->face, c->name, c->n);
    c->next = l->bucket[c->key & l->mask];
    l->bucket[c->key & l->mask] = c;
}

/* The next in a bucket, from c on, which waits for that name in that state. */
static struct nload_client *client_of(struct nload_client *c, const struct nload_face *f, uint64_t key,
                                      const struct ndn_name *name, enum nload_state state) {
    while (c && (c->key != key || c->face != f || c->state != state || c->n != name->bytes.n ||
                 memcmp(c->name, name->bytes.at, c->n) != 0))
        c = c->next;
    return c;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void client_rest(struct nload *l, struct nload_client *c, uint64_t us) {
    client_unlist(l, c);
    if (l->kind == NLOAD_CLOSED && (!l->requests || ++c->done < l->requests)) {
        c->state = NLOAD_RESTING;
        lab_timer_set(&l->timers, &c->timer, l->now + us);
    } else {
        c->state = NLOAD_OVER;
        lab_timer_clear(&l->timers, &c->timer);
        l->working--;
    }
}

void nload_client_fail(struct nload *l, struct nload_client *c, enum nload_error why) {
    l->counts.failed[why]++;
    client_rest(l, c, REST_AFTER_US);
}

static void client_interest(struct nload *l, struct nload_client *c, uint64_t segment) {
    struct ndn_interest_form f = { .name = { c->name, c->n },
                                   .segment = c->state == NLOAD_FIRST ? NDN_NO_NUMBER : segment,
                                   .can_be_prefix = c->state == NLOAD_FIRST,
                                   .must_be_fresh = c->state == NLOAD_FIRST,
                                   .nonce = (uint32_t)nload_random(&l->nonces),
                                   .lifetime_ms = l->lifetime_ms };
    size_t n = ndn_interest_write(&f, nload_face_room(c->face, INTEREST_ROOM), INTEREST_ROOM);

    nload_face_put(l, c->face, n);
    l->counts.interests++;
}

/* All that it may ask for now; and its timer, which may be too early, so that it is not moved with each answer. */
static void client_pump(struct nload *l, struct nload_client *c) {
    uint64_t again, segment, retransmissions = c->fetch.retransmissions, losses = c->fetch.losses;

    while ((segment = ndn_fetch_next(&c->fetch, l->now, &again)) != NDN_NO_NUMBER) client_interest(l, c, segment);
    l->counts.retransmissions += c->fetch.retransmissions - retransmissions;
    l->counts.losses += c->fetch.losses - losses;
    if (ndn_fetch_failed(&c->fetch)) nload_client_fail(l, c, NLOAD_LOST);
    else if (again != UINT64_MAX && (!c->timer.place || again < c->timer.when))
        lab_timer_set(&l->timers, &c->timer, again);
}

static void client_begin(struct nload *l, struct nload_client *c) {
    if (l->own) c->page = &l->pages[c->number % l->page_count];
    else if (l->kind == NLOAD_CLOSED) c->page = nload_draw(l, &c->rng);
    if (c->face->fd < 0) {
        nload_client_fail(l, c, NLOAD_FACE);
        return;
    }
    c->n = c->page->n;
    memcpy(c->name, c->page->name, c->n);
    if (c->page->tag_at) {
        uint64_t serial = l->kind == NLOAD_CLOSED ? l->serial++ : l->serial + c->number;
        for (uint32_t i = NLOAD_TAG_WIDTH; i--; serial /= 10)
            c->name[c->page->tag_at + i] = (uint8_t)('0' + serial % 10);
    }
    c->begun = l->now;
    c->state = NLOAD_FIRST;
    ndn_fetch_begin(&c->fetch, &l->window, c->places, 0, l->now);
    client_list(l, c);
    client_pump(l, c);
}

void nload_client_timer(struct nload *l, struct lab_timer *t) {
    struct nload_client *c = LAB_OWNER(t, struct nload_client, timer);

    if (c->state == NLOAD_RESTING) client_begin(l, c);
    else client_pump(l, c);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void client_done(struct nload *l, struct nload_client *c) {
    if (l->done_count == l->done_room) {
        l->done_room = l->done_room ? 2 * l->done_room : 1024;
        l->done = nload_need(realloc(l->done, l->done_room * sizeof l->done[0]));
    }
    l->done[l->done_count++] = (struct nload_done){ .asked = c->begun > l->started ? c->begun - l->started : 0,
                                                    .took = l->now - c->begun,
                                                    .first = c->begun_first - c->begun,
                                                    .kind = c->page->kind,
                                                    .segments = (uint32_t)(c->fetch.last + 1),
                                                    .status = c->status,
                                                    .interests = (uint32_t)c->fetch.interests,
                                                    .retransmissions = (uint32_t)c->fetch.retransmissions,
                                                    .window = c->window };
    client_rest(l, c, l->think_us);
}

static void client_segment(struct nload *l, struct nload_client *c, const struct ndn_data *d, uint64_t segment,
                           bool marked) {
    l->counts.marks += marked;
    if (ndn_fetch_data(&c->fetch, l->now, segment, ndn_data_last(d), d->window, marked) == NDN_CAME_NEW) {
        l->counts.segments++;
        l->counts.bytes += d->content.n;
    }
    if (ndn_fetch_whole(&c->fetch)) client_done(l, c);
    else client_pump(l, c);
}

/* Its first segment: what it is a version of is wanted from now on. */
static void client_first(struct nload *l, struct nload_client *c, const struct ndn_data *d,
                         const struct ndn_name *version, bool marked) {
    if (ndn_segment_of(&d->name) != 0 || version->bytes.n > sizeof c->name) {
        nload_client_fail(l, c, NLOAD_STRANGE);
        return;
    }
    client_unlist(l, c);
    c->n = version->bytes.n;
    memcpy(c->name, version->bytes.at, c->n);
    client_list(l, c);
    c->state = NLOAD_OTHERS;
    c->begun_first = l->now;
    c->status = d->status == NDN_NO_NUMBER ? 0 : (uint32_t)d->status;
    c->window = d->window == NDN_NO_NUMBER ? 0 : (uint32_t)d->window;
    l->counts.unverified +=
        !ndn_verify(ndn_key_none(), d->signature.type, d->signature.covered, d->signature.ncovered, d->signature.value);
    client_segment(l, c, d, 0, marked);
}

void nload_client_data(struct nload *l, const struct nload_face *f, const struct ndn_data *d, bool marked) {
    struct ndn_name version = ndn_name_first(&d->name, d->name.n - 1);
    struct ndn_name page = ndn_name_first(&d->name, d->name.n < 2 ? 0 : d->name.n - 2);
    uint64_t segment = ndn_segment_of(&d->name), key = client_key(f, version.bytes.at, version.bytes.n);
    struct nload_client *c, *next;
    bool wanted = false;

    for (c = client_of(l->bucket[key & l->mask], f, key, &version, NLOAD_OTHERS); c; c = next, wanted = true) {
        next = client_of(c->next, f, key, &version, NLOAD_OTHERS);
        if (d->content_type == NDN_NO && segment) nload_client_fail(l, c, NLOAD_GONE);
        else client_segment(l, c, d, segment, marked);
    }
    if (segment == 0) {
        key = client_key(f, page.bytes.at, page.bytes.n);
        for (c = client_of(l->bucket[key & l->mask], f, key, &page, NLOAD_FIRST); c; c = next, wanted = true) {
            next = client_of(c->next, f, key, &page, NLOAD_FIRST);
            client_first(l, c, d, &version, marked);
        }
    }
    l->counts.strays += !wanted;
}

void nload_client_nack(struct nload *l, const struct nload_face *f, const struct ndn_interest *i, uint64_t reason) {
    uint64_t segment = ndn_segment_of(&i->name);
    struct ndn_name name = segment == NDN_NO_NUMBER ? i->name : ndn_name_first(&i->name, i->name.n - 1);
    enum nload_state state = segment == NDN_NO_NUMBER ? NLOAD_FIRST : NLOAD_OTHERS;
    uint64_t key = client_key(f, name.bytes.at, name.bytes.n);
    struct nload_client *c, *next;

    for (c = client_of(l->bucket[key & l->mask], f, key, &name, state); c; c = next) {
        uint64_t losses = c->fetch.losses;
        next = client_of(c->next, f, key, &name, state);
        l->counts.nacks++;
        ndn_fetch_nack(&c->fetch, l->now, segment == NDN_NO_NUMBER ? 0 : segment, reason == NDN_NACK_CONGESTION);
        l->counts.losses += c->fetch.losses - losses;
        client_pump(l, c);
    }
}
