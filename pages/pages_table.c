/* SPDX-License-Identifier: BSD-2-Clause */
#include "pages_table.h"

#include "base/base_error.h"
#include "base/base_replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC_READ  0x66677072u
#define MAGIC_WRITE 0x66677077u
#define FIELDS      13
#define LINE_ROOM   (PAGES_TARGET_MAX + PAGES_ETAG_MAX + 512)

static const char flag_letters[] = "cdvu";

/* The first thing that is wrong; what else is follows from it. */
static void table_say(char **error, const char *name, uint64_t line, const char *what) {
    if (!error || *error) return;
    base_fail(error, "%s", what);
    base_place(error, name, line);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct pages_reader {
    uint32_t magic;
    uint32_t rows, seen;
    int fields; /* of a row, in this version */
    uint64_t line;
    uLong crc;
    FILE *stream;
    char *name;
    int ended, any; /* any: a row of this origin came */
    uint64_t rules; /* of the origin */
    char origin[PAGES_ORIGIN_MAX + 1];
    char text[LINE_ROOM], before[PAGES_TARGET_MAX + 1];
};

static enum pages_next bad(pages_reader_t *r, char **error, const char *what) {
    r->ended = 1;
    table_say(error, r->name, r->line, what);
    return PAGES_BAD;
}

/* The next line without its \n, or NULL and a sentence.  *raw: how long it was with it. */
static char *table_next_line(pages_reader_t *r, size_t *raw, char **error) {
    size_t n;

    r->line++;
    errno = 0;
    if (!fgets(r->text, sizeof r->text, r->stream)) {
        bad(r, error,
            ferror(r->stream) ? strerror(errno) : "the file ends before its `end` line: it was not written to its end");
        return NULL;
    }
    /*
     * A NUL inside would hide what follows it: then the length is not what fgets read, and no \n is where one must be.
     */
    n = strlen(r->text);
    if (!n || r->text[n - 1] != '\n') {
        bad(r, error, "not a line of a page-size table: too long, or with a NUL, or cut off");
        return NULL;
    }
    r->text[n - 1] = 0;
    *raw = n;
    return r->text;
}

static int split(char *line, char **field, int most) {
    int n = 0;
    while (n < most) {
        field[n++] = line;
        line = strchr(line, '\t');
        if (!line) return n;
        *line++ = 0;
    }
    return most + 1;
}

static int table_number(const char *text, uint64_t most, uint64_t *out) {
    uint64_t value = 0;

    if (!*text || (text[0] == '0' && text[1])) return 0;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > most / 10) return 0;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return value <= most;
}

static int hexadecimal(const char *text, uint64_t *out) {
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    for (int i = 0; i < 16; i++, text++) {
        const char *at = *text ? strchr(digits, *text) : NULL;
        if (!at) return 0;
        *out = *out << 4 | (uint64_t)(at - digits);
    }
    return !*text;
}

static int size_of(const char *text, uint64_t *out) {
    if (strcmp(text, "-")) return table_number(text, PAGES_SIZE_MAX, out);
    *out = PAGES_UNKNOWN;
    return 1;
}

void pages_flags_text(uint32_t flags, char out[PAGES_FLAGS_ROOM]) {
    char *at = out;

    for (int i = 0; flag_letters[i]; i++)
        if (flags >> i & 1) *at++ = flag_letters[i];
    if (at == out) *at++ = '-';
    *at = 0;
}

int pages_flags_of(const char *text, uint32_t *out) {
    *out = 0;
    if (!strcmp(text, "-")) return 1;
    if (!*text) return 0;
    for (; *text; text++) {
        const char *at = strchr(flag_letters, *text);
        if (!at || *out >> (at - flag_letters)) return 0; /* in order, each once */
        *out |= 1u << (at - flag_letters);
    }
    return 1;
}

static int is_target(const char *text, size_t n) {
    if (text[0] != '/' || n > PAGES_TARGET_MAX) return 0;
    for (; *text; text++)
        if (*text <= ' ' || *text > '~') return 0;
    return 1;
}

bool pages_etag_fits(const char *text) {
    if (strlen(text) > PAGES_ETAG_MAX || !*text) return 0;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 127) return 0;
    return 1;
}

static int is_origin(const char *text) {
    const char *host = !strncmp(text, "http://", 7) ? text + 7 : !strncmp(text, "https://", 8) ? text + 8 : NULL;

    if (!host || !*host || strlen(text) > PAGES_ORIGIN_MAX) return 0;
    for (; *host; host++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-._:[]", *host)) return 0;
    return 1;
}

static enum pages_next table_row_of(pages_reader_t *r, char **field, struct pages_row *row, char **error) {
    uint64_t header, samples, depth, checked, modified, time = 0;
    size_t n = strlen(field[0]);

    if (!*r->origin) return bad(r, error, "a row before the first `origin` line");
    if (r->seen == r->rows) return bad(r, error, "more rows than the first line promises");
    if (!is_target(field[0], n)) return bad(r, error, "a target must begin with / and hold no byte that a URL may not");
    if (r->any && strcmp(r->before, field[0]) >= 0)
        return bad(r, error, "rows must stand in ascending order of their targets");
    for (int c = 0; c < PAGES_CODINGS; c++)
        if (!size_of(field[1 + c], &row->body[c]))
            return bad(r, error, "body, gzip and br must be numbers of bytes, or -");
    if (!table_number(field[4], UINT32_MAX, &header) || !table_number(field[5], PAGES_SIZE_MAX, &row->spread) ||
        !table_number(field[6], UINT32_MAX, &samples) || !table_number(field[7], UINT32_MAX, &depth) ||
        !table_number(field[8], INT64_MAX, &checked) || !table_number(field[9], INT64_MAX, &modified))
        return bad(r, error, "header, spread, samples, depth, checked and modified must be numbers");
    if (!pages_flags_of(field[10], &row->flags))
        return bad(r, error, "flags must be letters of c, d, v, u in this order, or -");
    row->etag = strcmp(field[11], "-") ? field[11] : NULL;
    if (row->etag && !pages_etag_fits(row->etag))
        return bad(r, error, "an etag must be of 1 to 256 visible characters, or -");
    if (r->fields == FIELDS && !table_number(field[12], PAGES_TIME_MAX, &time))
        return bad(r, error, "time must be a number of microseconds, of at most 4294967295");
    memcpy(r->before, field[0], n + 1);
    r->any = 1;
    r->seen++;
    row->target = field[0];
    row->target_length = (uint32_t)n;
    row->etag_length = row->etag ? (uint32_t)strlen(row->etag) : 0;
    row->header = (uint32_t)header;
    row->samples = (uint32_t)samples;
    row->depth = (uint32_t)depth;
    row->time = (uint32_t)time;
    row->checked = (int64_t)checked;
    row->modified = (int64_t)modified;
    return PAGES_ROW;
}

static enum pages_next end_of(pages_reader_t *r, const char *crc, char **error) {
    char right[9];

    r->ended = 1;
    snprintf(right, sizeof right, "%08lx", r->crc & 0xfffffffful);
    if (strcmp(crc, right))
        return bad(r, error, "the checksum is not that of what stands before it: the file is damaged");
    if (r->seen != r->rows) return bad(r, error, "fewer rows than the first line promises");
    if (getc(r->stream) != EOF) return bad(r, error, "something stands behind the `end` line");
    return PAGES_END;
}

enum pages_next pages_reader_next(pages_reader_t *r, struct pages_row *row, char **error) {
    char *field[FIELDS], *line;
    size_t raw;
    uLong crc;
    int n;

    if (r->magic != MAGIC_READ) abort();
    if (r->ended) return bad(r, error, "read behind its end");
    for (;;) {
        line = table_next_line(r, &raw, error);
        if (!line) return PAGES_BAD;
        crc = crc32(crc32(r->crc, (const Bytef *)line, (uInt)(raw - 1)), (const Bytef *)"\n", 1);
        n = split(line, field, FIELDS);
        if (n == r->fields) {
            r->crc = crc;
            return table_row_of(r, field, row, error);
        }
        if (n == 2 && !strcmp(field[0], "end")) return end_of(r, field[1], error);
        if (field[0][0] == '/')
            return bad(r, error,
                       r->fields == FIELDS ? "a row must have thirteen fields" : "a row must have twelve fields");
        if (n != 3 || strcmp(field[0], "origin") || !is_origin(field[1]) || !hexadecimal(field[2], &r->rules))
            return bad(
                r, error,
                "must be a row, `origin` with http:// or https://, a host and sixteen hexadecimal digits, or `end`");
        if (strcmp(r->origin, field[1]) >= 0) return bad(r, error, "origins must stand in ascending order");
        strcpy(r->origin, field[1]);
        r->any = 0;
        r->crc = crc;
    }
}

pages_reader_t *pages_reader_of(FILE *stream, const char *name, char **error) {
    pages_reader_t *r = calloc(1, sizeof *r);
    char *field[3], *line;
    uint64_t rows;
    size_t raw;

    if (!r || !(r->name = strdup(name))) {
        table_say(error, name, 0, "out of memory");
        free(r);
        fclose(stream);
        return NULL;
    }
    r->magic = MAGIC_READ;
    r->stream = stream;
    line = table_next_line(r, &raw, error);
    if (!line) {
        pages_reader_close(&r);
        return NULL;
    }
    r->crc = crc32(crc32(0, (const Bytef *)line, (uInt)(raw - 1)), (const Bytef *)"\n", 1);
    if (split(line, field, 3) != 3 || strcmp(field[0], "fairgate-pages")) {
        bad(r, error,
            "not a page-size table: the first line must be `fairgate-pages`, the version and the number of rows");
        pages_reader_close(&r);
    } else if (strcmp(field[1], "1") && strcmp(field[1], "2")) {
        bad(r, error, "a page-size table of another version: this program reads versions 1 and 2");
        pages_reader_close(&r);
    } else if (!table_number(field[2], PAGES_ROWS_MAX, &rows)) {
        bad(r, error, "the number of rows must be a number of at most 268435456");
        pages_reader_close(&r);
    } else {
        r->rows = (uint32_t)rows;
        r->fields = *field[1] == '1' ? FIELDS - 1 : FIELDS;
    }
    return r;
}

pages_reader_t *pages_reader_open(const char *path, char **error) {
    /* Not to wait for ever on a FIFO somebody put there. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    FILE *f;

    if (fd < 0 || fstat(fd, &st)) {
        table_say(error, path, 0, strerror(errno));
        if (fd >= 0) close(fd);
        return NULL;
    }
    f = S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (!f) {
        table_say(error, path, 0, S_ISREG(st.st_mode) ? "out of memory" : "not a regular file");
        close(fd);
        return NULL;
    }
    return pages_reader_of(f, path, error);
}

uint32_t pages_reader_rows(const pages_reader_t *r) { return r->rows; }
const char *pages_reader_origin(const pages_reader_t *r) { return r->origin; }
uint64_t pages_reader_rules(const pages_reader_t *r) { return r->rules; }

void pages_reader_close(pages_reader_t **r) {
    if (!*r) return;
    fclose((*r)->stream);
    free((*r)->name);
    (*r)->magic = 0;
    free(*r);
    *r = NULL;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct pages_writer {
    uint32_t magic;
    uint32_t rows, written;
    uLong crc;
    FILE *stream;
    char *path;
    struct base_replace file; /* nothing is begun: the stream is the caller's */
    char text[LINE_ROOM];
};

static int table_put(pages_writer_t *w, size_t n) {
    w->crc = crc32(w->crc, (const Bytef *)w->text, (uInt)n);
    return fwrite(w->text, 1, n, w->stream) == n ? 0 : -1;
}

pages_writer_t *pages_writer_of(FILE *stream, const char *name, uint32_t rows, char **error) {
    pages_writer_t *w = calloc(1, sizeof *w);

    if (!w || !(w->path = strdup(name))) {
        table_say(error, name, 0, "out of memory");
        free(w);
        return NULL;
    }
    w->magic = MAGIC_WRITE;
    w->rows = rows;
    w->stream = stream;
    if (table_put(w, (size_t)snprintf(w->text, sizeof w->text, "fairgate-pages\t2\t%" PRIu32 "\n", rows))) {
        table_say(error, name, 0, strerror(errno));
        pages_writer_abort(&w);
    }
    return w;
}

pages_writer_t *pages_writer_open(const char *path, uint32_t rows, char **error) {
    struct base_replace file;
    pages_writer_t *w;

    if (base_replace_begin(&file, path, error)) return NULL;
    w = pages_writer_of(file.stream, path, rows, error);
    if (w) w->file = file;
    else base_replace_abort(&file);
    return w;
}

int pages_writer_origin(pages_writer_t *w, const char *origin, uint64_t rules) {
    if (w->magic != MAGIC_WRITE || !is_origin(origin)) abort();
    return table_put(w, (size_t)snprintf(w->text, sizeof w->text, "origin\t%s\t%016" PRIx64 "\n", origin, rules));
}

static size_t put_size(char *out, uint64_t size) {
    if (size != PAGES_UNKNOWN) return (size_t)sprintf(out, "\t%" PRIu64, size);
    memcpy(out, "\t-", 3);
    return 2;
}

int pages_writer_row(pages_writer_t *w, const struct pages_row *row) {
    char *at = w->text;

    if (w->magic != MAGIC_WRITE || w->written++ == w->rows || row->target_length > PAGES_TARGET_MAX ||
        row->etag_length > PAGES_ETAG_MAX)
        abort();
    memcpy(at, row->target, row->target_length);
    at += row->target_length;
    for (int c = 0; c < PAGES_CODINGS; c++) at += put_size(at, row->body[c]);
    at += sprintf(at, "\t%" PRIu32 "\t%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRId64 "\t%" PRId64 "\t", row->header,
                  row->spread, row->samples, row->depth, row->checked, row->modified);
    pages_flags_text(row->flags, at);
    at += strlen(at);
    *at++ = '\t';
    if (row->etag) memcpy(at, row->etag, row->etag_length);
    else *at = '-';
    at += row->etag ? row->etag_length : 1;
    at += sprintf(at, "\t%" PRIu32 "\n", row->time);
    return table_put(w, (size_t)(at - w->text));
}

int pages_writer_commit(pages_writer_t **writer, char **error) {
    pages_writer_t *w = *writer;
    const char *path = w->file.stream ? w->file.path_new : w->path;
    int rc;

    if (w->magic != MAGIC_WRITE || w->written != w->rows) abort();
    rc = fprintf(w->stream, "end\t%08lx\n", w->crc & 0xfffffffful) > 0 && !fflush(w->stream) && !ferror(w->stream) ? 0
                                                                                                                   : -1;
    if (rc) table_say(error, path, 0, strerror(errno));
    if (!rc && w->file.stream) rc = base_replace_commit(&w->file, error);
    pages_writer_abort(writer);
    return rc;
}

void pages_writer_abort(pages_writer_t **writer) {
    pages_writer_t *w = *writer;

    if (!w) return;
    base_replace_abort(&w->file);
    free(w->path);
    w->magic = 0;
    free(w);
    *writer = NULL;
}
