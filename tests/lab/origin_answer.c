/* SPDX-License-Identifier: BSD-2-Clause */
/* origin_answer.c - what a URL of origin.h asks for, and its bytes. */
#include "origin.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define PATTERN     65536
#define PERIOD      64 /* byte n of every page is byte n % PERIOD of the pattern, however it is sent */
#define CHUNK       16384
#define SIZE_MOST   (1ull << 40)
#define DELAY_MOST  86400000 /* ms */
#define ASSETS_ROOM 384      /* of the script, with its NUL */

static const char *pattern(void) {
    static char bytes[PATTERN + PERIOD];
    if (!bytes[0]) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(i % PERIOD == PERIOD - 1 ? '\n' : 'a' + i % PERIOD % 26);
    }
    return bytes;
}

/* The value behind word in a query ("" for a word without one); NULL when it is not there. */
static const char *query_word(const char *query, const char *word) {
    size_t n = strlen(word);
    while (query) {
        if (strncmp(query, word, n) == 0) {
            if (query[n] == '=') return query + n + 1;
            if (query[n] == '\0' || query[n] == '&') return "";
        }
        query = strchr(query, '&');
        if (query) query++;
    }
    return NULL;
}

static void head_add(struct origin_conn *c, const char *format, ...) {
    va_list v;
    va_start(v, format);
    int n = vsnprintf(c->head + c->head_length, sizeof c->head - c->head_length, format, v);
    va_end(v);
    assert(n >= 0 && (size_t)n < sizeof c->head - c->head_length);
    c->head_length += (uint32_t)n;
}

static void status_page(struct origin *o, struct origin_conn *c, bool reset) {
    char text[512];
    int n = snprintf(text, sizeof text,
                     "{\"requests\": %llu, \"answered\": %llu, \"aborted\": %llu, \"bytes\": %llu, \"current\": %u, "
                     "\"serving\": %u, "
                     "\"max\": %u, \"max_serving\": %u, \"connections\": %u}\n",
                     (unsigned long long)o->requests, (unsigned long long)o->answered, (unsigned long long)o->aborted,
                     (unsigned long long)o->bytes, o->current, o->serving, o->max, o->max_serving, o->connections);
    if (reset) {
        o->requests = o->answered = o->aborted = o->bytes = 0;
        o->max = o->current;
        o->max_serving = o->serving;
    }
    head_add(c,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: "
             "%d\r\n%s\r\n%s",
             n, c->keep_alive ? "" : "Connection: close\r\n", c->request.head_method ? "" : text);
}

/* The URL of an asset is relative, so it stays below a gateway's prefix.  Empty without "assets". */
static void assets_script(const char *query, char text[ASSETS_ROOM]) {
    const char *n = query_word(query, "assets"), *each = query_word(query, "each");
    text[0] = '\0';
    if (!n) return;
    snprintf(text, ASSETS_ROOM,
             "<title>page</title><script>for(let i=0;i<%d;i++){let u='2000?delay=%d&asset='+i;document.write("
             "['<img src=\"'+u+'\">','<script src=\"'+u+'\"></'+'script>',"
             "'<link rel=stylesheet href=\"'+u+'\">'][i%%3])}</script>\n",
             atoi(n), each ? atoi(each) : 5);
}

static void page(struct origin_conn *c, uint64_t size, const char *query) {
    const char *w;
    char script[ASSETS_ROOM];
    int status = 200;
    if ((w = query_word(query, "status"))) {
        status = atoi(w);
        if (status < 200 || status > 599) status = 400;
    }
    bool etag = query_word(query, "etag") != NULL;
    if (etag && c->request.if_none_match) status = 304;
    bool body = status != 304 && status != 204 && !c->request.head_method;
    bool close_ends = query_word(query, "close") != NULL;
    c->chunked = !close_ends && query_word(query, "chunked") != NULL;
    if (close_ends) c->keep_alive = false;
    assets_script(c->chunked || status == 304 || status == 204 ? NULL : query, script);

    head_add(c, "HTTP/1.1 %d %s\r\nServer: fairgate-origin\r\nContent-Type: text/%s\r\n", status,
             status == 200 ? "OK" : "As asked", script[0] ? "html" : "plain");
    if (etag) head_add(c, "ETag: \"%llu\"\r\n", (unsigned long long)size);
    if ((w = query_word(query, "retry"))) head_add(c, "Retry-After: %d\r\n", atoi(w));
    if (c->chunked) head_add(c, "Transfer-Encoding: chunked\r\n");
    else if (!close_ends && status != 304 && status != 204)
        head_add(c, "Content-Length: %llu\r\n", (unsigned long long)size + strlen(script));
    if (!c->keep_alive) head_add(c, "Connection: close\r\n");
    head_add(c, "\r\n%s", body ? script : "");

    c->body = body ? size : 0;
    c->chunked = c->chunked && body;
    c->end = ORIGIN_END_FINE;
    if (query_word(query, "truncate")) c->end = ORIGIN_END_CLOSE;
    else if (query_word(query, "reset")) c->end = ORIGIN_END_RESET;
    else if (query_word(query, "stall")) c->end = ORIGIN_END_STALL;
    if (c->end != ORIGIN_END_FINE) c->body /= 2;
    c->never = query_word(query, "never") != NULL;
    c->gated = query_word(query, "gate") != NULL;
    if ((w = query_word(query, "trickle"))) c->budget = c->trickle = (uint32_t)strtoul(w, NULL, 10);
    if ((w = query_word(query, "delay"))) {
        double ms = strtod(w, NULL);
        c->delay_us = ms >= 0 && ms < DELAY_MOST ? (int64_t)(ms * 1000) : DELAY_MOST * 1000ll;
    }
}

void origin_answer_prepare(struct origin *o, struct origin_conn *c, bool *immediate) {
    char *target = c->request.target;
    char *query = strchr(target, '?');
    if (query) *query++ = '\0';
    c->keep_alive = c->request.keep_alive;
    c->head_length = c->head_sent = c->frame_length = c->frame_sent = 0;
    c->body = c->chunk = c->position = c->budget = 0;
    c->trickle = 0;
    c->chunked = c->last_chunk = c->never = c->gated = false;
    c->end = ORIGIN_END_FINE;
    c->delay_us = -1;
    bool open = strcmp(target, "/open") == 0, shut = strcmp(target, "/shut") == 0;
    *immediate = open || shut || strcmp(target, "/stat") == 0;
    if (open || shut) o->open = open;
    if (*immediate) {
        status_page(o, c, query_word(query, "reset") != NULL);
    } else if (strncmp(target, "/size/", 6) == 0) {
        unsigned long long size = strtoull(target + 6, NULL, 10);
        page(c, size < SIZE_MOST ? size : SIZE_MOST, query);
    } else {
        head_add(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n%s\r\n",
                 c->keep_alive ? "" : "Connection: close\r\n");
    }
}

/* The framing before the next chunk, or after the last; a cut answer never gets its last chunk. */
static void next_frame(struct origin_conn *c) {
    const char *gap = c->frame_length ? "\r\n" : "";
    c->frame_sent = 0;
    if (c->body == 0) {
        c->last_chunk = true;
        c->frame_length =
            c->end == ORIGIN_END_FINE ? (uint32_t)snprintf(c->frame, sizeof c->frame, "%s0\r\n\r\n", gap) : 0;
    } else {
        c->chunk = c->body < CHUNK ? c->body : CHUNK;
        c->frame_length = (uint32_t)snprintf(c->frame, sizeof c->frame, "%s%x\r\n", gap, (unsigned)c->chunk);
    }
}

static uint32_t took(uint64_t *left, uint64_t part) {
    uint64_t n = *left < part ? *left : part;
    *left -= n;
    return (uint32_t)n;
}

/* As sendmsg(), of a record's length at the most. */
static ssize_t send_record(SSL *tls, const struct iovec *v, size_t count) {
    static char record[LAB_TLS_RECORD];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        size_t part = v[i].iov_len < sizeof record - n ? v[i].iov_len : sizeof record - n;
        memcpy(record + n, v[i].iov_base, part);
        n += part;
    }
    return lab_tls_write(tls, record, n);
}

int origin_answer_send(struct origin *o, struct origin_conn *c) {
    for (;;) {
        if (c->chunked && c->frame_sent == c->frame_length && c->chunk == 0 && !c->last_chunk) next_frame(c);
        uint64_t body = c->chunked ? c->chunk : c->body;
        if (body > PATTERN) body = PATTERN;
        bool trickles = c->trickle && !o->open;
        if (trickles && body > c->budget) body = c->budget;
        struct iovec v[3] = {
            { c->head + c->head_sent, c->head_length - c->head_sent },
            { c->frame + c->frame_sent, c->frame_length - c->frame_sent },
            { (char *)pattern() + c->position % PERIOD, body },
        };
        size_t all = v[0].iov_len + v[1].iov_len + v[2].iov_len;
        if (all == 0) return trickles && c->body ? 2 : 1;
        struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
        ssize_t n = c->tls ? send_record(c->tls, v, 3) : sendmsg(c->fd, &m, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
        o->bytes += (uint64_t)n;
        uint64_t sent = (uint64_t)n;
        c->head_sent += took(&sent, v[0].iov_len);
        c->frame_sent += took(&sent, v[1].iov_len);
        c->body -= sent;
        c->budget -= sent < c->budget ? sent : c->budget;
        c->position += sent;
        if (c->chunked) c->chunk -= sent;
    }
}
