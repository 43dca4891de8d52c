/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_http.c - a connection that the parent follows, in segments: what it says may be kept, a look at the whole stream
 * says, too.
 *
 * The look: of a response that begins with the first byte and has a known length, no kept segment holds a byte of the
 * header, one between an opening mark and the closing one that belongs to it, or one behind a closing mark that closes
 * nothing; nor does a span.  All spans together have no byte twice, and begin with the body.  Of a part (206) they
 * begin in a block where the part does, and end the whole if it does.
 */
#include "pktcache/pk_http.h"
#include "pktcache/pk_wire.h"
#include "tests/unit/test_marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char OPEN[] = "<!--EEOD-->", CLOSE[] = "<!--/EEOD-->";

/* secret[i]: byte i of a body is between marks, or behind one that closes nothing. */
static void look(const struct eeod_marks *marks, const char *body, size_t n, char *secret) {
    char *kind = malloc(n + 1);
    bool inside = false, odd = false;
    slow_pairs(marks, (const unsigned char *)body, n, kind);
    for (size_t i = 0; i < n; i++) {
        inside |= kind[i] == 'O';
        odd |= kind[i] == 's';
        inside &= kind[i] != 'C';
        secret[i] = inside || odd;
    }
    free(kind);
}

static void against_the_look(const uint8_t *data, size_t size) {
    char head[256], range[128] = "", *all, *secret;
    struct eeod_marks marks;
    struct pk_spans spans;
    struct pk_http h;
    static const char get[] = "GET / HTTP/1.1\r\n\r\n";
    bool part_of = data[0] & 32, more = data[0] & 64;
    size_t body = size - 4, first = part_of ? (size_t)data[1] * data[2] : 0;

    if (part_of)
        snprintf(range, sizeof range, "Content-Range: bytes %zu-%zu/%zu\r\n", first, first + body - 1,
                 first + body + more);
    size_t header = (size_t)snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%s%s%sContent-Length: %zu\r\n\r\n",
                                     part_of ? "206 Part" : "200 OK", range, data[0] & 1 ? "Eeod: marks\r\n" : "",
                                     data[0] & 4 ? "Cache-Control: public\r\n" : "", body),
           n = header + body, behind = header;

    all = malloc(n);
    secret = calloc(1, n);
    memcpy(all, head, header);
    memcpy(all + header, data + 4, body);
    memset(secret, 1, header);
    eeod_marks_set(&marks, OPEN, CLOSE);
    look(&marks, all + header, body, secret + header);
    pk_http_begin(&h);
    if (data[0] & 8) pk_http_ask(&h, get, sizeof get - 1);
    for (size_t at = 0, turn = 0; at < n; turn++) {
        size_t part = 1 + data[1 + turn % 3];
        if (part > n - at) part = n - at;
        char *exact = malloc(part);
        memcpy(exact, all + at, part);
        spans.n = 0;
        spans.base = data[3];
        bool keep = pk_http_answer(&h, &marks, exact, part, data[0] & 16 ? &spans : NULL);
        free(exact);
        for (uint32_t i = 0; i < spans.n; i++) {
            size_t from = at + spans.span[i].at - spans.base, length = spans.span[i].n;
            if (from != behind || from + length > at + part) abort();
            if (spans.span[i].begins != (from == header)) abort();
            if (spans.span[i].begins && spans.span[i].offset != first % PK_BLOCK) abort();
            if (spans.span[i].ends != (from + length == n && !(part_of && more))) abort();
            if (part_of && data[0] & 1) abort();
            for (size_t k = from; k < from + length; k++)
                if (secret[k] && from + length - k >= sizeof CLOSE - 1) abort();
            behind = from + length;
        }
        /* The beginning of a mark at a segment's end may be kept. */
        for (size_t i = at; keep && i < at + part; i++)
            if (secret[i] && at + part - i >= sizeof CLOSE - 1) abort();
        at += part;
    }
    free(all);
    free(secret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct eeod_marks marks;
    struct pk_http h;

    if (size < 5 || size > 65536) return 0;
    if (data[0] & 2) {
        against_the_look(data, size);
        return 0;
    }
    bool way_of_spans = data[0] & 1;
    struct pk_spans spans = { .n = 0 };
    eeod_marks_set(&marks, OPEN, CLOSE);
    memset(&h, data[0], sizeof h);
    pk_http_begin(&h);
    while (size > 1) { /* which way, and how long, before each segment */
        int way = data[0] & 1;
        size_t n = (size_t)(data[0] >> 1) * 2 + 1;
        data++;
        size--;
        if (n > size) n = size;
        char *exact = malloc(n);
        memcpy(exact, data, n);
        if (way) pk_http_ask(&h, exact, n);
        else if (pk_http_answer(&h, &marks, exact, n, way_of_spans ? &spans : NULL) && pk_http_lost(&h)) abort();
        if (pk_http_lost(&h) && spans.n) abort();
        for (uint32_t i = 0; i < spans.n; i++)
            if (spans.span[i].at > n || spans.span[i].n > n - spans.span[i].at) abort();
        spans.n = 0;
        if (pk_http_lost(&h) && pk_http_looks_asked(exact, n)) pk_http_begin(&h);
        free(exact);
        data += n;
        size -= n;
    }
    return 0;
}
