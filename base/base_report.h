/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_report.h - figures as JSON (RFC 8259) and as Prometheus reads them (its text format, 0.0.4), written into a
 * sink.
 *
 * A sink takes bytes and can't fail: a host that cannot go on keeps that to itself.  Nothing allocates.
 *
 * Texts become UTF-8: a byte that is none is written as U+FFFD.  JSON has control characters only as \u009b.
 *
 * NAMES.  A Prometheus name is prefix and name put together; units stand in it, and `_total` behind a counter's.
 */
#ifndef FAIRGATE_BASE_REPORT_H
#define FAIRGATE_BASE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct base_sink {
    void (*write)(void *to, const char *text, size_t bytes);
    void  *to;
};

/* ---- JSON: `key` is NULL in an array and for the whole ----------------------------------------------------------- */

enum { BASE_JSON_DEEP = 32 };       /* what is open at one time, at most: our own mistake, asserted */

struct base_json {
    struct base_sink sink;
    unsigned         open;          /* how many are */
    uint32_t         more;          /* a bit for each: it has a member, so a comma comes before the next */
};

static inline struct base_json base_json_into(struct base_sink sink) {
    struct base_json j = { sink, 0, 0 };
    return j;
}
void base_json_object(struct base_json *j, const char *key);
void base_json_array(struct base_json *j, const char *key);
void base_json_end_object(struct base_json *j);
void base_json_end_array(struct base_json *j);
/* NULL: null */
void base_json_text(struct base_json *j, const char *key, const char *text);
void base_json_whole(struct base_json *j, const char *key, uint64_t n);
void base_json_number(struct base_json *j, const char *key, double n);          /* null if it is not finite */
void base_json_truth(struct base_json *j, const char *key, bool is);
/* What comes next into the sink, from another writer and one value whole, is the member. */
void base_json_opened(struct base_json *j, const char *key);
/* all that was opened is closed: the line's end */
void base_json_done(struct base_json *j);

/* ---- Prometheus -------------------------------------------------------------------------------------------------- */

#define BASE_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

enum base_kind { BASE_GAUGE, BASE_COUNTER, BASE_TRUTH /* a gauge of 0 and 1 that is true or false in JSON */ };

/* What samples of that name mean; they must follow at once. */
void base_prometheus_family(struct base_sink sink, const char *prefix, const char *name, enum base_kind kind,
                            const char *sentence);
/* Up to two labels; one whose key is NULL is left out. */
struct base_label { const char *key, *text; };
void base_prometheus_sample(struct base_sink sink, const char *prefix, const char *name, struct base_label a,
                            struct base_label b, double n);

/* ---- a row of figures: one of each, in either form --------------------------------------------------------------- */

struct base_figure {
    const char    *name;            /* Prometheus's; NULL: only in JSON */
    const char    *json;            /* NULL: only for Prometheus */
    const char    *sentence;
    /* the whole Prometheus name of the version before, which goes on for this one; NULL: none */
    const char    *was;
    double         value;
    enum base_kind kind;
};

void base_figures_json(struct base_json *j, const struct base_figure *all, size_t n);
/* `label` is one for all of them.  Once for a page: a name's second family is refused. */
void base_figures_prometheus(struct base_sink sink, const char *prefix, struct base_label label,
                             const struct base_figure *all, size_t n);

#ifdef __cplusplus
}
#endif

#endif
