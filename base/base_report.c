/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_report.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one call writes goes to the sink in one piece, or a few if it is long. */
struct line {
    struct base_sink sink;
    size_t n;
    char room[400];
};

static void report_flush(struct line *l) {
    if (l->n) l->sink.write(l->sink.to, l->room, l->n);
    l->n = 0;
}

static void put_bytes(struct line *l, const char *text, size_t n) {
    if (n > sizeof l->room - l->n) report_flush(l);
    if (n > sizeof l->room) {
        l->sink.write(l->sink.to, text, n);
        return;
    }
    memcpy(l->room + l->n, text, n);
    l->n += n;
}

static void report_put(struct line *l, const char *text) { put_bytes(l, text, strlen(text)); }

/* Bytes of the character that begins here; 0: no UTF-8 (RFC 3629: neither overlong nor a surrogate). */
static size_t utf8_length(const unsigned char *s) {
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) ||
        (*s == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* `special` as `spelled` has it, a backslash before it; what is no UTF-8 as U+FFFD; all else as it is. */
static void put_escaped(struct line *l, const char *text, const char *special, const char *spelled) {
    while (*text) {
        const char *at = strchr(special, *text);
        size_t n = utf8_length((const unsigned char *)text);

        if (at) put_bytes(l, (const char[]){ '\\', spelled[at - special] }, 2);
        else if (n) put_bytes(l, text, n);
        else report_put(l, "\xef\xbf\xbd");
        text += n ? n : 1;
    }
}

/* Whole numbers whole, which is what those who read counters expect; the largest not rounded up to what is none. */
static void put_number(struct line *l, double n) {
    char text[64];

    if (n == floor(n) && fabs(n) < 1e18) snprintf(text, sizeof text, "%.0f", n);
    else snprintf(text, sizeof text, "%.*g", fabs(n) < 1e308 ? 15 : 17, n);
    report_put(l, text);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_json_text(struct line *l, const char *text) {
    char code[8];

    report_put(l, "\"");
    while (*text) {
        size_t n = utf8_length((const unsigned char *)text);

        /* Those that JSON lets stand, U+007F to U+009F, a terminal would obey. */
        if ((unsigned char)*text < ' ' || *text == 0x7f || (n == 2 && *text == '\xc2' && text[1] < '\xa0')) {
            snprintf(code, sizeof code, "\\u%04x", (unsigned char)text[n - 1]);
            report_put(l, code);
        } else if (n) {
            if (*text == '"' || *text == '\\') report_put(l, "\\");
            put_bytes(l, text, n);
        } else {
            report_put(l, "\\ufffd");
        }
        text += n ? n : 1;
    }
    report_put(l, "\"");
}

static struct line report_member(struct base_json *j, const char *key) {
    struct line l;

    l.sink = j->sink;
    l.n = 0;
    if (j->open && j->more >> (j->open - 1) & 1) report_put(&l, ",");
    if (j->open) j->more |= (uint32_t)1 << (j->open - 1);
    if (key) {
        put_json_text(&l, key);
        report_put(&l, ":");
    }
    return l;
}

static void whole_member(struct base_json *j, const char *key, const char *value) {
    struct line l = report_member(j, key);
    report_put(&l, value);
    report_flush(&l);
}

static void report_begin(struct base_json *j, const char *key, const char *bracket) {
    assert(j->open < BASE_JSON_DEEP);
    whole_member(j, key, bracket);
    j->more &= ~((uint32_t)1 << j->open++);
}

static void report_end(struct base_json *j, const char *bracket) {
    assert(j->open);
    j->open--;
    j->sink.write(j->sink.to, bracket, 1);
}

void base_json_object(struct base_json *j, const char *key) { report_begin(j, key, "{"); }
void base_json_array(struct base_json *j, const char *key) { report_begin(j, key, "["); }
void base_json_end_object(struct base_json *j) { report_end(j, "}"); }
void base_json_end_array(struct base_json *j) { report_end(j, "]"); }
void base_json_truth(struct base_json *j, const char *key, bool is) { whole_member(j, key, is ? "true" : "false"); }

void base_json_opened(struct base_json *j, const char *key) { whole_member(j, key, ""); }

void base_json_text(struct base_json *j, const char *key, const char *text) {
    struct line l = report_member(j, key);

    if (text) put_json_text(&l, text);
    else report_put(&l, "null");
    report_flush(&l);
}

void base_json_whole(struct base_json *j, const char *key, uint64_t n) {
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, n);
    whole_member(j, key, text);
}

void base_json_number(struct base_json *j, const char *key, double n) {
    struct line l = report_member(j, key);

    if (isfinite(n)) put_number(&l, n);
    else report_put(&l, "null");
    report_flush(&l);
}

void base_json_done(struct base_json *j) {
    assert(!j->open);
    j->sink.write(j->sink.to, "\n", 1);
}

/* ---- Prometheus -------------------------------------------------------------------------------------------------- */

void base_prometheus_family(struct base_sink sink, const char *prefix, const char *name, enum base_kind kind,
                            const char *sentence) {
    struct line l = { .sink = sink, .n = 0 };

    report_put(&l, "# HELP ");
    report_put(&l, prefix);
    report_put(&l, name);
    report_put(&l, " ");
    put_escaped(&l, sentence, "\\\n", "\\n");
    report_put(&l, "\n# TYPE ");
    report_put(&l, prefix);
    report_put(&l, name);
    report_put(&l, kind == BASE_COUNTER ? " counter\n" : " gauge\n");
    report_flush(&l);
}

static void put_label(struct line *l, const char *before, struct base_label label) {
    report_put(l, before);
    report_put(l, label.key);
    report_put(l, "=\"");
    put_escaped(l, label.text, "\\\n\"", "\\n\"");
    report_put(l, "\"");
}

void base_prometheus_sample(struct base_sink sink, const char *prefix, const char *name, struct base_label a,
                            struct base_label b, double n) {
    struct line l = { .sink = sink, .n = 0 };

    report_put(&l, prefix);
    report_put(&l, name);
    if (a.key) put_label(&l, "{", a);
    if (b.key) put_label(&l, a.key ? "," : "{", b);
    report_put(&l, a.key || b.key ? "} " : " ");
    if (isnan(n)) report_put(&l, "NaN");
    else if (isinf(n)) report_put(&l, n > 0 ? "+Inf" : "-Inf");
    else put_number(&l, n);
    report_put(&l, "\n");
    report_flush(&l);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void base_figures_json(struct base_json *j, const struct base_figure *all, size_t n) {
    for (const struct base_figure *f = all; n--; f++)
        if (f->json && f->kind == BASE_TRUTH) base_json_truth(j, f->json, f->value != 0);
        else if (f->json) base_json_number(j, f->json, f->value);
}

static bool ends_in_total(const char *name) {
    size_t n = strlen(name), total = strlen("_total");
    return n > total && !strcmp(name + n - total, "_total");
}

void base_figures_prometheus(struct base_sink sink, const char *prefix, struct base_label label,
                             const struct base_figure *all, size_t n) {
    static const struct base_label none = { NULL, NULL };

    for (const struct base_figure *f = all; n--; f++) {
        if (!f->name) continue;
        base_prometheus_family(sink, prefix, f->name, f->kind, f->sentence);
        base_prometheus_sample(sink, prefix, f->name, label, none, f->value);
        if (!f->was) continue;
        base_prometheus_family(sink, "", f->was, ends_in_total(f->was) ? BASE_COUNTER : BASE_GAUGE,
                               "A name of the version before, for this one: see the documentation.");
        base_prometheus_sample(sink, "", f->was, label, none, f->value);
    }
}
