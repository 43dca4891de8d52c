/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache.c - packets, trains, the store, flows, configurations of pktcache/. */
#include "test_pktcache.h"

#include "pktcache/pk_config.h"
#include "pktcache/pk_flows.h"
#include "pktcache/pk_ranges.h"
#include "pktcache/pk_store.h"
#include "pktcache/pk_train.h"
#include "run_suite.h"

#include <stdio.h>
#include <unistd.h>

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static const uint8_t text[3000] = { [0] = 'a', [1] = 'b', [2999] = 'z' };

START_TEST(test_parse) {
    uint8_t piece[8192];
    struct pk_packet k;
    for (int version = 4; version <= 6; version += 2) {
        struct wire w = { .version = version,
                          .client = 7,
                          .port = 1234,
                          .seq = 99,
                          .flags = PK_ACK | PK_PSH,
                          .stamp = 5,
                          .segment = 1000 };
        size_t n = make_piece(piece, &w, text, 2500), ip = version == 4 ? 20 : 40;
        ck_assert_int_eq(pk_packet_parse(&k, piece, n), PK_TCP);
        ck_assert_uint_eq(k.ip_header, ip);
        ck_assert_uint_eq(k.headers, ip + 32);
        ck_assert_uint_eq(k.payload, 2500);
        ck_assert_uint_eq(k.segment, 1000);
        ck_assert_uint_eq(k.segments, 3);
        ck_assert_uint_eq(k.seq, 99);
        for (size_t cut = 0; cut < n; cut++) ck_assert_int_eq(pk_packet_parse(&k, piece, cut), PK_OTHER);
    }
}
END_TEST

START_TEST(test_parse_odd) {
    static const struct {
        const char *why;
        size_t at;
        uint8_t value;
    } odd[] = {
        { "version 5", 10, 0x55 },
        { "a header of 16 bytes", 10, 0x44 },
        { "a header longer than the packet", 10, 0x4f },
        { "more fragments", 16, 0x20 },
        { "an offset", 17, 1 },
        { "UDP", 19, 17 },
        { "a length that is not the packet's", 13, 1 },
        { "a TCP header of 16 bytes", 42, 0x40 },
        { "a TCP header of 60 bytes", 42, 0xf0 },
        { "segments of IPv6", 1, VIRTIO_NET_HDR_GSO_TCPV6 },
        { "UDP's segments", 1, VIRTIO_NET_HDR_GSO_UDP },
        { "segments of no bytes", 1, VIRTIO_NET_HDR_GSO_TCPV4 },
    };
    uint8_t piece[256];
    struct pk_packet k;
    struct wire w = { .version = 4, .client = 1, .port = 1, .flags = PK_ACK };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        size_t n = make_piece(piece, &w, text, 10);
        ck_assert_int_eq(pk_packet_parse(&k, piece, n), PK_TCP);
        piece[odd[i].at] = odd[i].value;
        ck_assert_msg(pk_packet_parse(&k, piece, n) == PK_OTHER && !k.ip, "%s", odd[i].why);
    }
}
END_TEST

START_TEST(test_intact) {
    uint8_t piece[4096];
    struct pk_packet k;
    for (int version = 4; version <= 6; version += 2) {
        for (uint32_t length = 0; length < 70; length++) {
            struct wire w = {
                .version = version, .client = 3, .port = 40000, .seq = 0xfffffff0, .flags = PK_ACK, .whole_sum = true
            };
            size_t n = make_piece(piece, &w, text, length);
            ck_assert_int_eq(pk_packet_parse(&k, piece, n), PK_TCP);
            ck_assert(!k.checked && pk_packet_intact(&k));
            piece[n - 1] ^= 4;
            ck_assert(!pk_packet_intact(&k));
        }
    }
}
END_TEST

static void take_one(void *context, const uint8_t *ip, size_t n) {
    uint8_t **at = context;
    memcpy(*at, ip, n);
    *at += n;
}

/* A header that was taken off makes the same packets again. */
START_TEST(test_head) {
    uint8_t piece[8192], again[8192], one[8192], two[8192], *at_one, *at_two;
    struct pk_packet k;
    struct pk_head h;
    for (int version = 4; version <= 6; version += 2) {
        struct wire w = { .version = version,
                          .client = 9,
                          .port = 50000,
                          .seq = 0xffffff00,
                          .id = 0xffff,
                          .flags = PK_ACK | PK_PSH | PK_FIN,
                          .stamp = 9,
                          .segment = 1448 };
        size_t n = make_piece(piece, &w, text, 2999);
        ck_assert_int_eq(pk_packet_parse(&k, piece, n), PK_TCP);
        pk_head_of(&h, &k);
        struct pk_head valid = h;
        ck_assert(pk_head_valid(&valid) && valid.ip_header == h.ip_header);
        /* As one piece, and as its first segment and the rest. */
        size_t head = pk_head_write(&h, 1448, 1448, 0, again);
        memcpy(again + head, text, 1448);
        at_one = one;
        segment_piece(again, head + 1448, take_one, &at_one);
        pk_head_advance(&h, 1448, 1);
        head = pk_head_write(&h, 1551, 1448, w.flags, again);
        memcpy(again + head, text + 1448, 1551);
        segment_piece(again, head + 1551, take_one, &at_one);
        at_two = two;
        struct virtio_net_hdr v; /* the piece as made has no partial sum */
        memcpy(&v, piece, sizeof v);
        v.flags = 0;
        memcpy(piece, &v, sizeof v);
        segment_piece(piece, n, take_one, &at_two);
        ck_assert_int_eq(at_one - one, at_two - two);
        ck_assert(!memcmp(one, two, (size_t)(at_one - one)));
    }
}
END_TEST

/* ---- trains ------------------------------------------------------------------------------------------------------ */

static struct pk_head head_for(struct wire *w, uint32_t n) {
    uint8_t piece[70000], *payload = calloc(1, n + 1);
    struct pk_packet k;
    struct pk_head h;
    size_t bytes = make_piece(piece, w, payload, n);
    free(payload);
    ck_assert_int_eq(pk_packet_parse(&k, piece, bytes), PK_TCP);
    pk_head_of(&h, &k);
    return h;
}

START_TEST(test_train) {
    uint8_t bytes[1400];
    struct pk_train t;
    struct pk_reader r;
    struct pk_record record;
    struct pk_fingerprint fps[200];
    struct wire w = { .version = 4, .client = 1, .port = 1000, .seq = 1000, .id = 5, .flags = PK_ACK, .stamp = 1 };
    struct pk_head h = head_for(&w, 10);

    for (uint64_t i = 0; i < 200; i++) fps[i] = (struct pk_fingerprint){ { i, ~i } };
    pk_train_open(&t, bytes, sizeof bytes, &h);
    ck_assert_uint_eq(pk_train_tokens(&t, &h, fps, 3, 1448, 100, PK_PSH), 3);
    w.seq += 2 * 1448 + 100;
    w.id = (uint16_t)(w.id + 3);
    w.stamp++; /* changed */
    h = head_for(&w, 10);
    ck_assert(pk_train_literal(&t, &h, "hello", 5, 0));
    w.seq += 5;
    w.id++;
    h = head_for(&w, 10);
    ck_assert_uint_eq(pk_train_tokens(&t, &h, fps + 3, 1, 1000, 1000, 0), 1);
    w.seq += 1000;
    w.id++;
    h = head_for(&w, 10);
    ck_assert_uint_eq(pk_train_tokens(&t, &h, fps + 4, 1, 700, 700, PK_FIN), 1); /* goes with the one before */
    w.seq++;                                                                     /* does not follow */
    h = head_for(&w, 10);
    ck_assert_uint_eq(pk_train_tokens(&t, &h, fps + 5, 1, 700, 700, 0), 0);
    w.seq += 700 - 1;
    w.id++;
    h = head_for(&w, 10);
    ck_assert(pk_train_native(&t, &h, 5000));
    ck_assert_uint_eq(t.saved, 2 * 1448 + 100 + 5 + 1000 + 700 + 6 * 52);

    ck_assert(pk_train_read(&r, bytes, t.n));
    ck_assert_int_eq(pk_train_next(&r, &record), PK_RECORD);
    ck_assert(record.kind == PK_TOKENS && record.count == 3 && record.segment == 1448 && record.n == 2996 &&
              record.flags == PK_PSH && pk_head_seq(&record.head) == 1000);
    ck_assert(!memcmp(record.bytes + 16, &fps[1], 16));
    ck_assert_int_eq(pk_train_next(&r, &record), PK_RECORD);
    ck_assert(record.kind == PK_LITERAL && record.n == 5 && !memcmp(record.bytes, "hello", 5) &&
              get32(record.head.bytes + 44) == 2);
    ck_assert_int_eq(pk_train_next(&r, &record), PK_RECORD);
    ck_assert(record.kind == PK_TOKENS && record.count == 2 && record.segment == 1000 && record.n == 1700 &&
              record.flags == PK_FIN);
    ck_assert_int_eq(pk_train_next(&r, &record), PK_RECORD);
    ck_assert(record.kind == PK_NATIVE && record.n == 5000 && pk_head_seq(&record.head) == w.seq);
    ck_assert_int_eq(pk_train_next(&r, &record), PK_TRAIN_END);
    /* Cut anywhere, it is nonsense at the end or the end of a record. */
    for (size_t n = 0; n < t.n; n++) {
        enum pk_read read = PK_TRAIN_BAD;
        if (pk_train_read(&r, bytes, n))
            while ((read = pk_train_next(&r, &record)) == PK_RECORD) {}
        ck_assert(read == PK_TRAIN_BAD || n == 53 || n > 53);
    }
    /* As many as there is room for. */
    pk_train_open(&t, bytes, sizeof bytes, &h);
    uint32_t found = pk_train_tokens(&t, &h, fps, 200, 300, 300, PK_PSH);
    ck_assert_uint_eq(found, (1400 - 53 - 6) / 16);
    ck_assert(pk_train_read(&r, bytes, t.n) && pk_train_next(&r, &record) == PK_RECORD && record.count == found &&
              !record.flags);
}
END_TEST

/* ---- the store --------------------------------------------------------------------------------------------------- */

START_TEST(test_store) {
    static const uint8_t secret[PK_FINGERPRINT_KEY] = "a secret of the test";
    pk_store_t *s = pk_store_make(PK_STORE_LEAST, PK_STORE_PARENT);
    struct pk_fingerprint_key key;
    struct pk_fingerprint fp;
    uint8_t bytes[1448], out[1448];
    enum { ALL = 3000 };

    pk_fingerprint_key_set(&key, secret, PK_FINGERPRINT_HIGHWAY);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < ALL; i++) {
            memset(bytes, (int)i, sizeof bytes);
            memcpy(bytes, &i, sizeof i);
            pk_fingerprint_of(&key, bytes, sizeof bytes, &fp);
            ck_assert_int_eq(pk_store_meet(s, &fp, bytes, sizeof bytes), PK_NEW); /* the ring takes 724 */
            ck_assert_int_eq(pk_store_meet(s, &fp, bytes, sizeof bytes), PK_SAME);
            ck_assert_int_eq(pk_store_meet(s, &fp, bytes, sizeof bytes - 1), PK_CLASH);
            ck_assert_uint_eq(pk_store_get(s, &fp, out, sizeof out), sizeof bytes);
            ck_assert(!memcmp(out, bytes, sizeof bytes));
            ck_assert_uint_eq(pk_store_get(s, &fp, out, sizeof out - 1), 0);
        }
    }
    unsigned there = 0, of_half = 0;
    for (int half = 0; half < 2; half++) {
        for (unsigned i = 0; i < ALL; i++) {
            memset(bytes, (int)i, sizeof bytes);
            memcpy(bytes, &i, sizeof i);
            pk_fingerprint_of(&key, bytes, sizeof bytes, &fp);
            uint32_t n = pk_store_get(s, &fp, out, sizeof out);
            ck_assert(!n || !memcmp(out, bytes, n));
            *(half ? &of_half : &there) += n > 0;
        }
        pk_store_limit(s, PK_STORE_LEAST / 2);
    }
    /* The newest, all of them: 4 ways for what is an eighth of the sets on average. */
    ck_assert_uint_le(there, PK_STORE_LEAST / sizeof bytes);
    ck_assert_uint_ge(there, PK_STORE_LEAST / sizeof bytes - 30);
    ck_assert_uint_le(of_half, PK_STORE_LEAST / 2 / sizeof bytes);
    ck_assert_uint_ge(of_half, PK_STORE_LEAST / 2 / sizeof bytes - 30);
    /* What was put in again is the newest again. */
    unsigned back = 0;
    for (unsigned i = 0; i < 500; i++) {
        memset(bytes, 1, sizeof bytes);
        memcpy(bytes, i % 2 ? "again" : (char *)&i, sizeof i);
        pk_fingerprint_of(&key, bytes, sizeof bytes, &fp);
        back += pk_store_put(s, &fp, bytes, sizeof bytes);
    }
    ck_assert_uint_eq(back, 251);
    ck_assert_uint_eq(pk_store_get(s, &fp, out, sizeof out), sizeof bytes);
    pk_store_mirrors(s, (const uint8_t[16]){ 1 });
    ck_assert_uint_eq(pk_store_get(s, &fp, out, sizeof out), 0);
    pk_store_free(&s);
    ck_assert_ptr_null(s);
}
END_TEST

/* ---- flows ------------------------------------------------------------------------------------------------------- */

static void count_gone(void *context, struct pk_flow *f) {
    (void)f;
    ++*(int *)context;
}

START_TEST(test_flows) {
    int gone = 0;
    pk_flows_t *t = pk_flows_make(64, sizeof(struct pk_flow), count_gone, &gone);
    struct pk_tuple tuple = { .from_port = 1 };
    for (uint32_t i = 0; i < 1000; i++) {
        memcpy(tuple.to, &i, sizeof i);
        pk_flows_get(t, &tuple)->bytes = i;
        struct pk_tuple first = { .from_port = 1 };
        ck_assert_ptr_nonnull(pk_flows_find(t, &first)); /* is asked for, so it stays */
    }
    ck_assert_int_eq(gone, 1000 - 64);
    ck_assert_uint_eq(pk_flows_used(t), 64);
    unsigned seen = 0;
    for (struct pk_flow *f = NULL; (f = pk_flows_next(t, f));) {
        ck_assert(f->bytes == 0 || f->bytes >= 1000 - 63);
        seen++;
    }
    ck_assert_uint_eq(seen, 64);
    while (pk_flows_next(t, NULL)) pk_flows_drop(t, pk_flows_next(t, NULL));
    ck_assert_uint_eq(pk_flows_used(t), 0);
    ck_assert_int_eq(gone, 1000);
    pk_flows_free(&t);
}
END_TEST

/* ---- configurations ---------------------------------------------------------------------------------------------- */

#define NEEDED                                                                                                         \
    "secret /k\nlocal 192.0.2.1:4754\npeer 192.0.2.2:4754\nservers 10.0.0.0/8 2001:db8::/32\nclients 192.168.0.0/16 "  \
    "::/0\n"

static int read_text(struct pk_config *c, const char *config, bool all, char **error) {
    char path[] = "/tmp/fairgate-test-XXXXXX";
    int fd = mkstemp(path);
    *error = NULL;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, config, strlen(config)), (ssize_t)strlen(config));
    close(fd);
    int rv = pk_config_read(c, path, all, error);
    unlink(path);
    return rv;
}

START_TEST(test_config) {
    struct pk_config c;
    struct pk_tuple t = { .from = { 0x20, 1, 0xd, 0xb8, [15] = 1 }, .to = { 0x20, 3 }, .from_port = htons(8080) };
    char *error;
    ck_assert_msg(!read_text(&c, "# a comment\n" NEEDED "\tports 80 8080\ncache 1G\n mode\twindow \n", false, &error),
                  "%s", error);
    ck_assert_uint_eq(c.cache, UINT64_C(1) << 30);
    ck_assert_int_eq(c.mode, PK_MODE_WINDOW);
    ck_assert_uint_eq(c.hold, 1000);
    ck_assert_uint_eq(c.server.n, 2);
    ck_assert(pk_config_serves(&c, &t));
    t.from[3] = 0xb9;
    ck_assert(!pk_config_serves(&c, &t));
    t = (struct pk_tuple){ .from = { [10] = 0xff, [11] = 0xff, 10, 1, 2, 3 },
                           .to = { [10] = 0xff, [11] = 0xff, 192, 168 },
                           .from_port = htons(80) };
    ck_assert(pk_config_serves(&c, &t));
    t.to[13] = 169;
    ck_assert(!pk_config_serves(&c, &t));
    t.to[13] = 168;
    t.from_port = htons(81);
    ck_assert(!pk_config_serves(&c, &t));
    pk_config_free(&c);
    ck_assert_msg(!read_text(&c, NEEDED "ports any\n", true, &error), "%s", error);
    ck_assert(c.keep == PK_KEEP_ALL && pk_config_serves(&c, &t));
    pk_config_free(&c);
}
END_TEST

START_TEST(test_config_wrong) {
    static const struct {
        const char *config, *said;
    } wrong[] = {
        { "", "secret is missing" },
        { NEEDED "secret /k\n", ":6: secret: given twice" },
        { NEEDED "colour red\n", ":6: colour: no such setting" },
        { NEEDED "cache 1\n", "must be a number of bytes from 1048576" },
        { NEEDED "cache 1T\n", "must be a number" },
        { NEEDED "cache -1\n", "must be a number" },
        { NEEDED "cache 99999999999G\n", "must be a number" },
        { NEEDED "mode fast\n", "must be one of: packet window train" },
        { NEEDED "mode\n", "needs a value" },
        { NEEDED "servers 10.0.0.1/8\n", "has bits set" },
        { NEEDED "servers 10.0.0.0/33\n", "BITS must be" },
        { NEEDED "servers example.org/8\n", "no address" },
        { NEEDED "servers 10.0.0.0\n", "must be ADDRESS/BITS" },
        { NEEDED "ports 0\n", "must be a port" },
        { NEEDED "ports any\n", "only with `keep all`" },
        { "secret /k\nlocal 192.0.2.1:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\n", "clients is missing" },
        { NEEDED "clients 1.2.3.4\n", "clients 1.2.3.4: must be ADDRESS/BITS" },
        { "secret /k\nlocal 192.0.2.1:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 2001:db8::/32\n",
          "none of IPv4, as servers 10.0.0.0/8" },
        { NEEDED "marks a b\n", "4 characters" },
        { NEEDED "marks <!--x-->\n", "two words" },
        { NEEDED "device a/b\n", "1 to 15" },
        { "secret /k\nlocal [2001:db8::1]:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 0.0.0.0/0\n",
          "one is of IPv4" },
        { "secret /k\nlocal 2001:db8::1:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 0.0.0.0/0\n",
          "must be ADDRESS:PORT" },
        { "secret /k\nlocal 192.0.2.1:65536\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 0.0.0.0/0\n",
          "must be a port" },
    };
    struct pk_config c;
    char *error;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(read_text(&c, wrong[i].config, false, &error), -1);
        ck_assert_msg(error && strstr(error, wrong[i].said), "%s: %s", wrong[i].said, error);
        free(error);
        pk_config_free(&c);
    }
}
END_TEST

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

START_TEST(test_ranges) {
    struct pk_ranges r = { .oldest = 0 };
    ck_assert(!pk_ranges_have(&r, 0, 1) && !pk_ranges_have(&r, 7, 1));
    pk_ranges_add(&r, UINT32_MAX - 99, 300); /* across the end of the numbers */
    pk_ranges_add(&r, 200, 100);             /* and on */
    ck_assert(pk_ranges_have(&r, UINT32_MAX - 99, 400) && pk_ranges_have(&r, 299, 1) &&
              pk_ranges_have(&r, UINT32_MAX, 2));
    ck_assert(!pk_ranges_have(&r, 299, 2) && !pk_ranges_have(&r, UINT32_MAX - 100, 2) && !pk_ranges_have(&r, 300, 1));
    for (uint32_t i = 1; i < PK_RANGES_MAX; i++) pk_ranges_add(&r, i * 1000, 10);
    ck_assert(pk_ranges_have(&r, 0, 300) && pk_ranges_have(&r, (PK_RANGES_MAX - 1) * 1000, 10));
    pk_ranges_add(&r, 90000, 10);
    ck_assert(!pk_ranges_have(&r, 0, 300) && pk_ranges_have(&r, 1000, 10) && pk_ranges_have(&r, 90000, 10));
    pk_ranges_pass(&r, 16 << 20);
    ck_assert(pk_ranges_have(&r, 1000, 10));
    pk_ranges_pass(&r, (16 << 20) + 20000); /* what is 16 MB behind and more */
    ck_assert(!pk_ranges_have(&r, 1000, 10) && pk_ranges_have(&r, 90000, 10));
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, test_parse);
    tcase_add_test(t, test_parse_odd);
    tcase_add_test(t, test_intact);
    tcase_add_test(t, test_head);
    tcase_add_test(t, test_train);
    tcase_add_test(t, test_store);
    tcase_add_test(t, test_flows);
    tcase_add_test(t, test_ranges);
    tcase_add_test(t, test_config);
    tcase_add_test(t, test_config_wrong);
    suite_add_tcase(s, t);
    return run_suite(s);
}
