/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_status.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_protocol.h>
#include <mod_status.h>

#include "qos_request.h"

#define P qos_process
#define U64 "%" APR_UINT64_T_FMT

/* What one look shows. */
struct look {
    struct rs_stats        all;
    struct rs_class_stats *classes;     /* all.classes of them */
    uint32_t               held, blocked, children, pages;
    uint64_t               no_thread, no_descriptor, timed_out, gone, lost_children, uptime_us, bytes, known, share_stored, share_found, share_failed, share_rejected;
    int                    table_refused;
};

static struct look *take(request_rec *r) {
    struct look *l = apr_pcalloc(r->pool, sizeof *l);
    const struct shm_view *v = &P.view;
    const struct qos_sizes *z = &P.sizes;

    shm_reclaim(v);
    shm_lock(v);
    rs_stats(v->engine, &l->all);
    if (l->all.classes > v->size.classes) l->all.classes = v->size.classes;
    for (uint32_t i = 0; i < v->size.owners; i++) {
        l->children += v->owners[i].pid != 0;
        l->held += v->owners[i].held;
    }
    shm_unlock(v);
    l->blocked = l->all.queued > l->held ? l->all.queued - l->held : 0;
    l->classes = apr_pcalloc(r->pool, (l->all.classes + 1) * sizeof *l->classes);
    /* Class by class, so that 10,000 of them do not keep the lock. */
    for (uint32_t i = 0; i < l->all.classes; i++) {
        shm_lock(v);
        rs_class_stats(v->engine, i, &l->classes[i]);
        shm_unlock(v);
        l->bytes += l->classes[i].counts.bytes;
    }
    l->pages = pages_learnt_used(z->learnt, z->pages);
    l->known = atomic_load(&z->area->known.urls);
    l->share_stored = atomic_load(&z->area->share.stored);
    l->share_found = atomic_load(&z->area->share.found);
    l->share_failed = atomic_load(&z->area->share.failed);
    l->share_rejected = atomic_load(&z->area->share.rejected);
    l->table_refused = atomic_load(&z->area->known.refused) != 0;
    l->no_thread = atomic_load(&v->sh->no_thread);
    l->no_descriptor = atomic_load(&v->sh->no_descriptor);
    l->timed_out = atomic_load(&v->sh->timed_out);
    l->gone = atomic_load(&v->sh->gone);
    l->lost_children = atomic_load(&v->sh->lost_owners);
    l->uptime_us = shm_now() - atomic_load(&v->sh->started_us);
    return l;
}

static double mean_ms(uint64_t sum_us, uint64_t n) { return n ? (double)sum_us / (double)n / 1000.0 : 0.0; }
static double share(const struct look *l, uint64_t bytes) { return l->bytes ? (double)bytes / (double)l->bytes : 0.0; }
static apr_uint64_t u(uint64_t n) { return n; }   /* as its format wants it */

/* Answered 503 without having waited; `timed_out` are those that had. */
static uint64_t refused(const struct look *l) {
    return rs_refused(&l->all.counts) + l->no_thread + l->no_descriptor;
}

static void json(request_rec *r, const struct look *l) {
    const struct rs_counts *a = &l->all.counts;

    ap_set_content_type(r, "application/json");
    ap_rprintf(r, "{\"state\":\"on\",\"scheduler\":\"%s\",\"gate\":\"%s\",\"window\":%u,\"queued\":%u,\"outstanding\":%u,\"parked\":%u,"
               "\"held\":%u,\"blocked\":%u,\"children\":%u,\"pages\":%u,\"known_urls\":" U64 ",\"page_table_refused\":%s,"
               "\"share_stored\":" U64 ",\"share_found\":" U64 ",\"share_failed\":" U64 ",\"share_rejected\":" U64 ",\"uptime_s\":%.3f,",
               rs_sched_name((int)l->all.settings.sched), rs_gate_name((int)l->all.settings.gate), l->all.window, l->all.queued,
               l->all.outstanding, l->all.parked, l->held, l->blocked, l->children, l->pages, u(l->known), l->table_refused ? "true" : "false",
               u(l->share_stored), u(l->share_found), u(l->share_failed), u(l->share_rejected), (double)l->uptime_us / 1e6);
    ap_rprintf(r, "\"submitted\":" U64 ",\"released\":" U64 ",\"refused\":" U64 ",\"cancelled\":" U64 ",\"done\":" U64 ",\"aborted\":" U64
               ",\"reclaimed\":" U64 ",\"timed_out\":" U64 ",\"gone\":" U64 ",\"lost_children\":" U64 ",\"rebuilds\":%u,\"bytes\":" U64 ",",
               u(a->submitted), u(a->released), u(refused(l)), u(a->cancelled), u(a->done), u(a->aborted),
               u(a->reclaimed), u(l->timed_out), u(l->gone), u(l->lost_children), l->all.rebuilds, u(l->bytes));
    ap_rprintf(r, "\"refused_by\":{\"class-full\":" U64 ",\"share-full\":" U64 ",\"queue-full\":" U64 ",\"no-thread\":" U64 ",\"no-descriptor\":" U64 ",\"too-long\":" U64
               "},\"classes\":[", u(a->refused_class), u(a->refused_share), u(a->refused_total), u(l->no_thread), u(l->no_descriptor),
               u(l->timed_out));
    for (uint32_t i = 0; i < l->all.classes; i++) {
        const struct rs_class_stats *c = &l->classes[i];
        const struct rs_counts *n = &c->counts;
        /* Names hold letters, digits, '-', '_' and '.' only: nothing to escape. */
        ap_rprintf(r, "%s{\"name\":\"%s\",\"weight\":%u,\"retired\":%s,\"queued\":%u,\"outstanding\":%u,\"parked\":%u"
                   ",\"submitted\":" U64 ",\"released\":" U64 ",\"refused\":" U64 ",\"cancelled\":" U64 ",\"done\":" U64 ",\"aborted\":" U64
                   ",\"bytes\":" U64 ",\"share\":%.4f,\"balance\":%" APR_INT64_T_FMT ",\"response_mean\":" U64
                   ",\"wait_ms_mean\":%.3f,\"wait_ms_max\":%.3f,\"service_ms_mean\":%.3f}",
                   i ? "," : "", c->settings.name, c->settings.weight, c->retired ? "true" : "false", c->queued, c->outstanding, c->parked,
                   u(n->submitted), u(n->released), u(rs_refused(n)), u(n->cancelled), u(n->done), u(n->aborted),
                   u(n->bytes), share(l, n->bytes), (apr_int64_t)c->balance, u(c->mean), mean_ms(n->wait_us, n->released),
                   (double)c->wait_max / 1000.0, mean_ms(n->service_us, n->done + n->aborted));
    }
    ap_rputs("]}\n", r);
}

/* One metric over all classes. */
struct metric { const char *name, *type, *help; double (*of)(const struct rs_class_stats *c); };

static double queued_of(const struct rs_class_stats *c) { return c->queued; }
static double outstanding_of(const struct rs_class_stats *c) { return c->outstanding; }
static double parked_of(const struct rs_class_stats *c) { return c->parked; }
static double submitted_of(const struct rs_class_stats *c) { return (double)c->counts.submitted; }
static double released_of(const struct rs_class_stats *c) { return (double)c->counts.released; }
static double refused_of(const struct rs_class_stats *c) { return (double)rs_refused(&c->counts); }
static double cancelled_of(const struct rs_class_stats *c) { return (double)c->counts.cancelled; }
static double done_of(const struct rs_class_stats *c) { return (double)c->counts.done; }
static double aborted_of(const struct rs_class_stats *c) { return (double)c->counts.aborted; }
static double bytes_of(const struct rs_class_stats *c) { return (double)c->counts.bytes; }
static double wait_of(const struct rs_class_stats *c) { return (double)c->counts.wait_us / 1e6; }
static double service_of(const struct rs_class_stats *c) { return (double)c->counts.service_us / 1e6; }
static double weight_of(const struct rs_class_stats *c) { return c->settings.weight; }

static const struct metric metrics[] = {
    { "weight", "gauge", "Weight of the class.", weight_of },
    { "queued", "gauge", "Requests that wait.", queued_of },
    { "outstanding", "gauge", "Requests at the server.", outstanding_of },
    { "parked", "gauge", "Responses whose client is too slow to take them.", parked_of },
    { "submitted_total", "counter", "Requests that came to be scheduled.", submitted_of },
    { "released_total", "counter", "Requests let through to the server.", released_of },
    { "refused_total", "counter", "Requests answered 503 because a queue was full.", refused_of },
    { "cancelled_total", "counter", "Requests that stopped waiting: too long, or the client left.", cancelled_of },
    { "done_total", "counter", "Responses that ended whole.", done_of },
    { "aborted_total", "counter", "Responses that ended before their end.", aborted_of },
    { "response_bytes_total", "counter", "Bytes of responses, headers included.", bytes_of },
    { "wait_seconds_total", "counter", "Seconds that released requests have waited.", wait_of },
    { "service_seconds_total", "counter", "Seconds from release to the end of the response.", service_of },
};

static void single(request_rec *r, const char *name, const char *type, const char *help, double value) {
    ap_rprintf(r, "# HELP fairgate_qos_%s %s\n# TYPE fairgate_qos_%s %s\nfairgate_qos_%s %.15g\n", name, help, name, type, name, value);
}

static void reasons(request_rec *r, const struct look *l) {
    const struct { const char *name; uint64_t n; } all[] = {
        { "class-full", l->all.counts.refused_class }, { "share-full", l->all.counts.refused_share },
        { "queue-full", l->all.counts.refused_total }, { "no-thread", l->no_thread }, { "no-descriptor", l->no_descriptor }, { "too-long", l->timed_out },
    };

    ap_rputs("# HELP fairgate_qos_unserved_total Requests answered 503, by the reason.\n# TYPE fairgate_qos_unserved_total counter\n", r);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ap_rprintf(r, "fairgate_qos_unserved_total{reason=\"%s\"} " U64 "\n", all[i].name, u(all[i].n));
}

#define PROMETHEUS "text/plain; version=0.0.4; charset=utf-8"

static void tell_state(request_rec *r, const char *state) {
    ap_rputs("# HELP fairgate_qos_state 1 of what requests are: scheduled (on), or why not.\n# TYPE fairgate_qos_state gauge\n", r);
    ap_rprintf(r, "fairgate_qos_state{state=\"%s\"} 1\n", state);
}

static void prometheus(request_rec *r, const struct look *l) {
    ap_set_content_type(r, PROMETHEUS);
    tell_state(r, "on");
    single(r, "window", "gauge", "Requests the server may work on at one time.", l->all.window);
    single(r, "held", "gauge", "Requests that wait without a thread.", l->held);
    single(r, "blocked", "gauge", "Requests that wait in their thread.", l->blocked);
    single(r, "pages", "gauge", "Page sizes learnt from answers.", l->pages);
    single(r, "known_urls", "gauge", "URLs whose sizes came from the prober's table.", (double)l->known);
    single(r, "page_table_refused", "gauge", "1 if the prober's table could not be read when it last changed.", l->table_refused);
    single(r, "share_stored_total", "counter", "Page sizes told to other gateways.", (double)l->share_stored);
    single(r, "share_found_total", "counter", "Page sizes learnt from other gateways.", (double)l->share_found);
    single(r, "share_failed_total", "counter", "Times the shared cache gave no answer.", (double)l->share_failed);
    single(r, "share_rejected_total", "counter", "Values in the shared cache that no gateway with our secret wrote.", (double)l->share_rejected);
    single(r, "timed_out_total", "counter", "Requests answered 503 because they had waited too long.", (double)l->timed_out);
    single(r, "gone_total", "counter", "Requests whose client left while they waited.", (double)l->gone);
    reasons(r, l);
    single(r, "lost_children_total", "counter", "Children that died with requests.", (double)l->lost_children);
    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        const struct metric *of = &metrics[m];

        ap_rprintf(r, "# HELP fairgate_qos_%s %s\n# TYPE fairgate_qos_%s %s\n", of->name, of->help, of->name, of->type);
        for (uint32_t i = 0; i < l->all.classes; i++)
            ap_rprintf(r, "fairgate_qos_%s{class=\"%s\"} %.15g\n", of->name, l->classes[i].settings.name, of->of(&l->classes[i]));
    }
}

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"2\">"
    "<title>Fairgate</title><style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:64em;padding:0 1em;color:#222;background:#fff}\n"
    "h1{font-size:1.4em;margin:0}p{margin:.3em 0 1.2em;color:#555}table{border-collapse:collapse;width:100%}\n"
    "th,td{padding:.35em .6em;text-align:right;border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}\n"
    "th{font-weight:600;color:#555}th:first-child,td:first-child{text-align:left}tr.retired td{color:#999}\n"
    ".bar{display:inline-block;height:.7em;background:#2a7;vertical-align:middle;margin-right:.5em}\n"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}p,th{color:#aaa}th,td{border-color:#333}}\n"
    "</style></head><body>\n";

static void page(request_rec *r, const struct look *l) {
    const struct rs_counts *a = &l->all.counts;

    ap_set_content_type(r, "text/html; charset=utf-8");
    ap_rputs(page_head, r);
    ap_rprintf(r, "<h1>Fairgate: who gets the server</h1>\n<p>%u of %u slots in use, %u waiting (%u without a thread, %u blocking one), "
               "%u slow to take their answer. " U64 " answers since start, " U64 " refused (" U64 " class full, " U64 " its places full, "
               U64 " queue full, " U64 " no thread to wait in, " U64 " no descriptor), " U64 " waited too long, " U64 " left while waiting. "
               "%u page sizes learnt, " U64 " URLs known from the prober%s. Scheduler %s, window %s, %u children.</p>\n",
               l->all.outstanding, l->all.window, l->all.queued, l->held, l->blocked, l->all.parked, u(a->done + a->aborted),
               u(refused(l)), u(a->refused_class), u(a->refused_share), u(a->refused_total), u(l->no_thread), u(l->no_descriptor),
               u(l->timed_out), u(l->gone), l->pages, u(l->known),
               l->table_refused ? " (its last table was refused: see the error log)" : "", rs_sched_name((int)l->all.settings.sched),
               rs_gate_name((int)l->all.settings.gate), l->children);
    ap_rputs("<table><thead><tr><th>class</th><th>weight</th><th>share of bytes</th><th>at the server</th><th>waiting</th><th>answers</th>"
             "<th>refused</th><th>mean answer</th><th>mean wait</th><th>longest wait</th></tr></thead><tbody>\n", r);
    for (uint32_t i = 0; i < l->all.classes; i++) {
        const struct rs_class_stats *c = &l->classes[i];
        const struct rs_counts *n = &c->counts;
        double part = share(l, n->bytes);

        ap_rprintf(r, "<tr%s><td>%s</td><td>%u</td><td><span class=\"bar\" style=\"width:%.1fem\"></span>%.1f %%</td><td>%u</td><td>%u</td>"
                   "<td>" U64 "</td><td>" U64 "</td><td>%.1f kB</td><td>%.1f ms</td><td>%.0f ms</td></tr>\n",
                   c->retired ? " class=\"retired\"" : "", c->settings.name, c->settings.weight, part * 8, part * 100, c->outstanding,
                   c->queued, u(n->done + n->aborted), u(rs_refused(n)), (double)c->mean / 1000.0,
                   mean_ms(n->wait_us, n->released), (double)c->wait_max / 1000.0);
    }
    ap_rputs("</tbody></table>\n<p>Also as <a href=\"?json\">JSON</a> and for <a href=\"?prometheus\">Prometheus</a>.</p>\n</body></html>\n", r);
}

static int asks_for(const request_rec *r, const char *format) { return r->args && !strcmp(r->args, format); }

/* There is nothing to show: said in the form that was asked for. */
static int nothing(request_rec *r, const char *state, const char *sentence) {
    if (asks_for(r, "json")) {
        ap_set_content_type(r, "application/json");
        ap_rprintf(r, "{\"state\":\"%s\",\"why\":\"%s\",\"classes\":[]}\n", state, sentence);
    } else if (asks_for(r, "prometheus")) {
        ap_set_content_type(r, PROMETHEUS);
        tell_state(r, state);
    } else {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        ap_rprintf(r, "%s\n", sentence);
    }
    return OK;
}

int qos_status_handler(request_rec *r) {
    const struct look *l;

    if (!r->handler || strcmp(r->handler, "qos-status")) return DECLINED;
    r->allowed = AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET) return HTTP_METHOD_NOT_ALLOWED;
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    /* A child for which there was no row can tell as well as any other. */
    if (!qos_config()->used || !P.view.sh) return nothing(r, "off", "QosEngine is off everywhere in this server: nothing is scheduled.");
    /* What this child has by itself is nobody's status; the next one has it. */
    if (shm_has_left(&P.view)) return HTTP_SERVICE_UNAVAILABLE;
    l = take(r);
    if (asks_for(r, "json")) json(r, l);
    else if (asks_for(r, "prometheus")) prometheus(r, l);
    else page(r, l);
    return OK;
}

int qos_status_lines(request_rec *r, int flags) {
    const struct look *l;

    if (!qos_config()->used || !P.view.sh || shm_has_left(&P.view)) return OK;
    l = take(r);
    if (flags & AP_STATUS_SHORT) {
        ap_rprintf(r, "QosWindow: %u\nQosOutstanding: %u\nQosQueued: %u\nQosParked: %u\n", l->all.window, l->all.outstanding, l->all.queued,
                   l->all.parked);
        for (uint32_t i = 0; i < l->all.classes; i++) {
            const struct rs_class_stats *c = &l->classes[i];
            ap_rprintf(r, "QosClass-%s: weight=%u share=%.4f queued=%u outstanding=%u\n", c->settings.name, c->settings.weight,
                       share(l, c->counts.bytes), c->queued, c->outstanding);
        }
        return OK;
    }
    ap_rprintf(r, "<hr />\n<h1>Request scheduling</h1>\n<dl><dt>%u of %u slots in use, %u waiting, %u slow to take their answer</dt>\n",
               l->all.outstanding, l->all.window, l->all.queued, l->all.parked);
    for (uint32_t i = 0; i < l->all.classes; i++) {
        const struct rs_class_stats *c = &l->classes[i];
        ap_rprintf(r, "<dt>%s (weight %u): %.1f %% of bytes, %u at the server, %u waiting</dt>\n", c->settings.name, c->settings.weight,
                   share(l, c->counts.bytes) * 100, c->outstanding, c->queued);
    }
    ap_rputs("</dl>\n", r);
    return OK;
}
