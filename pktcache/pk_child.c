/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_child.h"

#include "pk_bytes.h"
#include "pk_gather.h"
#include "pk_memory.h"
#include "pk_payload.h"
#include "pk_pending.h"
#include "pk_reorder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHILD_MAGIC = 0x504b4348,
    READIES = 10 /* times that READY is said */
};

enum {                       /* microseconds */
       STATUS_BUSY = 100000, /* between words to the parent, when trains come */
       STATUS_IDLE = 500000, /* and when none do */
       HELLO_EVERY = 200000,
       HELLO_LAST = 3200000,
       READY_EVERY = 100000,
       WHO_EVERY = 1000000,  /* more than the parent takes to see that nothing arrives */
       UNHEARD = 1500000,    /* a parent says something each half of a second */
       LOST = 3000000,       /* and one that begins anew says WHO, to where it knows the child to be */
       OLD_SESSION = 5000000 /* that datagrams of the one before may be on their way */
};

struct flow {
    struct pk_flow flow; /* next: of what went to the client */
    struct pk_gather_flow gather;
};

typedef struct pk_child {
    struct pk_side side;
    const struct pk_config *c;
    const struct pk_fingerprint_key *key;
    pk_store_t *store;
    pk_session_t *session;
    struct pk_ready ready;
    struct pk_out out;
    uint32_t more;      /* bytes of IP and UDP headers of a datagram */
    bool news;          /* trains came since the last word to the parent */
    uint64_t probe;     /* the newest that came in this session */
    uint64_t heard_at;  /* something of the session came, or the session itself */
    bool unheard;       /* nothing did for UNHEARD */
    uint64_t came;      /* datagrams of this session */
    uint64_t status_at; /* the last one */
    /* the next HELLO, when there is no session or a new one is due */
    uint64_t hello_at, hello_wait;
    uint64_t established_at;
    /* READY, which is said again until something of the session has come; 0: nothing to say */
    uint8_t ready_said[PK_CONTROL_MAX];
    size_t ready_bytes;
    uint64_t ready_at;
    unsigned readies;
    bool asked;                 /* the parent said WHO: it may be another one */
    bool hello;                 /* a handshake is under way */
    enum pk_why differs;        /* VERSION, DISAGREES: said once until there is a session */
    enum pk_why aside, parents; /* why our daemon stands aside; why the parent does */
    /* this session's parent sends what `servers`, `clients` and `ports` do not have: it is to hear nothing */
    bool strange;
    pk_reorder_t *reorder;
    pk_missing_t *missing;
    pk_pending_t *pending;
    struct pk_gather gather; /* found: trains may wait for it */
} pk_child_t;

static pk_child_t *child_of(pk_side_t *s) {
    assert(s->magic == CHILD_MAGIC);
    return (pk_child_t *)s;
}

static void child_free(pk_side_t *s) {
    pk_child_t *c = child_of(s);
    pk_flows_free(&s->flows);
    pk_reorder_free(&c->reorder);
    pk_missing_free(&c->missing);
    pk_pending_free(&c->pending);
    pk_blocks_free(&c->gather.blocks);
    pk_told_free(&c->gather.told);
    free(c);
}

static enum pk_why child_why(const pk_side_t *s) {
    const pk_child_t *c = (const pk_child_t *)s;
    if (c->aside) return c->aside;
    if (!pk_session_established(c->session)) return c->differs ? c->differs : PK_WHY_SESSION;
    return c->strange ? PK_WHY_STRANGE : c->parents ? c->parents : c->unheard ? PK_WHY_UNHEARD : PK_WHY_NOTHING;
}

/* ---- to the parent ----------------------------------------------------------------------------------------------- */

static void child_send_datagram(pk_child_t *c, const void *bytes, size_t n) {
    c->side.counters.datagrams_out++;
    c->side.counters.datagram_bytes_out += n + c->more;
    c->out.datagram(c->out.context, bytes, n, 0);
}

static void child_tell_aside(pk_child_t *c) {
    uint8_t bytes[PK_SEAL_MORE + 1];
    bytes[PK_SEAL_HEAD] = (uint8_t)c->aside;
    size_t n = pk_seal(c->session, PK_ASIDE, bytes, 1);
    if (n) child_send_datagram(c, bytes, n);
}

static void status(pk_child_t *c, uint64_t now) {
    uint8_t bytes[PK_SEAL_MORE + sizeof(struct pk_wire_status)];
    struct pk_wire_status *said = (void *)(bytes + PK_SEAL_HEAD);
    size_t n;

    c->status_at = now;
    c->news = false;
    if (c->strange) return;
    if (c->aside) {
        child_tell_aside(c);
        return;
    }
    pk_put64(said->newest, pk_session_seen(c->session));
    pk_put64(said->newest_probe, c->probe);
    pk_put64(said->came, c->came);
    n = pk_seal(c->session, PK_STATUS, bytes, sizeof *said);
    if (n) child_send_datagram(c, bytes, n);
}

static void child_hello(pk_child_t *c, uint64_t now) {
    uint8_t out[PK_CONTROL_MAX];

    c->hello = true;
    c->hello_wait = !c->hello_wait ? HELLO_EVERY : c->hello_wait < HELLO_LAST ? 2 * c->hello_wait : HELLO_LAST;
    c->hello_at = now + c->hello_wait;
    child_send_datagram(c, out, pk_session_begin(c->session, out));
}

/* For payloads that are missing. */
static void child_ask(pk_child_t *c, uint64_t now) {
    uint8_t bytes[PK_SEAL_MORE + PK_MISSING_MAX * PK_TOKEN];
    uint32_t count = pk_missing_ask(c->missing, now, bytes + PK_SEAL_HEAD);
    size_t n = count ? pk_seal(c->session, PK_MISSING, bytes, count * PK_TOKEN) : 0;

    c->side.counters.wanted += count;
    if (n) child_send_datagram(c, bytes, n);
}

/* ---- to the clients ---------------------------------------------------------------------------------------------- */

static void send_record(pk_child_t *c, const struct pk_record *record, const void *payload) {
    uint8_t head[PK_OUT_ROOM];
    size_t n = pk_head_write(&record->head, record->n, record->segment, record->flags, head);
    struct iovec part[2] = { { head, n }, { (void *)payload, record->n } };
    c->out.packet(c->out.context, part, 2);
}

static void child_send_piece(pk_child_t *c, const void *piece, size_t bytes) {
    struct iovec part = { (void *)piece, bytes };
    c->out.packet(c->out.context, &part, 1);
}

static struct flow *child_flow_of(pk_child_t *c, const struct pk_tuple *tuple) {
    return (struct flow *)pk_flows_get(c->side.flows, tuple);
}

static void went(pk_child_t *c, struct flow *f, uint32_t end) {
    if (!f->flow.known || (int32_t)(end - f->flow.next) > 0) f->flow.next = end;
    f->flow.known = true;
    pk_gather_pass(&c->gather, &f->gather, f->flow.next);
}

/* ---- trains ------------------------------------------------------------------------------------------------------ */

static bool stores(const pk_child_t *c) { return pk_session_established(c->session) && !c->strange; }

static bool tuple_of_record(pk_child_t *c, const struct pk_head *h, struct pk_tuple *tuple) {
    struct pk_packet k = { .ip = h->bytes, .ip_header = h->ip_header };
    pk_packet_tuple(&k, tuple);
    if (pk_config_serves(c->c, tuple)) return true;
    if (!c->strange) c->out.say(c->out.context, BASE_LOG_WARNING, pk_why_sentence(PK_WHY_STRANGE));
    c->strange = true;
    return false;
}

enum delivery { DELIVERED, WAITS, NONSENSE };

/* Asks for what a record lacks; *first: the first of it. */
static void ask_for(pk_child_t *c, const struct pk_lacking *lacking, struct pk_fingerprint *first, uint64_t now) {
    for (uint32_t i = lacking->n; i-- > 0;) {
        pk_fingerprint_read(first, lacking->fingerprints + i * PK_TOKEN);
        pk_missing_add(c->missing, first, now);
    }
}

/* For what the records that are still to be read lack, so that it comes together. */
static void ask_ahead(pk_child_t *c, struct pk_reader r, uint64_t now) {
    uint8_t payload[PK_PAYLOAD_MAX];
    struct pk_lacking lacking;
    struct pk_fingerprint first;
    struct pk_record record;

    while (pk_train_next(&r, &record) == PK_RECORD) {
        if (record.kind != PK_TOKENS && record.kind != PK_PARTS) continue;
        if (!pk_payload_of(c->store, c->key, &record, payload, &lacking)) ask_for(c, &lacking, &first, now);
    }
}

/* A record's packets go to the client, unless the link has told their datagram what they can't be told. */
static void record_goes(pk_child_t *c, struct flow *f, struct pk_record *record, const void *payload, uint8_t tos) {
    if (!pk_head_arrives(&record->head, tos & PK_ECN)) {
        c->side.counters.dropped++;
        return;
    }
    pk_flow_count(&f->flow, record->count, record->n, record->head.length);
    send_record(c, record, payload);
    went(c, f, pk_head_seq(&record->head) + record->n + !!(record->flags & PK_FIN));
}

/*
 * Makes packets of a train's records, behind the first *done, and counts them there.  WAITS: the next one lacks
 * payloads, which are asked for now; *first is the first of them.
 */
static enum delivery deliver(pk_child_t *c, const uint8_t *bytes, size_t n, uint8_t tos, uint32_t *done,
                             struct pk_fingerprint *first, uint64_t now) {
    uint8_t payload[PK_PAYLOAD_MAX];
    struct pk_lacking lacking;
    uint32_t skip = *done;
    struct pk_tuple tuple;
    struct pk_reader r;
    struct pk_record record;
    enum pk_read read;

    if (!pk_train_read(&r, bytes, n)) return NONSENSE;
    while ((read = pk_train_next(&r, &record)) == PK_RECORD) {
        if (skip) {
            skip--;
            continue;
        }
        if (!tuple_of_record(c, &record.head, &tuple)) return NONSENSE;
        struct flow *f = child_flow_of(c, &tuple);
        if (record.kind == PK_NATIVE || record.kind == PK_GATHER) {
            /* pk_gather_orders has remembered it when the train came. */
        } else if (record.kind == PK_LITERAL) {
            record_goes(c, f, &record, record.bytes, tos);
        } else if (pk_payload_of(c->store, c->key, &record, payload, &lacking)) {
            uint32_t known = record.kind == PK_TOKENS || record.slices ? record.count : 0;
            c->side.counters.hits += known;
            f->flow.tokens += known;
            if (record.kind == PK_PARTS && stores(c)) pk_gather_parts(&c->gather, &f->gather, &record);
            record_goes(c, f, &record, payload, tos);
        } else {
            ask_for(c, &lacking, first, now);
            ask_ahead(c, r, now);
            return WAITS;
        }
        ++*done;
    }
    return read == PK_TRAIN_END ? DELIVERED : NONSENSE;
}

/* Trains that may have what they lacked, and those behind them.  What they bring may be what another one lacks. */
static void resume(pk_child_t *c, uint64_t now) {
    do {
        struct pk_pending_train *p;
        c->gather.found = false;
        for (unsigned i = 0; (p = pk_pending_at(c->pending, i));) {
            enum delivery ended = WAITS;
            if ((!p->lacking || !pk_missing_has(c->missing, &p->lacks)) && pk_pending_is_next(c->pending, i)) {
                ended = deliver(c, p->bytes, p->n, p->tos, &p->done, &p->lacks, now);
                p->lacking = true;
            }
            c->side.counters.dropped += ended == NONSENSE;
            if (ended == WAITS) i++;
            else pk_pending_release(c->pending, i);
        }
    } while (c->gather.found);
}

/* lacks NULL: another one of its flow waits, which is to go first. */
static void train_waits(pk_child_t *c, const struct pk_tuple *tuple, const uint8_t *bytes, size_t n, uint8_t tos,
                        uint32_t done, const struct pk_fingerprint *lacks, uint64_t now) {
    if (!pk_pending_add(c->pending, tuple, bytes, n, tos, done, lacks, now + PK_MISSING_WAIT))
        c->side.counters.dropped++;
}

static void train(pk_child_t *c, const struct pk_tuple *tuple, const uint8_t *bytes, size_t n, uint8_t tos,
                  uint64_t now) {
    uint32_t done = 0;
    struct pk_fingerprint lacks;
    struct pk_reader r;

    if (pk_pending_has(c->pending, tuple)) {
        if (pk_train_read(&r, bytes, n)) ask_ahead(c, r, now);
        train_waits(c, tuple, bytes, n, tos, 0, NULL, now);
        return;
    }
    enum delivery ended = deliver(c, bytes, n, tos, &done, &lacks, now);
    c->side.counters.dropped += ended == NONSENSE;
    if (ended == WAITS) train_waits(c, tuple, bytes, n, tos, done, &lacks, now);
    if (c->gather.found) resume(c, now);
}

static void payload_came(pk_child_t *c, const uint8_t *inside, size_t n, uint64_t now) {
    struct pk_fingerprint fp, again;
    uint32_t bytes;
    const void *payload = pk_missing_part(c->missing, inside, n, now, &fp, &bytes);

    if (!payload) return;
    pk_fingerprint_of(c->key, payload, bytes, &again);
    if (!pk_fingerprint_same(&fp, &again)) return;
    pk_store_put(c->store, &fp, payload, bytes);
    c->side.counters.recovered++;
    resume(c, now);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* NULL: it can't wait. */
static struct pk_waiting *defer(pk_child_t *c, const struct pk_tuple *tuple, uint32_t seq, const void *bytes, size_t n,
                                uint64_t now) {
    struct pk_waiting *w = pk_reorder_add(c->reorder, tuple, seq, bytes, n, now);
    c->side.counters.late += w != NULL;
    return w;
}

static void packet_goes(pk_child_t *c, struct flow *f, const struct pk_packet *k, const void *piece, size_t bytes,
                        uint64_t now) {
    if (k->segments && k->segments <= PK_SEGMENTS_MAX && stores(c) && (k->checked || pk_packet_intact(k)))
        pk_gather_packet(&c->gather, &f->gather, k);
    child_send_piece(c, piece, bytes);
    went(c, f, k->next);
    if (c->gather.found) resume(c, now);
}

/* What has its turn now, or has waited for too long. */
static void child_release_reordered(pk_child_t *c, uint64_t now) {
    struct pk_waiting *w;
    struct pk_packet k;

    while ((w = pk_reorder_take(c->reorder, now, c->side.flows))) {
        if (w->train) train(c, &w->tuple, w->bytes, w->n, w->tos, now);
        else if (pk_packet_parse(&k, w->bytes, w->n) == PK_TCP)
            packet_goes(c, child_flow_of(c, &w->tuple), &k, w->bytes, w->n, now);
    }
}

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static void child_packet(pk_side_t *s, void *piece, size_t bytes, uint64_t now) {
    pk_child_t *c = child_of(s);
    struct pk_packet k;
    struct pk_tuple tuple;
    struct flow *f;

    pk_session_time(c->session, now);
    c->side.counters.pieces++;
    c->side.counters.bytes_in += pk_piece_ip(bytes);
    if (pk_packet_parse(&k, piece, bytes) == PK_OTHER) {
        child_send_piece(c, piece, bytes);
        return;
    }
    pk_packet_tuple(&k, &tuple);
    if (!pk_config_serves(c->c, &tuple)) {
        child_send_piece(c, piece, bytes);
        return;
    }
    f = child_flow_of(c, &tuple);
    pk_flow_count(&f->flow, k.segments, k.payload, k.headers);
    c->side.counters.native_bytes += k.segments ? k.payload + (uint64_t)k.segments * k.headers : k.headers;
    if (k.flags & (PK_SYN | PK_RST)) {
        f->flow.known = k.flags & PK_SYN;
        f->flow.next = k.seq + 1;
        pk_gather_begin(&f->gather, k.seq);
        child_send_piece(c, piece, bytes);
        return;
    }
    if (pk_flow_ahead(&f->flow, k.seq) && defer(c, &tuple, k.seq, piece, bytes, now)) return;
    packet_goes(c, f, &k, piece, bytes, now);
    child_release_reordered(c, now);
}

static void train_came(pk_child_t *c, const uint8_t *inside, size_t n, uint8_t tos, uint64_t now) {
    struct pk_waiting *waits;
    struct pk_tuple tuple;
    struct pk_reader r;
    struct flow *f;

    c->side.counters.trains++;
    if (!pk_train_read(&r, inside, n) || !tuple_of_record(c, &r.next, &tuple)) {
        c->side.counters.dropped++;
        return;
    }
    f = child_flow_of(c, &tuple);
    bool more = pk_gather_orders(&c->gather, &f->gather, r);
    if (c->gather.found) resume(c, now);
    if (!more) return;
    if (pk_flow_ahead(&f->flow, pk_head_seq(&r.next)) && !pk_pending_has(c->pending, &tuple) &&
        (waits = defer(c, &tuple, pk_head_seq(&r.next), inside, n, now))) {
        waits->train = true;
        waits->tos = tos;
        return;
    }
    train(c, &tuple, inside, n, tos, now);
    child_release_reordered(c, now);
}

static void child_hears(pk_child_t *c, bool heard) {
    if (c->unheard == !heard) return;
    c->unheard = !heard;
    if (heard) c->out.say(c->out.context, BASE_LOG_NOTICE, "the parent is heard again");
    else c->out.say(c->out.context, BASE_LOG_WARNING, "nothing is heard of the parent; packets go as they are");
}

/* The parent takes it once, and what is sealed counts for nothing there before. */
static void child_ready(pk_child_t *c, uint64_t now) {
    child_send_datagram(c, c->ready_said, c->ready_bytes);
    c->ready_at = now + READY_EVERY;
    if (++c->readies == READIES) c->ready_bytes = 0;
}

/* renewed: there was a session till now.  What the parent has said holds until it says something else. */
static void child_established(pk_child_t *c, const void *answer, size_t n, bool renewed, uint64_t now) {
    memcpy(c->ready_said, answer, n);
    c->ready_bytes = n;
    c->readies = 0;
    child_ready(c, now);
    c->hello = false;
    if (!renewed || c->asked) c->strange = false;
    c->asked = false;
    c->differs = PK_WHY_NOTHING;
    c->probe = c->came = 0;
    c->hello_wait = 0;
    c->hello_at = UINT64_MAX;
    c->established_at = c->heard_at = now;
    child_hears(c, true);
    c->side.counters.sessions++;
    if (!renewed) c->out.say(c->out.context, BASE_LOG_NOTICE, "session established");
    status(c, now);
}

/* Said once until there is a session: a stranger may replay what a parent has once said. */
static void child_differs(pk_child_t *c, enum pk_why why) {
    char sentence[256];
    if (c->differs == why) return;
    c->differs = why;
    snprintf(sentence, sizeof sentence, "%s (ours: %u, the parent's: %u)", pk_why_sentence(why), PK_VERSION,
             pk_session_theirs(c->session));
    c->out.say(c->out.context, BASE_LOG_WARNING, why == PK_WHY_VERSION ? sentence : pk_why_sentence(why));
}

static void parent_says(pk_child_t *c, const struct pk_opened *o) {
    unsigned before = c->parents;

    if (o->n != 1 || o->before || before == *o->inside) return;
    c->parents = *o->inside;
    /* That we are not heard is for the parent's log. */
    if (c->parents == PK_WHY_SILENT || (before == PK_WHY_SILENT && !c->parents)) return;
    if (c->parents) {
        c->out.say(c->out.context, BASE_LOG_WARNING, "the parent stands aside; packets go as they are:");
        c->out.say(c->out.context, BASE_LOG_WARNING, pk_why_sentence(c->parents));
    } else {
        c->out.say(c->out.context, BASE_LOG_NOTICE, "the parent does not stand aside any more");
    }
}

static void child_control(pk_child_t *c, const void *datagram, size_t bytes, uint64_t now) {
    uint8_t out[PK_CONTROL_MAX];
    bool there = pk_session_established(c->session);
    size_t n;

    switch (pk_session_step(c->session, datagram, bytes, &c->ready, out, &n)) {
    case PK_ESTABLISHED: child_established(c, out, n, there, now); break;
    case PK_BEGIN:
        /* Anybody may replay this: of a session that works it makes a new one in WHO_EVERY at most. */
        if (c->hello ? now >= c->hello_at - c->hello_wait + HELLO_EVERY
                     : now >= c->established_at + (pk_session_seen(c->session) ? WHO_EVERY : HELLO_EVERY)) {
            if (!c->hello) c->hello_wait = 0;
            c->asked = true;
            child_hello(c, now);
        }
        break;
    case PK_DISAGREES: child_differs(c, PK_WHY_DISAGREES); break;
    case PK_OTHER_VERSION: child_differs(c, PK_WHY_VERSION); break;
    default: c->side.counters.refused++;
    }
}

static void child_datagram(pk_side_t *s, void *datagram, size_t bytes, uint8_t tos, uint64_t now) {
    pk_child_t *c = child_of(s);
    struct pk_opened o;

    pk_session_time(c->session, now);
    if (pk_wire_is_handshake(datagram, bytes)) {
        child_control(c, datagram, bytes, now);
        return;
    }
    enum pk_type type = pk_open(c->session, datagram, bytes, &o);
    if (type && !o.before) {
        c->heard_at = now;
        child_hears(c, true);
    }
    c->came += type && !o.before;
    switch (type) {
    case PK_TRAIN:
        c->side.counters.datagrams_in++;
        c->news = true;
        train_came(c, o.inside, o.n, tos, now);
        if (now - c->status_at >= STATUS_BUSY) status(c, now);
        break;
    case PK_PROBE:
        c->side.counters.datagrams_in++;
        if (!o.before && o.number > c->probe) c->probe = o.number;
        status(c, now);
        break;
    case PK_ASIDE:
        c->side.counters.datagrams_in++;
        parent_says(c, &o);
        if (!o.before) status(c, now); /* it is to know that this came */
        break;
    case PK_PAYLOAD:
        c->side.counters.datagrams_in++;
        payload_came(c, o.inside, o.n, now);
        child_release_reordered(c, now);
        break;
    default: c->side.counters.refused++;
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* A session: there is none, it is old, or the parent is not heard, and may have forgotten where this end is. */
static bool child_wants(const pk_child_t *c, uint64_t now) {
    return !pk_session_established(c->session) || pk_session_worn(c->session) || now >= c->heard_at + LOST;
}

static uint64_t child_due(const pk_side_t *s) {
    const pk_child_t *c = (const pk_child_t *)s;
    uint64_t due = pk_reorder_due(c->reorder), missing_due = pk_missing_due(c->missing);

    if (missing_due < due) due = missing_due;
    if (pk_session_established(c->session)) {
        uint64_t status_due = c->status_at + (c->news ? STATUS_BUSY : STATUS_IDLE);
        if (status_due < due) due = status_due;
        if (c->ready_bytes && c->ready_at < due) due = c->ready_at;
        if (!c->unheard && c->heard_at + UNHEARD < due) due = c->heard_at + UNHEARD;
        if (pk_session_due(c->session) < due) due = pk_session_due(c->session);
    }
    /* It may have ended, or become old, in any turn. */
    if (!c->hello && child_wants(c, 0)) due = 0;
    if (!c->hello && c->heard_at + LOST < due) due = c->heard_at + LOST;
    if (c->hello && c->hello_at < due) due = c->hello_at;
    if (pk_pending_due(c->pending) < due) due = pk_pending_due(c->pending);
    return due;
}

static void child_tick(pk_side_t *s, uint64_t now) {
    pk_child_t *c = child_of(s);
    bool there;

    pk_session_time(c->session, now);
    there = pk_session_established(c->session);
    child_release_reordered(c, now);
    if (now >= c->established_at + OLD_SESSION) pk_session_forget(c->session);
    if (c->ready_bytes && pk_session_seen(c->session)) c->ready_bytes = 0;
    if (there && c->ready_bytes && now >= c->ready_at) child_ready(c, now);
    if (!c->hello && child_wants(c, now)) child_hello(c, now);
    if (c->hello && now >= c->hello_at) child_hello(c, now);
    if (there && now - c->status_at >= (c->news ? STATUS_BUSY : STATUS_IDLE)) status(c, now);
    bool gone = false;
    for (; pk_pending_due(c->pending) <= now; gone = true) {
        c->side.counters.dropped++;
        pk_pending_release(c->pending, 0);
    }
    if (gone) resume(c, now);
    child_ask(c, now);
    if (there && now >= c->heard_at + UNHEARD) child_hears(c, false);
}

static void child_aside(pk_side_t *s, enum pk_why why, uint64_t now) {
    pk_child_t *c = child_of(s);

    if (c->aside == why) return;
    c->aside = why;
    pk_session_time(c->session, now);
    if (!pk_session_established(c->session)) return;
    child_tell_aside(c);
    if (!why) status(c, now);
}

/* Nothing here rests on having seen all packets. */
static void child_passed(pk_side_t *s, uint64_t now) {
    (void)s;
    (void)now;
}

/* ---- begin ------------------------------------------------------------------------------------------------------- */

static const struct pk_side_ops child_ops = { .free = child_free,
                                              .packet = child_packet,
                                              .datagram = child_datagram,
                                              .due = child_due,
                                              .tick = child_tick,
                                              .aside = child_aside,
                                              .passed = child_passed,
                                              .why = child_why,
                                              .datagrams_first = true };

pk_side_t *pk_child_make(const struct pk_config *config, const struct pk_fingerprint_key *key, pk_store_t *store,
                         pk_session_t *session, const struct pk_ready *ready, const struct pk_out *out) {
    pk_child_t *c = pk_memory(sizeof *c);
    pk_side_t *s;

    if (!c) return NULL;
    s = &c->side;
    s->magic = CHILD_MAGIC;
    s->ops = &child_ops;
    c->c = config;
    c->key = key;
    c->store = store;
    c->session = session;
    c->ready = *ready;
    c->out = *out;
    c->more = PK_UDP_MORE(config->there.ss_family == AF_INET6);
    s->flows = pk_flows_make((uint32_t)config->flows, sizeof(struct flow), NULL, NULL);
    c->reorder = pk_reorder_make();
    c->missing = pk_missing_make();
    c->pending = pk_pending_make();
    c->gather = (struct pk_gather){ .key = key,
                                    .store = store,
                                    .missing = c->missing,
                                    .blocks = pk_blocks_make(),
                                    .told = pk_told_make(),
                                    .counters = &s->counters };
    if (!s->flows || !c->reorder || !c->missing || !c->pending || !c->gather.blocks || !c->gather.told)
        pk_side_free(&s);
    return s;
}
