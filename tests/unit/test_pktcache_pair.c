/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pktcache_pair.c - parent and child with a bad link between them, in simulated time.
 *
 * Servers send streams in pieces as a kernel with segmentation offload does, and again from what was acknowledged when
 * nothing comes; clients compare every byte with the stream.  The link loses, doubles, reorders; an attacker on it
 * flips, replays and invents; both sides are killed and begin anew.
 */
#include "test_pktcache.h"

#include "pktcache/pk_bytes.h"
#include "pktcache/pk_child.h"
#include "pktcache/pk_parent.h"
#include "run_suite.h"

#include <stdio.h>

enum {
    STREAMS = 24,
    LENGTH = 60000,
    TEMPLATES = 12,
    UNIQUE = 2000,
    ROUND = 200,  /* microseconds */
    LINK = 4096,  /* packets and datagrams that are on their way */
    AGAIN = 1500, /* rounds without progress until a server sends again */
    OLD = 256     /* datagrams that the attacker keeps */
};

struct scenario {
    const char *name;
    int version, mode, keep;
    uint32_t mss, stamp;
    unsigned mtu;
    int loss, reorder, again; /* per mille */
    int attack;               /* per mille of rounds */
    int restarts;
    int streams; /* in all */
    int known;   /* percent of the segments that go as fingerprints at least */
    uint64_t cache;
    uint64_t way; /* microseconds from one side to the other */
    /* per mille of the fingerprints that the child asks for at most, if its link is bad */
    int lacking;
    bool chunked; /* HTTP: in chunks of random length */
    bool odd;     /* pieces of random length */
};

struct thing {
    bool datagram;
    uint64_t at;
    size_t n;
    uint8_t bytes[];
};

struct queue {
    struct thing *thing[LINK];
    unsigned n;
};

struct stream {
    bool used;
    unsigned client, port;
    uint32_t first; /* sequence number of the first byte */
    uint8_t *data;
    uint32_t n, sent, acked; /* by the client, in order */
    uint8_t *got;
    uint64_t moved;
    bool asked;
    uint32_t told; /* the parent, of `acked` */
};

static struct world {
    const struct scenario *s;
    struct pk_config config;
    struct pk_secret secret;
    struct pk_fingerprint_key key;
    struct side {
        pk_store_t *store;
        pk_session_t *session;
        pk_side_t *side;
        struct pk_counters sum;
    } parent, child;
    struct queue down, up;
    struct stream stream[STREAMS];
    uint8_t template[TEMPLATES][LENGTH];
    uint64_t now, round;
    unsigned port;
    int begun, ended;
    struct thing *old[OLD];
    uint64_t out, repeated; /* segments that came to clients; that servers sent again */
} w;

static uint64_t state;
static uint32_t dice(uint32_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* ---- the link ---------------------------------------------------------------------------------------------------- */

static struct thing *new_thing(bool datagram, const struct iovec *part, int parts) {
    size_t n = 0;
    for (int i = 0; i < parts; i++) n += part[i].iov_len;
    ck_assert_uint_le(n, PK_PIECE_MAX);
    struct thing *t = malloc(sizeof *t + n);
    t->datagram = datagram;
    t->n = 0;
    for (int i = 0; i < parts; i++) {
        memcpy(t->bytes + t->n, part[i].iov_base, part[i].iov_len);
        t->n += part[i].iov_len;
    }
    return t;
}

static struct thing *copy_of(const struct thing *t) {
    struct thing *copy = malloc(sizeof *t + t->n);
    memcpy(copy, t, sizeof *t + t->n);
    return copy;
}

static void put(struct queue *q, struct thing *t) {
    t->at = w.now + w.s->way;
    if ((int)dice(1000) < w.s->loss || q->n == LINK) {
        free(t);
        return;
    }
    if (t->datagram && w.s->attack) {
        struct thing **old = &w.old[dice(OLD)];
        free(*old);
        *old = copy_of(t);
    }
    q->thing[q->n++] = t;
    if ((int)dice(1000) < w.s->again && q->n < LINK) q->thing[q->n++] = copy_of(t);
    if ((int)dice(1000) < w.s->reorder && q->n > 1) {
        unsigned i = q->n - 1 - dice(q->n < 5 ? q->n : 5);
        struct thing *other = q->thing[i];
        q->thing[i] = q->thing[q->n - 1];
        q->thing[q->n - 1] = other;
    }
}

/* Segments travel one by one. */
static void put_segment(void *context, const uint8_t *ip, size_t n) {
    struct virtio_net_hdr v = { .flags = 0 };
    struct iovec part[2] = { { &v, sizeof v }, { (void *)ip, n } };
    put(context, new_thing(false, part, 2));
}

static void datagram_down(void *context, const void *bytes, size_t n) {
    struct iovec part = { (void *)bytes, n };
    (void)context;
    ck_assert_uint_le(n + 28 + 20 * (w.s->version == 6), w.s->mtu);
    put(&w.down, new_thing(true, &part, 1));
}

static void datagram_up(void *context, const void *bytes, size_t n) {
    struct iovec part = { (void *)bytes, n };
    (void)context;
    ck_assert_uint_le(n + 28, w.s->mtu);
    put(&w.up, new_thing(true, &part, 1));
}

static uint64_t said;

static void say(void *context, const char *sentence) {
    (void)context;
    (void)sentence;
    said++;
}

static void packet_down(void *context, const struct iovec *part, int parts) {
    struct thing *t = new_thing(false, part, parts);
    (void)context;
    segment_piece(t->bytes, t->n, put_segment, &w.down);
    free(t);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static struct stream *stream_of(unsigned port) {
    for (int i = 0; i < STREAMS; i++)
        if (w.stream[i].used && w.stream[i].port == port) return w.stream + i;
    return NULL;
}

static void received(void *context, const uint8_t *ip, size_t n) {
    struct pk_packet k;
    struct pk_tuple tuple;
    uint8_t piece[PK_PIECE_MAX];
    (void)context;
    memset(piece, 0, sizeof(struct virtio_net_hdr));
    memcpy(piece + sizeof(struct virtio_net_hdr), ip, n);
    ck_assert_int_eq(pk_packet_parse(&k, piece, n + sizeof(struct virtio_net_hdr)), PK_TCP);
    ck_assert_msg(pk_packet_intact(&k), "a checksum is wrong");
    pk_packet_tuple(&k, &tuple);
    struct stream *s = stream_of(ntohs(tuple.to_port));
    if (!s || k.flags & PK_SYN) return; /* it came late; the connection's beginning */
    uint32_t at = k.seq - s->first;
    ck_assert_uint_le(at, s->n);
    ck_assert_uint_le(k.payload, s->n - at);
    ck_assert_msg(!memcmp(k.ip + k.headers, s->data + at, k.payload), "%s: a wrong byte came", w.s->name);
    ck_assert_uint_eq(get32(k.ip + k.ip_header + 8), 555);
    ck_assert_uint_eq(k.headers - k.ip_header, w.s->stamp ? 32 : 20);
    memset(s->got + at, 1, k.payload);
    w.out++;
    uint32_t before = s->acked;
    const uint8_t *gap = memchr(s->got + s->acked, 0, s->n - s->acked);
    s->acked = gap ? (uint32_t)(gap - s->got) : s->n;
    if (s->acked > before) s->moved = w.round;
}

static void packet_out(void *context, const struct iovec *part, int parts) {
    struct thing *t = new_thing(false, part, parts);
    (void)context;
    segment_piece(t->bytes, t->n, received, NULL);
    free(t);
}

/* ---- sides ------------------------------------------------------------------------------------------------------- */

static void add(struct pk_counters *sum, const struct pk_counters *c) {
    for (size_t i = 0; i < sizeof *c / sizeof(uint64_t); i++) ((uint64_t *)sum)[i] += ((const uint64_t *)c)[i];
}

static void end_side(struct side *s) {
    if (s->side) add(&s->sum, &s->side->counters);
    pk_side_free(&s->side);
    pk_session_free(&s->session);
    pk_store_free(&s->store);
}

static const uint8_t key_bytes[PK_FINGERPRINT_KEY] = "a key for the fingerprints";

static void begin_parent(void) {
    struct pk_out out = { NULL, packet_down, datagram_down, say };
    w.parent.store = pk_store_make(w.s->cache, PK_STORE_PARENT);
    w.parent.session = pk_session_make(&w.secret, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    w.parent.side = pk_parent_make(&w.config, w.parent.store, w.parent.session, &out);
}

static void begin_child(void) {
    struct pk_out out = { NULL, packet_out, datagram_up, say };
    struct pk_ready ready = { .bytes = w.s->cache };
    memcpy(ready.key, key_bytes, sizeof ready.key);
    for (size_t i = 0; i < sizeof ready.cache; i++) ready.cache[i] = (uint8_t)dice(256);
    w.child.store = pk_store_make(w.s->cache, PK_STORE_CHILD);
    w.child.session = pk_session_make(&w.secret, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    w.child.side = pk_child_make(&w.config, &w.key, w.child.store, w.child.session, &ready, &out);
}

/* What has come: handed to `take`, in the queue's order. */
static void arrive(struct queue *q, void (*take)(struct thing *t)) {
    unsigned left = 0;
    for (unsigned i = 0; i < q->n; i++) {
        if (q->thing[i]->at > w.now) {
            q->thing[left++] = q->thing[i];
            continue;
        }
        take(q->thing[i]);
        free(q->thing[i]);
    }
    q->n = left;
}

static void take_down(struct thing *t) {
    if (t->datagram) pk_side_datagram(w.child.side, t->bytes, t->n, w.now);
    else pk_side_packet(w.child.side, t->bytes, t->n, w.now);
}

static void take_up(struct thing *t) { pk_side_datagram(w.parent.side, t->bytes, t->n, w.now); }

static void run_down(void) {
    arrive(&w.down, take_down);
    if (pk_side_due(w.child.side) <= w.now) pk_side_tick(w.child.side, w.now);
}

static void run_up(void) {
    arrive(&w.up, take_up);
    if (pk_side_due(w.parent.side) <= w.now) pk_side_tick(w.parent.side, w.now);
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

/* A template with some bytes of its own, in chunks. */
static void fill_chunks(struct stream *s) {
    static uint8_t body[LENGTH];
    uint32_t at = (uint32_t)sprintf(
        (char *)s->data,
        "HTTP/1.1 200 OK\r\nCache-Control: public\r\nX-Number: %u\r\nTransfer-Encoding: chunked\r\n\r\n", w.port);

    memcpy(body, w.template[dice(TEMPLATES)], LENGTH);
    for (uint32_t i = dice(4), from = dice(LENGTH - UNIQUE); i--;) body[from + i * 500] ^= 1;
    for (uint32_t i = 0, n; i < LENGTH; i += n, at += n) {
        n = 1 + dice(dice(4) ? 9000 : 300);
        if (n > LENGTH - i) n = LENGTH - i;
        at += (uint32_t)sprintf((char *)s->data + at, "%s%x%s\r\n", i ? "\r\n" : "", n, dice(4) ? "" : ";x=y");
        memcpy(s->data + at, body + i, n);
    }
    at += (uint32_t)sprintf((char *)s->data + at, "\r\n0\r\n\r\n");
    s->n = at;
}

static void fill_stream(struct stream *s) {
    uint32_t at = 0;
    if (w.s->chunked) {
        fill_chunks(s);
        return;
    }
    if (w.s->keep == PK_KEEP_HTTP)
        at += (uint32_t)sprintf(
            (char *)s->data, "HTTP/1.1 200 OK\r\nCache-Control: public\r\nX-Number: %u\r\nContent-Length: %d\r\n\r\n",
            w.port, LENGTH - 200);
    uint32_t all = w.s->keep == PK_KEEP_HTTP ? at + LENGTH - 200 : LENGTH;
    s->n = all;
    memcpy(s->data + at, w.template[dice(TEMPLATES)], all - at);
    for (uint32_t unique = dice(5); unique--;) {
        uint32_t from = at + dice(all - at - UNIQUE), n = dice(UNIQUE);
        for (uint32_t i = 0; i < n; i++) s->data[from + i] = (uint8_t)dice(256);
    }
}

static void begin_stream(struct stream *s) {
    memset(s, 0, sizeof *s);
    s->used = true;
    s->port = 2000 + w.port++ % 60000;
    s->client = 1 + dice(200);
    s->first = dice(4) ? (uint32_t)(state >> 20) : UINT32_MAX - dice(30000);
    s->data = malloc(2 * LENGTH);
    s->got = calloc(1, 2 * LENGTH);
    s->moved = w.round;
    fill_stream(s);
    w.begun++;
}

static void from_server(struct stream *s, uint32_t at, uint32_t n, uint32_t segment) {
    static uint16_t id;
    struct wire h = { .version = w.s->version,
                      .client = s->client,
                      .port = s->port,
                      .seq = s->first + at,
                      .ack = 555,
                      .id = id,
                      .flags = PK_ACK | (at + n == s->n ? PK_PSH : 0),
                      .stamp = w.s->stamp ? (uint32_t)(w.now / 1000 + 1) : 0,
                      .segment = segment,
                      .whole_sum = n <= segment && dice(2) };
    static uint8_t piece[PK_PIECE_MAX];
    size_t bytes = make_piece(piece, &h, s->data + at, n);
    id = (uint16_t)(id + (n + segment - 1) / segment);
    if (h.whole_sum == false) { /* as the kernel leaves it */
        struct pk_packet k;
        pk_packet_parse(&k, piece, bytes);
        put16(piece + sizeof(struct virtio_net_hdr) + k.ip_header + 16,
              slow_fold(k.length - k.ip_header + 6 +
                        (k.ip[0] >> 4 == 4 ? slow_sum(k.ip + 12, 8) : slow_sum(k.ip + 8, 32))));
    }
    pk_side_packet(w.parent.side, piece, bytes, w.now);
}

static void to_parent(struct wire h, const void *payload, uint32_t n) {
    uint8_t piece[2048];
    h.version = w.s->version;
    h.whole_sum = true;
    pk_side_packet(w.parent.side, piece, make_piece(piece, &h, payload, n), w.now);
}

/* The connection and its request, over a good link. */
static void ask(struct stream *s) {
    static const char request[] = "GET / HTTP/1.1\r\n\r\n";
    to_parent((struct wire){ .client = s->client, .port = s->port, .up = true, .seq = 554, .flags = PK_SYN }, NULL, 0);
    to_parent(
        (struct wire){
            .client = s->client, .port = s->port, .seq = s->first - 1, .ack = 555, .flags = PK_SYN | PK_ACK },
        NULL, 0);
    to_parent(
        (struct wire){ .client = s->client, .port = s->port, .up = true, .seq = 555, .ack = s->first, .flags = PK_ACK },
        request, sizeof request - 1);
    s->asked = true;
}

/* What its client has, the parent sees, as it sees requests. */
static void acknowledge(struct stream *s) {
    if (!s->asked || s->told == s->acked) return;
    s->told = s->acked;
    to_parent(
        (struct wire){
            .client = s->client, .port = s->port, .up = true, .seq = 573, .ack = s->first + s->acked, .flags = PK_ACK },
        NULL, 0);
}

static void serve(struct stream *s) {
    uint32_t window = 64 * w.s->mss;
    if (w.s->keep == PK_KEEP_HTTP && !s->asked) {
        ask(s);
        return;
    }
    if (s->sent > s->acked && w.round - s->moved > AGAIN + 2 * w.s->way / ROUND) {
        uint32_t n = s->sent - s->acked < w.s->mss ? s->sent - s->acked : w.s->mss;
        from_server(s, s->acked, n, w.s->mss);
        w.repeated++;
        s->moved += 50; /* the next one soon */
        return;
    }
    if (s->sent == s->n || s->sent - s->acked >= window || dice(3)) return;
    uint32_t most = (1 + dice(40)) * w.s->mss, n = s->n - s->sent;
    if (n > 60000) n = 60000 / w.s->mss * w.s->mss;
    if (n > most) n = most;
    if (w.s->odd) n = 1 + dice(n);
    from_server(s, s->sent, n, w.s->mss);
    s->sent += n;
}

/* ---- the attacker ------------------------------------------------------------------------------------------------ */

static void attack(void) {
    struct thing *t, *old = w.old[dice(OLD)];
    if (old && dice(4)) {
        t = copy_of(old);
        if (dice(2)) t->bytes[dice((uint32_t)t->n)] ^= (uint8_t)(1 << dice(8));
        if (!dice(4)) t->n = dice((uint32_t)t->n + 1);
    } else {
        uint32_t n = dice(1400);
        t = malloc(sizeof *t + n);
        t->datagram = true;
        t->n = n;
        for (size_t i = 0; i < t->n; i++) t->bytes[i] = (uint8_t)dice(256);
        if (t->n && dice(2)) t->bytes[0] = (uint8_t)(1 + dice(20));
    }
    t->at = w.now;
    struct queue *q = dice(2) ? &w.down : &w.up;
    if (q->n < LINK) q->thing[q->n++] = t;
    else free(t);
}

/* ---- scenarios --------------------------------------------------------------------------------------------------- */

static const struct scenario scenarios[] = {
    { .name = "a good link",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "IPv6",
      .known = 65,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1220,
      .mtu = 1280,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "HTTP",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "HTTP, cut anywhere",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20,
      .odd = true },
    { .name = "HTTP, in chunks",
      .known = 65,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1428,
      .mtu = 1500,
      .streams = 300,
      .cache = 4 << 20,
      .chunked = true,
      .odd = true },
    { .name = "HTTP, in chunks, on a bad link",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 300,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20,
      .chunked = true,
      .odd = true,
      .lacking = 60 },
    { .name = "HTTP, blocks, restarts, an attacker",
      .known = 5,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 1 << 20,
      .loss = 20,
      .reorder = 20,
      .again = 20,
      .restarts = 30,
      .attack = 900,
      .odd = true },
    { .name = "HTTP, large packets",
      .known = 40,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_HTTP,
      .mss = 8928,
      .stamp = 1,
      .mtu = 9000,
      .streams = 200,
      .cache = 4 << 20,
      .odd = true },
    { .name = "packets",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_PACKET,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "windows",
      .known = 65,
      .version = 4,
      .mode = PK_MODE_WINDOW,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "large packets",
      .known = 30,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 8928,
      .stamp = 1,
      .mtu = 9000,
      .streams = 200,
      .cache = 4 << 20 },
    { .name = "small segments",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 100,
      .stamp = 1,
      .mtu = 1500,
      .streams = 60,
      .cache = 16 << 20 },
    { .name = "a small cache",
      .known = 20,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1000,
      .mtu = 1500,
      .streams = 300,
      .cache = 1 << 20,
      .loss = 20 },
    { .name = "a bad link",
      .known = 60,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20 },
    { .name = "a bad link, IPv6, small segments",
      .known = 60,
      .version = 6,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 300,
      .mtu = 1280,
      .streams = 200,
      .cache = 2 << 20,
      .loss = 50,
      .reorder = 100,
      .again = 50 },
    { .name = "a long way",
      .known = 50,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 100,
      .cache = 4 << 20,
      .loss = 50,
      .way = 300000,
      .lacking = 60 },
    { .name = "restarts",
      .known = 10,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 600,
      .cache = 4 << 20,
      .loss = 50,
      .reorder = 50,
      .again = 20,
      .restarts = 40 },
    { .name = "restarts, HTTP",
      .known = 5,
      .version = 6,
      .mode = PK_MODE_WINDOW,
      .keep = PK_KEEP_HTTP,
      .mss = 1428,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 10,
      .reorder = 10,
      .again = 10,
      .restarts = 40 },
    { .name = "an attacker",
      .known = 20,
      .version = 4,
      .mode = PK_MODE_TRAIN,
      .keep = PK_KEEP_ALL,
      .mss = 1448,
      .stamp = 1,
      .mtu = 1500,
      .streams = 400,
      .cache = 4 << 20,
      .loss = 10,
      .reorder = 10,
      .again = 10,
      .restarts = 10,
      .attack = 900 },
};

static void setup(const struct scenario *s, int number) {
    memset(&w, 0, sizeof w);
    w.s = s;
    state = UINT64_C(88172645463325252) + (uint64_t)number * 7919;
    w.config = (struct pk_config){ .cache = s->cache,
                                   .keep = s->keep,
                                   .mode = s->mode,
                                   .window = 10,
                                   .hold = 500,
                                   .literal = 700,
                                   .least = 64,
                                   .mtu = s->mtu,
                                   .flows = 1024,
                                   .queues = 1,
                                   .ports = { .n = 1 },
                                   .port = { htons(80) } };
    w.config.server =
        (struct pk_networks){ { { { [10] = 0xff, [11] = 0xff, 10, 8, 1 }, 120 }, { { 0xfd, 8 }, 64 } }, 2 };
    w.config.client =
        (struct pk_networks){ { { { [10] = 0xff, [11] = 0xff, 10, 8, 3 }, 120 }, { { 0xfd, 9 }, 64 } }, 2 };
    w.config.there.ss_family = s->version == 6 ? AF_INET6 : AF_INET;
    ck_assert_ptr_null(eeod_marks_set(&w.config.mark, "<!--EEOD-->", "<!--/EEOD-->"));
    memcpy(w.secret.bytes, "a secret of thirty-two bytes....", PK_SECRET);
    pk_fingerprint_key_set(&w.key, key_bytes, PK_FINGERPRINT_HIGHWAY);
    for (int i = 0; i < TEMPLATES; i++)
        for (int k = 0; k < LENGTH; k++) w.template[i][k] = (uint8_t)dice(256);
    begin_parent();
    begin_child();
}

static void teardown(void) {
    end_side(&w.parent);
    end_side(&w.child);
    for (unsigned i = 0; i < w.down.n; i++) free(w.down.thing[i]);
    for (unsigned i = 0; i < w.up.n; i++) free(w.up.thing[i]);
    for (int i = 0; i < OLD; i++) free(w.old[i]);
    for (int i = 0; i < STREAMS; i++) {
        free(w.stream[i].data);
        free(w.stream[i].got);
    }
}

static void play(int number, int times) {
    const struct scenario *s = scenarios + number;
    int restarts = 0;
    setup(s, number);
    for (; w.ended < s->streams * times; w.round++, w.now += ROUND) {
        ck_assert_msg(w.round < (uint64_t)times * 3000000, "%s: %d of %d streams in %lu rounds", s->name, w.ended,
                      s->streams * times, (unsigned long)w.round);
        for (int i = 0; i < STREAMS; i++) {
            struct stream *t = w.stream + i;
            if (t->used) acknowledge(t);
            if (t->used && t->acked == t->n) {
                free(t->data);
                free(t->got);
                memset(t, 0, sizeof *t);
                w.ended++;
            }
            if (!t->used && w.begun < s->streams * times) begin_stream(t);
            if (t->used) serve(t);
        }
        if ((int)dice(1000) < s->attack) attack();
        run_down();
        run_up();
        if (restarts < s->restarts * times && w.ended * s->restarts / s->streams > restarts) {
            bool parent = dice(2);
            restarts++;
            end_side(parent ? &w.parent : &w.child);
            if (parent) begin_parent();
            else begin_child();
        }
    }
    end_side(&w.parent);
    end_side(&w.child);
    const struct pk_counters *p = &w.parent.sum, *c = &w.child.sum;
    if (getenv("VERBOSE"))
        printf("%-36s segments %lu, known %lu of %lu, wanted %lu, recovered %lu, dropped %lu, late %lu, sessions %lu, "
               "refused %lu + %lu, again %lu, rounds %lu\n",
               s->name, (unsigned long)w.out, (unsigned long)p->hits, (unsigned long)p->kept, (unsigned long)p->wanted,
               (unsigned long)c->recovered, (unsigned long)c->dropped, (unsigned long)c->late,
               (unsigned long)c->sessions, (unsigned long)p->refused, (unsigned long)c->refused,
               (unsigned long)w.repeated, (unsigned long)w.round);
    ck_assert_uint_gt(p->hits * 100, p->kept * (unsigned)s->known);
    if (s->lacking)
        ck_assert_msg(c->wanted * 1000 < p->hits * (unsigned)s->lacking, "%lu of %lu fingerprints were asked for",
                      (unsigned long)c->wanted, (unsigned long)p->hits);
    if (!s->loss && !s->restarts) {
        ck_assert_uint_eq(w.repeated, 0);
        ck_assert_uint_eq(p->wanted + c->wanted + c->dropped + p->refused + c->refused + p->outages, 0);
        ck_assert_uint_eq(p->sessions, 1);
    }
    teardown();
}

START_TEST(test_scenario) {
    const char *times = getenv("PKTCACHE_TIMES");
    play(_i, times ? atoi(times) : 1);
}
END_TEST

/*
 * A connection of which something was missing is followed again from its next request; what was said before is not
 * known then.
 */
START_TEST(test_a_joined_connection_may_have_been_authorized) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nLast-Modified: x\r\nContent-Length: 900\r\n\r\n";
    char body[900] = "";
    const struct wire up = { .client = 7, .port = 777, .up = true, .flags = PK_ACK },
                      down = { .client = 7, .port = 777, .ack = 555, .flags = PK_ACK };
    struct wire h;
    uint32_t seq = 1000, ask = 555;

    setup(&(struct scenario){ .name = "joined",
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_HTTP,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 },
          99);
    for (int i = 0; i < 100; i++, w.now += ROUND) {
        run_down();
        run_up();
    }
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING);
    to_parent((h = up, h.flags = PK_SYN, h.seq = ask - 1, h), NULL, 0);
    to_parent((h = down, h.flags |= PK_SYN, h.seq = seq - 1, h), NULL, 0);
    for (int request = 0; request < 4; request++) {
        static const char *const requests[] = { "GET / HTTP/1.1\r\n\r\n",
                                                "GET / HTTP/1.1\r\nAuthorization: NTLM x\r\n\r\n" };
        const char *r = requests[request == 1];
        to_parent((h = up, h.seq = ask, h.ack = seq, h), r, (uint32_t)strlen(r));
        ask += (uint32_t)strlen(r);
        to_parent((h = down, h.seq = seq, h.ack = ask, h), answer, sizeof answer - 1);
        seq += sizeof answer - 1;
        if (request == 2) seq += 100; /* lost on its way to the parent */
        to_parent((h = down, h.seq = seq, h.ack = ask, h), body, sizeof body - (request == 2 ? 100 : 0));
        seq += sizeof body - (request == 2 ? 100 : 0);
        for (int i = 0; i < 100; i++, w.now += ROUND) {
            run_down();
            run_up();
        }
        ck_assert_msg(w.parent.side->counters.kept == 1, "after request %d: %lu", request,
                      (unsigned long)w.parent.side->counters.kept);
    }
    teardown();
}
END_TEST

static struct {
    pk_session_t *child;
    unsigned probes;
    uint8_t first[PK_DATAGRAM_MAX];
    size_t n;
} listens;

static void open_probe(void *context, const void *bytes, size_t n) {
    static uint8_t copy[PK_DATAGRAM_MAX];
    struct pk_opened o;
    unsigned zeros = 0;
    (void)context;
    memcpy(copy, bytes, n);
    if (pk_open(listens.child, copy, n, &o) != PK_PROBE) return;
    ck_assert_uint_eq(n + 28, w.s->mtu);
    for (size_t i = 0; i < o.n; i++) zeros += !o.inside[i];
    ck_assert_msg(zeros < o.n / 16, "%u of %zu bytes of a probe are zero", zeros, o.n);
    if (listens.probes++) ck_assert_msg(memcmp(listens.first, o.inside, o.n), "a probe as the one before");
    memcpy(listens.first, o.inside, o.n);
}

static void no_packet(void *context, const struct iovec *part, int parts) {
    (void)context;
    (void)part;
    (void)parts;
}

/* Nobody knows a byte of what is sealed in any datagram. */
START_TEST(test_what_a_probe_holds_cannot_be_known) {
    struct pk_out out = { NULL, no_packet, open_probe, say };
    struct pk_ready ready = { .bytes = 1 << 20 };
    uint8_t hello[PK_CONTROL_MAX], welcome[PK_CONTROL_MAX], go[PK_CONTROL_MAX];
    size_t n, m;

    setup(&(struct scenario){ .name = "probes",
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_ALL,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 },
          1);
    memset(&listens, 0, sizeof listens);
    listens.child = pk_session_make(&w.secret, PK_CHILD, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_session_t *session = pk_session_make(&w.secret, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    pk_side_t *parent = pk_parent_make(&w.config, w.parent.store, session, &out);
    for (int i = 0; i < 3; i++) {
        n = pk_session_begin(listens.child, hello);
        ck_assert_int_eq(pk_session_step(session, hello, n, &ready, welcome, &m), PK_ANSWER);
        ck_assert_int_eq(pk_session_step(listens.child, welcome, m, &ready, go, &n), PK_ESTABLISHED);
        pk_side_datagram(parent, go, n, w.now);
        pk_side_tick(parent, w.now += ROUND);
    }
    ck_assert_uint_eq(listens.probes, 3);
    pk_side_free(&parent);
    pk_session_free(&session);
    pk_session_free(&listens.child);
    teardown();
}
END_TEST

static void lose(struct queue *q) {
    while (q->n) free(q->thing[--q->n]);
}

static void go_on(uint64_t microseconds) {
    for (uint64_t end = w.now + microseconds; w.now < end; w.now += ROUND) {
        run_down();
        run_up();
    }
}

static struct scenario quiet(const char *name) {
    return (struct scenario){ .name = name,
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_ALL,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 };
}

/* Takes the first datagram of that type off the link. */
static bool lose_one(struct queue *q, enum pk_type type) {
    for (unsigned i = 0; i < q->n; i++) {
        if (!q->thing[i]->datagram || *q->thing[i]->bytes != type) continue;
        free(q->thing[i]);
        q->thing[i] = q->thing[--q->n];
        return true;
    }
    return false;
}

/* A response over HTTP of which nothing was sent; the same bytes as `as`, unless that is NULL. */
static struct stream *asked_stream(int i, const struct stream *as) {
    struct stream *s = w.stream + i;
    begin_stream(s);
    if (as) {
        memcpy(s->data, as->data, as->n);
        s->n = as->n;
    }
    ask(s);
    return s;
}

/* A train of which the client says that it came: from then on there are others. */
static void trust(const struct scenario *s) {
    for (int i = 2; i < 4; i++) {
        struct stream *t = asked_stream(i, i > 2 ? w.stream + 2 : NULL);
        from_server(t, 0, t->n, s->mss);
        go_on(10000 + 2 * (uint64_t)s->way);
        ck_assert_uint_eq(t->acked, t->n);
        acknowledge(t);
    }
    ck_assert_uint_gt(w.parent.side->counters.hits, 0);
    pk_side_tick(w.parent.side, w.now);
    ck_assert_uint_eq(w.parent.side->counters.advanced, 1);
}

/* A server sends again what was lost together with what is new: the connection was not followed any more. */
START_TEST(test_what_is_half_new_is_followed) {
    struct scenario s = quiet("half new");
    s.keep = PK_KEEP_HTTP;
    setup(&s, 21);
    go_on(1000000);
    trust(&s);
    struct stream *first = asked_stream(0, NULL);
    for (uint32_t at = 0, n; at < first->n; at += n) {
        uint32_t back = at ? 1 + dice(at < 3000 ? at : 3000) : 0; /* not at the end of a segment, either */
        n = first->n - at < 5000 ? first->n - at : 5000;
        from_server(first, at - back, n + back, s.mss);
        go_on(2000);
    }
    ck_assert_uint_eq(first->acked, first->n);
    ck_assert_uint_eq(w.parent.side->counters.lost, 0);
    uint64_t saved = w.parent.side->counters.saved;
    struct stream *second = asked_stream(1, first);
    for (uint32_t at = 0, n; at < second->n; at += n) {
        n = second->n - at < 20000 ? second->n - at : 20000;
        from_server(second, at, n, s.mss);
        go_on(2000);
    }
    ck_assert_uint_eq(second->acked, second->n);
    ck_assert_uint_ge(w.parent.side->counters.saved - saved, second->n * 9 / 10);
    teardown();
}
END_TEST

/* A train is lost; its first segment, which the server sends again, brings all of it. */
START_TEST(test_a_lost_train_goes_once_more) {
    struct scenario s = quiet("lost train");
    s.keep = PK_KEEP_HTTP;
    setup(&s, 22);
    go_on(1000000);
    trust(&s);
    struct stream *first = asked_stream(0, NULL);
    from_server(first, 0, first->n, s.mss);
    go_on(5000);
    ck_assert_uint_eq(first->acked, first->n);
    struct stream *second = asked_stream(1, first);
    from_server(second, 0, second->n, s.mss);
    for (int i = 0; i < 10; i++, w.now += ROUND) {
        while (lose_one(&w.down, PK_TRAIN)) {}
        run_down();
        run_up();
    }
    ck_assert_uint_eq(second->acked, 0);
    from_server(second, 0, s.mss, s.mss);
    go_on(5000);
    ck_assert_uint_eq(second->acked, second->n);
    /* Only once. */
    uint64_t before = w.parent.side->counters.datagrams_out;
    from_server(second, s.mss, s.mss, s.mss);
    ck_assert_uint_eq(w.parent.side->counters.datagrams_out, before);
    teardown();
}
END_TEST

/*
 * Something that a train names is not there: the trains behind it wait, too, so that the client gets all in its order,
 * and what they lack is asked for at the same time.
 */
START_TEST(test_trains_wait_in_their_order) {
    struct scenario s = quiet("order");
    s.keep = PK_KEEP_HTTP;
    s.way = 20000;
    setup(&s, 23);
    go_on(1000000);
    trust(&s);
    struct stream *first = asked_stream(0, NULL);
    from_server(first, 0, first->n, s.mss);
    for (int i = 0; i < 10; i++, w.now += ROUND) { /* the child is told nothing */
        while (lose_one(&w.down, PK_TRAIN)) {}
        run_down();
    }
    go_on(100000);
    /* The end went in a train. */
    if (first->acked < first->n) from_server(first, first->acked, first->n - first->acked, s.mss);
    go_on(100000);
    ck_assert_uint_eq(first->acked, first->n);
    struct stream *second = asked_stream(1, first);
    uint64_t began = w.now;
    for (uint32_t at = 0, n, behind = 0; at < second->n; at += n) {
        n = second->n - at < 10000 ? second->n - at : 10000;
        from_server(second, at, n, s.mss);
        for (int i = 0; i < 10; i++) {
            go_on(ROUND);
            behind += memchr(second->got + second->acked, 1, second->n - second->acked) != NULL;
        }
        ck_assert_uint_eq(behind, 0);
    }
    while (second->acked < second->n && w.now < began + 1000000) {
        go_on(ROUND);
        ck_assert_ptr_null(memchr(second->got + second->acked, 1, second->n - second->acked));
    }
    ck_assert_uint_eq(second->acked, second->n);
    ck_assert_uint_ge(w.child.side->counters.recovered, 20);
    ck_assert_uint_le(w.now - began, 200000);
    teardown();
}
END_TEST

/* A new session every two minutes, and nothing begins anew by it: nothing is said, what stands aside does. */
START_TEST(test_a_session_is_renewed_without_a_pause) {
    struct scenario s = quiet("renewed");
    uint64_t began;

    setup(&s, 11);
    go_on(1000000);
    began = said;
    for (unsigned sessions = 1; sessions < 5; sessions++) {
        ck_assert_uint_eq(w.parent.side->counters.sessions, sessions);
        ck_assert_uint_eq(w.child.side->counters.sessions, sessions);
        for (uint64_t end = w.now + PK_RENEW_US; w.now < end;) {
            go_on(1000000);
            ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
        }
    }
    ck_assert_uint_eq(w.parent.side->counters.outages, 0);
    ck_assert_uint_eq(said, began);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
    pk_side_aside(w.parent.side, PK_WHY_DOWN, w.now);
    go_on(1000000);
    began = said;
    for (int i = 0; i < 250; i++) {
        go_on(1000000);
        ck_assert(pk_side_why(w.parent.side) == PK_WHY_DOWN && pk_side_why(w.child.side) == PK_WHY_DOWN);
    }
    ck_assert_uint_eq(said, began);
    ck_assert_uint_eq(w.parent.side->counters.sessions, 7);
    teardown();
}
END_TEST

/* READY is lost: the child says it again, and the two are at one well before anybody would take the other for dead. */
START_TEST(test_a_lost_ready_is_said_again) {
    struct scenario s = quiet("ready");
    uint64_t end, from = 0;

    s.way = 20000;
    setup(&s, 14);
    go_on(1000000);
    for (unsigned sessions = 2; sessions < 6; sessions++) {
        unsigned lost = 0;
        for (end = w.now + PK_RENEW_US + 1000000; w.now < end && w.parent.side->counters.sessions < sessions;
             w.now += ROUND) {
            if (lost < 2 && lose_one(&w.up, PK_READY) && !lost++) from = w.now;
            run_down();
            run_up();
        }
        ck_assert_uint_eq(w.parent.side->counters.sessions, sessions);
        ck_assert_uint_eq(lost, 2);
        ck_assert_uint_le(w.now - from, 300000);
    }
    ck_assert_uint_eq(w.parent.side->counters.outages, 0);
    uint64_t refused = w.parent.side->counters.refused;
    go_on(5000000);
    ck_assert_uint_le(w.parent.side->counters.refused, refused + 1); /* nor for ever */
    teardown();
}
END_TEST

/* A WHO that was once said comes again and again: of a session that works it makes a new one each second at most. */
START_TEST(test_an_old_who_makes_few_sessions) {
    struct scenario s = quiet("who");
    uint8_t who[PK_CONTROL_MAX], copy[PK_CONTROL_MAX];
    size_t n;

    setup(&s, 15);
    n = pk_session_begin(w.parent.session, who);
    go_on(2000000);
    for (int i = 0; i < 1000; i++) { /* ten seconds */
        memcpy(copy, who, n);
        pk_side_datagram(w.child.side, copy, n, w.now);
        go_on(10000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    }
    ck_assert_uint_le(w.parent.side->counters.sessions, 1 + 10);
    teardown();
}
END_TEST

/* Who stands aside says so and nothing else; what can't be opened is no reason for another session. */
START_TEST(test_a_child_that_stands_aside_is_heard) {
    struct scenario s = quiet("heard");
    uint8_t junk[64] = { PK_STATUS };

    setup(&s, 16);
    go_on(1000000);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
    for (int i = 0; i < 1000; i++) {
        uint8_t copy[sizeof junk];
        memcpy(copy, junk, sizeof junk);
        pk_side_datagram(w.parent.side, copy, sizeof copy, w.now);
        go_on(20000);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

/* Neither end ran for so long that the session was over when it went on. */
START_TEST(test_after_a_long_pause_the_child_begins) {
    struct scenario s = quiet("pause");

    setup(&s, 17);
    go_on(1000000);
    w.now += PK_REJECT_US;
    lose(&w.up);
    lose(&w.down);
    pk_side_aside(w.child.side, PK_WHY_DOWN, w.now); /* it finds out as something else happens */
    ck_assert_uint_le(pk_side_due(w.child.side), w.now);
    go_on(10000);
    ck_assert(pk_session_established(w.child.session) && pk_session_established(w.parent.session));
    ck_assert_uint_eq(w.parent.side->counters.sessions, 2);
    teardown();
}
END_TEST

/* Somebody lets only the handshake not pass: both know that there is no session after three minutes. */
START_TEST(test_without_a_handshake_a_session_ends) {
    struct scenario s = quiet("kept");
    uint64_t end;

    setup(&s, 12);
    go_on(1000000);
    for (end = w.now + PK_REJECT_US; w.now < end; w.now += ROUND) {
        for (struct queue *q = &w.up; q; q = q == &w.up ? &w.down : NULL) {
            unsigned left = 0;
            for (unsigned i = 0; i < q->n; i++) {
                if (pk_wire_is_handshake(q->thing[i]->bytes, q->thing[i]->n)) free(q->thing[i]);
                else q->thing[left++] = q->thing[i];
            }
            q->n = left;
        }
        run_down();
        run_up();
    }
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_SESSION);
    ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_SESSION);
    go_on(4000000);
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
    teardown();
}
END_TEST

/*
 * A machine that goes back to a snapshot: the child has seen more than the parent says to have sent; or nothing new is
 * heard of the child but what had come before.
 */
START_TEST(test_who_went_back_begins_anew) {
    struct scenario s = quiet("back");
    uint8_t bytes[PK_SEAL_MORE + sizeof(struct pk_wire_status)];
    struct pk_wire_status *word = (void *)(bytes + PK_SEAL_HEAD);
    size_t n;

    setup(&s, 13);
    go_on(1000000);
    pk_put64(word->newest, pk_session_sent(w.parent.session));
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    pk_side_datagram(w.parent.side, bytes, n, w.now);
    ck_assert(pk_session_established(w.parent.session));
    pk_put64(word->newest, pk_session_sent(w.parent.session) + 1);
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    pk_side_datagram(w.parent.side, bytes, n, w.now);
    ck_assert(!pk_session_established(w.parent.session));
    go_on(2000000);
    ck_assert_uint_eq(w.parent.side->counters.sessions, 2);
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    pk_put64(word->newest, 0);
    pk_put64(word->newest_probe, 0);
    n = pk_seal(w.child.session, PK_STATUS, bytes, sizeof *word);
    for (int i = 0; i < 40; i++) { /* two seconds of what was said before */
        uint8_t copy[sizeof bytes];
        memcpy(copy, bytes, n);
        pk_side_datagram(w.parent.side, copy, n, w.now);
        for (uint64_t end = w.now + 50000; w.now < end; w.now += ROUND) {
            run_down();
            for (unsigned k = 0; k < w.up.n; k++) { /* but the handshake */
                if (!pk_wire_is_handshake(w.up.thing[k]->bytes, w.up.thing[k]->n)) w.up.thing[k]->bytes[5] ^= 1;
            }
            run_up();
        }
    }
    go_on(1000000);
    ck_assert_uint_ge(w.parent.side->counters.sessions, 3);
    ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
    teardown();
}
END_TEST

/* One datagram lost, and for the rest of the session the other end took this one to stand aside. */
START_TEST(test_a_lost_word_is_no_standing_aside) {
    struct scenario s = quiet("aside");

    setup(&s, 5);
    go_on(20000);
    ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
    for (int lost = 0; lost < 2; lost++) {
        pk_side_aside(w.child.side, PK_WHY_DOWN, w.now);
        if (lost) lose(&w.up);
        go_on(1000000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_DOWN);
        pk_side_aside(w.child.side, PK_WHY_NOTHING, w.now);
        if (lost) lose(&w.up);
        go_on(1000000);
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_NOTHING);
        pk_side_aside(w.parent.side, PK_WHY_DOWN, w.now);
        if (lost) lose(&w.down);
        go_on(1500000);
        ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_DOWN);
        pk_side_aside(w.parent.side, PK_WHY_NOTHING, w.now);
        if (lost) lose(&w.down);
        go_on(1500000);
        ck_assert_int_eq(pk_side_why(w.child.side), PK_WHY_NOTHING);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

/*
 * A link that is cut, one way or both, while nobody asks for anything: each end knows within 2 s, the child from the
 * parent where it can't see that by itself.  It had said that it was at work while nothing went in trains.
 */
START_TEST(test_an_idle_link_that_is_cut) {
    struct scenario s = quiet("cut");
    bool down = _i & 1, up = _i & 2;

    setup(&s, 18);
    go_on(5000000);
    for (int times = 0; times < 3; times++) {
        ck_assert(pk_side_why(w.parent.side) == PK_WHY_NOTHING && pk_side_why(w.child.side) == PK_WHY_NOTHING);
        for (uint64_t end = w.now + 2000000; w.now < end; w.now += ROUND) {
            run_down();
            if (up) lose(&w.up);
            run_up();
            if (down) lose(&w.down);
        }
        ck_assert_int_eq(pk_side_why(w.parent.side), PK_WHY_SILENT);
        ck_assert_int_eq(pk_side_why(w.child.side), down ? PK_WHY_UNHEARD : PK_WHY_SILENT);
        go_on(2000000);
    }
    ck_assert_uint_eq(w.parent.side->counters.sessions, 1);
    teardown();
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: a pair");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, test_a_joined_connection_may_have_been_authorized);
    tcase_add_test(t, test_what_a_probe_holds_cannot_be_known);
    tcase_add_test(t, test_a_lost_word_is_no_standing_aside);
    tcase_add_loop_test(t, test_an_idle_link_that_is_cut, 1, 4);
    tcase_add_test(t, test_a_session_is_renewed_without_a_pause);
    tcase_add_test(t, test_a_lost_ready_is_said_again);
    tcase_add_test(t, test_what_is_half_new_is_followed);
    tcase_add_test(t, test_a_lost_train_goes_once_more);
    tcase_add_test(t, test_trains_wait_in_their_order);
    tcase_add_test(t, test_an_old_who_makes_few_sessions);
    tcase_add_test(t, test_a_child_that_stands_aside_is_heard);
    tcase_add_test(t, test_after_a_long_pause_the_child_begins);
    tcase_add_test(t, test_without_a_handshake_a_session_ends);
    tcase_add_test(t, test_who_went_back_begins_anew);
    tcase_add_loop_test(t, test_scenario, 0, sizeof scenarios / sizeof *scenarios);
    suite_add_tcase(s, t);
    return run_suite(s);
}
