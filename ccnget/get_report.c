/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/base_command.h"
#include "base/base_error.h"
#include "base/base_report.h"

enum { BAR = 20, BAR_EVERY = 100000 };
#define A_SECOND 1e6

/* ---- at the end -------------------------------------------------------------------------------------------------- */

void get_report_timings(const struct get_figures *f, FILE *out) {
    double seconds = (double)f->whole / A_SECOND;

    fprintf(out, "connected %.6f s, first segment %.6f s, end %.6f s\n", (double)f->connected / A_SECOND,
            (double)f->first / A_SECOND, seconds);
    fprintf(out, "%" PRIu64 " segments, %" PRIu64 " bytes, %.3f MB/s\n", f->segments, f->bytes,
            seconds > 0 ? (double)f->bytes / 1e6 / seconds : 0);
    if (*f->encoding) fprintf(out, "Content-Encoding %s\n", base_quote(f->encoding, strlen(f->encoding)).s);
    fprintf(out,
            "%" PRIu64 " Interests, %" PRIu64 " of them once more; %" PRIu64 " losses, %" PRIu64
            " marks; window %" PRIu32,
            f->counts.interests, f->counts.retransmissions, f->counts.losses, f->counts.marks, f->window);
    if (f->hint != NDN_NO_NUMBER) fprintf(out, ", the server says %" PRIu64, f->hint);
    fprintf(out, "\n%" PRIu64 " packets were something else, %" PRIu64 " wrongly signed\n", f->counts.strange,
            f->counts.forged);
}

static void json_known(struct base_json *j, const char *key, uint64_t n) {
    if (n == NDN_NO_NUMBER) base_json_text(j, key, NULL);
    else base_json_whole(j, key, n);
}

void get_report_said(struct base_json *j, const char *key, const char *text) {
    base_json_text(j, key, *text ? text : NULL);
}

void get_report_time(struct base_json *j, const char *key, uint64_t microseconds) {
    if (microseconds) base_json_number(j, key, (double)microseconds / A_SECOND);
    else base_json_text(j, key, NULL);
}

void get_report_json(const struct get_figures *f, FILE *out) {
    struct base_json j = base_json_into(base_to_file(out));

    base_json_object(&j, NULL);
    json_known(&j, "status", f->status);
    base_json_whole(&j, "segments", f->segments);
    base_json_whole(&j, "bytes", f->bytes);
    get_report_time(&j, "seconds", f->whole);
    get_report_time(&j, "first_segment_seconds", f->first);
    get_report_time(&j, "connected_seconds", f->connected);
    base_json_whole(&j, "interests", f->counts.interests);
    base_json_whole(&j, "retransmissions", f->counts.retransmissions);
    base_json_whole(&j, "losses", f->counts.losses);
    base_json_whole(&j, "marks", f->counts.marks);
    base_json_whole(&j, "strange", f->counts.strange);
    base_json_whole(&j, "forged", f->counts.forged);
    base_json_whole(&j, "window", f->window);
    json_known(&j, "hint", f->hint);
    json_known(&j, "version", f->version);
    get_report_said(&j, "content_type", f->media_type);
    get_report_said(&j, "content_encoding", f->encoding);
    base_json_end_object(&j);
    base_json_done(&j);
    fflush(out);
}

/* ---- on the way -------------------------------------------------------------------------------------------------- */

void get_progress_init(struct get_progress *p, bool quiet) {
    *p = (struct get_progress){ .terminal = !quiet && isatty(STDERR_FILENO) };
}

void get_progress_draw(struct get_progress *p, uint64_t now, uint64_t segments, uint64_t last, uint64_t bytes) {
    char bar[BAR + 1] = "", of[32] = "";

    if (!p->terminal || (p->drawn && now - p->shown < BAR_EVERY)) return;
    p->shown = now;
    p->drawn = true;
    if (last != NDN_NO_NUMBER) {
        double full = BAR * ((double)segments / ((double)last + 1));
        for (int i = 0; i < BAR; i++) bar[i] = i < full ? '#' : '.';
        snprintf(of, sizeof of, " of %" PRIu64, last + 1);
    }
    fprintf(stderr, "\r\033[K[%s] %" PRIu64 "%s segments, %.1f MB", bar, segments, of, (double)bytes / 1e6);
    fflush(stderr);
}

void get_progress_clear(struct get_progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
}
