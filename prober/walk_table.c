/* SPDX-License-Identifier: BSD-2-Clause */
/* walk_table.c - what is known, from a file and into it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base_error.h"
#include "walk.h"
#include "walk_impl.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int walk_number_of_origin(struct walk *w, const char *name, uint16_t *out) {
    for (uint16_t i = 0; i < w->scope->n + w->nothers; i++)
        if (!strcmp(walk_origin(w, i), name)) {
            *out = i;
            return 0;
        }
    if (w->nothers == WALK_ORIGINS - SCOPE_ORIGINS) return -1;
    snprintf(w->others[w->nothers], sizeof *w->others, "%s", name);
    *out = (uint16_t)(w->scope->n + w->nothers++);
    return 0;
}

static uint32_t time_of(int64_t t) { return t > 0 && t <= UINT32_MAX ? (uint32_t)t : 0; }

int walk_take_row(struct walk *w, uint16_t origin, const struct pages_row *row) {
    struct url *u;
    uint32_t i;
    int fresh;

    i = urls_add(w->urls, origin, row->target, row->target_length, &fresh);
    if (i == URLS_NONE || (row->etag && urls_set_etag(w->urls, i, row->etag, row->etag_length))) {
        w->out_of_memory = 1;
        return -1;
    }
    u = urls_at(w->urls, i);
    memcpy(u->body, row->body, sizeof u->body);
    u->spread = row->spread;
    u->header = row->header;
    u->time = row->time;
    u->samples = row->samples < UINT16_MAX ? (uint16_t)row->samples : UINT16_MAX;
    u->depth = row->depth < UINT16_MAX ? (uint16_t)row->depth : UINT16_MAX;
    u->checked = time_of(row->checked);
    u->modified = time_of(row->modified);
    u->flags = (uint8_t)(row->flags & ~PAGES_UNASKED);
    /* Only the walked origins are asked for again. */
    u->state = origin < w->scope->n ? URL_UNASKED : URL_KNOWN;
    return 0;
}

int walk_load(struct walk *w, const char *path, int checkpoint) {
    char *error = NULL;
    pages_reader_t *r = pages_reader_open(path, &error);
    enum pages_next next = r ? PAGES_ROW : PAGES_BAD;
    struct pages_row row;
    uint16_t origin = 0;
    char name[PAGES_ORIGIN_MAX + 1] = "";

    while (next == PAGES_ROW && (next = pages_reader_next(r, &row, &error)) == PAGES_ROW) {
        if (strcmp(name, pages_reader_origin(r))) {
            strcpy(name, pages_reader_origin(r));
            if (walk_number_of_origin(w, name, &origin)) {
                error = strdup("more origins than a walk can keep");
                next = PAGES_BAD;
                break;
            }
            w->rules[origin] = w->rules_before[origin] = pages_reader_rules(r);
        }
        /* Another site's walk was interrupted: what it had yet to ask for is not kept here. */
        if (origin >= w->scope->n && row.flags & PAGES_UNASKED && !row.samples) {
            w->rules[origin] = 0;
            continue;
        }
        if (walk_take_row(w, origin, &row)) next = PAGES_BAD;
        else if (checkpoint && !(row.flags & PAGES_UNASKED))
            urls_at(w->urls, urls_count(w->urls) - 1)->state = URL_KNOWN;
    }
    pages_reader_close(&r);
    if (next == PAGES_BAD) {
        report_line(w->report, BASE_LOG_WARNING, "%s", error ? error : "out of memory");
        /* Half a table is none. */
        urls_free(&w->urls);
        w->urls = urls_new();
        w->out_of_memory |= !w->urls;
    } else if (w->fetch) {
        report_line(w->report, BASE_LOG_INFO, "%s: %" PRIu32 " URLs%s", path, urls_count(w->urls),
                    checkpoint ? "; going on where the last walk was interrupted" : "");
    }
    free(error);
    return next == PAGES_BAD ? -1 : 0;
}

struct walk *walk_blank(struct report *r) {
    static const struct scope nowhere;
    struct walk *w = calloc(1, sizeof *w);

    if (!w) return NULL;
    w->scope = &nowhere;
    w->report = r;
    w->urls = urls_new();
    w->others = calloc(WALK_ORIGINS - SCOPE_ORIGINS, sizeof *w->others);
    if (!w->urls || !w->others || !r) walk_blank_free(&w);
    return w;
}

void walk_blank_free(struct walk **w) {
    if (!*w) return;
    urls_free(&(*w)->urls);
    free((*w)->others);
    free(*w);
    *w = NULL;
}

/* Validators of before are of use only then. */
bool walk_same_rules(const struct walk *w, uint16_t origin) {
    return w->rules[origin] && w->rules[origin] == w->rules_before[origin];
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int is_kept(const struct url *u, int checkpoint) {
    /* What has no size is asked for again for a while: a link from a page that does not change is seen only once. */
    return u->samples || (checkpoint && u->state == URL_UNASKED) || (u->state == URL_NOTHING && u->checked);
}

static int by_origin_and_target(const void *a, const void *b, void *context) {
    const struct walk *w = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct url *u = urls_at(w->urls, i), *v = urls_at(w->urls, k);

    if (u->origin != v->origin) return strcmp(walk_origin(w, u->origin), walk_origin(w, v->origin));
    return strcmp(urls_target(w->urls, i), urls_target(w->urls, k));
}

static uint32_t *in_order(struct walk *w, int checkpoint, uint32_t *n) {
    uint32_t *list = malloc((urls_count(w->urls) + 1u) * sizeof *list);

    *n = 0;
    for (uint32_t i = 0; list && i < urls_count(w->urls); i++)
        if (is_kept(urls_at(w->urls, i), checkpoint)) list[(*n)++] = i;
    if (list) qsort_r(list, *n, sizeof *list, by_origin_and_target, w);
    return list;
}

static struct pages_row walk_table_row_of(struct walk *w, uint32_t i) {
    const struct url *u = urls_at(w->urls, i);
    struct pages_row row = {
        .target = urls_target(w->urls, i),
        .target_length = u->length,
        .etag = urls_etag(w->urls, i),
        .etag_length = u->etag_length,
        .spread = u->spread,
        .header = u->header,
        .time = u->time,
        .samples = u->samples,
        .depth = u->depth,
        .flags = u->flags,
        .checked = u->checked,
        .modified = u->modified,
    };
    memcpy(row.body, u->body, sizeof row.body);
    return row;
}

int walk_save(struct walk *w, const char *path, int checkpoint) {
    uint32_t n, *list = in_order(w, checkpoint, &n);
    char *error = NULL;
    pages_writer_t *f = list ? pages_writer_open(path, n, &error) : NULL;
    int rc = f ? 0 : -1;
    uint16_t origin = UINT16_MAX;

    for (uint32_t k = 0; k < n && !rc; k++) {
        const struct url *u = urls_at(w->urls, list[k]);
        struct pages_row row = walk_table_row_of(w, list[k]);

        if (checkpoint && u->state == URL_UNASKED) row.flags |= PAGES_UNASKED;
        /* Its validator belongs to a document whose links were followed by other rules. */
        if (row.flags & PAGES_UNASKED && !walk_same_rules(w, u->origin))
            row.etag = NULL, row.etag_length = 0, row.modified = 0;
        if (u->origin != origin) rc = pages_writer_origin(f, walk_origin(w, u->origin), w->rules[u->origin]);
        origin = u->origin;
        if (!rc) rc = pages_writer_row(f, &row);
        if (rc) base_fail(&error, "%s: %s", path, strerror(errno));
    }
    if (!rc) rc = pages_writer_commit(&f, &error);
    if (f) pages_writer_abort(&f);
    if (rc) report_line(w->report, BASE_LOG_ERROR, "not written: %s", error ? error : "out of memory");
    free(error);
    free(list);
    return rc;
}
