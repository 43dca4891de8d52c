/* SPDX-License-Identifier: BSD-2-Clause */
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_log.h"
#include "base/base_number.h"
#include "lock.h"
#include "walk.h"
#include "walk_impl.h"

#define LINE_MAX_BYTES (4u * PAGES_TARGET_MAX)

static const char *const columns[] = { "url",   "body",    "gzip",     "br",    "header", "spread", "samples",
                                       "depth", "checked", "modified", "flags", "etag",   "time" };
#define COLUMNS (sizeof columns / sizeof *columns)

static int trouble_with(const char *stream) {
    char *error = NULL;

    base_fail(&error, "%s: %s", stream, strerror(errno));
    return base_failed(error);
}

/* ---- reading row by row ------------------------------------------------------------------------------------------ */

typedef int row_seen(void *context, const char *origin, const struct pages_row *row);

static int each_row(const char *path, row_seen *seen, void *context) {
    char *error = NULL;
    pages_reader_t *r = pages_reader_open(path, &error);
    enum pages_next next = r ? PAGES_ROW : PAGES_BAD;
    struct pages_row row;
    int rc = 0;

    /* Rows without a size are the walk's own memory of what there was nothing to learn of. */
    while (next == PAGES_ROW && !rc && (next = pages_reader_next(r, &row, &error)) == PAGES_ROW)
        if (row.samples) rc = seen(context, pages_reader_origin(r), &row);
    pages_reader_close(&r);
    if (next == PAGES_BAD) return base_failed(error);
    if (rc || fflush(stdout)) return trouble_with("standard output");
    return 0;
}

static void size_text(char *out, size_t room, uint64_t size) {
    if (size == PAGES_UNKNOWN) snprintf(out, room, "-");
    else snprintf(out, room, "%" PRIu64, size);
}

/* ---- show -------------------------------------------------------------------------------------------------------- */

struct shown {
    const char *prefix;
    uint64_t rows, bytes;
};

static int show_row(void *context, const char *origin, const struct pages_row *row) {
    struct shown *s = context;
    char url[PAGES_ORIGIN_MAX + PAGES_TARGET_MAX + 1], size[PAGES_CODINGS][24], took[24] = "-", when[32] = "-";
    time_t t = (time_t)row->checked;
    struct tm tm;

    snprintf(url, sizeof url, "%s%s", origin, row->target);
    if (s->prefix && strncmp(url, s->prefix, strlen(s->prefix))) return 0;
    for (int c = 0; c < PAGES_CODINGS; c++) size_text(size[c], sizeof size[c], row->body[c]);
    if (t && localtime_r(&t, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm);
    if (row->time) snprintf(took, sizeof took, "%.1f", row->time / 1000.0);
    s->rows++;
    if (row->body[PAGES_IDENTITY] != PAGES_UNKNOWN) s->bytes += row->body[PAGES_IDENTITY];
    return printf("%12s %10s %10s %8" PRIu64 " %4" PRIu32 " %9s  %-16s  %s\n", size[0], size[1], size[2], row->spread,
                  row->samples, took, when, url) < 0;
}

int tables_show(const char *path, const char *prefix) {
    struct shown s = { .prefix = prefix };
    int rc;

    printf("%12s %10s %10s %8s %4s %9s  %-16s  %s\n", "body", "gzip", "br", "spread", "of", "ms", "checked", "url");
    rc = each_row(path, show_row, &s);
    if (!rc) printf("%" PRIu64 " URLs, %" PRIu64 " bytes\n", s.rows, s.bytes);
    return rc;
}

/* ---- check ------------------------------------------------------------------------------------------------------- */

int tables_look(const char *path, FILE *found, char **error) {
    pages_reader_t *r = pages_reader_open(path, error);
    enum pages_next next = PAGES_BAD;
    struct pages_row row;
    uint64_t rows = 0;

    while (r && (next = pages_reader_next(r, &row, error)) == PAGES_ROW) rows += row.samples != 0;
    pages_reader_close(&r);
    fprintf(found, "%" PRIu64 " URLs\n", rows);
    return next == PAGES_BAD ? -1 : 0;
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

static int export_tsv(void *context, const char *origin, const struct pages_row *row) {
    char size[PAGES_CODINGS][24], flags[PAGES_FLAGS_ROOM];

    (void)context;
    for (int c = 0; c < PAGES_CODINGS; c++) size_text(size[c], sizeof size[c], row->body[c]);
    pages_flags_text(row->flags, flags);
    return printf("%s%s\t%s\t%s\t%s\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRId64 "\t%" PRId64
                  "\t%s\t%s\t%" PRIu32 "\n",
                  origin, row->target, size[0], size[1], size[2], row->header, row->spread, row->samples, row->depth,
                  row->checked, row->modified, flags, row->etag ? row->etag : "-", row->time) < 0;
}

static json_t *json_size(uint64_t size) { return size == PAGES_UNKNOWN ? json_null() : json_integer((json_int_t)size); }

static int export_json(void *context, const char *origin, const struct pages_row *row) {
    char url[PAGES_ORIGIN_MAX + PAGES_TARGET_MAX + 1], flags[PAGES_FLAGS_ROOM];
    json_t *o = json_object();
    int rc;

    (void)context;
    snprintf(url, sizeof url, "%s%s", origin, row->target);
    pages_flags_text(row->flags, flags);
    json_object_set_new(o, "url", json_string(url));
    json_object_set_new(o, "body", json_size(row->body[PAGES_IDENTITY]));
    json_object_set_new(o, "gzip", json_size(row->body[PAGES_GZIP]));
    json_object_set_new(o, "br", json_size(row->body[PAGES_BR]));
    json_object_set_new(o, "header", json_integer(row->header));
    json_object_set_new(o, "spread", json_integer((json_int_t)row->spread));
    json_object_set_new(o, "samples", json_integer(row->samples));
    json_object_set_new(o, "depth", json_integer(row->depth));
    json_object_set_new(o, "checked", json_integer(row->checked));
    json_object_set_new(o, "modified", json_integer(row->modified));
    json_object_set_new(o, "flags", json_string(flags));
    /* A validator may hold bytes that are no text: those are left out. */
    if (!row->etag || json_object_set_new(o, "etag", json_string(row->etag)))
        json_object_set_new(o, "etag", json_null());
    json_object_set_new(o, "time", json_integer(row->time));
    rc = json_dumpf(o, stdout, JSON_COMPACT) || putchar('\n') < 0;
    json_decref(o);
    return rc;
}

int tables_export(const char *path, enum tables_format format) {
    if (format == TABLES_TSV)
        for (size_t i = 0; i < COLUMNS; i++) printf("%s%c", columns[i], i + 1 < COLUMNS ? '\t' : '\n');
    return each_row(path, format == TABLES_TSV ? export_tsv : export_json, NULL);
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

struct imported {
    struct walk *w;
    struct scope scope;
    struct scope_place place;
};

static bool tables_number_in(const char *text, uint64_t most, uint64_t *out) {
    return !base_number("", text, "", 0, most, out, NULL);
}

/* NULL, or what is wrong with the row of these texts, in the order of `columns`. */
static const char *take_texts(struct imported *im, char *const *field) {
    struct pages_row row = { .etag = strcmp(field[11], "-") ? field[11] : NULL };
    uint64_t n[6], time;
    const char *wrong;
    uint16_t origin;

    im->scope.n = 0;
    im->scope.ngiven = 0;
    wrong = scope_add(&im->scope, field[0], &im->place);
    if (wrong) return wrong;
    for (int c = 0; c < PAGES_CODINGS; c++) {
        row.body[c] = PAGES_UNKNOWN;
        if (strcmp(field[1 + c], "-") && !tables_number_in(field[1 + c], PAGES_SIZE_MAX, &row.body[c]))
            return "body, gzip and br must be numbers of bytes, or -";
    }
    for (int i = 0; i < 6; i++)
        if (!tables_number_in(field[4 + i], i == 1 ? PAGES_SIZE_MAX : UINT32_MAX, &n[i]))
            return "header, spread, samples, depth, checked and modified must be numbers";
    if (!pages_flags_of(field[10], &row.flags) || row.flags & PAGES_UNASKED)
        return "flags must be letters of c, d, v in this order, or -";
    if (row.etag && !pages_etag_fits(row.etag)) return "an etag must be of 1 to 256 visible characters, or -";
    if (!tables_number_in(field[12], PAGES_TIME_MAX, &time)) return "time must be a number of microseconds";
    row.time = (uint32_t)time;
    row.header = (uint32_t)n[0];
    row.spread = n[1];
    row.samples = n[2] ? (uint32_t)n[2] : 1;
    row.depth = (uint32_t)n[3];
    row.checked = (int64_t)n[4];
    row.modified = (int64_t)n[5];
    row.target = im->place.target;
    row.target_length = im->place.length;
    row.etag_length = row.etag ? (uint32_t)strlen(row.etag) : 0;
    if (walk_number_of_origin(im->w, im->scope.origin[0].name, &origin) || walk_take_row(im->w, origin, &row))
        return "too many origins, or out of memory";
    return NULL;
}

static const char *take_tsv(struct imported *im, char *line) {
    char *field[COLUMNS], none[] = "0";
    size_t n = 0;

    for (char *at = line; at && n < COLUMNS; n++) {
        field[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
        if (n + 1 == COLUMNS && at) return "more than thirteen fields";
    }
    /* As before there were times. */
    if (n == COLUMNS - 1) field[n++] = none;
    if (n < COLUMNS) return "fewer than twelve fields";
    return take_texts(im, field);
}

static const char *take_json(struct imported *im, const char *line) {
    char number[COLUMNS][24], *field[COLUMNS];
    json_error_t e;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &e);
    const char *wrong = NULL;

    if (!json_is_object(o)) wrong = "not a JSON object";
    for (size_t i = 0; i < COLUMNS && !wrong; i++) {
        const json_t *value = json_object_get(o, columns[i]);
        field[i] = number[i];
        if (json_is_string(value)) field[i] = (char *)(uintptr_t)json_string_value(value);
        else if (json_is_integer(value))
            snprintf(number[i], sizeof number[i], "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        else if (!i || (value && !json_is_null(value)))
            wrong = "values must be texts, whole numbers or null, and there must be a url";
        else strcpy(number[i], (i >= 4 && i < 10) || i == 12 ? "0" : "-");
    }
    if (!wrong) wrong = take_texts(im, field);
    json_decref(o);
    return wrong;
}

int tables_import(const char *path, enum tables_format format) {
    static struct imported im; /* large, and there is one */
    struct report *report = report_new(NULL, 1);
    char *line = NULL, head[512] = "";
    const char *wrong = NULL;
    size_t room = 0, number = 0;
    ssize_t n;
    int rc = BASE_WRONG;

    if (lock_table(path, "walk", report) < 0) {
        report_free(&report);
        return rc;
    }
    im.w = walk_blank(report);
    if (!im.w) return base_failed(NULL);
    for (size_t i = 0; i + 1 < COLUMNS; i++)
        snprintf(head + strlen(head), sizeof head - strlen(head), "%s%s", i ? "\t" : "", columns[i]);
    while (!wrong && (n = getline(&line, &room, stdin)) > 0) {
        number++;
        while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
        if (!n || (format == TABLES_TSV && number == 1 && !strncmp(line, head, strlen(head)))) continue;
        if (strlen(line) != (size_t)n || (size_t)n > LINE_MAX_BYTES) wrong = "a line with a NUL, or too long";
        else wrong = format == TABLES_TSV ? take_tsv(&im, line) : take_json(&im, line);
    }
    if (wrong) base_log(BASE_LOG_ERROR, "standard input:%zu: %s", number, wrong);
    else if (ferror(stdin)) trouble_with("standard input");
    else if (!walk_save(im.w, path, 0)) rc = 0;
    free(line);
    walk_blank_free(&im.w);
    report_free(&report);
    return rc;
}

/* ---- diff -------------------------------------------------------------------------------------------------------- */

struct compared {
    struct walk *w;
    uint64_t added, gone, changed;
};

static int same_sizes(const struct url *u, const struct pages_row *row) {
    return !memcmp(u->body, row->body, sizeof u->body);
}

static int compare_row(void *context, const char *origin, const struct pages_row *row) {
    struct compared *c = context;
    char was[24], is[24];
    uint16_t number;
    uint32_t i = URLS_NONE;
    struct url *u;

    size_text(is, sizeof is, row->body[PAGES_IDENTITY]);
    if (!walk_number_of_origin(c->w, origin, &number))
        i = urls_find(c->w->urls, number, row->target, row->target_length);
    if (i == URLS_NONE) {
        c->added++;
        return printf("+ %s%s %s\n", origin, row->target, is) < 0;
    }
    u = urls_at(c->w->urls, i);
    u->tries = 1;
    if (same_sizes(u, row)) return 0;
    c->changed++;
    size_text(was, sizeof was, u->body[PAGES_IDENTITY]);
    return printf("~ %s%s %s -> %s\n", origin, row->target, was, is) < 0;
}

int tables_diff(const char *before, const char *after) {
    struct report *report = report_new(NULL, 1);
    struct compared c = { .w = walk_blank(report) };
    int rc = 2;

    if (!c.w) {
        base_failed(NULL);
        return rc;
    }
    if (!walk_load(c.w, before, 0) && !each_row(after, compare_row, &c)) {
        for (uint32_t i = 0; i < urls_count(c.w->urls); i++) {
            const struct url *u = urls_at(c.w->urls, i);
            if (u->tries || !u->samples) continue;
            c.gone++;
            printf("- %s%s\n", walk_origin(c.w, u->origin), urls_target(c.w->urls, i));
        }
        printf("%" PRIu64 " new, %" PRIu64 " gone, %" PRIu64 " changed\n", c.added, c.gone, c.changed);
        rc = c.added || c.gone || c.changed;
    }
    walk_blank_free(&c.w);
    report_free(&report);
    return rc;
}
