/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_stats.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <apr_strings.h>
#include <http_config.h>
#include <http_protocol.h>
#include <mod_status.h>

#include "base/base_report.h"
#include "httpd/httpd_console.h"

/*
 * Kept for the life of the parent under this key of the process pool; the number counts the shapes of struct
 * eeod_stats.
 */
#define KEPT "fairgate-eeod-stats-3"

#define U64 "%" APR_UINT64_T_FMT

static struct eeod_stats *stats;

apr_status_t eeod_stats_open(apr_pool_t *process) {
    void *kept = NULL;

    apr_pool_userdata_get(&kept, KEPT, process);
    if (!kept) {
        kept = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (kept == MAP_FAILED) return errno;
        apr_pool_userdata_set(kept, KEPT, NULL, process);
    }
    stats = kept;
    return APR_SUCCESS;
}

void eeod_count(enum eeod_counter which, uint64_t n) {
    if (n) atomic_fetch_add_explicit(&stats->n[which], n, memory_order_relaxed);
}

static apr_uint64_t value(int i) { return atomic_load_explicit(&stats->n[i], memory_order_relaxed); }

static void stats_to_client(void *to, const char *text, size_t bytes) { ap_rwrite(text, (int)bytes, to); }
static struct base_sink stats_client(request_rec *r) { return (struct base_sink){ stats_to_client, r }; }

static const struct {
    const char *total, *name, *help;
} counters[] = {
#define X(name, help) { #name "_total", #name, help },
    EEOD_COUNTERS(X)
#undef X
};

static void stats_figures(struct base_figure *to) {
    for (int i = 0; i < EEOD_NCOUNTERS; i++)
        to[i] = (struct base_figure){ counters[i].total, counters[i].name, counters[i].help, NULL,
                                      (double)value(i),  BASE_COUNTER };
}

static void prometheus(request_rec *r) {
    struct base_figure all[EEOD_NCOUNTERS];

    stats_figures(all);
    base_figures_prometheus(stats_client(r), "fairgate_eeod_", (struct base_label){ NULL, NULL }, all, EEOD_NCOUNTERS);
}

static void stats_json(struct base_sink sink, const void *unused) {
    struct base_json j = base_json_into(sink);
    struct base_figure all[EEOD_NCOUNTERS];

    (void)unused;
    stats_figures(all);
    base_json_object(&j, NULL);
    base_figures_json(&j, all, EEOD_NCOUNTERS);
    base_json_end_object(&j);
    base_json_done(&j);
}

/* ---- the console ------------------------------------------------------------------------------------------------- */

static uint64_t stats_now(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void stats_look(request_rec *r, struct console_told *t) {
    (void)r;
    t->house = "mod_eeod";
    t->now = stats_json;
    t->now_us = stats_now();
}

static int stats_console(request_rec *r, enum httpd_console asked) {
    uint64_t now = stats_now();

    if (asked == HTTPD_CONSOLE_PAGE) return httpd_console_page(r);
    if (asked == HTTPD_CONSOLE_EXPLAIN) return HTTP_NOT_FOUND;
    if (console_ring_due(&stats->ring, now)) {
        struct console_column *columns = apr_pcalloc(r->pool, EEOD_NCOUNTERS * sizeof *columns);

        for (int i = 0; i < EEOD_NCOUNTERS; i++) {
            apr_cpystrn(columns[i].name, counters[i].name, sizeof columns[i].name);
            columns[i].counter = true;
            columns[i].value = (double)value(i);
        }
        console_ring_add(&stats->ring, now, columns, EEOD_NCOUNTERS);
    }
    return httpd_console_tell(r, &stats->ring, stats_look, asked);
}

static void stats_text(request_rec *r) {
    ap_set_content_type(r, "text/plain; charset=utf-8");
    for (int i = 0; i < EEOD_NCOUNTERS; i++)
        ap_rprintf(r, "%-17s %12" APR_UINT64_T_FMT "  %s\n", counters[i].name, value(i), counters[i].help);
    ap_rputs("Also as ?json and ?prometheus, and live as ?console.\n", r);
}

int eeod_status_handler(request_rec *r) {
    enum httpd_console asked;
    int rv = httpd_status_begins(r, "eeod-status");

    if (rv != OK) return rv;
    asked = httpd_console_asked(r);
    if (asked != HTTPD_CONSOLE_NOT) return stats_console(r, asked);
    rv = httpd_console_figures(r);
    if (rv != OK && rv != DECLINED) return rv;
    if (httpd_console_word(r, "json")) stats_json(stats_client(r), NULL);
    else if (httpd_console_word(r, "prometheus")) prometheus(r);
    else stats_text(r);
    return OK;
}

int eeod_status_lines(request_rec *r, int flags) {
    if (flags & AP_STATUS_SHORT) {
        for (int i = 0; i < EEOD_NCOUNTERS; i++) ap_rprintf(r, "Eeod-%s: " U64 "\n", counters[i].name, value(i));
        return OK;
    }
    ap_rprintf(r,
               "<hr />\n<h1>Packet boundaries</h1>\n<dl><dt>" U64 " responses in " U64 " cacheable and " U64
               " unique blocks; " U64 " boundaries, " U64 " missed, " U64 " segments more</dt></dl>\n",
               value(EEOD_responses), value(EEOD_cacheable_blocks), value(EEOD_unique_blocks), value(EEOD_boundaries),
               value(EEOD_missed), value(EEOD_extra_segments));
    return OK;
}
