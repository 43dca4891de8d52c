/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_answer.h"

#include <stdlib.h>

#define LIFETIME_MAX_MS 60000u

/* ---- who waits --------------------------------------------------------------------------------------------------- */

struct ccn_waiter *ccn_waiter_new(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *w,
                                  const struct ccn_token *t) {
    uint64_t lifetime = i->lifetime_ms > LIFETIME_MAX_MS ? LIFETIME_MAX_MS : i->lifetime_ms;
    struct ccn_waiter *n = calloc(1, sizeof *n);

    if (!n) return NULL;
    ccn_face_hold(f);
    n->face = f;
    n->token = *t;
    n->metadata = w && w->kind == CCN_METADATA;
    n->exact = w && w->exact;
    n->deadline = shm_now() + lifetime * 1000;
    return n;
}

void ccn_waiter_free(struct ccn_waiter *w) {
    ccn_face_release(w->face);
    free(w);
}

void ccn_waiters_free(struct ccn_waiter *all) {
    for (struct ccn_waiter *next; all; all = next) {
        next = all->next;
        ccn_waiter_free(all);
    }
}

const struct ndn_key *ccn_waiter_key(const struct ccn_waiter *w) {
    return ccn_key_of(ccn_host_of(ccn_face_seen_as(w->face)->server));
}

/* ---- what they get ----------------------------------------------------------------------------------------------- */

/* The name that an answer to such an Interest begins with. */
static struct ndn_name asked_name(const struct ccn_answer *r, bool metadata, uint8_t *room, size_t n) {
    struct ndn_out o = ndn_out_into(room, n);
    struct ndn_name name = r->page;

    ndn_put(&o, r->page.bytes.at, r->page.bytes.n);
    if (metadata) ndn_put_component(&o, NDN_KEYWORD_COMPONENT, "metadata", 8);
    if (r->digest.n) ndn_put_component(&o, NDN_PARAMETERS_COMPONENT, r->digest.at, r->digest.n);
    name.bytes = (struct ndn_span){ room, o.full ? 0 : o.n };
    name.n += metadata + (r->digest.n != 0);
    return name;
}

static size_t make_refusal(const struct ccn_answer *r, const struct ccn_waiter *a, int status, const char *why,
                           uint8_t bytes[NDN_PACKET_MAX]) {
    uint8_t room[CCN_NAME_MAX + 128];
    struct ndn_name name = asked_name(r, a->metadata, room, sizeof room);

    return ccn_cut_refusal(&name, a->exact, status, why, ccn_waiter_key(a), bytes, NDN_PACKET_MAX);
}

size_t ccn_answer_make(const struct ccn_answer *r, const struct ccn_waiter *a, uint8_t bytes[NDN_PACKET_MAX]) {
    uint8_t room[CCN_NAME_MAX + 128];
    struct ndn_name name;

    if (!r->cut) return make_refusal(r, a, r->status, r->why, bytes);
    if (a->metadata) return ccn_cut_metadata(&r->page, r->cut, r->made, ccn_waiter_key(a), bytes, NDN_PACKET_MAX);
    if (!a->exact) {
        name = asked_name(r, false, room, sizeof room);
        return ccn_cut_first(&name, r->cut, r->made, ccn_waiter_key(a), bytes, NDN_PACKET_MAX);
    }
    if (r->cut->sealed || r->cut->n > 1)
        return make_refusal(r, a, HTTP_NOT_ACCEPTABLE,
                            "This page is sealed, or has more than one segment: ask for it with CanBePrefix.\n", bytes);
    name = asked_name(r, false, room, sizeof room);
    return ccn_cut_exact(&name, r->cut, r->made, ccn_waiter_key(a), bytes, NDN_PACKET_MAX);
}

unsigned ccn_waiter_way(const struct ccn_waiter *a) { return (unsigned)a->metadata << 1 | (unsigned)a->exact; }

void ccn_answer_all(const struct ccn_answer *r, struct ccn_waiter *all) {
    uint8_t bytes[NDN_PACKET_MAX];

    for (unsigned way = 0; way < CCN_WAYS; way++) {
        bool made = false;
        size_t n = 0;
        for (struct ccn_waiter *a = all; a; a = a->next) {
            if (ccn_waiter_way(a) != way) continue;
            if (r->cut && !a->metadata && !a->exact) {
                const struct ccn_store_id *first = r->cut->has_first ? &r->cut->first : &r->cut->id;
                ccn_face_reply(a->face, ccn_reply_kept(&a->token, first, 0, r->cut->n, true));
                continue;
            }
            if (!made) n = ccn_answer_make(r, a, bytes);
            made = true;
            if (n) ccn_face_reply(a->face, ccn_reply_bytes(&a->token, bytes, n));
        }
    }
    ccn_waiters_free(all);
}
