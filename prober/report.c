/* SPDX-License-Identifier: BSD-2-Clause */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINES_MAX   500u   /* for each reason */
#define SEEN        65536u /* a power of two, more than all lines */
#define REASONS_MAX 64
#define SHOWN       200 /* bytes of a URL */
#define BAR         20

struct report {
    FILE *out;
    int terminal, drawn;
    double begun, shown;
    uint64_t seen[SEEN]; /* hashes of what has its line; 0 = free */
    struct {
        const char *why;
        uint64_t n;
    } reason[REASONS_MAX];
    unsigned reasons;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What it writes to is no pipe that nobody reads and no other name of somebody's file. */
static FILE *open_log(const char *path) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640), why;
    struct stat st;
    FILE *f = NULL;

    if (fd < 0) return NULL;
    errno = EINVAL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1) f = fdopen(fd, "a");
    why = errno;
    if (!f) close(fd);
    errno = why;
    return f;
}

struct report *report_new(const char *log, int quiet) {
    struct report *r = calloc(1, sizeof *r);

    if (!r) return NULL;
    r->out = log ? open_log(log) : stderr;
    if (!r->out) {
        free(r);
        return NULL;
    }
    setvbuf(r->out, NULL, _IOLBF, 0);
    r->terminal = !quiet && isatty(STDERR_FILENO);
    r->begun = now();
    return r;
}

static void clear_bar(struct report *r) {
    if (r->drawn) fputs("\r\033[K", stderr);
    r->drawn = 0;
}

void report_line(struct report *r, enum base_log_priority p, const char *format, ...) {
    char text[2048], stamp[32];
    time_t t = time(NULL);
    struct tm tm;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    clear_bar(r);
    if (r->out == stderr && base_log_is_journal()) {
        base_log(p, "%s", text);
        return;
    }
    localtime_r(&t, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    fprintf(r->out, "%s %s\n", stamp, text);
}

static uint64_t report_hash_of(const char *p, int n) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
    return h ? h : 1;
}

/* Where it stands, or the free place where it would; never full. */
static uint64_t *report_place_of(struct report *r, uint64_t hash) {
    uint32_t i = (uint32_t)(hash ^ hash >> 32) & (SEEN - 1);

    while (r->seen[i] && r->seen[i] != hash) i = (i + 1) & (SEEN - 1);
    return &r->seen[i];
}

void report_refused(struct report *r, const char *what, int length, const char *why, const char *from) {
    uint64_t hash = report_hash_of(what, length), *place = report_place_of(r, hash);
    unsigned i;

    if (*place) return;
    for (i = 0; i < r->reasons && strcmp(r->reason[i].why, why); i++) continue;
    if (i == REASONS_MAX) return;
    if (i == r->reasons) r->reason[r->reasons++].why = why;
    if (r->reason[i].n++ < LINES_MAX) {
        *place = hash;
        report_line(r, BASE_LOG_INFO, "refused %.*s%s: %s%s%.*s", length < SHOWN ? length : SHOWN, what,
                    length < SHOWN ? "" : "...", why, from ? ", found on " : "", SHOWN, from ? from : "");
    } else if (r->reason[i].n == LINES_MAX + 1) {
        report_line(r, BASE_LOG_INFO, "more than %u refused, %s: from here on they are only counted", LINES_MAX, why);
    }
}

void report_progress(struct report *r, const struct report_progress *p) {
    double t = now(), seconds = t - r->begun;
    char bar[BAR + 1];
    int full;

    if (!r->terminal || t - r->shown < 0.25) return;
    r->shown = t;
    full = p->known ? (int)((uint64_t)BAR * p->done / p->known) : 0;
    for (int i = 0; i < BAR; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR] = 0;
    fprintf(stderr, "\r\033[K[%s] %" PRIu32 " of %" PRIu32 " URLs, %.0f requests/s, %.1f MB, %.0f s", bar, p->done,
            p->known, seconds > 0 ? (double)p->requests / seconds : 0, (double)p->bytes / 1e6, seconds);
    r->drawn = 1;
}

void report_refusals(struct report *r) {
    for (unsigned i = 0; i < r->reasons; i++)
        report_line(r, BASE_LOG_INFO, "not asked for or not taken: %" PRIu64 " URLs, %s", r->reason[i].n,
                    r->reason[i].why);
}

void report_free(struct report **r) {
    if (!*r) return;
    clear_bar(*r);
    if ((*r)->out != stderr) fclose((*r)->out);
    free(*r);
    *r = NULL;
}
