/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_http.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum state { FIRST_LINE, FIELDS, BODY_LENGTH, BODY_CLOSE, CHUNK_SIZE, CHUNK_DATA, CHUNK_END, TRAILERS, COMPLETE };

#define BODY_MAX (1ull << 60)

/* One line of input: text without its line end, valid until the next call. */
struct text {
    const char *at;
    size_t length;
};

/*
 * Takes the next line out of data.  Returns its bytes used, with *whole saying whether the line ended; 0 only if length
 * is 0.
 */
static size_t take_line(struct lab_http_line *l, const char *data, size_t length, struct text *out, bool *whole) {
    const char *end = length ? memchr(data, '\n', length) : NULL;
    size_t part = end ? (size_t)(end - data) : length;
    *whole = end != NULL;
    if (*whole && l->length == 0) {
        *out = (struct text){ data, part };
    } else {
        size_t room = sizeof l->kept - l->length;
        size_t n = part < room ? part : room;
        memcpy(l->kept + l->length, data, n);
        l->length = (uint16_t)(l->length + n);
        *out = (struct text){ l->kept, l->length };
        if (*whole) l->length = 0;
    }
    if (*whole && out->length > 0 && out->at[out->length - 1] == '\r') out->length--;
    size_t used = part + (end ? 1 : 0);
    if (l->head_bytes <= LAB_HEAD_MAX) l->head_bytes += (uint32_t)(used > LAB_HEAD_MAX ? LAB_HEAD_MAX + 1 : used);
    return used;
}

/* The value of the field if the line is that field. */
static bool field(struct text line, const char *name, struct text *value) {
    size_t n = strlen(name);
    if (line.length <= n || line.at[n] != ':' || strncasecmp(line.at, name, n) != 0) return false;
    size_t i = n + 1;
    size_t end = line.length;
    while (i < end && (line.at[i] == ' ' || line.at[i] == '\t')) i++;
    while (end > i && (line.at[end - 1] == ' ' || line.at[end - 1] == '\t')) end--;
    *value = (struct text){ line.at + i, end - i };
    return true;
}

static bool decimal(struct text t, uint64_t *out) {
    if (t.length == 0 || t.length > 18) return false;
    uint64_t n = 0;
    for (size_t i = 0; i < t.length; i++) {
        if (t.at[i] < '0' || t.at[i] > '9') return false;
        n = n * 10 + (uint64_t)(t.at[i] - '0');
    }
    *out = n;
    return n <= BODY_MAX;
}

static bool chunk_size(struct text t, uint64_t *out) {
    uint64_t n = 0;
    size_t i;
    for (i = 0; i < t.length && i < 16; i++) {
        int c = t.at[i] | 0x20;
        if (c >= '0' && c <= '9') n = n * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') n = n * 16 + (uint64_t)(c - 'a' + 10);
        else break;
    }
    if (i == 0 || i == 16 || n > BODY_MAX) return false;
    *out = n;
    return i == t.length || t.at[i] == ';' || t.at[i] == ' ' || t.at[i] == '\t';
}

/* Is word one of the comma separated words of t? */
static bool has_word(struct text t, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= t.length; i++) {
        bool starts = i == 0 || t.at[i - 1] == ',' || t.at[i - 1] == ' ';
        bool ends = i + n == t.length || t.at[i + n] == ',' || t.at[i + n] == ' ';
        if (starts && ends && strncasecmp(t.at + i, word, n) == 0) return true;
    }
    return false;
}

/* The fields that say where a message ends, alike in requests and replies. */
static bool framing_field(struct text line, bool *keep_alive, bool *chunked, bool *has_length, uint64_t *length) {
    struct text v;
    if (line.length == 0) return true;
    int c = line.at[0] | 0x20;
    if (c == 'c' && field(line, "content-length", &v)) {
        uint64_t n;
        if (!decimal(v, &n) || (*has_length && n != *length)) return false;
        *has_length = true;
        *length = n;
    } else if (c == 'c' && field(line, "connection", &v)) {
        if (has_word(v, "close")) *keep_alive = false;
        else if (has_word(v, "keep-alive")) *keep_alive = true;
    } else if (c == 't' && field(line, "transfer-encoding", &v)) {
        if (!has_word(v, "chunked")) return false;
        *chunked = true;
    }
    return true;
}

/* One line of a chunked body outside the data.  Moves *state; false = bad. */
static bool chunk_line(struct text t, uint8_t *state, uint64_t *left) {
    switch (*state) {
    case CHUNK_SIZE:
        if (!chunk_size(t, left)) return false;
        *state = *left ? CHUNK_DATA : TRAILERS;
        return true;
    case CHUNK_END: *state = CHUNK_SIZE; return t.length == 0;
    case TRAILERS:
        if (t.length == 0) *state = COMPLETE;
        return true;
    default: assert(!"a chunk line in another state"); return false;
    }
}

static size_t take_body(uint8_t *state, uint64_t *left, size_t available) {
    size_t n = *left < available ? (size_t)*left : available;
    *left -= n;
    if (*left == 0) *state = *state == CHUNK_DATA ? CHUNK_END : COMPLETE;
    return n;
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

void lab_reply_begin(struct lab_reply *r, bool head_request) {
    r->magic = LAB_REPLY_MAGIC;
    r->state = FIRST_LINE;
    r->head_request = head_request;
    r->keep_alive = true;
    r->chunked = r->has_length = r->begun = false;
    r->status = 0;
    r->retry_after = 0;
    r->left = 0;
    r->line.head_bytes = 0;
    r->line.length = 0;
}

static bool status_line(struct lab_reply *r, struct text t) {
    if (t.length < 12 || memcmp(t.at, "HTTP/1.", 7) != 0 || t.at[8] != ' ') return false;
    uint64_t status;
    if (!decimal((struct text){ t.at + 9, 3 }, &status) || status < 100 || status > 599) return false;
    r->status = (int)status;
    r->keep_alive = t.at[7] != '0';
    r->state = FIELDS;
    return true;
}

static void head_ends(struct lab_reply *r) {
    if (r->status < 200 && r->status != 101) {
        bool head = r->head_request;
        lab_reply_begin(r, head);
        r->begun = true;
    } else if (r->head_request || r->status == 204 || r->status == 304) {
        r->state = COMPLETE;
    } else if (r->chunked) {
        r->state = CHUNK_SIZE;
    } else if (r->has_length) {
        r->state = r->left ? BODY_LENGTH : COMPLETE;
    } else {
        r->state = BODY_CLOSE;
        r->keep_alive = false;
    }
}

static bool reply_line(struct lab_reply *r, struct text t) {
    struct text v;
    uint64_t n;
    switch (r->state) {
    case FIRST_LINE: return status_line(r, t);
    case FIELDS:
        if (t.length == 0) head_ends(r);
        else if ((t.at[0] | 0x20) == 'r' && field(t, "retry-after", &v) && decimal(v, &n))
            r->retry_after = n < 86400 ? (uint32_t)n : 86400;
        else return framing_field(t, &r->keep_alive, &r->chunked, &r->has_length, &r->left);
        return true;
    default: return chunk_line(t, &r->state, &r->left);
    }
}

enum lab_http lab_reply_feed(struct lab_reply *r, const char *data, size_t length, size_t *used) {
    assert(r->magic == LAB_REPLY_MAGIC);
    size_t at = 0;
    if (length > 0) r->begun = true;
    while (at < length && r->state != COMPLETE) {
        if (r->state == BODY_LENGTH || r->state == CHUNK_DATA) {
            at += take_body(&r->state, &r->left, length - at);
        } else if (r->state == BODY_CLOSE) {
            at = length;
        } else {
            struct text t;
            bool whole;
            if (r->state == CHUNK_SIZE) r->line.head_bytes = 0; /* chunk lines are bounded each, not together */
            at += take_line(&r->line, data + at, length - at, &t, &whole);
            if (r->line.head_bytes > LAB_HEAD_MAX || (whole && !reply_line(r, t))) {
                *used = at;
                return LAB_HTTP_BAD;
            }
        }
    }
    *used = at;
    return r->state == COMPLETE ? LAB_HTTP_DONE : LAB_HTTP_MORE;
}

enum lab_http lab_reply_eof(const struct lab_reply *r) {
    assert(r->magic == LAB_REPLY_MAGIC);
    return r->state == BODY_CLOSE || r->state == COMPLETE ? LAB_HTTP_DONE : LAB_HTTP_BAD;
}

uint64_t lab_reply_opaque(const struct lab_reply *r) {
    return r->state == BODY_LENGTH || r->state == CHUNK_DATA ? r->left : 0;
}

enum lab_http lab_reply_skip(struct lab_reply *r, uint64_t bytes) {
    assert(r->magic == LAB_REPLY_MAGIC && bytes <= lab_reply_opaque(r));
    take_body(&r->state, &r->left, bytes);
    return r->state == COMPLETE ? LAB_HTTP_DONE : LAB_HTTP_MORE;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void lab_request_begin(struct lab_request *q) {
    q->magic = LAB_REQUEST_MAGIC;
    q->state = FIRST_LINE;
    q->head_method = q->expect_continue = q->if_none_match = q->chunked = q->has_length = false;
    q->keep_alive = true;
    q->left = 0;
    q->target[0] = '\0';
    q->line.head_bytes = 0;
    q->line.length = 0;
}

static bool request_line(struct lab_request *q, struct text t) {
    const char *space = memchr(t.at, ' ', t.length);
    if (!space) return false;
    const char *target = space + 1;
    size_t rest = t.length - (size_t)(target - t.at);
    const char *end = rest ? memchr(target, ' ', rest) : NULL;
    if (!end) return false;
    size_t n = (size_t)(end - target);
    if (n >= sizeof q->target) n = sizeof q->target - 1;
    memcpy(q->target, target, n);
    q->target[n] = '\0';
    q->head_method = space - t.at == 4 && memcmp(t.at, "HEAD", 4) == 0;
    size_t version = t.length - (size_t)(end + 1 - t.at);
    q->keep_alive = !(version >= 8 && memcmp(end + 1, "HTTP/1.0", 8) == 0);
    q->state = FIELDS;
    return true;
}

static bool one_line(struct lab_request *q, struct text t) {
    struct text v;
    switch (q->state) {
    case FIRST_LINE: return t.length == 0 || request_line(q, t);
    case FIELDS:
        if (t.length == 0) q->state = q->chunked ? CHUNK_SIZE : q->left ? BODY_LENGTH : COMPLETE;
        else if (field(t, "expect", &v)) q->expect_continue = has_word(v, "100-continue");
        else if (field(t, "if-none-match", &v)) q->if_none_match = true;
        else return framing_field(t, &q->keep_alive, &q->chunked, &q->has_length, &q->left);
        return true;
    default: return chunk_line(t, &q->state, &q->left);
    }
}

enum lab_http lab_request_feed(struct lab_request *q, const char *data, size_t length, size_t *used) {
    assert(q->magic == LAB_REQUEST_MAGIC);
    size_t at = 0;
    while (at < length && q->state != COMPLETE) {
        if (q->state == BODY_LENGTH || q->state == CHUNK_DATA) {
            at += take_body(&q->state, &q->left, length - at);
        } else {
            struct text t;
            bool whole;
            if (q->state == CHUNK_SIZE) q->line.head_bytes = 0;
            at += take_line(&q->line, data + at, length - at, &t, &whole);
            if (q->line.head_bytes > LAB_HEAD_MAX || (whole && !one_line(q, t))) {
                *used = at;
                return LAB_HTTP_BAD;
            }
        }
    }
    *used = at;
    return q->state == COMPLETE ? LAB_HTTP_DONE : LAB_HTTP_MORE;
}

bool lab_request_in_body(const struct lab_request *q) { return q->state == BODY_LENGTH || q->state == CHUNK_SIZE; }
