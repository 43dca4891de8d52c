/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_whole.h"

#include <string.h>

#define BLANK_LINES    10u /* before a request line; at one more httpd gives up */
/* Bytes of a line of the PROXY protocol; and before mod_remoteip looks which version it is. */
#define PROXY_V1_MOST  107u
#define PROXY_V1_LEAST 15u
#define PROXY_V2_HEAD  16u
#define PROXY_V2_MOST  216u /* of its addresses: two of sockets in the file system */

struct whole_text {
    const char *p;
    size_t n;
};

enum whole_part { UNENDED, REFUSED, PART };

static enum qos_whole whole_without(enum whole_part part) { return part == REFUSED ? QOS_ANSWERED : QOS_NOT_WHOLE; }

static bool is_token(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }

static bool is_space_or_tab(char c) { return c == ' ' || c == '\t'; }

static void whole_skip(struct whole_text *t, size_t n) {
    t->p += n;
    t->n -= n;
}

/* The next line, without its end. */
static enum whole_part whole_line(struct whole_text *left, size_t most, bool strict, struct whole_text *line) {
    const char *end = memchr(left->p, '\n', left->n);
    size_t n;

    /* Also where it is too long already: httpd reads on to its end. */
    if (!end) return UNENDED;
    n = (size_t)(end - left->p);
    if (n > most + 2) return REFUSED;
    *line = (struct whole_text){ left->p, n };
    whole_skip(left, n + 1);
    if (n && line->p[n - 1] == '\r') line->n -= 1;
    else if (strict) return REFUSED;
    return memchr(line->p, '\0', line->n) ? REFUSED : PART;
}

/* ---- the PROXY protocol ------------------------------------------------------------------------------------------ */

static enum whole_part past_proxy(struct whole_text *left) {
    static const char v1[6] = { 'P', 'R', 'O', 'X', 'Y', ' ' };
    static const char v2[12] = { '\r', '\n', '\r', '\n', '\0', '\r', '\n', 'Q', 'U', 'I', 'T', '\n' };
    const char *end;
    size_t n;

    if (!memcmp(left->p, v2, left->n < sizeof v2 ? left->n : sizeof v2)) {
        if (left->n < PROXY_V2_HEAD) return UNENDED;
        n = (size_t)(unsigned char)left->p[14] << 8 | (unsigned char)left->p[15];
        if (n > PROXY_V2_MOST) return REFUSED;
        n += PROXY_V2_HEAD;
        if (left->n < n) return UNENDED;
        whole_skip(left, n);
        return PART;
    }
    if (memcmp(left->p, v1, left->n < sizeof v1 ? left->n : sizeof v1))
        return left->n < PROXY_V1_LEAST ? UNENDED : REFUSED;
    end = memchr(left->p, '\n', left->n < PROXY_V1_MOST ? left->n : PROXY_V1_MOST);
    if (!end) return left->n < PROXY_V1_MOST ? UNENDED : REFUSED;
    whole_skip(left, (size_t)(end - left->p) + 1);
    return PART;
}

/* ---- the request line -------------------------------------------------------------------------------------------- */

static bool is_protocol(const char *p) {
    return !strncmp(p, "HTTP/", 5) && p[5] >= '1' && p[5] <= '9' && p[6] == '.' && p[7] >= '0' && p[7] <= '9';
}

/* Does httpd read fields behind this line?  Surely where it asks for a path, as nearly all do. */
static bool has_fields(struct whole_text line) {
    size_t method = 0, target;

    while (method < line.n && is_token((unsigned char)line.p[method])) method++;
    if (!method || line.n - method < 2 || line.p[method] != ' ' || line.p[method + 1] != '/') return false;
    if (method == 7 && !memcmp(line.p, "CONNECT", 7)) return false;
    target = method + 1;
    while (target < line.n && line.p[target] != ' ' && !is_control((unsigned char)line.p[target])) target++;
    return line.n - target == 9 && line.p[target] == ' ' && is_protocol(line.p + target + 1);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool is_value(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_control((unsigned char)p[i]) && p[i] != '\t') return false;
    return true;
}

static bool is_field(struct whole_text line) {
    size_t name = 0;

    while (name < line.n && is_token((unsigned char)line.p[name])) name++;
    return name && name < line.n && line.p[name] == ':' && is_value(line.p + name, line.n - name);
}

/* None of them is blank.  httpd judges a field when the line behind it has come, which might have been more of it. */
static enum qos_whole fields_so_far(const struct qos_whole_limits *limits, struct whole_text left) {
    struct whole_text line;
    unsigned begun = 0;
    bool wrong = false;

    for (;;) {
        enum whole_part part = whole_line(&left, limits->field, limits->strict, &line);

        if (part != PART) return whole_without(part);
        while (line.n > 1 && is_space_or_tab(line.p[line.n - 1])) line.n -= 1;
        if (is_space_or_tab(line.p[0])) {
            if (!begun || line.n == 1) return QOS_ANSWERED;
            if (limits->strict && !is_value(line.p, line.n)) wrong = true;
            continue;
        }
        if (wrong || (limits->fields && begun > limits->fields)) return QOS_ANSWERED;
        begun += 1;
        wrong = limits->strict && !is_field(line);
    }
}

/* A blank line behind one that is not: httpd reads no further, whatever it thinks of those before.  Most end here. */
static bool has_end(struct whole_text left) {
    const char *at = left.p, *end = left.p + left.n;

    while (at < end && (*at == '\r' || *at == '\n')) at++;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        if (at < end && (*at == '\n' || (*at == '\r' && at + 1 < end && at[1] == '\n'))) return true;
    }
    return false;
}

enum qos_whole qos_whole(const struct qos_whole_limits *limits, const char *p, size_t n) {
    struct whole_text left = { p, n }, line = { p, 0 };
    enum whole_part part = limits->proxied ? past_proxy(&left) : PART;

    if (part == PART && has_end(left)) return QOS_WHOLE;
    for (unsigned blank = 0; part == PART; blank++) {
        if (blank > BLANK_LINES) return QOS_ANSWERED;
        part = whole_line(&left, limits->line, limits->strict, &line);
        if (part != PART || !line.n) continue;
        return has_fields(line) ? fields_so_far(limits, left) : QOS_ANSWERED;
    }
    return whole_without(part);
}
