/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * States of a message:
 *
 *     START ──> HEADER ──> SIZED ──> START            a body of so many bytes, 0 too
 *                   │ ├──> CHUNK ──> DATA ──> DATA_END ──> CHUNK      its size, its bytes, the line's end behind them;
 *                   │ │                             of size 0: TRAILER ──> START
 *                   │ └──> ENDLESS                    until the connection ends
 *                   └────> START                      another one follows (1xx), or there is no body
 *     any ──> LOST                                    pk_http_begin leads out
 */
#include "pk_http.h"

#include "pk_asks.h"
#include "pk_wire.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { START, HEADER, SIZED, CHUNK, DATA, DATA_END, TRAILER, ENDLESS, LOST };

/* What headers said: of a request, of a response. */
enum {
    ASK_HEAD = 1,
    ASK_GET = 2,
    ASK_COOKIE = 4,
    ASK_AUTHORIZATION = 8,
    ASK_NO_STORE = 16,
    ASK_OTHER = 32,   /* what may say who asks */
    ASK_UNKNOWN = 64, /* of a connection whose beginning was not seen: it may have had Authorization */
    ASK_NAMED = 128,  /* something that is a credential by its name */
    SAYS_NO = 1,
    SAYS_PUBLIC = 2,
    SAYS_FRESH = 4,
    SAYS_MODIFIED = 8,
    SAYS_EXPIRES = 16,
    SAYS_MARKS = 32,
    SAYS_ENCODED = 64,
    SAYS_NOBODY = 128,
    SAYS_OTHER_MARKS = 256,
    SAYS_STALE = 512,   /* at once */
    SAYS_RANGE = 1024,  /* part, offset */
    SAYS_TO_END = 2048, /* it is the last one */
    VARIES_COOKIE = 4096,
    VARIES_AUTHORIZATION = 8192,
    VARIES_OTHER = 16384,
    VARIES = VARIES_COOKIE | VARIES_AUTHORIZATION | VARIES_OTHER
};

/* Of a response. */
enum keep { NOTHING, ALL }; /* ALL: but for what is in marks */

static void message_begin(struct pk_message *m) { memset(m, 0, offsetof(struct pk_message, line)); }

void pk_http_begin(struct pk_http *h) {
    message_begin(&h->ask);
    message_begin(&h->answer);
    h->first = h->waiting = 0;
    h->keep = NOTHING;
    h->ended = h->authorized = h->unknown = h->never = h->blocks = false;
    memset(&h->pairs, 0, sizeof h->pairs);
}

void pk_http_lose(struct pk_http *h) {
    h->ask.state = h->answer.state = LOST;
    h->waiting = 0;
    h->keep = NOTHING;
    h->ended = h->blocks = false;
}

bool pk_http_lost(const struct pk_http *h) { return h->answer.state == LOST; }
bool pk_http_never(const struct pk_http *h) { return h->never; }

bool pk_http_encoded(const struct pk_http *h) { return h->answer.seen & SAYS_ENCODED; }
bool pk_http_private(const struct pk_http *h) { return h->answer.seen & (SAYS_NO | SAYS_NOBODY); }

bool pk_http_looks_asked(const void *bytes, size_t n) {
    const char *p = bytes, *end = memmem(p, n, "\r\n\r\n", 4);
    return end && end + 4 == p + n && n > 6 && (!memcmp(p, "GET /", 5) || !memcmp(p, "HEAD /", 6));
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Takes bytes up to a line's end, *taken of them.  Whether the line is whole; m->line has it then, as a string. */
static bool line_whole(struct pk_message *m, const char *p, size_t n, size_t *taken) {
    const char *end = memchr(p, '\n', n);
    size_t length = end ? (size_t)(end - p) : n, room = PK_LINE_MAX - 1 - m->line_n;

    *taken = end ? length + 1 : n;
    if (length) {
        const char *cr = memchr(p, '\r', length);
        m->line_odd |= m->line_cr || (cr && cr != p + length - 1) || memchr(p, 0, length);
        m->line_cr = p[length - 1] == '\r';
    }
    if (length > room) {
        m->line_long = true;
        length = room;
    }
    memcpy(m->line + m->line_n, p, length);
    m->line_n = (uint8_t)(m->line_n + length);
    if (!end) return false;
    if (!m->line_long && m->line_n && m->line[m->line_n - 1] == '\r') m->line_n--;
    m->line[m->line_n] = 0;
    return true;
}

static void line_next(struct pk_message *m) {
    m->line_n = 0;
    m->line_long = m->line_odd = m->line_cr = false;
}

/* The value, if the line is the named header; its blanks are taken off. */
static const char *http_value_of(struct pk_message *m, const char *name) {
    size_t n = strlen(name);
    char *v = m->line + n;
    if (m->line_n <= n || m->line[n] != ':' || strncasecmp(m->line, name, n)) return NULL;
    for (v++; *v == ' ' || *v == '\t'; v++) {}
    for (char *end = m->line + m->line_n; end > v && (end[-1] == ' ' || end[-1] == '\t'); end--) end[-1] = 0;
    return v;
}

/* The next member of a list, in *length bytes; *open: it has a quote that does not end. */
static const char *http_member(const char **list, size_t *length, bool *open) {
    const char *p = *list + strspn(*list, " \t,");
    size_t n = 0;

    for (*open = false; p[n] && (*open || p[n] != ','); n++) {
        if (p[n] == '"') *open = !*open;
        else if (*open && p[n] == '\\' && p[n + 1]) n++;
    }
    *length = n;
    *list = p + n;
    while (*length && (p[*length - 1] == ' ' || p[*length - 1] == '\t')) --*length;
    return *length ? p : NULL;
}

static bool http_is(const char *p, size_t length, const char *name) {
    return strlen(name) == length && !strncasecmp(p, name, length);
}

enum lasts { ANOTHER, NO_TIME, SOME_TIME };

/* Whether it is NAME=SECONDS, and how many; what is no number of them is none. */
static enum lasts lasts(const char *p, size_t length, const char *name) {
    size_t n = strlen(name);
    bool some = false;

    if (length < n || strncasecmp(p, name, n) || (length > n && !strchr("= \t;", p[n]))) return ANOTHER;
    if (length == n || p[n++] != '=') return NO_TIME;
    if (length - n > 2 && p[n] == '"' && p[length - 1] == '"') {
        n++;
        length--;
    }
    for (; n < length; n++) {
        if (!isdigit((unsigned char)p[n])) return NO_TIME;
        some |= p[n] != '0';
    }
    return some ? SOME_TIME : NO_TIME;
}

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static bool digits(const char *p, uint64_t *value) {
    *value = 0;
    if (!*p) return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9' || *value > UINT64_MAX / 20) return false;
        *value = *value * 10 + (uint64_t)(*p - '0');
    }
    return true;
}

/* Bytes of a name, or of a method (RFC 9110, 5.6.2). */
static size_t token_length(const char *p) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || (p[n] && strchr("!#$%&'*+-.^_`|~", p[n]))) n++;
    return n;
}

/* A line that says how long the body is.  false: it says nothing that can be relied on. */
static bool framing(struct pk_message *m) {
    const char *v;
    uint64_t length;

    /* A folded line, or anything but a name before the colon, is not the same to everybody (RFC 9112, 5.1 and 5.2). */
    size_t name = token_length(m->line);
    if (!name || m->line[name] != ':') return false;
    if ((v = http_value_of(m, "Content-Length"))) {
        if (m->line_long || !digits(v, &length) || m->sized) return false;
        m->sized = true;
        m->left = length;
    } else if ((v = http_value_of(m, "Transfer-Encoding"))) {
        if (m->line_long || strcasecmp(v, "chunked") || m->chunked || m->old) return false;
        m->chunked = true;
    }
    return !(m->sized && m->chunked);
}

/* What forbids counts wherever it stands, also as it must not be written; what allows counts as RFC 9111 has it. */
static void cache_control(struct pk_message *m, const char *list) {
    size_t n;
    bool open;

    if (strcasestr(list, "no-store") || strcasestr(list, "private")) m->seen |= SAYS_NO | SAYS_NOBODY;
    if (strcasestr(list, "no-cache")) m->seen |= SAYS_NO;
    for (const char *p; (p = http_member(&list, &n, &open));) {
        enum lasts shared = lasts(p, n, "s-maxage"), any = lasts(p, n, "max-age");
        if (open) m->seen |= SAYS_NO | SAYS_NOBODY;
        if (shared == NO_TIME) m->seen |= SAYS_NO;
        if (any == NO_TIME) m->seen |= SAYS_STALE;
        if (http_is(p, n, "public") || shared == SOME_TIME) m->seen |= SAYS_PUBLIC;
        if (any == SOME_TIME || shared == SOME_TIME) m->seen |= SAYS_FRESH;
    }
}

static void vary(struct pk_message *m, const char *list) {
    size_t n;
    bool open;

    for (const char *p; (p = http_member(&list, &n, &open));) {
        if (http_is(p, n, "*")) m->seen |= SAYS_NO;
        else if (http_is(p, n, "Cookie")) m->seen |= VARIES_COOKIE;
        else if (http_is(p, n, "Authorization")) m->seen |= VARIES_AUTHORIZATION;
        else if (!pk_asks_how(p, n)) m->seen |= VARIES_OTHER;
    }
}

/* A number of digits, up to the first byte that is none. */
static bool number(const char **p, uint64_t *value) {
    const char *begin = *p;
    for (*value = 0; isdigit((unsigned char)**p); ++*p) {
        if (*value > UINT64_MAX / 20) return false;
        *value = *value * 10 + (uint64_t)(**p - '0');
    }
    return *p != begin;
}

/* FIRST-LAST/LENGTH or FIRST-LAST/\* of bytes (RFC 9110, 14.4); *last_one: with it, the whole ends. */
static bool range(const char *p, uint64_t *first, uint64_t *n, bool *last_one) {
    uint64_t last, length;

    if (strncasecmp(p, "bytes ", 6)) return false;
    p += 6;
    if (!number(&p, first) || *p++ != '-' || !number(&p, &last) || *p++ != '/' || last < *first) return false;
    *n = last - *first + 1;
    *last_one = false;
    if (!strcmp(p, "*")) return true;
    if (!number(&p, &length) || *p || last >= length) return false;
    *last_one = last == length - 1;
    return true;
}

static void content_range(struct pk_message *m, const char *v) {
    uint64_t first;
    bool last_one;

    if (m->line_long || m->seen & SAYS_RANGE || !range(v, &first, &m->part, &last_one)) {
        m->part = 0;
    } else {
        m->offset = (uint16_t)(first % PK_BLOCK);
        if (last_one) m->seen |= SAYS_TO_END;
    }
    m->seen |= SAYS_RANGE;
}

static void answer_header(struct pk_message *m, const struct eeod_marks *marks) {
    const char *v;

    if ((v = http_value_of(m, "Cache-Control"))) {
        if (m->line_long) m->seen |= SAYS_NO | SAYS_NOBODY;
        cache_control(m, v);
    } else if ((v = http_value_of(m, "Vary"))) {
        if (m->line_long) m->seen |= SAYS_NO;
        vary(m, v);
    } else if ((v = http_value_of(m, "Pragma"))) {
        if (!strcasecmp(v, "no-cache")) m->seen |= SAYS_STALE;
        else if (*v && strcasecmp(v, "public")) m->seen |= SAYS_NO;
    } else if (http_value_of(m, "Set-Cookie") || http_value_of(m, "Set-Cookie2") ||
               http_value_of(m, "WWW-Authenticate")) {
        m->seen |= SAYS_NO;
    } else if (http_value_of(m, "Expires")) {
        m->seen |= SAYS_EXPIRES;
    } else if (http_value_of(m, "Last-Modified")) {
        m->seen |= SAYS_MODIFIED;
    } else if ((v = http_value_of(m, "Eeod"))) {
        m->seen |= *v && !m->line_long && !strcmp(v, marks->says) ? SAYS_MARKS : SAYS_OTHER_MARKS;
    } else if ((v = http_value_of(m, "Content-Encoding"))) {
        if (strcasecmp(v, "identity")) m->seen |= SAYS_ENCODED;
    } else if ((v = http_value_of(m, "Content-Range"))) {
        content_range(m, v);
    }
}

static void ask_header(struct pk_message *m) {
    size_t name = token_length(m->line);
    const char *v;

    if (http_value_of(m, "Cookie") || http_value_of(m, "Cookie2")) m->seen |= ASK_COOKIE;
    else if (http_value_of(m, "Authorization") || http_value_of(m, "Proxy-Authorization")) m->seen |= ASK_AUTHORIZATION;
    else if ((v = http_value_of(m, "Cache-Control")) && (m->line_long || strcasestr(v, "no-store")))
        m->seen |= ASK_NO_STORE;
    if (!pk_asks_how(m->line, name)) m->seen |= ASK_OTHER;
    if (pk_asks_as(m->line, name)) m->seen |= ASK_NAMED;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static bool chunk_size(struct pk_message *m) {
    const char *p = m->line;
    int n = 0;
    for (m->left = 0; isxdigit((unsigned char)*p); p++, n++) {
        if (n == 15) return false;
        m->left = m->left * 16 + (uint64_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
    }
    return n && (!*p || *p == ';' || *p == ' ') && !(*p && m->line_long);
}

static void body_begins(struct pk_message *m, bool none, bool endless) {
    m->state = none ? START : m->chunked ? CHUNK : m->sized ? SIZED : endless ? ENDLESS : START;
    if (m->state == SIZED && !m->left) m->state = START;
}

/* Takes bytes of a body; how many.  At least one, unless the body has ended. */
static size_t body(struct pk_message *m, const char *p, size_t n) {
    size_t taken = n;

    switch (m->state) {
    case SIZED:
    case DATA:
        if (taken > m->left) taken = (size_t)m->left;
        m->left -= taken;
        if (!m->left) m->state = m->state == DATA ? DATA_END : START;
        return taken;
    case ENDLESS: return n;
    default: break;
    }
    if (!line_whole(m, p, n, &taken)) return taken;
    /* Half a line's end is the whole of one to some, and a part of an extension to others. */
    if (m->line_odd || !m->line_cr) m->state = LOST;
    else if (m->state == CHUNK) m->state = !chunk_size(m) ? LOST : m->left ? DATA : TRAILER;
    else if (m->state == DATA_END) m->state = m->line_n ? LOST : CHUNK;
    else if (!m->line_n) m->state = START; /* TRAILER */
    line_next(m);
    return taken;
}

/* ---- both directions --------------------------------------------------------------------------------------------- */

static bool ask_line(struct pk_message *m) {
    static const char version[] = " HTTP/1.";
    size_t n = token_length(m->line), behind = sizeof version; /* with its last digit */

    if (!m->line_n) return true; /* one before a request is let pass (RFC 9112, 2.2) */
    if (!n || m->line[n] != ' ' || http_is(m->line, n, "CONNECT")) return false;
    m->old = m->line_long;
    if (!m->line_long) {
        const char *end = m->line + m->line_n;
        if (m->line_n < n + behind || memcmp(end - behind, version, behind - 1) || (end[-1] != '0' && end[-1] != '1'))
            return false;
        m->old = end[-1] == '0';
    }
    if (n == 3 && !memcmp(m->line, "GET", 3)) m->seen |= ASK_GET;
    if (n == 4 && !memcmp(m->line, "HEAD", 4)) m->seen |= ASK_HEAD;
    m->state = HEADER;
    return true;
}

static bool answer_line(struct pk_message *m) {
    const char *p = m->line;
    if (strncmp(p, "HTTP/1.", 7) || (p[7] != '0' && p[7] != '1') || p[8] != ' ') return false;
    if (p[9] < '1' || p[9] > '9' || !isdigit((unsigned char)p[10]) || !isdigit((unsigned char)p[11]) ||
        isdigit((unsigned char)p[12]))
        return false;
    m->old = p[7] == '0';
    m->status = (uint16_t)((p[9] - '0') * 100 + (p[10] - '0') * 10 + p[11] - '0');
    m->state = HEADER;
    return true;
}

/* Its first line, as far as that is there; what is something else may never end one. */
static bool may_be_answer(const struct pk_message *m) {
    static const char version[] = "HTTP/1.";
    size_t n = m->line_n < sizeof version - 1 ? m->line_n : sizeof version - 1;
    return !memcmp(m->line, version, n);
}

static void ask_ends(struct pk_http *h) {
    struct pk_message *m = &h->ask;
    if (h->waiting == PK_ASKED_MAX) {
        m->state = LOST;
        return;
    }
    /* Some ways of authentication (NTLM, Negotiate) hold for all that comes behind on the connection. */
    h->authorized |= m->seen & ASK_AUTHORIZATION;
    h->asked[(h->first + h->waiting++) % PK_ASKED_MAX] =
        (uint8_t)(m->seen | (h->authorized ? ASK_AUTHORIZATION : 0) | (h->unknown ? ASK_UNKNOWN : 0));
    body_begins(m, false, false);
}

/* Whether it may be another one for who says who he is, and he did. */
static bool is_somebodys(const struct pk_message *m, unsigned asked) {
    return (m->seen & VARIES_COOKIE && asked & ASK_COOKIE) ||
           (m->seen & VARIES_AUTHORIZATION && asked & (ASK_AUTHORIZATION | ASK_UNKNOWN)) ||
           (m->seen & VARIES_OTHER && asked & (ASK_OTHER | ASK_COOKIE | ASK_AUTHORIZATION | ASK_UNKNOWN));
}

/* RFC 9111, 3; and nothing for whom credentials were shown: sizes of trains would tell what others of them got. */
static bool shared_may_keep(const struct pk_message *m, unsigned asked) {
    if (!(asked & ASK_GET) || asked & ASK_NO_STORE || m->seen & SAYS_NO || is_somebodys(m, asked)) return false;
    if (asked & ASK_AUTHORIZATION) return false;
    if (asked & ASK_UNKNOWN) return m->seen & SAYS_PUBLIC;
    if (m->seen & SAYS_PUBLIC) return true;
    if (m->seen & SAYS_STALE) return false;
    if (m->seen & SAYS_FRESH) return true;
    return m->seen & SAYS_MODIFIED && !(m->seen & (SAYS_EXPIRES | VARIES)) && !(asked & (ASK_COOKIE | ASK_NAMED));
}

/* One range of bytes, of a body that is as long as that. */
static bool is_a_range(const struct pk_message *m) {
    return m->status == 206 && m->sized && m->part && m->left == m->part &&
           !(m->seen & (SAYS_MARKS | SAYS_OTHER_MARKS));
}

/* The header of a response has ended; alone: and its segment with it. */
static void answer_ends(struct pk_http *h, const struct eeod_marks *marks, bool alone) {
    struct pk_message *m = &h->answer;
    bool known = h->waiting > 0;
    unsigned asked = known ? h->asked[h->first] : 0;

    if (m->status < 200 && m->status != 101) { /* another one follows */
        m->state = START;
        return;
    }
    if (m->status == 101) {
        h->never = true;
        m->state = LOST;
        return;
    }
    if (known) {
        h->first = (uint8_t)((h->first + 1) % PK_ASKED_MAX);
        h->waiting--;
    }
    /* What was encoded behind mod_eeod has its header still, but marks that can't be seen. */
    bool marked =
        m->seen & SAYS_MARKS && !(m->seen & (SAYS_ENCODED | SAYS_NOBODY | SAYS_OTHER_MARKS)) && !(asked & ASK_NO_STORE);
    /* And who has marks that we can't see has something of a visitor's, whatever else it says. */
    bool hidden = m->seen & SAYS_OTHER_MARKS || (m->seen & SAYS_MARKS && m->seen & SAYS_ENCODED);
    bool whole = m->status == 200;
    h->keep = NOTHING;
    if (known && !hidden && (whole || is_a_range(m)) && shared_may_keep(m, asked)) h->keep = ALL;
    /*
     * If the request may have been a HEAD, the next header may stand where the body would; pk_http_answer sees one that
     * begins a segment.
     */
    if (marked && m->status != 206 && (known || alone)) h->keep = ALL;
    h->blocks = h->keep == ALL;
    h->offset = whole ? 0 : m->offset;
    h->to_end = whole || m->seen & SAYS_TO_END;
    h->begun = h->over = h->run = false;
    eeod_pairs_begin(&h->pairs, marks);
    body_begins(m, m->status == 204 || m->status == 304 || asked & ASK_HEAD, true);
}

/* A line of a header; last: of its segment. */
static void header_line(struct pk_http *h, struct pk_message *m, const struct eeod_marks *marks, bool last) {
    bool ask = m == &h->ask;

    if (m->line_odd) {
        m->state = LOST;
    } else if (m->state == START) {
        m->sized = m->chunked = false;
        m->seen = 0;
        m->left = m->part = 0;
        if (ask ? !ask_line(m) : !answer_line(m)) m->state = LOST;
    } else if (m->line_n) {
        if (!framing(m)) m->state = LOST;
        else if (ask) ask_header(m);
        else answer_header(m, marks);
    } else {
        if (ask) ask_ends(h);
        else answer_ends(h, marks, last);
    }
}

/* A segment, and what the marks make of it. */
struct segment {
    const char *begins;
    struct pk_spans *spans; /* or NULL */
    bool unique;            /* what is unique begins in it */
    bool spoken;            /* it has something of a chunk's extension, or of a trailer: those are headers */
    bool closes;            /* its first bytes are the mark that closes the outermost pair */
};

/* No segment of a page from mod_eeod begins so: if one does, we may have misunderstood how long the body is. */
static bool looks_like_a_header(const char *p, size_t n) { return n >= 7 && !memcmp(p, "HTTP/1.", 7); }

/* Bytes of a body; ends: with them, it, or a run of it. */
static void add_span(struct pk_http *h, struct segment *s, const char *p, size_t n, bool ends) {
    struct pk_spans *spans = s->spans;
    uint32_t at = (uint32_t)((ptrdiff_t)spans->base + (p - s->begins));
    struct pk_span *last = spans->n ? spans->span + spans->n - 1 : NULL;

    if (!h->begun && looks_like_a_header(p, n)) {
        h->keep = NOTHING;
        h->blocks = false;
        return;
    }
    if (h->begun && !h->run && last && (!n || last->at + last->n == at)) {
        last->n += (uint32_t)n;
        last->ends = ends;
    } else if (spans->n == PK_SPANS_MAX) {
        h->blocks = false;
    } else {
        spans->span[spans->n++] = (struct pk_span){ .at = at,
                                                    .n = (uint32_t)n,
                                                    .offset = h->begun && !h->run ? 0 : h->offset,
                                                    .begins = !h->begun || h->run,
                                                    .goes_on = h->run,
                                                    .ends = ends };
    }
    h->begun = true;
    h->run = false;
}

/*
 * Where the run begins whose closing mark is at that place, counted from p: with the mark.  What of that came in the
 * piece before is missing then, and h->offset says so.
 */
static ptrdiff_t run_begins(struct pk_http *h, const struct segment *s, const char *p, ptrdiff_t at) {
    size_t before = at < 0 ? (size_t)-at : 0;
    bool here = !before || (p == s->begins && s->spans->base >= before &&
                            !memcmp(p + at, h->pairs.scan.marks->text[EEOD_CLOSE - EEOD_OPEN], before));

    h->run = h->begun;
    h->offset = here ? 0 : (uint16_t)before;
    return here ? at : 0;
}

/* Bytes of a body, with what marks make of them; last: it ends with them. */
static void body_data(struct pk_http *h, struct segment *s, const char *p, size_t n, bool last) {
    enum eeod_pair pair;
    ptrdiff_t at;
    ptrdiff_t from = 0;
    size_t length;

    while ((pair = eeod_pairs_next(&h->pairs, p, n, &at, &length))) {
        ptrdiff_t behind = at + (ptrdiff_t)length;
        if (pair == EEOD_PAIR_CLOSES) s->closes = p + at == s->begins;
        else if (eeod_pairs_unique(&h->pairs)) s->unique = true;
        if (!s->spans || !h->blocks) continue;
        if (pair == EEOD_PAIR_OPENS) {
            add_span(h, s, p + from, (size_t)(behind - from), true);
        } else if (pair == EEOD_PAIR_CLOSES) {
            from = run_begins(h, s, p, at);
        } else if (pair == EEOD_PAIR_STRAY) { /* what stands before it may not be everybody's, either */
            h->blocks = false;
        }
    }
    if (!s->spans || !h->blocks || eeod_pairs_unique(&h->pairs)) return;
    if ((ptrdiff_t)n > from) add_span(h, s, p + from, (size_t)((ptrdiff_t)n - from), last && h->to_end);
    h->over = last;
}

/* A body in chunks has ended before this. */
static void body_over(struct pk_http *h, struct segment *s, const char *p) {
    if (!s->spans || !h->blocks || h->over || !h->begun || h->run || eeod_pairs_unique(&h->pairs)) return;
    add_span(h, s, p, 0, h->to_end);
    h->over = true;
}

/* Whether n bytes of a body's framing, behind what m->line has of the same line, say more than how long a chunk is. */
static bool speaks(const struct pk_message *m, const char *p, size_t n) {
    if (m->state != CHUNK && m->state != TRAILER) return false;
    for (size_t i = 0; i < m->line_n; i++)
        if (!isxdigit((unsigned char)m->line[i]) && m->line[i] != '\r') return true;
    for (size_t i = 0; i < n && p[i] != '\n'; i++)
        if (p[i] != '\r' && (m->state == TRAILER || !isxdigit((unsigned char)p[i]))) return true;
    return false;
}

static void http_feed(struct pk_http *h, struct pk_message *m, const struct eeod_marks *marks, struct segment *s,
                      const char *p, size_t n) {
    for (size_t taken; n && m->state != LOST; p += taken, n -= taken) {
        if (m->state != START && m->state != HEADER) {
            bool data = m->state == SIZED || m->state == DATA || m->state == ENDLESS;
            if (s && h->keep != NOTHING && speaks(m, p, n)) s->spoken = true;
            taken = body(m, p, n);
            if (!s || h->keep == NOTHING) continue;
            if (data) body_data(h, s, p, taken, m->state == START);
            else if (m->state == TRAILER) body_over(h, s, p);
            continue;
        }
        if (m->state == START && !m->line_n) {
            m->begun++;
            m->header = 0;
        }
        bool whole = line_whole(m, p, n, &taken);
        m->header += (uint32_t)taken;
        if (m->header > PK_HEADER_MAX) {
            m->state = LOST;
            break;
        }
        if (!whole) {
            if (m == &h->answer && m->state == START && !may_be_answer(m)) m->state = LOST;
            continue;
        }
        header_line(h, m, marks, taken == n);
        line_next(m);
    }
    if (m->state != LOST) return;
    h->never |= !h->unknown && h->answer.begun <= (m == &h->answer);
    pk_http_lose(h);
}

void pk_http_ask(struct pk_http *h, const void *bytes, size_t n) {
    if (!pk_http_lost(h)) http_feed(h, &h->ask, NULL, NULL, bytes, n);
}

/* Nothing of this segment goes as spans, nor of the rest of the body. */
static void http_unspan(struct pk_http *h, struct pk_spans *spans, uint32_t n, const struct pk_span *last) {
    h->blocks = false;
    spans->n = n;
    if (n) spans->span[n - 1] = *last;
}

bool pk_http_answer(struct pk_http *h, const struct eeod_marks *marks, const void *bytes, size_t n,
                    struct pk_spans *spans) {
    struct pk_message *m = &h->answer;
    struct segment s = { .begins = bytes, .spans = spans };
    uint32_t begun = m->begun, before = spans ? spans->n : 0;
    struct pk_span last = before ? spans->span[before - 1] : (struct pk_span){ .n = 0 };
    bool in_body = m->state >= SIZED;

    if (m->state == LOST || !n) return false;
    if (in_body && looks_like_a_header(bytes, n)) {
        h->keep = NOTHING;
        h->blocks = false;
    }
    bool inside = eeod_pairs_unique(&h->pairs), as_spans = spans && h->blocks;
    http_feed(h, m, marks, &s, bytes, n);
    h->ended = m->state == START && !m->line_n;
    if (spans && m->state == LOST) http_unspan(h, spans, before, &last);
    if (as_spans || !in_body || m->state == LOST || m->begun != begun || h->keep == NOTHING) return false;
    return !s.unique && !s.spoken && (!inside || (s.closes && !eeod_pairs_unique(&h->pairs)));
}
