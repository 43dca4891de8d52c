/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_load_report.c - what fairgate-ndn-load prints, a JSON document:
 *
 *   {"seconds": 5.01, "cpu_s": 1.2, "pages": 812, "failed": {"lost": 0, ...}, "status": {"200": 812},
 *    "segments": 12180, "segments_per_s": 2431.0, "bytes": 49889280, "interests": 12185, "retransmissions": 5,
 *    "losses": 5, "marks": 0, "nacks": 0, "strays": 0, "unverified": 0, "latency_ms": TIMES, "first_ms": TIMES,
 *    "kinds": {"small": {"pages": 570, "segments": 8550, "latency_ms": TIMES, "first_ms": TIMES}, ...},
 *    "each": [[kind, asked, ms, first ms, segments, status, Interests, retransmissions, window], ...]}
 *   TIMES = {"mean": 36.9, "p50": 30.1, "p95": 80.2, "p99": 120.0, "max": 240.3}
 *
 * latency is that of whole pages, first the time to a page's first segment; segments are those of all pages, whole or
 * not; strays are packets that nobody waits for, unverified first segments whose digest is wrong.  `asked` is seconds
 * since the measurement began, `window` what the server told, 0 for nothing.
 */
#include "ndn_load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

static const char *const nload_error_names[] = {
#define X(name, text) text,
    NLOAD_ERRORS(X)
#undef X
};

static int report_shorter(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* us[]: n of them, which are sorted. */
static void report_times(FILE *out, const char *name, uint64_t *us, size_t n) {
    static const struct {
        const char *name;
        double part;
    } marks[] = { { "p50", 0.5 }, { "p95", 0.95 }, { "p99", 0.99 }, { "max", 1 } };
    double sum = 0;

    qsort(us, n, sizeof us[0], report_shorter);
    for (size_t i = 0; i < n; i++) sum += (double)us[i];
    fprintf(out, "\"%s\": {\"mean\": %.4f", name, n ? sum / 1e3 / (double)n : 0);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        fprintf(out, ", \"%s\": %.3f", marks[i].name,
                n ? (double)us[(size_t)(marks[i].part * (double)(n - 1))] / 1e3 : 0);
    fputs("}", out);
}

/* Both times of the pages of a kind, or of all (kind -1), and how many segments these have. */
static void report_pages(const struct nload *l, FILE *out, int kind, uint64_t *us) {
    size_t n = 0;
    uint64_t segments = 0;

    for (size_t i = 0; i < l->done_count; i++) {
        if (kind >= 0 && l->done[i].kind != (uint32_t)kind) continue;
        us[n++] = l->done[i].took;
        segments += l->done[i].segments;
    }
    if (kind >= 0) fprintf(out, "\"pages\": %zu, \"segments\": %" PRIu64 ", ", n, segments);
    report_times(out, "latency_ms", us, n);
    fputs(", ", out);
    n = 0;
    for (size_t i = 0; i < l->done_count; i++)
        if (kind < 0 || l->done[i].kind == (uint32_t)kind) us[n++] = l->done[i].first;
    report_times(out, "first_ms", us, n);
}

static void report_status(const struct nload *l, FILE *out) {
    static uint64_t status[1000];
    const char *comma = "";

    for (size_t i = 0; i < l->done_count; i++) status[l->done[i].status < 1000 ? l->done[i].status : 0]++;
    fputs("\"status\": {", out);
    for (int i = 0; i < 1000; i++)
        if (status[i]) {
            fprintf(out, "%s\"%d\": %" PRIu64, comma, i, status[i]);
            comma = ", ";
        }
    fputs("}", out);
}

static void report_each(const struct nload *l, FILE *out) {
    fputs(", \"each\": [", out);
    for (size_t i = 0; i < l->done_count; i++) {
        const struct nload_done *d = &l->done[i];
        fprintf(out, "%s[\"%s\", %.6f, %.3f, %.3f, %u, %u, %u, %u, %u]", i ? ", " : "", l->kinds[d->kind],
                (double)d->asked / 1e6, (double)d->took / 1e3, (double)d->first / 1e3, d->segments, d->status,
                d->interests, d->retransmissions, d->window);
    }
    fputs("]", out);
}

void nload_report(struct nload *l, FILE *out) {
    const struct nload_counts *n = &l->counts;
    double seconds = l->now > l->started ? (double)(l->now - l->started) / 1e6 : 1e-6;
    uint64_t *us = nload_need(malloc((l->done_count + 1) * sizeof us[0]));

    fprintf(out, "{\"seconds\": %.4f, \"cpu_s\": %.3f, \"pages\": %zu, \"failed\": {", seconds,
            (double)clock() / CLOCKS_PER_SEC, l->done_count);
    for (int e = 0; e < NLOAD_ERROR_COUNT; e++)
        fprintf(out, "%s\"%s\": %" PRIu64, e ? ", " : "", nload_error_names[e], n->failed[e]);
    fputs("}, ", out);
    report_status(l, out);
    fprintf(out,
            ", \"segments\": %" PRIu64 ", \"segments_per_s\": %.1f, \"bytes\": %" PRIu64 ", \"interests\": %" PRIu64
            ", \"retransmissions\": %" PRIu64 ", \"losses\": %" PRIu64 ", \"marks\": %" PRIu64 ", \"nacks\": %" PRIu64
            ", \"strays\": %" PRIu64 ", \"unverified\": %" PRIu64 ", ",
            n->segments, (double)n->segments / seconds, n->bytes, n->interests, n->retransmissions, n->losses, n->marks,
            n->nacks, n->strays, n->unverified);
    report_pages(l, out, -1, us);
    fputs(", \"kinds\": {", out);
    for (uint32_t k = 0; k < l->kind_count; k++) {
        fprintf(out, "%s\"%s\": {", k ? ", " : "", l->kinds[k]);
        report_pages(l, out, (int)k, us);
        fputs("}", out);
    }
    fputs("}", out);
    if (l->each) report_each(l, out);
    fputs("}\n", out);
    free(us);
}
