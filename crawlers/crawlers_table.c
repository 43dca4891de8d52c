/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* These assertions are part of the contract: they stay in release builds. */
#undef NDEBUG
#include <assert.h>

#include "base/base_error.h"
#include "base/base_file.h"
#include "base/base_replace.h"

#define LINE_ROOM   (CRAWLERS_URL_MAX + CRAWLERS_VALIDATOR_MAX + 100)
#define FIELDS_MAX  4
#define PREFIX_STEP 256u

struct crawlers_table *crawlers_table_new(void) {
    return calloc(1, sizeof(struct crawlers_table));
}

void crawlers_table_free(struct crawlers_table **table) {
    struct crawlers_table *t = *table;

    if (!t) return;
    for (uint32_t i = 0; i < t->n; i++) {
        struct crawlers_crawler *c = &t->crawler[i];
        for (uint32_t k = 0; k < c->nagents; k++) free(c->agent[k]);
        for (uint32_t k = 0; k < c->nsuffixes; k++) free(c->suffix[k]);
        for (uint32_t k = 0; k < c->nsources; k++) {
            free(c->source[k].url);
            free(c->source[k].validator);
            free(c->source[k].prefix);
        }
    }
    free(t);
    *table = NULL;
}

/* ---- what may stand in it ---------------------------------------------------------------------------------------- */

/* 1 to most bytes of these letters alone. */
static bool has_letters(const char *text, size_t most, const char *letters) {
    size_t n = strlen(text);
    return n && n <= most && strspn(text, letters) == n;
}

/* 1 to most bytes from `least` to ~. */
static bool is_printable(const char *text, size_t most, char least) {
    size_t n = strlen(text);

    for (size_t i = 0; i < n; i++)
        if (text[i] < least || text[i] > '~') return false;
    return n && n <= most;
}

bool crawlers_name_fits(const char *name) {
    return has_letters(name, CRAWLERS_NAME_ROOM - 1, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
}

bool crawlers_agent_fits(const char *agent) {
    return is_printable(agent, CRAWLERS_AGENT_MAX, '!') && strlen(agent) >= CRAWLERS_AGENT_LEAST;
}
bool crawlers_url_fits(const char *url) { return is_printable(url, CRAWLERS_URL_MAX, '!'); }

bool crawlers_validator_fits(const char *validator) {
    return is_printable(validator, CRAWLERS_VALIDATOR_MAX, ' ') && strcmp(validator, "-");
}

/* All of a top-level domain is nobody's name. */
bool crawlers_suffix_fits(const char *suffix) {
    size_t n = strlen(suffix);

    return has_letters(suffix, CRAWLERS_SUFFIX_MAX, "abcdefghijklmnopqrstuvwxyz0123456789-_.") && suffix[0] != '.' &&
           suffix[n - 1] != '.' && strchr(suffix, '.') && !strstr(suffix, "..");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What a line may be, in the order in which they stand. */
enum part { AT_HEAD, AT_CRAWLER, AT_AGENT, AT_NAME, AT_SOURCE };

struct table_reader {
    FILE *stream;
    const char *name;
    char **error;
    uint64_t line;
    uLong crc;
    struct crawlers_table *t;
    enum part at;
    uint32_t prefixes, room; /* of all sources; that the last one has memory for */
    bool ended;
    char text[LINE_ROOM];
};

static int table_bad(struct table_reader *r, const char *what) {
    base_fail(r->error, "%s", what);
    base_place(r->error, r->name, r->line);
    return -1;
}

static int table_no_memory(struct table_reader *r) { return table_bad(r, "out of memory"); }

/* The next line without its \n, or NULL. */
static char *table_line(struct table_reader *r, size_t *raw) {
    size_t n;

    r->line++;
    errno = 0;
    if (!fgets(r->text, sizeof r->text, r->stream)) {
        table_bad(r, ferror(r->stream) ? strerror(errno)
                                       : "the file ends before its `end` line: it was not written to its end");
        return NULL;
    }
    n = strlen(r->text);
    if (!n || r->text[n - 1] != '\n') {
        table_bad(r, "not a line of a table of crawlers: too long, or with a NUL, or cut off");
        return NULL;
    }
    r->text[n - 1] = 0;
    *raw = n;
    return r->text;
}

static int table_split(char *line, char **field) {
    for (int n = 0; n < FIELDS_MAX;) {
        field[n++] = line;
        line = strchr(line, '\t');
        if (!line) return n;
        *line++ = 0;
    }
    return FIELDS_MAX + 1;
}

/* As a writer writes it. */
static bool seconds_read(const char *text, int64_t *out) {
    int64_t n = 0;

    if (!*text || (text[0] == '0' && text[1])) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || n > INT64_MAX / 10 - 1) return false;
        n = n * 10 + (*text - '0');
    }
    *out = n;
    return true;
}

static struct crawlers_crawler *last_crawler(struct crawlers_table *t) { return &t->crawler[t->n - 1]; }

static int crawlers_read_crawler(struct table_reader *r, const char *name) {
    if (!crawlers_name_fits(name))
        return table_bad(r, "a crawler's name has 1 to 31 lower-case letters, digits, -, _ and .");
    if (r->t->n == CRAWLERS_MAX) return table_bad(r, "more than 64 crawlers");
    for (uint32_t i = 0; i < r->t->n; i++)
        if (!strcmp(r->t->crawler[i].name, name)) return table_bad(r, "a crawler that was there before");
    strcpy(r->t->crawler[r->t->n++].name, name);
    r->at = AT_CRAWLER;
    return 0;
}

/* One more word of the last crawler. */
static int crawlers_read_word(struct table_reader *r, char **list, uint32_t *n, uint32_t most, bool fits,
                              const char *word, enum part at) {
    if (r->at < AT_CRAWLER || r->at > at) return table_bad(r, "a line that does not stand where it must");
    if (!fits) return table_bad(r, "a word that is too long, or has what it must not have");
    if (*n == most) return table_bad(r, "more than 8 of a crawler's");
    list[*n] = strdup(word);
    if (!list[*n]) return table_no_memory(r);
    ++*n;
    r->at = at;
    return 0;
}

static int crawlers_read_source(struct table_reader *r, char **field) {
    struct crawlers_crawler *c;
    struct crawlers_source *s;

    if (r->at < AT_CRAWLER) return table_bad(r, "a source before the first crawler");
    c = last_crawler(r->t);
    if (c->nsources == CRAWLERS_SOURCES_MAX) return table_bad(r, "more than 16 sources of a crawler");
    s = &c->source[c->nsources];
    if (!crawlers_url_fits(field[1]) || !seconds_read(field[2], &s->checked) ||
        (strcmp(field[3], "-") && !crawlers_validator_fits(field[3])))
        return table_bad(r, "a source has a URL, when it was checked, and a validator or -");
    s->url = strdup(field[1]);
    s->validator = strcmp(field[3], "-") ? strdup(field[3]) : NULL;
    c->nsources++;
    if (!s->url || (!s->validator && strcmp(field[3], "-"))) return table_no_memory(r);
    r->at = AT_SOURCE;
    r->room = 0;
    return 0;
}

static int crawlers_read_prefix(struct table_reader *r, const char *text) {
    struct crawlers_crawler *c;
    struct crawlers_source *s;
    struct crawlers_prefix p;
    char spelt[CRAWLERS_PREFIX_ROOM];
    const char *wrong;

    if (r->at != AT_SOURCE) return table_bad(r, "a line that is none of those that a table of crawlers has here");
    wrong = crawlers_prefix_read(text, &p);
    if (wrong) return table_bad(r, wrong);
    crawlers_prefix_text(&p, spelt);
    if (strcmp(spelt, text)) return table_bad(r, "a network that is not spelt as this file's writer spells it");
    c = last_crawler(r->t);
    s = &c->source[c->nsources - 1];
    if (s->n && crawlers_prefix_compare(&s->prefix[s->n - 1], &p) >= 0)
        return table_bad(r, "networks must stand in ascending order, each once");
    if (r->prefixes++ == CRAWLERS_PREFIXES_MAX) return table_bad(r, "more than 65536 networks");
    if (s->n == r->room) {
        struct crawlers_prefix *more = realloc(s->prefix, (r->room + PREFIX_STEP) * sizeof p);
        if (!more) return table_no_memory(r);
        s->prefix = more;
        r->room += PREFIX_STEP;
    }
    s->prefix[s->n++] = p;
    return 0;
}

static int crawlers_read_end(struct table_reader *r, const char *crc) {
    char right[9];

    snprintf(right, sizeof right, "%08lx", r->crc & 0xfffffffful);
    if (strcmp(crc, right))
        return table_bad(r, "the checksum is not that of what stands before it: the file is damaged");
    r->line++;
    if (getc(r->stream) != EOF) return table_bad(r, "something behind the `end` line");
    r->ended = true;
    return 0;
}

static int crawlers_read_head(struct table_reader *r, char **field, int n) {
    if (n < 2 || strcmp(field[0], "fairgate-bots")) return table_bad(r, "not a table of crawlers");
    if (strcmp(field[1], "1")) return table_bad(r, "a table of crawlers of another version");
    if (n != 3 || !seconds_read(field[2], &r->t->made))
        return table_bad(r, "the first line must say when the table was made");
    return 0;
}

static int table_read_line(struct table_reader *r) {
    char *field[FIELDS_MAX], *line;
    struct crawlers_crawler *c = r->t->n ? last_crawler(r->t) : NULL;
    size_t raw;
    uLong crc;
    int n;

    line = table_line(r, &raw);
    if (!line) return -1;
    line[raw - 1] = '\n';
    crc = crc32(r->crc, (const Bytef *)line, (uInt)raw);
    line[raw - 1] = 0;
    n = table_split(line, field);
    if (r->line > 1 && n == 2 && !strcmp(field[0], "end")) return crawlers_read_end(r, field[1]);
    r->crc = crc;
    if (r->line == 1) return crawlers_read_head(r, field, n);
    if (n == 1) return crawlers_read_prefix(r, field[0]);
    if (n == 2 && !strcmp(field[0], "crawler")) return crawlers_read_crawler(r, field[1]);
    if (n == 2 && c && !strcmp(field[0], "agent"))
        return crawlers_read_word(r, c->agent, &c->nagents, CRAWLERS_AGENTS_MAX, crawlers_agent_fits(field[1]),
                                  field[1], AT_AGENT);
    if (n == 2 && c && !strcmp(field[0], "name"))
        return crawlers_read_word(r, c->suffix, &c->nsuffixes, CRAWLERS_SUFFIXES_MAX, crawlers_suffix_fits(field[1]),
                                  field[1], AT_NAME);
    if (n == 4 && !strcmp(field[0], "source")) return crawlers_read_source(r, field);
    return table_bad(r, "a line that is none of those that a table of crawlers has here");
}

struct crawlers_table *crawlers_table_read_stream(FILE *stream, const char *name, char **error) {
    struct table_reader *r = calloc(1, sizeof *r);
    struct crawlers_table *t = NULL;
    bool failed = true;

    if (r) r->t = crawlers_table_new();
    if (r && r->t) {
        r->stream = stream;
        r->name = name;
        r->error = error;
        r->crc = crc32(0, NULL, 0);
        do failed = table_read_line(r) != 0;
        while (!failed && !r->ended);
        t = r->t;
    } else {
        base_fail(error, "%s: out of memory", name);
    }
    if (failed) crawlers_table_free(&t);
    free(r);
    fclose(stream);
    return t;
}

struct crawlers_table *crawlers_table_read(const char *path, char **error) {
    const char *why;
    FILE *f = base_file_open(path, &why);

    if (f) return crawlers_table_read_stream(f, path, error);
    base_fail(error, "%s: %s", path, why);
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct table_writer {
    FILE *stream;
    uLong crc;
    bool failed;
    char text[LINE_ROOM];
};

__attribute__((format(printf, 2, 3))) static void put_line(struct table_writer *w, const char *format, ...) {
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(w->text, sizeof w->text, format, ap);
    va_end(ap);
    assert(n > 0 && (size_t)n < sizeof w->text);
    w->crc = crc32(w->crc, (const Bytef *)w->text, (uInt)n);
    w->failed |= fwrite(w->text, 1, (size_t)n, w->stream) != (size_t)n;
}

static void put_source(struct table_writer *w, const struct crawlers_source *s) {
    char text[CRAWLERS_PREFIX_ROOM];

    assert(crawlers_url_fits(s->url) && s->checked >= 0 && (!s->validator || crawlers_validator_fits(s->validator)));
    put_line(w, "source\t%s\t%" PRId64 "\t%s\n", s->url, s->checked, s->validator ? s->validator : "-");
    for (uint32_t i = 0; i < s->n; i++) {
        assert(!i || crawlers_prefix_compare(&s->prefix[i - 1], &s->prefix[i]) < 0);
        crawlers_prefix_text(&s->prefix[i], text);
        put_line(w, "%s\n", text);
    }
}

int crawlers_table_write_stream(const struct crawlers_table *t, FILE *stream) {
    struct table_writer w = { .stream = stream, .crc = crc32(0, NULL, 0) };
    uint32_t prefixes = 0;

    assert(t->n <= CRAWLERS_MAX && t->made >= 0);
    put_line(&w, "fairgate-bots\t1\t%" PRId64 "\n", t->made);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct crawlers_crawler *c = &t->crawler[i];

        assert(crawlers_name_fits(c->name) && c->nagents <= CRAWLERS_AGENTS_MAX &&
               c->nsuffixes <= CRAWLERS_SUFFIXES_MAX && c->nsources <= CRAWLERS_SOURCES_MAX);
        put_line(&w, "crawler\t%s\n", c->name);
        for (uint32_t k = 0; k < c->nagents; k++) {
            assert(crawlers_agent_fits(c->agent[k]));
            put_line(&w, "agent\t%s\n", c->agent[k]);
        }
        for (uint32_t k = 0; k < c->nsuffixes; k++) {
            assert(crawlers_suffix_fits(c->suffix[k]));
            put_line(&w, "name\t%s\n", c->suffix[k]);
        }
        for (uint32_t k = 0; k < c->nsources; k++) {
            prefixes += c->source[k].n;
            assert(prefixes <= CRAWLERS_PREFIXES_MAX);
            put_source(&w, &c->source[k]);
        }
    }
    w.failed |= fprintf(stream, "end\t%08lx\n", w.crc & 0xfffffffful) < 0;
    return w.failed || fflush(stream) ? -1 : 0;
}

int crawlers_table_write(const struct crawlers_table *t, const char *path, char **error) {
    struct base_replace f;

    if (base_replace_begin(&f, path, error)) return -1;
    if (crawlers_table_write_stream(t, f.stream)) {
        base_fail(error, "%s: %s", f.path_new, strerror(errno));
        base_replace_abort(&f);
        return -1;
    }
    return base_replace_commit(&f, error);
}
