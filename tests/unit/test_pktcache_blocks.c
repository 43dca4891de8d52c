/* SPDX-License-Identifier: BSD-2-Clause */
/* test_pktcache_blocks.c - bodies cut into blocks: what is kept of them, what is known again, what a train says. */
#include "test_pktcache.h"

#include "pktcache/pk_cut.h"
#include "pktcache/pk_told.h"
#include "pktcache/pk_train.h"

#include <stdio.h>

enum { BODY = 40000, MOST = 2 * BODY };

static struct eeod_marks marks;
static struct pk_fingerprint_key key;
static uint8_t body[BODY];

static void setup(void) {
    uint8_t secret[PK_FINGERPRINT_KEY] = "a key";
    ck_assert_ptr_null(eeod_marks_set(&marks, "<!--EEOD-->", "<!--/EEOD-->"));
    pk_fingerprint_key_set(&key, secret, PK_FINGERPRINT_HIGHWAY);
    srand(1);
    for (int i = 0; i < BODY; i++) body[i] = (uint8_t)rand();
}

/* A response with this body, in chunks of random length or not; framing[i]: byte i is none of the body.  Its bytes. */
static uint32_t respond(const uint8_t *bytes, uint32_t n, bool chunked, uint8_t *out, char *framing) {
    char head[200];
    uint32_t at =
        (uint32_t)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nCache-Control: public\r\nX: %d\r\n", rand());

    at += (uint32_t)snprintf(head + at, sizeof head - at,
                             chunked ? "%sTransfer-Encoding: chunked\r\n\r\n" : "%sContent-Length: %u\r\n\r\n", "", n);
    memcpy(out, head, at);
    memset(framing, 1, MOST);
    for (uint32_t i = 0, part; i < n; i += part) {
        part = chunked ? 1 + (uint32_t)rand() % (rand() % 3 ? 9000 : 50) : n;
        if (part > n - i) part = n - i;
        if (chunked) at += (uint32_t)sprintf((char *)out + at, "%x;x=y\r\n", part);
        memcpy(out + at, bytes + i, part);
        memset(framing + at, 0, part);
        at += part;
        if (chunked) at += (uint32_t)sprintf((char *)out + at, "\r\n");
    }
    if (chunked) at += (uint32_t)sprintf((char *)out + at, "0\r\nX: y\r\n\r\n");
    return at;
}

/* One that is asked for. */
static void begin(struct pk_http *h) {
    static const char ask[] = "GET / HTTP/1.1\r\n\r\n";
    pk_http_begin(h);
    pk_http_ask(h, ask, sizeof ask - 1);
}

/* Pieces of random length in segments of random length, each with its spans. */
static void feed(struct pk_http *h, const uint8_t *all, uint32_t n, uint32_t most,
                 void (*take)(void *context, const uint8_t *piece, uint32_t at, uint32_t n, uint32_t segment,
                              const struct pk_spans *spans),
                 void *context) {
    struct pk_spans spans;
    for (uint32_t at = 0, piece; at < n; at += piece) {
        uint32_t segment = 1 + (uint32_t)rand() % 1460;
        piece = 1 + (uint32_t)rand() % (rand() % 2 ? most : 2000);
        if (piece > n - at) piece = n - at;
        if (piece > segment * PK_SEGMENTS_MAX) piece = segment * PK_SEGMENTS_MAX;
        uint8_t *exact = malloc(piece);
        memcpy(exact, all + at, piece);
        spans.n = 0;
        for (uint32_t i = 0; i < piece; i += segment) {
            spans.base = i;
            ck_assert(!pk_http_answer(h, &marks, exact + i, piece - i < segment ? piece - i : segment, &spans));
        }
        take(context, exact, at, piece, segment, &spans);
        free(exact);
    }
}

struct spanned {
    const char *framing;
    uint32_t n, begun, ended;
    uint8_t got[MOST];
};

static void take_spans(void *context, const uint8_t *piece, uint32_t at, uint32_t n, uint32_t segment,
                       const struct pk_spans *spans) {
    struct spanned *s = context;
    uint32_t behind = 0;
    (void)segment;
    for (uint32_t i = 0; i < spans->n; i++) {
        const struct pk_span *span = spans->span + i;
        ck_assert(span->at >= behind && span->at <= n && span->n <= n - span->at);
        ck_assert_msg(!s->framing || !span->n || !memchr(s->framing + at + span->at, 1, span->n), "framing is kept");
        ck_assert(span->begins ? !s->begun : s->begun && !s->ended);
        s->begun += span->begins;
        s->ended += span->ends;
        memcpy(s->got + s->n, piece + span->at, span->n);
        s->n += span->n;
        behind = span->at + span->n;
    }
}

/* However it comes, the spans are the body, once, and nothing else. */
START_TEST(test_spans_are_the_body) {
    static uint8_t all[MOST];
    static char framing[MOST];
    static struct spanned s;
    struct pk_http h;

    for (int round = 0; round < 300; round++) {
        memset(&s, 0, sizeof s);
        s.framing = framing;
        uint32_t length = 1 + (uint32_t)rand() % BODY, n = respond(body, length, round % 2, all, framing);
        begin(&h);
        feed(&h, all, n, 60000, take_spans, &s);
        ck_assert_msg(s.n == length && !memcmp(s.got, body, length), "round %d: %u of %u bytes", round, s.n, length);
        ck_assert_uint_eq(s.ended, 1);
        ck_assert(h.ended);
    }
}
END_TEST

/* Many small chunks in one piece are more than there is room for: they are no spans any more, nothing goes wrong. */
START_TEST(test_too_many_spans) {
    static char all[MOST];
    static struct spanned s;
    struct pk_spans spans = { .n = 0 };
    struct pk_http h;
    uint32_t n =
        (uint32_t)sprintf(all, "HTTP/1.1 200 OK\r\nCache-Control: public\r\nTransfer-Encoding: chunked\r\n\r\n");

    for (int i = 0; i < 400; i++) n += (uint32_t)sprintf(all + n, "1\r\nx\r\n");
    begin(&h);
    pk_http_answer(&h, &marks, all, n, &spans);
    ck_assert_uint_eq(spans.n, PK_SPANS_MAX);
    memset(&s, 0, sizeof s);
    take_spans(&s, (uint8_t *)all, 0, n, n, &spans);
    spans.n = spans.base = 0;
    pk_http_answer(&h, &marks, "4\r\nabcd\r\n", 9, &spans);
    ck_assert_uint_eq(spans.n, 0);
}
END_TEST

/* With marks where '@' and '/' are, but for "</". */
static void with_marks(const char *text, char *out) {
    for (char before = 0; *text; before = *text++) {
        if (*text == '@') out += sprintf(out, "<!--EEOD-->");
        else if (*text == '/' && before != '<') out += sprintf(out, "<!--/EEOD-->");
        else *out++ = *text;
    }
    *out = 0;
}

/* A page, as its runs came; '|' where one ended. */
static const char *runs_of(const char *headers, const char *page, uint32_t most, char *runs) {
    char all[1000];
    struct pk_spans spans;
    struct pk_http h;
    uint32_t header = (uint32_t)sprintf(all, "HTTP/1.1 200 OK\r\nServer: ###\r\n%s\r\n", headers), to = 0;
    uint32_t n = header + (uint32_t)sprintf(all + header, "%s", page);
    bool open = false;

    begin(&h);
    for (uint32_t at = 0, part; at < n; at += part) {
        part = 1 + (uint32_t)rand() % most;
        if (part > n - at) part = n - at;
        spans.n = spans.base = 0;
        /* In two segments. */
        uint32_t first = part > 1 ? 1 + (uint32_t)rand() % (part - 1) : part;
        ck_assert(!pk_http_answer(&h, &marks, all + at, first, &spans));
        spans.base = first;
        ck_assert(part == first || !pk_http_answer(&h, &marks, all + at + first, part - first, &spans));
        for (uint32_t i = 0; i < spans.n; i++) {
            const struct pk_span *span = spans.span + i;
            ck_assert(span->at + span->n <= part && at + span->at >= header);
            ck_assert(span->begins ? !open : open);
            ck_assert(span->goes_on == (span->begins && to));
            if (span->offset) { /* of the mark, in the piece before */
                memcpy(runs + to, "<!--/EEOD-->", span->offset);
                to += span->offset;
            }
            memcpy(runs + to, all + at + span->at, span->n);
            to += span->n;
            if (span->ends) runs[to++] = '|';
            open = !span->ends;
        }
    }
    runs[to] = 0;
    return runs;
}

/* Between marks each run has spans of its own, however it is cut; what is in marks is in none; '#' is secret. */
START_TEST(test_marks_part_spans) {
    static const struct {
        const char *page, *runs;
    } pages[] = {
        { "<p>one</p>@####/<p>two</p>@##/", "<p>one</p>@|/<p>two</p>@|/" },
        { "@#/one@#/@#/two", "@|/one@|/@|/two" },
        { "one@#@##/##/two@#<b title='/'>#</b>/", "one@|/two@|/" },
        { "one@#<script>/</script>#/two", "one@|/two" },
        { "one@###", "one@|" },
    };
    static const char *const headers[] = { "Eeod: marks\r\n", "Cache-Control: public\r\n" };
    char page[400], runs[400], expected[400];

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        for (int round = 0; round < 4000; round++) {
            bool endless = round % 4 < 2;
            char header[200];
            with_marks(pages[i].page, page);
            with_marks(pages[i].runs, expected);
            if (endless) strcpy(header, headers[round % 2]);
            else sprintf(header, "%sContent-Length: %zu\r\n", headers[round % 2], strlen(page));
            /* That its end ends the last run is known only of a page with a length. */
            if (!endless && *expected && expected[strlen(expected) - 1] != '|') strcat(expected, "|");
            ck_assert_str_eq(runs_of(header, page, 1 + (uint32_t)round % 60, runs), expected);
        }
    /* One that closes nothing: nothing behind it, and of its run nothing that is not known to be done. */
    for (int round = 0; round < 4000; round++) {
        with_marks("one@#/two/##", page);
        with_marks("one@|", expected);
        runs_of(headers[round % 2], page, 1 + (uint32_t)round % 60, runs);
        ck_assert(!strncmp(runs, expected, strlen(expected)) && !strchr(runs, '#') &&
                  !strchr(strchr(runs, '|') + 1, '|'));
    }
    ck_assert_str_eq(runs_of("Eeod: marks\r\nCache-Control: private\r\n", "one", 9, runs), "");
}
END_TEST

/* What looks like another header, and what may not be kept, goes without spans. */
START_TEST(test_no_spans) {
    static const struct {
        const char *ask, *header, *body;
    } responses[] = {
        { "GET / HTTP/1.1\r\n\r\n", "Eeod: marks\r\nCache-Control: private\r\n", "abcd" },
        { "GET / HTTP/1.1\r\n\r\n", "Cache-Control: private\r\n", "abcd" },
        { "GET / HTTP/1.1\r\nCookie: a\r\n\r\n", "Last-Modified: x\r\n", "abcd" },
        { "HEAD / HTTP/1.1\r\n\r\n", "Cache-Control: public\r\n", "" },
        { "GET / HTTP/1.1\r\n\r\n", "Cache-Control: public\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie: me\r\n\r\n" },
    };
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++)
        for (int cut = 0; cut < 2; cut++) {
            char all[300];
            struct pk_spans spans = { .n = 0 };
            struct pk_http h;
            size_t header = (size_t)sprintf(all, "HTTP/1.1 200 OK\r\n%s\r\n", responses[i].header),
                   n = header + (size_t)sprintf(all + header, "%s", responses[i].body);
            pk_http_begin(&h);
            pk_http_ask(&h, responses[i].ask, strlen(responses[i].ask));
            pk_http_answer(&h, &marks, all, cut ? header : n, &spans);
            if (cut) pk_http_answer(&h, &marks, all + header, n - header, &spans);
            ck_assert_msg(!spans.n, "response %zu", i);
        }
}
END_TEST

/* ---- both ends --------------------------------------------------------------------------------------------------- */

/* A parent's cutter, and what a child makes of what it is told. */
struct ends {
    struct pk_cutter cutter;
    struct pk_cut cut;
    pk_store_t *child;
    pk_blocks_t *blocks;
    pk_told_t *told;
    uint32_t sliced, kept, plain;
    int lose; /* per mille of what was told that does not come */
};

static void ends_make(struct ends *e) {
    *e = (struct ends){ .cutter = { .key = &key,
                                    .store = pk_store_make(PK_STORE_LEAST, PK_STORE_PARENT),
                                    .blocks = pk_blocks_make(),
                                    .least = 64 },
                        .child = pk_store_make(PK_STORE_LEAST, PK_STORE_CHILD),
                        .blocks = pk_blocks_make(),
                        .told = pk_told_make() };
}

static void ends_free(struct ends *e) {
    pk_store_free(&e->cutter.store);
    pk_store_free(&e->child);
    pk_blocks_free(&e->cutter.blocks);
    pk_blocks_free(&e->blocks);
    pk_told_free(&e->told);
}

static void gather(struct ends *e, uint32_t place, const uint8_t *bytes, uint32_t n, bool over) {
    do {
        uint32_t most = PK_BLOCK - place % PK_BLOCK, part = n < most ? n : most, length;
        const uint8_t *whole = pk_blocks_add(e->blocks, 1, place, bytes, part, over && part == n, &length);
        if (whole) {
            struct pk_fingerprint fp;
            pk_fingerprint_of(&key, whole, length, &fp);
            pk_store_put(e->child, &fp, whole, length);
        }
        place += part;
        bytes += part;
        n -= part;
    } while (n);
}

/* The piece as a train of some of its segments at a time, read again and made anew from the child's store. */
static void through_a_train(struct ends *e, const uint8_t *piece, uint32_t n, uint32_t segment,
                            const struct pk_parts *parts) {
    uint8_t packet[256], bytes[PK_DATAGRAM_MAX], block[PK_BLOCK], out[65536];
    struct wire w = { .version = 4, .client = 1, .port = 999, .flags = PK_ACK };
    struct pk_packet k;
    struct pk_head h;
    struct pk_train t;
    struct pk_reader r;
    struct pk_record record;

    ck_assert_int_eq(pk_packet_parse(&k, packet, make_piece(packet, &w, "x", 1)), PK_TCP);
    pk_head_of(&h, &k);
    for (uint32_t at = 0, count; at < n;) {
        uint32_t left = (n - at + segment - 1) / segment;
        pk_train_open(&t, bytes, sizeof bytes, &h);
        for (count = 1 + (uint32_t)rand() % left; count; count /= 2) {
            uint32_t last = count == left ? n - at - (count - 1) * segment : segment;
            if (pk_train_parts(&t, &h, piece, parts, at, count, segment, last, 0)) break;
        }
        ck_assert_uint_gt(count, 0);
        ck_assert_uint_le(t.n, sizeof bytes);
        uint32_t all = count == left ? n - at : count * segment, covered = 0;
        ck_assert(pk_train_read(&r, bytes, t.n));
        ck_assert_int_eq(pk_train_next(&r, &record), PK_RECORD);
        ck_assert(record.kind == PK_PARTS && record.n == all && record.count == count);
        struct pk_part_reader pr;
        struct pk_read_part p;
        pk_parts_read(&pr, &record);
        while (pk_parts_next(&pr, &p)) {
            ck_assert_uint_eq(p.at, covered);
            covered += p.n;
            if (p.kind != PK_PART_SLICES) memcpy(out + p.at, p.bytes, p.n);
            if (p.kind == PK_PART_KEPT) gather(e, p.place, p.bytes, p.n, p.ends);
            for (uint32_t i = 0, offset, m, to = p.at; i < p.blocks; i++, to += m) {
                struct pk_fingerprint fp;
                pk_fingerprint_read(&fp, pk_slice(&p, i, &offset, &m));
                ck_assert_uint_ge(pk_store_get(e->child, &fp, block, sizeof block), offset + m);
                memcpy(out + to, block + offset, m);
            }
        }
        ck_assert_uint_eq(covered, all);
        ck_assert_mem_eq(out, piece + at, all);
        ck_assert_int_eq(pk_train_next(&r, &record), PK_TRAIN_END);
        at += all;
        pk_head_advance(&h, all, count);
    }
}

/* Natively: the child is told where blocks are, and gathers them, in whatever order packets come. */
static void natively(struct ends *e, const uint8_t *piece, uint32_t n, const struct pk_parts *parts) {
    uint8_t packet[256], bytes[PK_DATAGRAM_MAX];
    struct wire w = { .version = 6, .client = 1, .port = 999, .flags = PK_ACK };
    static uint64_t ids;
    struct pk_told_flow f = { .id = ++ids };
    struct pk_packet k;
    struct pk_head h;
    struct pk_train t;
    struct pk_reader r;
    struct pk_record record;
    struct pk_part_reader orders;
    struct pk_read_part o;

    ck_assert_int_eq(pk_packet_parse(&k, packet, make_piece(packet, &w, "x", 1)), PK_TCP);
    pk_head_of(&h, &k);
    pk_train_open(&t, bytes, sizeof bytes, &h);
    if (!pk_train_gather(&t, &h, parts, 0, n)) return;
    ck_assert(pk_train_read(&r, bytes, t.n) && pk_train_next(&r, &record) == PK_RECORD && record.kind == PK_GATHER);
    for (pk_parts_read(&orders, &record); pk_orders_next(&orders, &o);) {
        if (!o.n) gather(e, o.place, piece, 0, o.ends);
        else pk_told_add(e->told, &f, &(struct pk_told_part){ o.at, o.at + o.n, o.place, o.ends });
    }
    for (uint32_t turn = 0; turn < 2; turn++) /* every second packet comes later */
        for (uint32_t at = 0, i = 0; at < n; at += 1000, i++) {
            struct pk_told_part part;
            uint32_t length = n - at < 1000 ? n - at : 1000;
            if (i % 2 != turn) continue;
            for (uint64_t j = f.last; pk_told_next(e->told, &f, &j, at, length, &part);)
                gather(e, part.place, piece + part.from, part.to - part.from, part.ends);
        }
}

static void take_piece(void *context, const uint8_t *piece, uint32_t at, uint32_t n, uint32_t segment,
                       const struct pk_spans *spans) {
    static struct pk_parts parts;
    struct ends *e = context;
    uint32_t covered = 0;
    (void)at;

    pk_cut_piece(&e->cutter, &e->cut, piece, n, spans, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
        const struct pk_part *p = parts.part + i;
        ck_assert_uint_eq(p->at, covered);
        covered += p->n;
        *(p->kind == PK_PART_SLICES ? &e->sliced : p->kind == PK_PART_KEPT ? &e->kept : &e->plain) += p->n;
    }
    ck_assert_uint_eq(covered, n);
    if (rand() % 1000 < e->lose) return;
    if (e->kept && rand() % 2) natively(e, piece, n, &parts);
    else through_a_train(e, piece, n, segment, &parts);
}

/* Bytes [from, to) of a body that has n. */
static void serve_range(struct ends *e, const uint8_t *bytes, uint32_t from, uint32_t to, uint32_t n) {
    static uint8_t all[MOST];
    struct pk_http h;
    uint32_t at = (uint32_t)sprintf((char *)all,
                                    "HTTP/1.1 206 Part\r\nLast-Modified: x\r\nContent-Range: bytes %u-%u/%u\r\n"
                                    "Content-Length: %u\r\n\r\n",
                                    from, to - 1, n, to - from);
    memcpy(all + at, bytes + from, to - from);
    e->sliced = e->kept = e->plain = 0;
    begin(&h);
    feed(&h, all, at + to - from, 60000, take_piece, e);
}

static void serve(struct ends *e, const uint8_t *bytes, uint32_t n, bool chunked, uint32_t most) {
    static uint8_t all[MOST];
    static char framing[MOST];
    struct pk_http h;
    uint32_t length = respond(bytes, n, chunked, all, framing);
    e->sliced = e->kept = e->plain = 0;
    begin(&h);
    feed(&h, all, length, most, take_piece, e);
}

/* The same body, cut in all kinds of ways: after the first time all but the first block goes as slices. */
START_TEST(test_however_it_is_cut) {
    for (int round = 0; round < 60; round++) {
        uint32_t n = 1 + (uint32_t)rand() % BODY;
        struct ends e;
        ends_make(&e);
        serve(&e, body, n, round % 2, 60000);
        ck_assert_uint_eq(e.sliced, 0);
        for (int again = 0; again < 4; again++) {
            serve(&e, body, n, rand() % 2, rand() % 2 ? 60000 : 3000);
            ck_assert_msg(n < PK_BLOCK || e.sliced + PK_BLOCK + 40 * 19 >= n, "round %d: %u of %u", round, e.sliced, n);
        }
        ends_free(&e);
    }
}
END_TEST

/* An edit costs its block and the one in which it is found; once gathered, all is known, and so is the old body. */
START_TEST(test_an_edit) {
    static uint8_t other[BODY];
    for (int round = 0; round < 60; round++) {
        struct ends e;
        ends_make(&e);
        memcpy(other, body, BODY);
        for (uint32_t i = 0, at = (uint32_t)rand() % (BODY - 10); i < 10; i++) other[at + i] ^= 0x55;
        serve(&e, body, BODY, round % 2, 60000);
        for (int again = 0; again < 6; again++) {
            serve(&e, again % 2 ? body : other, BODY, rand() % 2, rand() % 2 ? 60000 : 3000);
            ck_assert_msg(e.sliced + 4 * PK_BLOCK + 40 * 19 >= BODY, "round %d: %u of %d", round, e.sliced, BODY);
        }
        serve(&e, other, BODY, false, 60000);
        serve(&e, other, BODY, false, 60000);
        ck_assert_uint_ge(e.sliced + 2 * PK_BLOCK, BODY);
        ends_free(&e);
    }
}
END_TEST

/*
 * Ranges of a body that is known, or in its place: unknown is what is before the first block that begins in the range,
 * and that one if it comes in pieces.  So they leave alone what is known of the whole.
 */
START_TEST(test_ranges) {
    for (int round = 0; round < 200; round++) {
        uint32_t n = BODY / 2 + (uint32_t)rand() % (BODY / 2);
        struct ends e;
        ends_make(&e);
        serve(&e, body, n, round % 2, 60000);
        for (int again = 0; again < 6; again++) {
            uint32_t from = (uint32_t)rand() % n, to = rand() % 2 ? n : from + 1 + (uint32_t)rand() % (n - from);
            serve_range(&e, body, from, to, n);
            ck_assert_msg(e.sliced + 2 * PK_BLOCK + 40 * 19 >= to - from, "round %d: [%u, %u) of %u: %u", round, from,
                          to, n, e.sliced);
            ck_assert_msg(!e.kept || e.kept <= PK_BLOCK, "round %d: %u bytes are stored again", round, e.kept);
        }
        serve(&e, body, n, false, 60000);
        ck_assert_msg(e.sliced + PK_BLOCK + 40 * 19 >= n, "round %d: %u of %u", round, e.sliced, n);
        ends_free(&e);
    }
}
END_TEST

/* The beginning, the rest from where that ended, and then the whole: the block in the middle was in neither. */
START_TEST(test_a_resumed_download) {
    for (int round = 0; round < 200; round++) {
        uint32_t n = BODY / 2 + (uint32_t)rand() % (BODY / 2), at = (uint32_t)rand() % n;
        struct ends e;
        ends_make(&e);
        if (at) serve_range(&e, body, 0, at, n);
        serve_range(&e, body, at, n, n);
        serve(&e, body, n, false, 60000);
        ck_assert_msg(e.sliced + 4 * PK_BLOCK + 40 * 19 >= n, "round %d, from %u: %u of %u", round, at, e.sliced, n);
        serve(&e, body, n, true, 60000);
        ck_assert_msg(e.sliced + PK_BLOCK + 40 * 19 >= n, "round %d, from %u: %u of %u", round, at, e.sliced, n);
        serve_range(&e, body, at, n, n);
        ck_assert_msg(e.sliced + 2 * PK_BLOCK + 40 * 19 >= n - at, "round %d, from %u: %u of %u", round, at, e.sliced,
                      n);
        ends_free(&e);
    }
}
END_TEST

/* Several bodies on a connection, of which not all is looked at: blocks of one are not mixed with another's. */
START_TEST(test_what_passes) {
    static uint8_t all[MOST];
    static char framing[MOST];
    struct ends e;
    ends_make(&e);
    for (int round = 0; round < 200; round++) {
        struct pk_spans spans = { .n = 0 };
        struct pk_http h;
        uint32_t n = 1 + (uint32_t)rand() % BODY, length = respond(body, n, round % 2, all, framing);
        begin(&h);
        for (uint32_t at = 0, part; at < length; at += part) {
            part = 1 + (uint32_t)rand() % 5000;
            if (part > length - at) part = length - at;
            spans.n = spans.base = 0;
            pk_http_answer(&h, &marks, all + at, part, &spans);
            if (rand() % 4) take_piece(&e, all + at, 0, part, part, &spans);
            else pk_cut_pass(&e.cut, &spans);
        }
    }
    ends_free(&e);
}
END_TEST

/* Parts of blocks in any order; none is told whole before it is, nor with wrong bytes. */
START_TEST(test_blocks_in_any_order) {
    pk_blocks_t *b = pk_blocks_make();
    for (int round = 0; round < 3000; round++) {
        uint32_t n = PK_BLOCK - (uint32_t)rand() % 1900 * (rand() % 2), cuts = 1 + (uint32_t)rand() % 6,
                 from[7] = { 0 }, length = 0, left = cuts, whole = 0;
        bool there[6] = { false };
        for (uint32_t i = 1; i < cuts; i++) from[i] = i * n / cuts;
        from[cuts] = n;
        while (left) {
            uint32_t i = (uint32_t)rand() % cuts;
            if (there[i] && rand() % 4) continue;
            if (!there[i]) left--;
            there[i] = true;
            const uint8_t *bytes = pk_blocks_add(b, 1 + (uint64_t)round, 5 * PK_BLOCK + from[i], body + from[i],
                                                 from[i + 1] - from[i], i + 1 == cuts && n < PK_BLOCK, &length);
            if (!bytes) continue;
            whole++;
            ck_assert_uint_eq(left, 0);
            ck_assert_uint_eq(length, n);
            ck_assert_mem_eq(bytes, body, n);
        }
        ck_assert_uint_eq(whole, 1);
    }
    pk_blocks_free(&b);
}
END_TEST

/*
 * What is told of two streams, in their order; what is lost is told once more, later, and so is some that was not.  All
 * that was told is found, and nothing else, also where sequence numbers begin anew.
 */
START_TEST(test_what_is_told_late) {
    enum { N = 30000, PIECE = 300 };
    static bool there[2][N], found[N];
    pk_told_t *t = pk_told_make();
    struct pk_told_flow f[2] = { { .id = 7, .passed = UINT32_MAX - 9000 }, { .id = 8, .passed = UINT32_MAX - 9000 } };
    uint32_t first = UINT32_MAX - 9000;

    srand(3);
    for (uint32_t i = 0; i < 3 * N / PIECE; i++) {
        int k = rand() % 2;
        uint32_t front = i * PIECE / 3, at = front, n = 1 + (uint32_t)rand() % PIECE;
        if (rand() % 3 == 0) at = front > 6000 ? front - (uint32_t)rand() % 6000 : 0; /* again, or for the first time */
        else if (rand() % 4 == 0) continue;                                           /* lost */
        if (at + n > N) n = N - at;
        struct pk_told_part part = { first + at, first + at + n, PK_BLOCK + at, false };
        pk_told_add(t, f + k, &part);
        memset(there[k] + at, true, n);
        for (int query = 0; query < 5; query++) {
            uint32_t from = (uint32_t)rand() % N, length = 1 + (uint32_t)rand() % 3000, highest = UINT32_MAX;
            if (from + length > N) length = N - from;
            k = rand() % 2;
            memset(found, false, sizeof found);
            for (uint64_t j = f[k].last; pk_told_next(t, f + k, &j, first + from, length, &part);) {
                uint32_t begin = part.from - first, end = part.to - first;
                ck_assert(begin >= from && begin < end && end <= from + length && part.place == PK_BLOCK + begin);
                ck_assert_uint_le(begin, highest);
                highest = begin;
                memset(found + begin, true, end - begin);
            }
            ck_assert(!memcmp(found + from, there[k] + from, length));
        }
    }
    pk_told_free(&t);
}
END_TEST

/* What follows a block is known until it is displaced, and stays when it is stored again. */
START_TEST(test_links) {
    pk_store_t *s = pk_store_make(PK_STORE_LEAST, PK_STORE_PARENT);
    struct pk_fingerprint fp[3], next;
    for (int i = 0; i < 3; i++) {
        pk_fingerprint_of(&key, body + i * 2048, 2048, fp + i);
        ck_assert_int_eq(pk_store_meet_block(s, fp + i, body + i * 2048, 2048, false), PK_NEW);
    }
    ck_assert(!pk_store_next(s, fp, &next));
    pk_store_link(s, fp, fp + 1);
    ck_assert(pk_store_next(s, fp, &next) && pk_fingerprint_same(&next, fp + 1));
    ck_assert_int_eq(pk_store_meet_block(s, fp, body, 2048, true), PK_SAME);
    ck_assert(pk_store_next(s, fp, &next) && pk_fingerprint_same(&next, fp + 1));
    ck_assert(pk_store_has(s, fp, 2000, body + 2000, 48) && !pk_store_has(s, fp, 2000, body + 2000, 49) &&
              !pk_store_has(s, fp, 0, body + 1, 9));
    pk_store_link(s, fp, NULL);
    ck_assert(!pk_store_next(s, fp, &next));
    for (int i = 0; i < 600; i++) {
        uint8_t bytes[2048] = { (uint8_t)i, (uint8_t)(i >> 8) };
        struct pk_fingerprint other;
        pk_fingerprint_of(&key, bytes, sizeof bytes, &other);
        ck_assert_int_eq(pk_store_meet_block(s, &other, bytes, sizeof bytes, false), PK_NEW);
        pk_store_link(s, &other, &other);
    }
    ck_assert(!pk_store_has(s, fp, 0, body, 1));
    pk_store_free(&s);
}
END_TEST

int main(void) {
    Suite *s = suite_create("pktcache: blocks");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, test_spans_are_the_body);
    tcase_add_test(t, test_too_many_spans);
    tcase_add_test(t, test_marks_part_spans);
    tcase_add_test(t, test_no_spans);
    tcase_add_test(t, test_however_it_is_cut);
    tcase_add_test(t, test_an_edit);
    tcase_add_test(t, test_ranges);
    tcase_add_test(t, test_a_resumed_download);
    tcase_add_test(t, test_what_passes);
    tcase_add_test(t, test_blocks_in_any_order);
    tcase_add_test(t, test_what_is_told_late);
    tcase_add_test(t, test_links);
    suite_add_tcase(s, t);
    return run_suite(s);
}
