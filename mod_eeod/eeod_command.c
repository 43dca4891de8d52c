/* SPDX-License-Identifier: BSD-2-Clause */
/* eeod_command.c - fairgate-eeod: what the marks of a page make of it.  The manual is fairgate-eeod.1.in. */
#include "config.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_settings.h"
#include "eeod_blocks.h"

#define PIECE    65536
#define PAGE_MAX ((curl_off_t)256 << 20)

struct options {
    uint64_t mss, least;
    struct base_pair marks;
    bool strip, text, json;
};

static const struct base_setting rows[] = {
    BASE_ROW(struct options, NUMBER, mss, "mss", "1448", 64, 65536, "bytes",
             "that a segment carries; as over Ethernet and IPv4 with timestamps"),
    BASE_ROW(struct options, NUMBER, least, "min", "128", 0, 65536, "bytes",
             "cacheable blocks with fewer go with the unique one beside them"),
    BASE_ROW(struct options, SWITCH, strip, "strip", "the marks are taken out"),
    BASE_ROW(struct options, PAIR, marks, "marks", EEOD_USUAL_OPEN " " EEOD_USUAL_CLOSE, "OPEN CLOSE",
             "other marks, 4 to 64 characters each"),
    BASE_ROW(struct options, SWITCH, text, "text", "the page itself, with a line before each block"),
    BASE_ROW(struct options, SWITCH, json, "json", "the blocks as a JSON object"),
};
static const struct base_settings options_table = { "--", rows, sizeof rows / sizeof *rows, NULL };

enum showing { SHOW_NOTHING, SHOW_BLOCKS, SHOW_TEXT, SHOW_JSON };

struct page {
    const struct options *options;
    enum showing show;
    struct eeod_blocks blocks;
    unsigned char *held; /* fed, not yet taken */
    size_t size, used, eaten;
    char kind;       /* of the present block; 0 before the first */
    uint64_t length; /* of it */
    uint64_t number, segments, bytes;
    struct base_json json;
};

static uint64_t segments(uint64_t bytes, uint64_t mss) { return (bytes + mss - 1) / mss; }

static const char *command_kind_of(const struct page *p) {
    return p->kind == 'U' ? "unique" : p->kind ? "cacheable" : "unmarked";
}

static void end_block(struct page *p) {
    if (!p->kind && !p->length) return;
    uint64_t n = segments(p->length, p->options->mss);
    p->segments += n;
    p->bytes += p->length;
    if (p->show == SHOW_JSON) {
        base_json_object(&p->json, NULL);
        base_json_text(&p->json, "kind", command_kind_of(p));
        base_json_whole(&p->json, "bytes", p->length);
        base_json_whole(&p->json, "segments", n);
        base_json_end_object(&p->json);
    } else if (p->show == SHOW_BLOCKS) {
        printf("%8" PRIu64 "  %-9s %10" PRIu64 " bytes %8" PRIu64 " segment%s\n", p->number, command_kind_of(p),
               p->length, n, n == 1 ? "" : "s");
    }
}

static void command_take(void *context, enum eeod_step step, size_t n) {
    struct page *p = context;
    if (step == EEOD_CUT) return;
    if (step == EEOD_BEGIN_CACHEABLE || step == EEOD_BEGIN_UNIQUE) {
        end_block(p);
        p->kind = step == EEOD_BEGIN_UNIQUE ? 'U' : 'C';
        p->length = 0;
        p->number++;
        if (p->show == SHOW_TEXT) printf("\n==== %" PRIu64 " %s\n", p->number, command_kind_of(p));
        return;
    }
    if (step == EEOD_PASS) {
        if (p->show == SHOW_TEXT) fwrite(p->held + p->eaten, 1, n, stdout);
        p->length += n;
    }
    p->eaten += n;
}

/* 0, or -1 without memory. */
static int command_feed(struct page *p, const void *data, size_t n) {
    if (p->used) memmove(p->held, p->held + p->eaten, p->used - p->eaten);
    p->used -= p->eaten;
    p->eaten = 0;
    if (p->used + n > p->size) {
        unsigned char *more = realloc(p->held, p->used + n);
        if (!more) return -1;
        p->held = more;
        p->size = p->used + n;
    }
    memcpy(p->held + p->used, data, n);
    p->used += n;
    eeod_blocks_feed(&p->blocks, data, n);
    return 0;
}

static size_t received(char *data, size_t size, size_t n, void *context) {
    return command_feed(context, data, size * n) ? 0 : size * n;
}

static int read_url(struct page *p, const char *url, char **error) {
    char why[CURL_ERROR_SIZE] = "";
    int rv = -1;
    long http = 0;
    CURL *c = NULL;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == 0 && (c = curl_easy_init())) {
        curl_easy_setopt(c, CURLOPT_URL, url);
        curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(c, CURLOPT_USERAGENT, "fairgate-eeod/" PACKAGE_VERSION);
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, received);
        curl_easy_setopt(c, CURLOPT_WRITEDATA, p);
        curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, PAGE_MAX);
        curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 20L);
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, 60L);
        curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
        CURLcode code = curl_easy_perform(c);
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &http);
        if (code != CURLE_OK) base_fail(error, "%s: %s", url, *why ? why : curl_easy_strerror(code));
        else if (http >= 300) base_fail(error, "%s: status %ld", url, http);
        else rv = 0;
    }
    curl_easy_cleanup(c);
    curl_global_cleanup();
    return rv;
}

static int read_file(struct page *p, const char *path, char **error) {
    static unsigned char piece[PIECE];
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n;
    int bad = !f;
    while (!bad && (n = fread(piece, 1, sizeof piece, f)) > 0) bad = command_feed(p, piece, n);
    bad = bad || ferror(f);
    if (bad) base_fail(error, "%s: %s", path, strerror(errno));
    if (f && f != stdin) fclose(f);
    return bad ? -1 : 0;
}

/* The whole page, its blocks as they come; 0, or -1 and *error. */
static int read_page(struct page *p, const struct eeod_marks *marks, const char *source, char **error) {
    eeod_blocks_begin(&p->blocks, marks, p->options->strip, p->options->least, command_take, p);
    if (!strncmp(source, "http://", 7) || !strncmp(source, "https://", 8) ? read_url(p, source, error)
                                                                          : read_file(p, source, error))
        return -1;
    eeod_blocks_end(&p->blocks);
    end_block(p);
    return 0;
}

static const char STRAY[] =
    "a closing mark closes nothing: all behind it is unique, and a packet cache is told nothing of this page";
static const char NEVER_CLOSED[] =
    "an opening mark is never closed, or in a script, a tag or a comment only: all behind it is unique";

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void command_tell(FILE *out, const struct page *p) {
    uint64_t plain = segments(p->bytes, p->options->mss);

    fprintf(out,
            "%" PRIu64 " bytes in %" PRIu64 " segments of at most %" PRIu64 " bytes, %" PRIu64
            " more than without blocks; %" PRIu64 " cacheable and %" PRIu64 " unique blocks",
            p->bytes, p->segments, p->options->mss, p->segments - plain, p->blocks.begun[EEOD_CACHEABLE],
            p->blocks.begun[EEOD_UNIQUE]);
    if (p->blocks.joined) fprintf(out, ", %" PRIu64 " too small to be one", p->blocks.joined);
    if (p->blocks.odd)
        fprintf(out, ", %" PRIu64 " marks nested, without another, or where they don't count", p->blocks.odd);
    fputc('\n', out);
}

/* `error`: why it could not be read whole. */
static void eeod_command_tell_json(struct page *p, const char *error) {
    const char *marks = p->blocks.pairs.odd ? STRAY : p->blocks.pairs.depth ? NEVER_CLOSED : NULL;

    base_json_end_array(&p->json);
    base_json_whole(&p->json, "bytes", p->bytes);
    base_json_whole(&p->json, "segments", p->segments);
    base_json_whole(&p->json, "segments_without_blocks", segments(p->bytes, p->options->mss));
    base_json_whole(&p->json, "too_small", p->blocks.joined);
    base_json_whole(&p->json, "odd_marks", p->blocks.odd);
    base_json_text(&p->json, "error", error ? error : marks);
    base_json_end_object(&p->json);
    base_json_done(&p->json);
}

static int command_show(const struct options *o, const struct eeod_marks *marks, const char *source) {
    struct page p = { .options = o, .show = o->json ? SHOW_JSON : o->text ? SHOW_TEXT : SHOW_BLOCKS };
    char *error = NULL;
    int rv;

    if (o->json) {
        p.json = base_json_into(base_to_file(stdout));
        base_json_object(&p.json, NULL);
        base_json_array(&p.json, "blocks");
    }
    rv = read_page(&p, marks, source, &error);
    if (o->json) {
        eeod_command_tell_json(&p, rv && !error ? "out of memory" : error);
    } else if (!rv) {
        if (o->text) putchar('\n');
        command_tell(stdout, &p);
        if (p.blocks.pairs.odd) puts(STRAY);
        if (p.blocks.pairs.depth) puts(NEVER_CLOSED);
    }
    free(p.held);
    return rv ? base_failed(error) : BASE_RIGHT;
}

static int cat(int argc, char **argv) {
    struct options o = { .mss = 0 };
    struct eeod_marks marks;
    const char *why = NULL;
    char *error = NULL;
    int words = base_settings_options(&options_table, &o, argc, argv, &error), status;

    if (words < 0) status = base_misused("cat: %s", error ? error : "out of memory");
    else if (words == 1) status = base_misused("cat needs a file, a URL, or - for standard input");
    else if (words > 2) status = base_misused("one page at a time; one too many: %s", argv[2]);
    else if (o.text && o.json) status = base_misused("cat: --text or --json, one of them");
    else if ((why = eeod_marks_set(&marks, o.marks.first, o.marks.second))) status = base_misused("--marks: %s", why);
    else status = command_show(&o, &marks, argv[1]);
    free(error);
    base_settings_free(&options_table, &o);
    return status;
}

static int eeod_command_look(const char *source, FILE *found, char **error) {
    char *none[] = { "", NULL };
    struct options usual = { .mss = 0 };
    struct page p = { .options = &usual, .show = SHOW_NOTHING };
    struct eeod_marks marks;
    int rv;

    if (base_settings_options(&options_table, &usual, 1, none, error) < 0) return -1;
    eeod_marks_set(&marks, usual.marks.first, usual.marks.second);
    base_settings_free(&options_table, &usual);
    rv = read_page(&p, &marks, source, error);
    if (!rv && (p.blocks.pairs.odd || p.blocks.pairs.depth))
        rv = base_fail(error, "%s: %s", source, p.blocks.pairs.odd ? STRAY : NEVER_CLOSED);
    else if (!rv) command_tell(found, &p);
    free(p.held);
    return rv;
}

static int eeod_command_check(int argc, char **argv) { return base_check(argc, argv, eeod_command_look); }

static void eeod_command_more_help(FILE *out) {
    fputs("Shows the blocks that the marks of a page make: which kind, how long, and how many TCP segments each takes. "
          " - is standard input.\n\n"
          "Options of cat (in brackets what holds without the option):\n",
          out);
    base_settings_help(&options_table, out);
}

static const struct base_command commands[] = {
    { "cat", "[OPTION]... FILE|URL|-", "the blocks of a page", 0, BASE_ANY_NUMBER, cat },
    { "check", "[--json] FILE|URL|-...", "whether each mark of pages has another", 0, BASE_ANY_NUMBER,
      eeod_command_check },
};

int main(int argc, char **argv) {
    static const struct base_program me = { "fairgate-eeod", PACKAGE_VERSION, commands,
                                            sizeof commands / sizeof *commands, eeod_command_more_help };

    return base_program_main(&me, argc, argv);
}
