/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_parent.h"

#include "pk_advance.h"
#include "pk_again.h"
#include "pk_bytes.h"
#include "pk_judge.h"
#include "pk_liveness.h"
#include "pk_memory.h"
#include "pk_missing.h"
#include "pk_payload.h"
#include "pk_reorder.h"
#include "pk_replay.h"
#include "pk_train_queue.h"
#include "pk_trial.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/rand.h>

enum {
    PARENT_MAGIC = 0x504b5041,
    MARGIN_LEAST = 2 << 20 /* bytes of the child's cache that the parent does not count on */
};

enum { ASYMMETRIC = 64 };  /* pieces of servers without one of a client: these do not come by here */
enum {                     /* microseconds */
       STRANGE = 1000000,  /* without a word of the child; then what can't be opened makes us begin a session */
       WHO_FIRST = 200000, /* while a session is wanted; twice as long after each */
       WHO_LAST = 3200000,
       ASIDE_EVERY = 500000, /* the child is told again whether we stand aside */
       TRIED_AGAIN = 2000000 /* a connection of which a trial came to nothing */
};

typedef struct pk_parent {
    struct pk_side side;
    const struct pk_config *c;
    struct pk_fingerprint_key key; /* of the child's cache */
    pk_store_t *store;
    pk_session_t *session;
    struct pk_out out;
    pk_reorder_t *reorder;
    pk_train_queue_t *queue;
    pk_replay_t *replay;
    pk_trial_t *trial; /* of advance */
    pk_again_t *again;
    struct pk_judge judge;
    size_t room;   /* bytes of what is sealed, so that the datagram fits the link */
    uint32_t more; /* bytes of IP and UDP headers of a datagram */
    struct pk_liveness liveness;
    struct pk_advance advance;
    unsigned unasked;          /* pieces of servers since the last packet of a client */
    enum pk_why aside, childs; /* why our daemon stands aside; why the child does */
    uint64_t heard;            /* when something of the session came from the child */
    uint8_t cache[16];         /* its name, of the child that the session is with */
    enum pk_why told;          /* what the child was told last, at told_at */
    uint64_t told_at;
    uint64_t childs_number;    /* of the child's datagram that said `childs` */
    enum pk_why differs;       /* VERSION, DISAGREES: said once until there is a session */
    uint64_t who_at, who_wait; /* no WHO before; the last wait for one */
} pk_parent_t;

static pk_parent_t *parent_of(pk_side_t *s) {
    assert(s->magic == PARENT_MAGIC);
    return (pk_parent_t *)s;
}

static void flow_gone(void *context, struct pk_flow *f) {
    pk_parent_t *p = context;
    pk_train_queue_forget(p->queue, f);
}

static pk_train_leaves train_leaves;

static void parent_free(pk_side_t *s) {
    pk_parent_t *p = parent_of(s);
    pk_flows_free(&s->flows);
    pk_reorder_free(&p->reorder);
    pk_train_queue_free(&p->queue);
    pk_replay_free(&p->replay);
    pk_trial_free(&p->trial);
    pk_again_free(&p->again);
    pk_blocks_free(&p->judge.cutter.blocks);
    free(p);
}

/* Why nothing may go in trains, whatever becomes of those. */
static enum pk_why obstacle(const pk_parent_t *p) {
    if (p->aside) return p->aside;
    if (!pk_session_established(p->session)) return p->differs ? p->differs : PK_WHY_SESSION;
    return p->childs ? p->childs : p->liveness.here ? PK_WHY_NOTHING : PK_WHY_SILENT;
}

static enum pk_why parent_why(const pk_side_t *s) {
    const pk_parent_t *p = (const pk_parent_t *)s;
    enum pk_why why = obstacle(p);
    return why || p->advance.state != PK_STOPPED ? why : PK_WHY_FOLLOWED;
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void parent_send_datagram(pk_parent_t *p, const void *bytes, size_t n, uint8_t tos) {
    p->side.counters.datagrams_out++;
    p->side.counters.datagram_bytes_out += n + p->more;
    p->out.datagram(p->out.context, bytes, n, tos);
}

/* What stands behind PK_SEAL_HEAD bytes. */
static void send_sealed(pk_parent_t *p, enum pk_type type, uint8_t *bytes, size_t n, uint8_t tos) {
    size_t sealed = pk_seal(p->session, type, bytes, n);
    if (sealed) parent_send_datagram(p, bytes, sealed, tos);
}

/* What the child is told: why no trains come, unless that is its own doing. */
static enum pk_why parent_tells(const pk_parent_t *p) {
    if (p->aside) return p->aside;
    if (!p->liveness.here) return PK_WHY_SILENT; /* the child may well hear us */
    return p->advance.state == PK_STOPPED ? PK_WHY_FOLLOWED : PK_WHY_NOTHING;
}

/*
 * Tells the child so when that changes, and every ASIDE_EVERY.  So each end knows that the other one is there, and that
 * the link carries datagrams both ways.
 */
static void parent_tell_aside(pk_parent_t *p, uint64_t now) {
    uint8_t bytes[PK_SEAL_MORE + 1];
    enum pk_why why = parent_tells(p);

    if (why == p->told && now < p->told_at + ASIDE_EVERY) return;
    bytes[PK_SEAL_HEAD] = (uint8_t)why;
    p->told = why;
    p->told_at = now;
    send_sealed(p, PK_ASIDE, bytes, 1, 0);
    if (!p->childs) pk_liveness_beat(&p->liveness, pk_session_sent(p->session), now);
}

static void send_run(pk_parent_t *p, const struct pk_head *h, const void *payload, uint32_t n, uint32_t segment,
                     uint8_t flags) {
    uint8_t head[PK_OUT_ROOM];
    struct iovec part[2] = { { head, pk_head_write(h, n, segment, flags, head) }, { (void *)payload, n } };
    p->side.counters.native_bytes += n + (uint64_t)(n + segment - 1) / segment * h->length;
    p->out.packet(p->out.context, part, 2);
}

static void parent_send_piece(pk_parent_t *p, const struct pk_packet *k, const void *piece, size_t bytes) {
    struct iovec part = { (void *)piece, bytes };
    p->side.counters.native_bytes +=
        k && k->segments ? k->payload + (uint64_t)k->segments * k->headers : pk_piece_ip(bytes);
    p->out.packet(p->out.context, &part, 1);
}

/* ---- trains ------------------------------------------------------------------------------------------------------ */

/* Whether all blocks of a train are still in the store: one that was the oldest may have gone while it waited. */
static bool can_unload(pk_parent_t *p, const struct pk_train *t) {
    uint8_t payload[PK_PAYLOAD_MAX];
    struct pk_reader r;
    struct pk_record record;

    if (!pk_train_read(&r, t->bytes, t->n)) return false;
    while (pk_train_next(&r, &record) == PK_RECORD)
        if (record.kind == PK_PARTS && !pk_payload_of(p->store, NULL, &record, payload, NULL)) return false;
    return true;
}

/* Its packets as they were. */
static void unload(pk_parent_t *p, const struct pk_train *t) {
    uint8_t payload[PK_PAYLOAD_MAX];
    struct pk_reader r;
    struct pk_record record;

    if (!pk_train_read(&r, t->bytes, t->n)) return;
    while (pk_train_next(&r, &record) == PK_RECORD) {
        const uint8_t *bytes = record.bytes;
        if (record.kind == PK_NATIVE || record.kind == PK_GATHER) continue;
        if (record.kind == PK_PARTS || record.kind == PK_TOKENS) {
            /* Gone meanwhile: lost, and sent again by the server. */
            if (!pk_payload_of(p->store, NULL, &record, payload, NULL)) continue;
            bytes = payload;
        }
        send_run(p, &record.head, bytes, record.n, record.segment, record.flags);
    }
}

/* Its first sequence number. */
static uint32_t train_begins(const struct pk_train *t) {
    struct pk_reader r;
    return pk_train_read(&r, t->bytes, t->n) ? pk_head_seq(&r.next) : pk_head_seq(&t->next);
}

/* The trial's train goes as the packets that it stands for.  failed: since nobody has answered in time. */
static void give_up_trial(pk_parent_t *p, bool failed, uint64_t now) {
    struct pk_flow *f = pk_flows_find(p->side.flows, &p->advance.trial);

    pk_advance_give_up(&p->advance, failed, now);
    if (f) f->tried_at = now;
    unload(p, pk_trial_train(p->trial));
}

/* Again; sealing changes what it seals. */
static void send_copy(pk_parent_t *p, const uint8_t *bytes, size_t n, uint8_t tos) {
    uint8_t copy[PK_SEAL_HEAD + PK_DATAGRAM_MAX + PK_SEAL_TAG];
    memcpy(copy + PK_SEAL_HEAD, bytes, n);
    send_sealed(p, PK_TRAIN, copy, n, tos);
}

/* As a datagram, or, if that would be longer, as the packets that it stands for. */
static void train_leaves(void *context, const struct pk_train *t, struct pk_flow *f, bool told, uint64_t now) {
    pk_parent_t *p = context;
    size_t wire = t->n + PK_SEAL_MORE + p->more, saved = t->saved > wire ? t->saved - wire : 0;

    if (!pk_session_established(p->session) || (!told && !t->kept && !saved && can_unload(p, t))) {
        unload(p, t);
        return;
    }
    /* There is one at a time; what it leads to goes as it is, and so does this one. */
    if (f && saved && p->advance.out && pk_advance_tries(&p->advance, &f->tuple)) {
        give_up_trial(p, false, now);
        unload(p, t);
        return;
    }
    p->side.counters.trains++;
    p->side.counters.hits += t->tokens;
    p->side.counters.saved += saved;
    if (f) {
        f->tokens += t->tokens;
        f->saved += saved;
        if (f->both_ways && saved) {
            if (pk_advance_tries(&p->advance, &f->tuple)) {
                pk_trial_keep(p->trial, t);
                send_copy(p, t->bytes, t->n, t->tos); /* what the link loses shows nothing */
            }
            pk_advance_train(&p->advance, &f->tuple, train_begins(t), pk_head_seq(&t->next), now);
        }
    }
    /* Told, and nothing else: it may come twice, and costs little. */
    if (told && !t->saved && pk_replay_loses(p->replay, now)) send_copy(p, t->bytes, t->n, t->tos);
    if (f && saved) pk_replay_add(p->replay, &f->tuple, t, now);
    send_sealed(p, PK_TRAIN, t->bytes - PK_SEAL_HEAD, t->n, t->tos);
    pk_liveness_train(&p->liveness, pk_session_sent(p->session), now);
}

/* ---- what comes from servers ------------------------------------------------------------------------------------- */

static void carry(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k, const enum pk_verdict *verdict,
                  const struct pk_fingerprint *fp, uint64_t now) {
    const uint8_t *payload = k->ip + k->headers;
    struct pk_head first;

    pk_head_of(&first, k);
    for (uint32_t i = 0, j; i < k->segments; i = j) {
        for (j = i + 1; j < k->segments && verdict[j] == verdict[i]; j++) {}
        uint32_t at = i * k->segment, end = j == k->segments ? k->payload : j * k->segment,
                 last = end - (j - 1) * k->segment;
        uint8_t flags = j == k->segments ? k->flags & (PK_PSH | PK_FIN) : 0;
        struct pk_head h = first;
        pk_head_advance(&h, at, i);
        switch (verdict[i]) {
        case PK_IS_TOKEN:
            pk_train_queue_tokens(p->queue, &f->flow, h, fp + i, j - i, k->segment, last, flags, now);
            continue;
        case PK_IS_LITERAL:
            for (uint32_t part; at < end; at += part) {
                part = end - at < k->segment ? end - at : k->segment;
                uint8_t its = at + part == end ? flags : 0;
                if (!pk_train_queue_literal(p->queue, &f->flow, &h, payload + at, part, its, now))
                    send_run(p, &h, payload + at, part, part, its);
                pk_head_advance(&h, part, 1);
            }
            continue;
        case PK_IN_PARTS: {
            uint32_t went = pk_train_queue_parts(p->queue, &f->flow, h, payload, &p->judge.parts, at, j - i, k->segment,
                                                 last, flags, now);
            if (went == j - i) continue;
            at += went * k->segment;
            pk_head_advance(&h, went * k->segment, went);
            pk_train_queue_gather(p->queue, &f->flow, &h, &p->judge.parts, at, end - at, now);
            break;
        }
        case PK_TO_GATHER: pk_train_queue_gather(p->queue, &f->flow, &h, &p->judge.parts, at, end - at, now); break;
        case PK_IS_NEW: pk_train_queue_announce(p->queue, &f->flow, &h, end - at, now); break;
        default: pk_train_queue_leave(p->queue, &f->flow, now);
        }
        send_run(p, &h, payload + at, end - at, k->segment, flags);
    }
    if (f->http.ended) pk_train_queue_leave(p->queue, &f->flow, now);
}

/*
 * Whether what is known, and what is small, may go in trains; if not, it goes as it is, and what is new is stored all
 * the same.  Where clients do not come by here there is nothing to be tried.
 */
static bool may_train(pk_parent_t *p, const struct pk_follow *f, bool known, uint64_t now) {
    if (p->advance.state == PK_GO) return true;
    if (!f->flow.both_ways) return p->unasked >= ASYMMETRIC;
    if (!known || !f->flow.whole || (f->flow.tried_at && now < f->flow.tried_at + TRIED_AGAIN)) return false;
    return pk_advance_may(&p->advance, &f->flow.tuple, now);
}

/*
 * What the server sends once more, n bytes from there on.  Where that ends a trial, or the train of it is lost, what
 * was in a train goes once more, too.  Whether it goes in the place of these bytes.
 */
static bool sent_again(pk_parent_t *p, struct pk_follow *f, uint32_t seq, uint32_t n, uint64_t now) {
    const struct pk_replay_train *t;

    if (pk_advance_again(&p->advance, &f->flow.tuple, seq, n, now)) {
        f->flow.tried_at = now;
        unload(p, pk_trial_train(p->trial));
        return false;
    }
    if (obstacle(p)) return false;
    bool instead = pk_replay_again(p->replay, &f->flow.tuple, seq, n, p->liveness.round_trip, now, &t);
    if (t) send_copy(p, t->bytes, t->n, t->tos);
    return instead;
}

/* It may be that what told of its blocks was lost together with it. */
static void tell_again(pk_parent_t *p, struct pk_follow *f, const struct pk_head *h, uint32_t n, uint64_t now) {
    if (!obstacle(p)) pk_again_tell(p->again, f, h, n, now);
}

static void response(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k, void *piece, size_t bytes,
                     uint64_t now);

/*
 * A piece of which only the end is new, as servers send again what was lost together with more.  Its beginning goes as
 * it is, and the rest as if it had come alone.
 */
static void half_new(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k, void *piece, uint64_t now) {
    uint32_t old = f->flow.next - k->seq, segments = (old + k->segment - 1) / k->segment;
    struct pk_packet fresh;
    struct pk_head h;
    size_t bytes;

    pk_head_of(&h, k);
    pk_flow_count(&f->flow, segments, old, k->headers);
    p->side.counters.again += segments;
    sent_again(p, f, k->seq, old, now);
    pk_train_queue_leave(p->queue, &f->flow, now);
    tell_again(p, f, &h, old, now);
    send_run(p, &h, k->ip + k->headers, old, k->segment, 0);
    pk_head_advance(&h, old, segments);
    void *rest = pk_again_rest(k, piece, old, &h, k->flags & (PK_PSH | PK_FIN), &bytes);
    if (pk_packet_parse(&fresh, rest, bytes) == PK_TCP) response(p, f, &fresh, rest, bytes, now);
}

/* A connection that is no HTTP, and never will be, need not come here any more; until another begins, of its ports. */
static void bypass(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k) {
    bool begins = k->flags & PK_SYN, passes = !begins && p->c->keep == PK_KEEP_HTTP && pk_http_never(&f->http);

    if (!p->out.bypass || !(begins || (passes && k->payload && !f->bypassed))) return;
    f->bypassed = passes;
    p->out.bypass(p->out.context, &f->flow.tuple, begins ? PK_LED : f->tls ? PK_BYPASS_TLS : PK_BYPASS);
}

/* A server's first record of TLS is of a handshake, or an alert. */
static bool looks_like_tls(const struct pk_packet *k) {
    const uint8_t *p = k->ip + k->headers;
    return k->payload > 2 && (p[0] == 22 || p[0] == 21) && p[1] == 3 && p[2] <= 4;
}

/* Whether and why nothing of this can be kept; what else than new bytes of a server comes says nothing. */
static void count_obstacles(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k, uint32_t kept) {
    struct pk_counters *n = &p->side.counters;
    bool lost = pk_follow_lost(f);

    if (k->flags & PK_SYN) f->tls = false;
    if (lost && !f->lost) {
        n->lost++;
        f->tls = looks_like_tls(k);
    }
    f->lost = lost;
    if (p->c->keep == PK_KEEP_ALL || kept) return;
    if (!f->flow.both_ways) {
        n->unasked_bytes += k->payload;
    } else if (lost) {
        n->unfollowed_bytes += k->payload;
        n->tls_bytes += f->tls ? k->payload : 0;
    } else {
        n->unkept_bytes += k->payload;
        if (pk_http_private(&f->http)) n->private_bytes += k->payload;
        else if (pk_http_encoded(&f->http)) n->encoded_bytes += k->payload;
    }
}

static void response(pk_parent_t *p, struct pk_follow *f, const struct pk_packet *k, void *piece, size_t bytes,
                     uint64_t now) {
    enum pk_verdict verdict[PK_SEGMENTS_MAX];
    struct pk_fingerprint fp[PK_SEGMENTS_MAX];
    bool keep[PK_SEGMENTS_MAX];
    uint32_t kept = 0;
    bool small, again = false, plain = obstacle(p) || k->flags & (PK_SYN | PK_RST | PK_URG | PK_CWR);

    if (pk_again_is_half(f, k)) {
        half_new(p, f, k, piece, now);
        return;
    }
    pk_flow_count(&f->flow, k->segments, k->payload, k->headers);
    if (k->flags & PK_SYN) {
        pk_replay_forget(p->replay, &f->flow.tuple);
        pk_again_forget(f);
    }
    if (!(k->flags & PK_SYN) && pk_flow_behind(&f->flow, k->seq)) {
        p->side.counters.again += k->segments;
        if (k->payload && sent_again(p, f, k->seq, k->payload, now) && !plain && !(k->flags & PK_FIN)) return;
        if (k->payload) again = true;
    }
    p->judge.spans.n = 0;
    if (pk_follow_response(f, k)) kept = pk_follow_keep(f, k, p->c, keep, &p->judge.spans) + p->judge.spans.n;
    else plain = true;
    count_obstacles(p, f, k, kept);
    /* A small packet goes along with fingerprints.  Of a connection that is lost there are none. */
    small =
        p->c->mode == PK_MODE_TRAIN && k->payload <= p->c->literal && (p->c->keep == PK_KEEP_ALL || !pk_follow_lost(f));
    plain |= !(kept || (small && may_train(p, f, false, now)));
    if (plain) {
        pk_cut_pass(&f->cut, &p->judge.spans);
        pk_train_queue_leave(p->queue, &f->flow, now);
        if (again) {
            struct pk_head h;
            pk_head_of(&h, k);
            tell_again(p, f, &h, k->payload, now);
        }
        parent_send_piece(p, k, piece, bytes);
        bypass(p, f, k);
        if (k->flags & PK_RST) pk_flows_drop(p->side.flows, &f->flow);
        return;
    }
    pk_judge_segments(&p->judge, &f->cut, k, keep, verdict, fp);
    bool may = may_train(p, f, pk_judge_known(&p->judge, verdict, k->segments), now);
    pk_judge_trains(&p->judge, k, may, f->flow.both_ways && p->advance.state != PK_GO, verdict);
    if (p->judge.spans.n) pk_again_kept(p->again, f, k, &p->judge.parts);
    carry(p, f, k, verdict, fp, now);
    if (p->advance.state == PK_TRIED) pk_train_queue_leave(p->queue, &f->flow, now);
}

/* It begins, or its client asks for something new when it has all that was seen. */
static void client_speaks(struct pk_flow *f, const struct pk_packet *k) {
    f->both_ways = true;
    if (k->flags & PK_SYN || (k->payload && f->known && k->ack == f->next)) f->whole = true;
}

static void request(struct pk_follow *f, const struct pk_packet *k) {
    client_speaks(&f->flow, k);
    pk_follow_request(f, k);
}

static struct pk_follow *parent_flow_of(pk_parent_t *p, const struct pk_tuple *tuple) {
    return (struct pk_follow *)pk_flows_get(p->side.flows, tuple);
}

/* Whether it waits for the end of a trial; with no room for it there is none any more. */
static bool parent_hold(pk_parent_t *p, const struct pk_tuple *tuple, const struct pk_packet *k, const void *piece,
                        size_t bytes, uint64_t now) {
    if (!pk_advance_waits(&p->advance, tuple, k->seq)) return false;
    if (pk_trial_hold(p->trial, piece, bytes)) return true;
    give_up_trial(p, false, now);
    return false;
}

/* What has its turn now, or has waited for too long. */
static void parent_release_reordered(pk_parent_t *p, uint64_t now) {
    struct pk_waiting *w;
    struct pk_packet k;

    while ((w = pk_reorder_take(p->reorder, now, p->side.flows)))
        if (pk_packet_parse(&k, w->bytes, w->n) == PK_TCP && !parent_hold(p, &w->tuple, &k, w->bytes, w->n, now))
            response(p, parent_flow_of(p, &w->tuple), &k, w->bytes, w->n, now);
}

/* When a client that has what was tried has long answered. */
static uint64_t trial_until(const pk_parent_t *p) {
    return p->advance.next + pk_trial_most(p->liveness.round_trip, p->liveness.deviation);
}

/* The trial is over; or another one of the same flow begins with what had waited. */
static void release_held(pk_parent_t *p, uint64_t now) {
    struct pk_tuple tuple;
    struct pk_packet k;
    unsigned i = 0;

    if (p->advance.out && now >= trial_until(p)) give_up_trial(p, true, now);
    for (; i < pk_trial_held(p->trial) && !p->advance.out; i++) {
        struct pk_held *held = pk_trial_at(p->trial, i);
        if (pk_packet_parse(&k, held->bytes, held->n) != PK_TCP) continue;
        pk_packet_tuple(&k, &tuple);
        response(p, parent_flow_of(p, &tuple), &k, held->bytes, held->n, now);
        /* A train that is to be tried leaves now, or what stands behind it would be before it. */
        struct pk_flow *f = p->advance.state == PK_TRIED ? pk_flows_find(p->side.flows, &tuple) : NULL;
        if (f) pk_train_queue_leave(p->queue, f, now);
    }
    pk_trial_release(p->trial, i);
}

/* ---- what comes from the device ---------------------------------------------------------------------------------- */

static void parent_packet(pk_side_t *s, void *piece, size_t bytes, uint64_t now) {
    pk_parent_t *p = parent_of(s);
    struct pk_packet k;
    struct pk_tuple tuple;

    pk_session_time(p->session, now);
    p->side.counters.pieces++;
    p->side.counters.bytes_in += pk_piece_ip(bytes);
    /* Its receiver throws a damaged packet away, so there is nothing to be learnt from one. */
    if (pk_packet_parse(&k, piece, bytes) == PK_OTHER || (!k.checked && !pk_packet_intact(&k))) {
        parent_send_piece(p, NULL, piece, bytes);
        return;
    }
    pk_packet_tuple(&k, &tuple);
    if (pk_config_serves(p->c, &tuple)) {
        if (p->unasked < ASYMMETRIC) p->unasked++;
        if (pk_trial_held(p->trial) && !p->advance.out) release_held(p, now);
        if (parent_hold(p, &tuple, &k, piece, bytes, now)) return;
        struct pk_follow *f = parent_flow_of(p, &tuple);
        if (!(k.flags & (PK_SYN | PK_RST)) && pk_flow_ahead(&f->flow, k.seq) &&
            pk_reorder_add(p->reorder, &tuple, k.seq, piece, bytes, now)) {
            p->side.counters.late++;
            return;
        }
        response(p, f, &k, piece, bytes, now);
        parent_release_reordered(p, now);
        if (pk_trial_held(p->trial)) release_held(p, now);
        return;
    }
    pk_tuple_turn(&tuple);
    bool says = k.flags & PK_SYN || (k.payload && p->c->keep == PK_KEEP_HTTP); /* most only acknowledge */
    p->unasked = 0;
    if (!says && k.flags & PK_ACK) { /* of a connection that was there before us */
        struct pk_flow *f = pk_flows_find(p->side.flows, &tuple);
        if (f) client_speaks(f, &k);
    }
    if (says && pk_config_serves(p->c, &tuple)) request(parent_flow_of(p, &tuple), &k);
    if (p->advance.used && k.flags & PK_ACK) pk_advance_acknowledged(&p->advance, &tuple, k.ack, now);
    if (pk_trial_held(p->trial)) release_held(p, now);
    /* It is a copy: the packet itself has gone on. */
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

/* there: was a session till now; it is renewed, or a child has begun anew, whose cache has another name. */
static void parent_established(pk_parent_t *p, const struct pk_ready *ready, bool there, uint64_t now) {
    bool renewed = there && !memcmp(p->cache, ready->cache, sizeof p->cache);

    memcpy(p->cache, ready->cache, sizeof p->cache);
    pk_fingerprint_key_set(&p->key, ready->key, (enum pk_fingerprint_how)p->c->fingerprint);
    pk_store_mirrors(p->store, ready->cache);
    /*
     * What is on its way to the child displaces payloads there; a fingerprint that is sent behind it must mean none of
     * those.
     */
    uint64_t margin = ready->bytes / 16 > MARGIN_LEAST ? ready->bytes / 16 : MARGIN_LEAST;
    pk_store_limit(p->store, margin < ready->bytes / 2 ? ready->bytes - margin : ready->bytes / 2);
    p->side.counters.sessions++;
    p->heard = now;
    p->differs = PK_WHY_NOTHING;
    p->who_wait = 0;
    p->childs_number = 0;
    pk_replay_begin(p->replay);
    p->told_at = 0;
    if (renewed) {
        pk_liveness_renew(&p->liveness);
    } else {
        pk_liveness_begin(&p->liveness, now);
        pk_advance_begin(&p->advance);
        p->childs = p->told = PK_WHY_NOTHING;
        p->out.say(p->out.context, BASE_LOG_NOTICE, "session established");
    }
    parent_tell_aside(p, now);
}

static void news(pk_parent_t *p, enum pk_news what, const char *why, uint64_t now) {
    if (what == PK_NOW_GONE) {
        p->side.counters.outages++;
        pk_advance_forget(&p->advance);
        p->out.say(p->out.context, BASE_LOG_WARNING, why);
    }
    if (what == PK_NOW_HERE) p->out.say(p->out.context, BASE_LOG_NOTICE, "what is sent reaches the child again");
    if (what) parent_tell_aside(p, now);
}

static void probe(pk_parent_t *p, uint64_t now) {
    uint8_t bytes[PK_SEAL_HEAD + PK_DATAGRAM_MAX + PK_SEAL_TAG];
    /*
     * Random, so that nobody knows what is sealed in any datagram: should a nonce ever come again under the same key
     * (a virtual machine set back, and an accident), zeros here would show what the other datagram holds.
     */
    if (RAND_bytes(bytes + PK_SEAL_HEAD, (int)p->room) != 1) abort();
    send_sealed(p, PK_PROBE, bytes, p->room, 0);
    pk_liveness_probe(&p->liveness, pk_session_sent(p->session), now);
}

/* number: of the datagram that says so.  One that a newer one has overtaken is no news. */
static void child_says(pk_parent_t *p, enum pk_why why, uint64_t number) {
    if (number < p->childs_number) return;
    p->childs_number = number;
    if (p->childs == why) return;
    p->childs = why;
    if (why) pk_liveness_aside(&p->liveness);
    pk_advance_forget(&p->advance);
    if (p->childs) {
        p->out.say(p->out.context, BASE_LOG_WARNING, "the child stands aside; packets go as they are:");
        p->out.say(p->out.context, BASE_LOG_WARNING, pk_why_sentence(p->childs));
    } else {
        p->out.say(p->out.context, BASE_LOG_NOTICE, "the child does not stand aside any more");
    }
}

static void who(pk_parent_t *p, uint64_t now) {
    uint8_t out[PK_CONTROL_MAX];
    if (now < p->who_at) return;
    if (p->who_wait < WHO_LAST) p->who_wait = p->who_wait ? 2 * p->who_wait : WHO_FIRST;
    p->who_at = now + p->who_wait;
    parent_send_datagram(p, out, pk_session_begin(p->session, out), 0);
}

static void status_came(pk_parent_t *p, const struct pk_opened *o, uint64_t now) {
    const struct pk_wire_status *said = (const void *)o->inside;

    if (o->n != sizeof *said || o->before) return;
    /* Of more than was sent: this machine went back to a snapshot.  What it sends now counts for nothing there. */
    if (pk_get64(said->newest) > pk_session_sent(p->session)) {
        pk_session_end(p->session);
        p->out.say(p->out.context, BASE_LOG_WARNING, "the child knows of more than was sent; a new session begins");
        who(p, now);
        return;
    }
    pk_replay_seen(p->replay, pk_get64(said->newest), pk_get64(said->came), now);
    /* A child that stands aside sends no STATUS; so the datagram that said that it does not any more was lost. */
    if (p->childs) child_says(p, PK_WHY_NOTHING, o->number);
    news(p, pk_liveness_status(&p->liveness, pk_get64(said->newest), pk_get64(said->newest_probe), now), NULL, now);
}

/* What the child has no payload for: in parts that fit the link. */
static void recover(pk_parent_t *p, const uint8_t *inside, size_t n) {
    uint8_t payload[PK_PAYLOAD_MAX], bytes[PK_SEAL_HEAD + PK_DATAGRAM_MAX + PK_SEAL_TAG];
    struct pk_wire_part *out = (void *)(bytes + PK_SEAL_HEAD);

    if (n % PK_TOKEN || n > PK_MISSING_MAX * PK_TOKEN) return;
    for (; n; n -= PK_TOKEN, inside += PK_TOKEN) {
        struct pk_fingerprint fp;
        pk_fingerprint_read(&fp, inside);
        uint32_t length = pk_store_get(p->store, &fp, payload, sizeof payload);
        p->side.counters.wanted++;
        p->side.counters.recovered += length > 0;
        for (uint32_t at = 0, part; at < length; at += part) {
            uint32_t room = (uint32_t)(p->room - sizeof *out);
            part = length - at < room ? length - at : room;
            memcpy(out->fingerprint, inside, PK_TOKEN);
            pk_put16(out->bytes, length);
            pk_put16(out->at, at);
            memcpy(out + 1, payload + at, part);
            send_sealed(p, PK_PAYLOAD, bytes, sizeof *out + part, 0);
        }
    }
}

/* Said once until there is a session: a stranger may replay what a child has once said. */
static void parent_differs(pk_parent_t *p, enum pk_why why) {
    char sentence[256];
    if (p->differs == why) return;
    p->differs = why;
    snprintf(sentence, sizeof sentence, "%s (ours: %u, the child's: %u)", pk_why_sentence(why), PK_VERSION,
             pk_session_theirs(p->session));
    p->out.say(p->out.context, BASE_LOG_WARNING, why == PK_WHY_VERSION ? sentence : pk_why_sentence(why));
}

static void parent_control(pk_parent_t *p, const void *datagram, size_t bytes, uint64_t now) {
    struct pk_ready ready;
    uint8_t out[PK_CONTROL_MAX];
    bool there = pk_session_established(p->session);
    size_t n;

    switch (pk_session_step(p->session, datagram, bytes, &ready, out, &n)) {
    case PK_ANSWER: parent_send_datagram(p, out, n, 0); break;
    case PK_ESTABLISHED: parent_established(p, &ready, there, now); break;
    case PK_DISAGREES: parent_differs(p, PK_WHY_DISAGREES); break;
    case PK_OTHER_VERSION: parent_differs(p, PK_WHY_VERSION); break;
    default: p->side.counters.refused++;
    }
}

static void parent_datagram(pk_side_t *s, void *datagram, size_t bytes, uint8_t tos, uint64_t now) {
    pk_parent_t *p = parent_of(s);
    struct pk_opened o;

    (void)tos; /* no packet is made of it */
    pk_session_time(p->session, now);
    if (pk_wire_is_handshake(datagram, bytes)) {
        parent_control(p, datagram, bytes, now);
        return;
    }
    enum pk_type type = pk_open(p->session, datagram, bytes, &o);
    if (type && !o.before) p->heard = now;
    switch (type) {
    case PK_STATUS:
        p->side.counters.datagrams_in++;
        status_came(p, &o, now);
        break;
    case PK_ASIDE:
        p->side.counters.datagrams_in++;
        if (o.n == 1 && !o.before) child_says(p, *o.inside, o.number);
        break;
    case PK_MISSING:
        p->side.counters.datagrams_in++;
        recover(p, o.inside, o.n);
        break;
    default:
        p->side.counters.refused++;
        if (!pk_session_established(p->session) || now >= p->heard + STRANGE) who(p, now);
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static uint64_t parent_due(const pk_side_t *s) {
    const pk_parent_t *p = (const pk_parent_t *)s;
    uint64_t due = pk_reorder_due(p->reorder), queue_due = pk_train_queue_due(p->queue);
    uint64_t liveness_due = pk_liveness_due(&p->liveness);
    bool there = pk_session_established(p->session);

    if (queue_due < due) due = queue_due;
    if (p->advance.out && trial_until(p) < due) due = trial_until(p);
    if (pk_trial_held(p->trial) && !p->advance.out) due = 0;
    if ((!there || pk_session_worn(p->session)) && p->who_at < due) due = p->who_at;
    if (pk_session_due(p->session) < due) due = pk_session_due(p->session);
    if (there && liveness_due < due) due = liveness_due;
    if (there && p->told_at + ASIDE_EVERY < due) due = p->told_at + ASIDE_EVERY;
    return due;
}

static void parent_tick(pk_side_t *s, uint64_t now) {
    pk_parent_t *p = parent_of(s);

    pk_session_time(p->session, now);
    parent_release_reordered(p, now);
    pk_train_queue_tick(p->queue, now);
    if (p->advance.out || pk_trial_held(p->trial)) release_held(p, now);
    /* The child renews it by itself; one that can't be heard of, or has the time of a snapshot, is asked to. */
    if (!pk_session_established(p->session) || pk_session_worn(p->session)) who(p, now);
    if (!pk_session_established(p->session)) return;
    if (p->advance.stops != p->side.counters.stopped) {
        p->side.counters.stopped = p->advance.stops;
        p->out.say(p->out.context, BASE_LOG_WARNING, pk_why_sentence(PK_WHY_FOLLOWED));
    }
    parent_tell_aside(p, now);
    p->side.counters.advanced = p->advance.proofs;
    news(p, pk_liveness_tick(&p->liveness, now),
         "nothing is heard of what was sent to the child; packets go as they are", now);
    if (pk_liveness_asks(&p->liveness, now)) probe(p, now);
}

/* Of what passed nothing is known here; what follows TCP has seen it. */
static void parent_passed(pk_side_t *s, uint64_t now) {
    pk_parent_t *p = parent_of(s);

    if (p->advance.out) give_up_trial(p, false, now);
    pk_advance_forget(&p->advance);
}

static void parent_aside(pk_side_t *s, enum pk_why why, uint64_t now) {
    pk_parent_t *p = parent_of(s);

    if (p->aside == why) return;
    p->aside = why;
    pk_session_time(p->session, now);
    parent_passed(s, now);
    parent_tell_aside(p, now);
}

/* ---- begin ------------------------------------------------------------------------------------------------------- */

static const struct pk_side_ops parent_ops = { .free = parent_free,
                                               .packet = parent_packet,
                                               .datagram = parent_datagram,
                                               .due = parent_due,
                                               .tick = parent_tick,
                                               .aside = parent_aside,
                                               .passed = parent_passed,
                                               .why = parent_why };

pk_side_t *pk_parent_make(const struct pk_config *c, pk_store_t *store, pk_session_t *session,
                          const struct pk_out *out) {
    pk_parent_t *p = pk_memory(sizeof *p);
    pk_side_t *s;

    if (!p) return NULL;
    s = &p->side;
    s->magic = PARENT_MAGIC;
    s->ops = &parent_ops;
    p->c = c;
    p->store = store;
    p->session = session;
    p->out = *out;
    p->more = PK_UDP_MORE(c->there.ss_family == AF_INET6);
    p->room = c->mtu - p->more - PK_SEAL_MORE;
    s->flows = pk_flows_make((uint32_t)c->flows, sizeof(struct pk_follow), flow_gone, p);
    p->reorder = pk_reorder_make();
    p->queue = pk_train_queue_make(c, p->room, train_leaves, p);
    p->replay = pk_replay_make();
    p->trial = pk_trial_make();
    p->again = pk_again_make(p->queue);
    p->judge = (struct pk_judge){ .c = c, .key = &p->key, .store = store, .counters = &s->counters };
    p->judge.cutter =
        (struct pk_cutter){ .key = &p->key, .store = store, .blocks = pk_blocks_make(), .least = (uint32_t)c->least };
    if (!s->flows || !p->reorder || !p->queue || !p->replay || !p->trial || !p->again || !p->judge.cutter.blocks)
        pk_side_free(&s);
    return s;
}
