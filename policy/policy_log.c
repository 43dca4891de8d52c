/* SPDX-License-Identifier: BSD-2-Clause */
#include "policy_log.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base_error.h"

#define TOOK_MAX UINT64_C(100000000000000) /* three years */
#define TIME_MAX INT64_C(250000000000000000)

/* ---- the format -------------------------------------------------------------------------------------------------- */

static const struct {
    const char *word; /* in the braces; NULL: any, or none */
    char letter;
    uint8_t what;
} directives[] = {
    { NULL, 'h', POLICY_LOG_ADDRESS },
    { NULL, 'a', POLICY_LOG_ADDRESS },
    { "remote", 'p', POLICY_LOG_PORT },
    { "sec", 't', POLICY_LOG_SEC },
    { "msec", 't', POLICY_LOG_MSEC },
    { "usec", 't', POLICY_LOG_USEC },
    { "msec_frac", 't', POLICY_LOG_MSEC_FRAC },
    { "usec_frac", 't', POLICY_LOG_USEC_FRAC },
    { "", 't', POLICY_LOG_TIME },
    { NULL, 'r', POLICY_LOG_REQUEST },
    { NULL, 'm', POLICY_LOG_METHOD },
    { NULL, 'U', POLICY_LOG_PATH },
    { NULL, 'q', POLICY_LOG_QUERY },
    { NULL, 'V', POLICY_LOG_HOST },
    { NULL, 'v', POLICY_LOG_HOST },
    { "host", 'i', POLICY_LOG_HOST },
    { NULL, 'O', POLICY_LOG_BYTES },
    { NULL, 'B', POLICY_LOG_BYTES },
    { NULL, 'b', POLICY_LOG_BYTES },
    { NULL, 'D', POLICY_LOG_TOOK_US },
    { "us", 'T', POLICY_LOG_TOOK_US },
    { "ms", 'T', POLICY_LOG_TOOK_MS },
    { "s", 'T', POLICY_LOG_TOOK_S },
    { "", 'T', POLICY_LOG_TOOK_S },
    { "user-agent", 'i', POLICY_LOG_AGENT },
    { "cookie", 'i', POLICY_LOG_COOKIE },
};

static uint8_t log_what(const char *word, char letter) {
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++)
        if (directives[i].letter == letter && (!directives[i].word || !strcasecmp(directives[i].word, word)))
            return directives[i].what;
    return POLICY_LOG_SKIP;
}

/* A directive at `at`, behind its %: what stands behind it, or NULL. */
static const char *log_directive(const char *at, struct policy_log_piece *p) {
    char word[64] = "", *name = word;
    size_t n;

    while (*at && strchr("<>!,0123456789", *at)) at++;
    if (*at == '{') {
        n = strcspn(++at, "}");
        if (at[n] != '}') return NULL;
        if (n < sizeof word) memcpy(word, at, n);
        at += n + 1;
    }
    while (*at == '<' || *at == '>') at++;
    if (*at == '^') at += at[1] && at[2] ? 2 : 0; /* ^ti, ^to */
    if (!*at) return NULL;
    if (!strncmp(name, "begin:", 6) && *at == 't') name += 6;
    if (!strncmp(name, "end:", 4) && *at == 't') {
        name += 4;
        p->at_end = 1;
    }
    p->what = log_what(name, *at);
    return at + 1;
}

static int log_add_text(struct policy_log_format *f, unsigned *used, char c, char **error) {
    if (*used + 1 >= sizeof f->text)
        return base_fail(error, "the log's format is too long; use at most %zu bytes", sizeof f->text - 1);
    f->text[(*used)++] = c;
    if (f->n) f->piece[f->n - 1].len++;
    else f->before++;
    return 0;
}

int policy_log_format(struct policy_log_format *f, const char *text, char **error) {
    unsigned used = 0;

    memset(f, 0, sizeof *f);
    while (*text) {
        char c = *text++;

        if (c == '\\' && *text) c = *text == 'n' ? (text++, '\n') : *text == 't' ? (text++, '\t') : *text++;
        else if (c == '%' && *text == '%') text++;
        else if (c == '%') {
            struct policy_log_piece *p = &f->piece[f->n];

            if (f->n == POLICY_LOG_PIECES)
                return base_fail(error, "the log's format has more than %d directives; leave out some",
                                 POLICY_LOG_PIECES);
            if (f->n && !p[-1].len)
                return base_fail(error, "the log's format has two directives with nothing between them, which can't be "
                                        "told apart; put a blank there");
            text = log_directive(text, p);
            if (!text)
                return base_fail(error, "the log's format ends within a directive; write it as httpd's LogFormat");
            p->text = (uint16_t)used;
            f->n++;
            continue;
        }
        if (log_add_text(f, &used, c, error)) return -1;
    }
    for (unsigned i = 0; i < f->n; i++)
        if (f->piece[i].what >= POLICY_LOG_TIME && f->piece[i].what <= POLICY_LOG_USEC) return 0;
    return base_fail(error, "the log's format has no time; it needs %%t, %%{sec}t, %%{msec}t or %%{usec}t");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool log_whole(struct policy_text t, uint64_t *n) {
    *n = 0;
    if (!t.n || t.n > 18) return false;
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] < '0' || t.p[i] > '9') return false;
        *n = *n * 10 + (uint64_t)(t.p[i] - '0');
    }
    return true;
}

static int log_two_digits(const char *p) {
    return p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9' ? (p[0] - '0') * 10 + p[1] - '0' : -1;
}

/* Days since 1970 of the Gregorian calendar. */
static int64_t log_days(int64_t y, int m, int d) {
    static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
    int64_t years = y - (m < 3 ? 1 : 0);

    return 365 * (y - 1970) + (years / 4 - years / 100 + years / 400) - (1969 / 4 - 1969 / 100 + 1969 / 400) +
           before[m - 1] + d - 1;
}

/* [10/Oct/2000:13:55:36 -0700] */
static bool log_read_time(struct policy_text t, struct policy_log_memory *m, int64_t *us) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *p = t.p + 1;
    int hour, minute, second, zone;

    if (t.n != 28 || t.p[0] != '[' || t.p[27] != ']' || p[2] != '/' || p[6] != '/' || p[11] != ':' || p[14] != ':' ||
        p[17] != ':' || p[20] != ' ' || (p[21] != '+' && p[21] != '-'))
        return false;
    if (memcmp(m->day, p, 11)) {
        int day = log_two_digits(p), month = 0, century = log_two_digits(p + 7), year = log_two_digits(p + 9);

        while (month < 12 && memcmp(months + 3 * month, p + 3, 3)) month++;
        if (day < 1 || day > 31 || month == 12 || century < 0 || year < 0) return false;
        memcpy(m->day, p, 11);
        m->seconds = log_days(century * 100 + year, month + 1, day) * 86400;
    }
    hour = log_two_digits(p + 12);
    minute = log_two_digits(p + 15);
    second = log_two_digits(p + 18);
    if (hour < 0 || minute < 0 || second < 0 || log_two_digits(p + 22) < 0 || log_two_digits(p + 24) < 0) return false;
    zone = (log_two_digits(p + 22) * 60 + log_two_digits(p + 24)) * 60;
    *us = (m->seconds + hour * 3600 + minute * 60 + second + (p[21] == '-' ? zone : -zone)) * 1000000;
    return true;
}

static int log_hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* As it came, in its own place. */
static struct policy_text log_plain(char *p, size_t n) {
    size_t used = 0;

    if (!memchr(p, '\\', n)) return (struct policy_text){ p, n };
    for (size_t i = 0; i < n; i++) {
        char c = p[i];

        if (c == '\\' && i + 1 < n) {
            c = p[++i];
            if (c == 'x' && i + 2 < n && log_hex(p[i + 1]) >= 0 && log_hex(p[i + 2]) >= 0) {
                c = (char)(log_hex(p[i + 1]) << 4 | log_hex(p[i + 2]));
                i += 2;
            } else if (c == 'n' || c == 't' || c == 'r') {
                c = c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
            }
        }
        p[used++] = c;
    }
    return (struct policy_text){ p, used };
}

static bool log_is_none(struct policy_text t) { return t.n == 1 && t.p[0] == '-'; }

static void log_address(struct policy_text t, struct policy_log_line *out) {
    char text[INET6_ADDRSTRLEN];

    out->address_text = t;
    if (t.n >= sizeof text || memchr(t.p, '\0', t.n)) return;
    memcpy(text, t.p, t.n);
    text[t.n] = '\0';
    out->address_len = inet_pton(AF_INET, text, out->address) == 1    ? 4
                       : inet_pton(AF_INET6, text, out->address) == 1 ? 16
                                                                      : 0;
    out->has_address = out->address_len != 0;
}

static void log_request(struct policy_text t, struct policy_log_line *out) {
    const char *first = memchr(t.p, ' ', t.n), *last = memrchr(t.p, ' ', t.n);

    if (!first) return;
    out->method = (struct policy_text){ t.p, (size_t)(first - t.p) };
    first++;
    out->target = (struct policy_text){ first, last >= first ? (size_t)(last - first) : (size_t)(t.p + t.n - first) };
}

/* The finest that there is. */
static void log_time(struct policy_log_line *out, int64_t us, unsigned fine, bool at_end) {
    if (out->has_time && fine >= out->fine) return;
    out->has_time = true;
    out->time_us = us;
    out->fine = fine;
    out->time_is_end = at_end;
}

static const char *log_number(const struct policy_log_piece *p, struct policy_text t, struct policy_log_line *out) {
    uint64_t n, of;

    if (log_is_none(t)) return NULL;
    if (!log_whole(t, &n)) return "has something else where a number should be";
    switch (p->what) {
    case POLICY_LOG_PORT: out->port = n < 65536 ? (uint16_t)n : 0; break;
    case POLICY_LOG_BYTES:
        if (n > out->bytes) out->bytes = n;
        break;
    case POLICY_LOG_TOOK_US:
    case POLICY_LOG_TOOK_MS:
    case POLICY_LOG_TOOK_S:
        of = p->what == POLICY_LOG_TOOK_US ? 1 : p->what == POLICY_LOG_TOOK_MS ? 1000 : 1000000;
        if (n > TOOK_MAX / of) return "took longer than anything does";
        /* A coarser one is rounded down: of several the largest is the finest. */
        if (n * of > out->took_us) out->took_us = n * of;
        out->has_took |= of < 1000000;
        break;
    case POLICY_LOG_MSEC_FRAC:
    case POLICY_LOG_USEC_FRAC:
        of = p->what == POLICY_LOG_MSEC_FRAC ? 1000 : 1;
        if (n * of >= 1000000) return "has more than a second in a part of one";
        out->part_us = (int64_t)(n * of);
        if (of < out->part_fine) out->part_fine = (unsigned)of;
        break;
    default:
        of = p->what == POLICY_LOG_USEC ? 1 : p->what == POLICY_LOG_MSEC ? 1000 : 1000000;
        if (n > (uint64_t)TIME_MAX / of) return "has a time that can't be";
        log_time(out, (int64_t)(n * of), (unsigned)of, p->at_end);
    }
    return NULL;
}

static const char *log_value(const struct policy_log_piece *p, struct policy_log_memory *m, char *at, size_t n,
                             struct policy_log_line *out) {
    struct policy_text raw = { at, n }, t;

    switch (p->what) {
    case POLICY_LOG_SKIP: return NULL;
    case POLICY_LOG_ADDRESS:
        if (!out->has_address) log_address(raw, out);
        return NULL;
    case POLICY_LOG_TIME: {
        int64_t us;

        if (!log_read_time(raw, m, &us)) return "has no time like [10/Oct/2000:13:55:36 -0700]";
        log_time(out, us, 1000000, p->at_end);
        return NULL;
    }
    case POLICY_LOG_REQUEST:
    case POLICY_LOG_METHOD:
    case POLICY_LOG_PATH:
    case POLICY_LOG_QUERY:
    case POLICY_LOG_HOST:
    case POLICY_LOG_AGENT:
    case POLICY_LOG_COOKIE: break;
    default: return log_number(p, raw, out);
    }
    if (log_is_none(raw)) return NULL;
    t = log_plain(at, n);
    switch (p->what) {
    case POLICY_LOG_REQUEST: log_request(t, out); break;
    case POLICY_LOG_METHOD: out->method = t; break;
    case POLICY_LOG_PATH:
        if (!out->target.p) out->target = t;
        break;
    case POLICY_LOG_HOST: out->host = t; break;
    case POLICY_LOG_AGENT: out->agent = t; break;
    case POLICY_LOG_COOKIE: out->cookie = t; break;
    default: break;
    }
    return NULL;
}

/* ---- a line ------------------------------------------------------------------------------------------------------ */

/* Where the value that begins at `at` ends: in front of `behind`.  NULL: it does not. */
static char *log_value_end(char *at, char *end, const char *behind, size_t n, bool quoted, bool bracketed) {
    if (bracketed && at < end && *at == '[') {
        char *close = memchr(at, ']', (size_t)(end - at));
        if (!close) return NULL;
        at = close + 1;
    }
    if (!n) return end;
    while (at < end) {
        if (quoted && *at == '\\') {
            at += 2;
            continue;
        }
        if (*at == *behind)
            return (size_t)(end - at) >= n && !memcmp(at, behind, n) ? at
                   : quoted                                          ? NULL
                                                                     : memmem(at, (size_t)(end - at), behind, n);
        at++;
    }
    return NULL;
}

const char *policy_log_read(const struct policy_log_format *f, struct policy_log_memory *m, char *line, size_t n,
                            struct policy_log_line *out) {
    char *at = line, *end = line + n;
    const char *before = f->text;
    size_t nbefore = f->before;

    memset(out, 0, sizeof *out);
    out->fine = out->part_fine = 2000000;
    if (n < nbefore || memcmp(at, before, nbefore)) return "does not begin as the format says";
    at += nbefore;
    for (unsigned i = 0; i < f->n; i++) {
        const struct policy_log_piece *p = &f->piece[i];
        const char *behind = f->text + p->text, *bad;
        bool quoted = nbefore && before[nbefore - 1] == '"';
        char *stop = log_value_end(at, end, behind, p->len, quoted, p->what == POLICY_LOG_TIME);

        if (!stop) return "is not as the format says";
        bad = log_value(p, m, at, (size_t)(stop - at), out);
        if (bad) return bad;
        at = stop + p->len;
        before = behind;
        nbefore = p->len;
    }
    if (!out->has_time) return "has no time";
    if (out->fine == 1000000 && out->part_fine < out->fine) {
        out->time_us += out->part_us;
        out->fine = out->part_fine;
    }
    return NULL;
}
