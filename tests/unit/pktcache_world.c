/* SPDX-License-Identifier: BSD-2-Clause */
#include "pktcache_world.h"

#include "pktcache/pk_child.h"
#include "pktcache/pk_parent.h"

#include <stdio.h>

struct world w;

static uint64_t state;
uint32_t dice(uint32_t n) {
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
    t->tos = 0;
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

static void datagram_down(void *context, const void *bytes, size_t n, uint8_t tos) {
    struct iovec part = { (void *)bytes, n };
    (void)context;
    ck_assert_uint_le(n + 28 + 20 * (w.s->version == 6), w.s->mtu);
    struct thing *t = new_thing(true, &part, 1);
    t->tos = tos;
    put(&w.down, t);
}

static void datagram_up(void *context, const void *bytes, size_t n, uint8_t tos) {
    struct iovec part = { (void *)bytes, n };
    (void)context;
    ck_assert_uint_le(n + 28, w.s->mtu);
    struct thing *t = new_thing(true, &part, 1);
    t->tos = tos;
    put(&w.up, t);
}

uint64_t said;

void say(void *context, enum base_log_priority p, const char *sentence) {
    (void)context;
    (void)p;
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
    memset(s->tos + at, ip[0] >> 4 == 4 ? ip[1] : (ip[0] << 4 | ip[1] >> 4) & 0xff, k.payload);
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

void end_side(struct side *s) {
    if (s->side) add(&s->sum, &s->side->counters);
    pk_side_free(&s->side);
    pk_session_free(&s->session);
    pk_store_free(&s->store);
}

static const uint8_t key_bytes[PK_FINGERPRINT_KEY] = "a key for the fingerprints";

void begin_parent(void) {
    struct pk_out out = { NULL, packet_down, datagram_down, say, NULL };
    w.parent.store = pk_store_make(w.s->cache, PK_STORE_PARENT);
    w.parent.session = pk_session_make(&w.secret, PK_PARENT, 0, 1, PK_FINGERPRINT_HIGHWAY);
    w.parent.side = pk_parent_make(&w.config, w.parent.store, w.parent.session, &out);
}

void begin_child(void) {
    struct pk_out out = { NULL, packet_out, datagram_up, say, NULL };
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
    if (t->datagram) pk_side_datagram(w.child.side, t->bytes, t->n, t->tos, w.now);
    else pk_side_packet(w.child.side, t->bytes, t->n, w.now);
}

static void take_up(struct thing *t) { pk_side_datagram(w.parent.side, t->bytes, t->n, t->tos, w.now); }

void run_down(void) {
    arrive(&w.down, take_down);
    if (pk_side_due(w.child.side) <= w.now) pk_side_tick(w.child.side, w.now);
}

void run_up(void) {
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

void begin_stream(struct stream *s) {
    memset(s, 0, sizeof *s);
    s->used = true;
    s->port = 2000 + w.port++ % 60000;
    s->client = 1 + dice(200);
    s->first = dice(4) ? (uint32_t)(state >> 20) : UINT32_MAX - dice(30000);
    s->data = malloc(2 * LENGTH);
    s->got = calloc(1, 2 * LENGTH);
    s->tos = calloc(1, 2 * LENGTH);
    s->moved = w.round;
    fill_stream(s);
    w.begun++;
}

void from_server(struct stream *s, uint32_t at, uint32_t n, uint32_t segment) {
    static uint16_t id;
    struct wire h = { .version = w.s->version,
                      .client = s->client,
                      .port = s->port,
                      .seq = s->first + at,
                      .ack = 555,
                      .id = id,
                      .tos = w.tos,
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

void to_parent(struct wire h, const void *payload, uint32_t n) {
    uint8_t piece[2048];
    h.version = w.s->version;
    h.whole_sum = true;
    pk_side_packet(w.parent.side, piece, make_piece(piece, &h, payload, n), w.now);
}

/* The connection and its request, over a good link. */
void ask(struct stream *s) {
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
void acknowledge(struct stream *s) {
    if (!s->asked || s->told == s->acked) return;
    s->told = s->acked;
    to_parent(
        (struct wire){
            .client = s->client, .port = s->port, .up = true, .seq = 573, .ack = s->first + s->acked, .flags = PK_ACK },
        NULL, 0);
}

void serve(struct stream *s) {
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

void attack(void) {
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
/* ---- a world ----------------------------------------------------------------------------------------------------- */

void setup(const struct scenario *s, int number) {
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

void teardown(void) {
    end_side(&w.parent);
    end_side(&w.child);
    for (unsigned i = 0; i < w.down.n; i++) free(w.down.thing[i]);
    for (unsigned i = 0; i < w.up.n; i++) free(w.up.thing[i]);
    for (int i = 0; i < OLD; i++) free(w.old[i]);
    for (int i = 0; i < STREAMS; i++) {
        free(w.stream[i].data);
        free(w.stream[i].got);
        free(w.stream[i].tos);
    }
}

void lose(struct queue *q) {
    while (q->n) free(q->thing[--q->n]);
}

void go_on(uint64_t microseconds) {
    for (uint64_t end = w.now + microseconds; w.now < end; w.now += ROUND) {
        run_down();
        run_up();
    }
}

struct scenario quiet(const char *name) {
    return (struct scenario){ .name = name,
                              .version = 4,
                              .mode = PK_MODE_TRAIN,
                              .keep = PK_KEEP_ALL,
                              .mss = 1448,
                              .mtu = 1500,
                              .cache = 1 << 20 };
}

/* Takes the first datagram of that type off the link. */
bool lose_one(struct queue *q, enum pk_type type) {
    for (unsigned i = 0; i < q->n; i++) {
        if (!q->thing[i]->datagram || *q->thing[i]->bytes != type) continue;
        free(q->thing[i]);
        q->thing[i] = q->thing[--q->n];
        return true;
    }
    return false;
}

/* A response over HTTP of which nothing was sent; the same bytes as `as`, unless that is NULL. */
struct stream *asked_stream(int i, const struct stream *as) {
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
void trust(const struct scenario *s) {
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
