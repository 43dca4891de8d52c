/* SPDX-License-Identifier: BSD-2-Clause */
/* eeod_command.c - fairgate-eeod: what the marks of a page make of it.  The manual is fairgate-eeod.1. */
#include "config.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eeod_blocks.h"

enum { OK = 0, FAILED = 1, BAD_USAGE = 2 };

#define PIECE    65536
#define PAGE_MAX ((curl_off_t)256 << 20)

static const char help[] =
    "usage: fairgate-eeod cat [options] FILE|URL|-\n"
    "\n"
    "Shows the blocks that the marks of a page make: which kind, how long, and how many TCP segments each takes.\n"
    "\n"
    "  --mss N         bytes that a segment carries (1448: Ethernet, IPv4, timestamps)\n"
    "  --min N         cacheable blocks with fewer bytes go with the unique one beside them (128)\n"
    "  --strip         the marks are taken out\n"
    "  --marks A B     other marks than <!--EEOD--> and <!--/EEOD-->, 4 to 64 characters each\n"
    "  --text          the page itself, with a line before each block\n"
    "\n"
    "  --help  --version\n";

struct options {
    unsigned long mss, least;
    int           strip, text;
    const char   *open, *close, *source;
};

struct page {
    const struct options *options;
    struct eeod_blocks    blocks;
    unsigned char        *held;             /* fed, not yet taken */
    size_t                size, used, eaten;
    char                  kind;             /* of the present block; 0 before the first */
    uint64_t              length;           /* of it */
    uint64_t              number, segments, bytes;
};

static int misuse(const char *what, const char *word) {
    fprintf(stderr, "fairgate-eeod: %s%s; write fairgate-eeod --help\n", what, word);
    return BAD_USAGE;
}

static uint64_t segments(uint64_t bytes, uint64_t mss) { return (bytes + mss - 1) / mss; }

static void end_block(struct page *p) {
    if (!p->kind && !p->length) return;
    uint64_t n = segments(p->length, p->options->mss);
    p->segments += n;
    p->bytes += p->length;
    if (!p->options->text)
        printf("%8" PRIu64 "  %-9s %10" PRIu64 " bytes %8" PRIu64 " segment%s\n", p->number, p->kind == 'U' ? "unique" : p->kind ? "cacheable" : "unmarked",
               p->length, n, n == 1 ? "" : "s");
}

static void take(void *context, enum eeod_step step, size_t n) {
    struct page *p = context;
    if (step == EEOD_CUT) return;
    if (step == EEOD_BEGIN_CACHEABLE || step == EEOD_BEGIN_UNIQUE) {
        end_block(p);
        p->kind = step == EEOD_BEGIN_UNIQUE ? 'U' : 'C';
        p->length = 0;
        p->number++;
        if (p->options->text) printf("\n==== %" PRIu64 " %s\n", p->number, p->kind == 'U' ? "unique" : "cacheable");
        return;
    }
    if (step == EEOD_PASS) {
        if (p->options->text) fwrite(p->held + p->eaten, 1, n, stdout);
        p->length += n;
    }
    p->eaten += n;
}

/* 0, or -1 without memory. */
static int feed(struct page *p, const void *data, size_t n) {
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

static size_t received(char *data, size_t size, size_t n, void *context) { return feed(context, data, size * n) ? 0 : size * n; }

static int read_url(struct page *p, const char *url) {
    char why[CURL_ERROR_SIZE] = "";
    int status = FAILED;
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
        if (code != CURLE_OK) fprintf(stderr, "fairgate-eeod: %s: %s\n", url, *why ? why : curl_easy_strerror(code));
        else if (http >= 300) fprintf(stderr, "fairgate-eeod: %s: status %ld\n", url, http);
        else status = OK;
    }
    curl_easy_cleanup(c);
    curl_global_cleanup();
    return status;
}

static int read_file(struct page *p, const char *path) {
    static unsigned char piece[PIECE];
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n;
    int bad = f == NULL;
    while (!bad && (n = fread(piece, 1, sizeof piece, f)) > 0) bad = feed(p, piece, n);
    bad = bad || ferror(f);
    if (bad) fprintf(stderr, "fairgate-eeod: %s: %s\n", path, strerror(errno));
    if (f && f != stdin) fclose(f);
    return bad ? FAILED : OK;
}

static int number(const char *text, unsigned long least, unsigned long most, unsigned long *n) {
    char *end;
    errno = 0;
    *n = strtoul(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno || *n < least || *n > most;
}

static int arguments(int argc, char **argv, struct options *o) {
    *o = (struct options){ .mss = 1448, .least = 128, .open = "<!--EEOD-->", .close = "<!--/EEOD-->" };
    for (int i = 0; i < argc; i++) {
        if (!strcmp(argv[i], "--strip")) o->strip = 1;
        else if (!strcmp(argv[i], "--text")) o->text = 1;
        else if (!strcmp(argv[i], "--mss")) {
            if (++i == argc || number(argv[i], 64, 65536, &o->mss)) return misuse("--mss needs a number from 64 to 65536", "");
        } else if (!strcmp(argv[i], "--min")) {
            if (++i == argc || number(argv[i], 0, 65536, &o->least)) return misuse("--min needs a number from 0 to 65536", "");
        } else if (!strcmp(argv[i], "--marks")) {
            if (i + 2 >= argc) return misuse("--marks needs two marks", "");
            o->open = argv[++i];
            o->close = argv[++i];
        } else if (argv[i][0] == '-' && argv[i][1]) return misuse("what is ", argv[i]);
        else if (o->source) return misuse("one page at a time; one too many: ", argv[i]);
        else o->source = argv[i];
    }
    return o->source ? OK : misuse("cat needs a file, a URL, or - for standard input", "");
}

static int cat(int argc, char **argv) {
    struct options o;
    struct eeod_marks marks;
    int status = arguments(argc, argv, &o);
    if (status) return status;
    const char *why = eeod_marks_set(&marks, o.open, o.close);
    if (why) return misuse("--marks: ", why);

    struct page p = { .options = &o };
    eeod_blocks_begin(&p.blocks, &marks, o.strip, o.least, take, &p);
    status = !strncmp(o.source, "http://", 7) || !strncmp(o.source, "https://", 8) ? read_url(&p, o.source) : read_file(&p, o.source);
    if (!status) {
        eeod_blocks_end(&p.blocks);
        end_block(&p);
        uint64_t plain = segments(p.bytes, o.mss);
        printf("%s%" PRIu64 " bytes in %" PRIu64 " segments of at most %lu bytes, %" PRIu64 " more than without blocks; %" PRIu64 " cacheable and %" PRIu64
               " unique blocks", o.text ? "\n" : "", p.bytes, p.segments, o.mss, p.segments - plain, p.blocks.begun[EEOD_CACHEABLE], p.blocks.begun[EEOD_UNIQUE]);
        if (p.blocks.joined) printf(", %" PRIu64 " too small to be one", p.blocks.joined);
        if (p.blocks.odd) printf(", %" PRIu64 " marks nested, without another, or where they don't count", p.blocks.odd);
        puts("");
        if (p.blocks.pairs.odd) puts("a closing mark closes nothing: all behind it is unique, and a packet cache is told nothing of this page");
        if (p.blocks.pairs.depth) puts("an opening mark is never closed, or in a script, a tag or a comment only: all behind it is unique");
    }
    free(p.held);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs(help, stderr);
        return BAD_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        fputs(help, stdout);
        return OK;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("fairgate-eeod " PACKAGE_VERSION);
        return OK;
    }
    if (!strcmp(argv[1], "cat") && argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) {
        fputs(help, stdout);
        return OK;
    }
    if (!strcmp(argv[1], "cat")) return cat(argc - 2, argv + 2);
    return misuse("there is no command ", argv[1]);
}
