/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_http.h - reading HTTP/1.1 messages piece by piece, as much of RFC 9112 as a load generator and a test server
 * need.
 *
 * Both readers are fed whatever arrived, in any pieces, and keep only the line that is not complete yet (its first
 * LAB_LINE bytes: longer lines are of no interest to us).  Nothing is allocated.  What a bad peer may send is bounded:
 * head LAB_HEAD_MAX bytes, chunk sizes below 2^60, one Content-Length or several equal ones.
 */
#ifndef FAIRGATE_LAB_HTTP_H
#define FAIRGATE_LAB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAB_LINE     512
#define LAB_HEAD_MAX 65536

enum lab_http {
    LAB_HTTP_MORE,              /* feed more */
    LAB_HTTP_DONE,              /* the message is complete; what was not used belongs to the next one */
    LAB_HTTP_BAD                /* not HTTP as we know it; the connection is of no more use */
};

struct lab_http_line {
    uint32_t head_bytes;        /* of this head so far */
    uint16_t length;            /* of the incomplete line kept below */
    char kept[LAB_LINE];
};

struct lab_reply {
    uint32_t magic;
#define LAB_REPLY_MAGIC 0x4c52504cu
    uint8_t state;
    bool head_request;          /* the answer to HEAD has no body */
    bool keep_alive;
    bool chunked;
    bool has_length;
    bool begun;                 /* at least one byte of it came */
    int status;
    uint32_t retry_after;       /* seconds; 0 = none given */
    uint64_t left;              /* bytes of the body or of the chunk still to come */
    struct lab_http_line line;
};

void lab_reply_begin(struct lab_reply *r, bool head_request);
enum lab_http lab_reply_feed(struct lab_reply *r, const char *data, size_t length, size_t *used);

/* The peer closed: LAB_HTTP_DONE if that is how this body ends, LAB_HTTP_BAD if something is missing. */
enum lab_http lab_reply_eof(const struct lab_reply *r);

/*
 * How many of the next bytes are certainly body, so that they need not be looked at; lab_reply_skip says that so many
 * came.
 */
uint64_t lab_reply_opaque(const struct lab_reply *r);
enum lab_http lab_reply_skip(struct lab_reply *r, uint64_t bytes);

struct lab_request {
    uint32_t magic;
#define LAB_REQUEST_MAGIC 0x4c525153u
    uint8_t state;
    bool head_method;
    bool keep_alive;
    bool expect_continue;
    bool if_none_match;
    bool chunked;
    bool has_length;
    uint64_t left;
    char target[LAB_LINE];      /* cut at its room */
    struct lab_http_line line;
};

void lab_request_begin(struct lab_request *q);
enum lab_http lab_request_feed(struct lab_request *q, const char *data, size_t length, size_t *used);

/* The head is complete but the body is not: the moment for "100 Continue". */
bool lab_request_in_body(const struct lab_request *q);

#endif
