/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_status.h"

#include <math.h>

#include <apr_lib.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_main.h>
#include <http_protocol.h>
#include <mod_status.h>

#include "ccn_threads.h"
#include "core/rs_figures.h"
#include "httpd/httpd_console.h"

#define P   ccn_process
#define U64 "%" APR_UINT64_T_FMT
#define OWN 64

/* A forwarder that CcnForwarder names. */
struct look_forwarder {
    const char *text;
    bool connected;
    uint32_t prefixes, registered, refused;
};

struct ccn_look {
    struct look_forwarder *forwarders;
    unsigned nforwarders;
    struct rs_figures figures;
    struct rs_figures_class *classes;
    struct ccn_store_counts store;
    struct base_figure own[OWN];
};

static void own_add(struct ccn_look *l, const char *name, const char *json, const char *sentence, double value,
                    enum base_kind kind) {
    if (l->figures.nown < OWN)
        l->own[l->figures.nown++] = (struct base_figure){ name, json, sentence, NULL, value, kind };
}

static uint32_t at_most(uint32_t n, uint32_t most) { return n < most ? n : most; }

static void look_at_forwarders(apr_pool_t *p, struct ccn_look *l) {
    uint64_t connected = 0, prefixes = 0, registered = 0;

    l->forwarders = apr_pcalloc(p, CCN_DIALED_MAX * sizeof *l->forwarders);
    for (const server_rec *s = ap_server_conf; s; s = s->next) {
        const struct ccn_host *h = ccn_host_of(s);
        for (int i = 0; h->on == 1 && i < h->forwarders->nelts && l->nforwarders < CCN_DIALED_MAX; i++) {
            const struct ccn_dialed *d = P.area->dialed + l->nforwarders;
            struct look_forwarder *f = l->forwarders + l->nforwarders++;
            uint64_t holder = atomic_load(&d->holder);
            f->text = APR_ARRAY_IDX(h->forwarders, i, struct ccn_forwarder).text;
            f->prefixes = (uint32_t)h->prefixes->nelts;
            prefixes += f->prefixes;
            if (!holder || !ccn_holder_lives(holder)) continue;
            f->connected = true;
            f->registered = at_most(atomic_load(&d->registered), f->prefixes);
            f->refused = at_most(atomic_load(&d->refused), f->prefixes);
            connected++;
            registered += f->registered;
        }
    }
    own_add(l, "forwarders", "forwarders", "Forwarders that CcnForwarder names.", l->nforwarders, BASE_GAUGE);
    own_add(l, "forwarders_connected", "forwarders_connected", "Of these, those that a connection stands to.",
            (double)connected, BASE_GAUGE);
    own_add(l, "prefixes", "prefixes", "Prefixes that are to be registered, at each forwarder.", (double)prefixes,
            BASE_GAUGE);
    own_add(l, "prefixes_registered", "prefixes_registered", "Of these, those that are.", (double)registered,
            BASE_GAUGE);
}

static void look_at_own(struct ccn_look *l) {
    const struct ccn_area *a = P.area;

    l->figures.own = l->own;
    l->figures.own_prefix = "fairgate_ccn_";
    own_add(l, "faces", "faces", "Connections that carry NDN packets.", (double)atomic_load(&a->faces), BASE_GAUGE);
    own_add(l, "kept_pages", "kept_pages", "Pages of which something is not fetched yet.", (double)l->store.kept,
            BASE_GAUGE);
    own_add(l, "fetched_pages", "fetched_pages", "Pages that were fetched and stay for a moment.",
            (double)l->store.done, BASE_GAUGE);
    own_add(l, "free_bytes", "free_bytes", "Room for pages.", (double)l->store.blocks_free * P.store.block, BASE_GAUGE);
    own_add(l, "sent_bytes_total", "sent_bytes", "Bytes sent to faces.", (double)atomic_load(&a->bytes), BASE_COUNTER);
    own_add(l, "refetched_total", "refetched", "Segments that were sent once more.", (double)l->store.refetched,
            BASE_COUNTER);
    own_add(l, "evicted_total", "evicted", "Pages that went before all of them was fetched.", (double)l->store.evicted,
            BASE_COUNTER);
#define CCN_FIGURE(name, sentence)                                                                                     \
    own_add(l, #name "_total", #name, sentence, (double)atomic_load(&a->name), BASE_COUNTER);
    CCN_COUNTERS(CCN_FIGURE)
#undef CCN_FIGURE
    own_add(l, "lost_children_total", "lost_children", "Children that died with Interests.",
            (double)atomic_load(&P.view.sh->lost_owners), BASE_COUNTER);
}

/* Other children can write there, and pages are read by browsers: only what policy.h lets into a name. */
static void ccn_clean_name(char *name) {
    for (; *name; name++)
        if (!apr_isalnum(*name) && !strchr("-_.", *name)) *name = '?';
}

/* Of at most so many classes. */
static struct ccn_look *take_look(apr_pool_t *p, uint32_t most) {
    struct ccn_look *l = apr_pcalloc(p, sizeof *l);
    struct rs_figures *f = &l->figures;
    const struct shm_view *v = &P.view;
    const struct httpd_classes *c = &ccn_config()->classes;

    shm_reclaim(v);
    shm_lock(v);
    rs_stats(v->engine, &f->all);
    shm_unlock(v);
    if (f->all.classes > v->size.classes) f->all.classes = v->size.classes;
    f->at = RS_AT_CCN;
    f->on = true;
    f->whys_by_class = 1u << RS_WHY_CLASS_FULL | 1u << RS_WHY_SHARE_FULL | 1u << RS_WHY_QUEUE_FULL;
    f->nclasses = f->all.classes < most ? f->all.classes : most;
    f->classes = l->classes = apr_pcalloc(p, (f->nclasses + 1) * sizeof *l->classes);
    for (uint32_t i = 0; i < f->nclasses; i++) {
        struct rs_figures_class *k = l->classes + i;

        shm_lock(v);
        rs_class_stats(v->engine, i, &k->s);
        shm_unlock(v);
        ccn_clean_name(k->s.settings.name);
        /* The engine counts microseconds of work here, and they are no bytes. */
        k->s.counts.bytes = k->s.mean = k->s.expected = k->s.owed = 0;
        k->s.balance = 0;
        k->descriptors = k->wait_s = k->slot_s = NAN;
        k->refused[RS_WHY_CLASS_FULL] = k->s.counts.refused_class;
        k->refused[RS_WHY_SHARE_FULL] = k->s.counts.refused_share;
        k->refused[RS_WHY_QUEUE_FULL] = k->s.counts.refused_total;
    }
    for (uint32_t i = 0; i < c->n; i++)
        if (c->number[i] < f->nclasses) l->classes[c->number[i]].wait_s = c->wait_s[i];
    f->refused[RS_WHY_CLASS_FULL] = f->all.counts.refused_class;
    f->refused[RS_WHY_SHARE_FULL] = f->all.counts.refused_share;
    f->refused[RS_WHY_QUEUE_FULL] = f->all.counts.refused_total;
    f->refused[RS_WHY_TOO_LONG] = f->all.counts.cancelled;
    ccn_store_counts(&P.store, &l->store);
    look_at_own(l);
    look_at_forwarders(p, l);
    return l;
}

/* A prefork child ends in the handler of a signal: not while it has the lock. */
static struct ccn_look *ccn_take_look(apr_pool_t *p, uint32_t most) {
    struct ccn_look *l;
    sigset_t before;

    ccn_threads_hold_signals(&before);
    l = take_look(p, most);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return l;
}

static void ccn_to_client(void *to, const char *text, size_t bytes) { ap_rwrite(text, (int)bytes, to); }
static struct base_sink ccn_client(request_rec *r) { return (struct base_sink){ ccn_to_client, r }; }
static apr_uint64_t whole(uint64_t n) { return n; } /* as its format wants it */

/* ---- the console ------------------------------------------------------------------------------------------------- */

static const _Atomic uint32_t *ccn_waits_of(const void *of, uint32_t i) {
    const struct shm_view *v = of;
    return i < v->size.classes ? v->classes[i].waits : NULL;
}

void ccn_status_second(apr_pool_t *p) {
    struct ccn_area *a = P.area;
    struct console_column *columns;
    uint32_t n;

    if (!console_ring_due(&a->ring, shm_now())) return;
    columns = apr_palloc(p, CONSOLE_COLUMNS * sizeof *columns);
    n = console_classes_columns(&a->waits, &ccn_take_look(p, CONSOLE_CLASSES)->figures, ccn_waits_of, &P.view, columns);
    n = console_classes_own(columns, n, "interests", true, (double)atomic_load(&a->interests));
    n = console_classes_own(columns, n, "pages", true, (double)atomic_load(&a->pages));
    n = console_classes_own(columns, n, "segments", true, (double)atomic_load(&a->segments));
    console_ring_add(&a->ring, shm_now(), columns, n);
}

static void ccn_console_now(struct base_sink sink, const void *figures) { rs_figures_json(sink, figures); }

static void ccn_console_look(request_rec *r, struct console_told *t) {
    const struct rs_figures *f = &ccn_take_look(r->pool, CONSOLE_CLASSES_TOLD)->figures;

    t->house = "mod_ccn";
    t->charge = "time";
    t->classes = f->all.classes;
    t->now = ccn_console_now;
    t->of = f;
    t->now_us = shm_now();
}

static int ccn_console(request_rec *r, enum httpd_console asked) {
    if (asked == HTTPD_CONSOLE_PAGE) return httpd_console_page(r);
    if (asked == HTTPD_CONSOLE_EXPLAIN) return HTTP_NOT_FOUND;
    ccn_status_second(r->pool);
    return httpd_console_tell(r, &P.area->ring, ccn_console_look, asked);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static const char ccn_page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"2\">"
    "<title>Fairgate: named data</title><style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:64em;padding:0 1em;color:#222;background:#fff}\n"
    "h1{font-size:1.4em;margin:0}p{margin:.3em 0 1.2em;color:#555}table{border-collapse:collapse;width:100%}\n"
    "th,td{padding:.35em .6em;text-align:right;border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}\n"
    "th{font-weight:600;color:#555}th:first-child,td:first-child{text-align:left}tr.retired td{color:#999}\n"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}p,th{color:#aaa}th,td{border-color:#333}}\n"
    "</style></head><body>\n";

static void page_of_forwarders(request_rec *r, const struct ccn_look *l) {
    if (!l->nforwarders) return;
    ap_rputs("<table><thead><tr><th>forwarder</th><th></th><th>prefixes registered</th><th>refused</th></tr></thead>"
             "<tbody>\n",
             r);
    for (unsigned i = 0; i < l->nforwarders; i++) {
        const struct look_forwarder *f = l->forwarders + i;
        ap_rprintf(r, "<tr><td>%s</td><td>%s</td><td>%u of %u</td><td>%u</td></tr>\n", ap_escape_html(r->pool, f->text),
                   f->connected ? "connected" : "not connected", f->registered, f->prefixes, f->refused);
    }
    ap_rputs("</tbody></table>\n", r);
}

static void ccn_page(request_rec *r, const struct ccn_look *l) {
    static const char *const schedulers[] = { "fifo", "idsrs", "serpt" };
    const struct rs_stats *all = &l->figures.all;
    const struct ccn_area *a = P.area;

    ap_set_content_type(r, "text/html; charset=utf-8");
    ap_rputs(ccn_page_head, r);
    ap_rprintf(r,
               "<h1>Fairgate: named data</h1>\n<p>%u of %u pages being made, %u waiting, " U64 " connections. " U64
               " Interests since start: " U64 " pages made, " U64 " segments sent, " U64 " joined, " U64
               " too late, " U64 " for what is not kept. Room for " U64 " MB more of pages; " U64
               " pages are being fetched. Scheduler %s.</p>\n",
               all->outstanding, all->window, all->queued, whole(atomic_load(&a->faces)),
               whole(atomic_load(&a->interests)), whole(atomic_load(&a->pages)), whole(atomic_load(&a->segments)),
               whole(atomic_load(&a->joined)), whole(atomic_load(&a->expired)), whole(atomic_load(&a->gone)),
               whole(l->store.blocks_free * P.store.block >> 20), whole(l->store.kept),
               schedulers[ccn_config()->scheduler]);
    ap_rputs("<table><thead><tr><th>class</th><th>weight</th><th>being made</th><th>waiting</th><th>pages</th>"
             "<th>refused</th><th>mean wait</th><th>longest wait</th><th>mean service</th></tr></thead><tbody>\n",
             r);
    for (uint32_t i = 0; i < l->figures.nclasses; i++) {
        const struct rs_class_stats *c = &l->classes[i].s;
        const struct rs_counts *n = &c->counts;

        ap_rprintf(r,
                   "<tr%s><td>%s</td><td>%u</td><td>%u</td><td>%u</td><td>" U64 "</td><td>" U64
                   "</td><td>%.1f ms</td><td>%.0f ms</td><td>%.1f ms</td></tr>\n",
                   c->retired ? " class=\"retired\"" : "", c->settings.name, c->settings.weight, c->outstanding,
                   c->queued, whole(n->done + n->aborted), whole(rs_figures_refused(l->classes[i].refused)),
                   rs_figures_mean_ms(n->wait_us, n->released), (double)c->wait_max / 1000.0,
                   rs_figures_mean_ms(n->service_us, n->done + n->aborted));
    }
    ap_rputs("</tbody></table>\n", r);
    page_of_forwarders(r, l);
    ap_rputs("<p>Live in the <a href=\"?console\">console</a>; also as <a href=\"?json\">JSON</a> and for <a "
             "href=\"?prometheus\">Prometheus</a>.</p>\n</body></html>\n",
             r);
}

int ccn_status_handler(request_rec *r) {
    static const char off[] = "CcnEngine is off everywhere in this server: no Interest is answered.";
    enum httpd_console asked = httpd_console_asked(r);
    bool on = ccn_config()->used && P.view.sh, json = httpd_console_word(r, "json"),
         prometheus = httpd_console_word(r, "prometheus");
    int rv = httpd_status_begins(r, "ccn-status");

    if (rv != OK) return rv;
    if (on && shm_has_left(&P.view)) return HTTP_SERVICE_UNAVAILABLE; /* what this child has by itself is nobody's */
    if (on && asked != HTTPD_CONSOLE_NOT) return ccn_console(r, asked);
    rv = httpd_console_figures(r);
    if (rv != OK && rv != DECLINED) return rv;
    if (rv == DECLINED) ap_set_content_type(r, "text/plain; charset=utf-8");
    if (!on && json) rs_figures_none_json(ccn_client(r), RS_AT_CCN, "off", off);
    else if (!on && prometheus) rs_figures_none_prometheus(ccn_client(r), RS_AT_CCN, "off");
    else if (!on) ap_rprintf(r, "%s\n", off);
    else if (json) rs_figures_json(ccn_client(r), &ccn_take_look(r->pool, UINT32_MAX)->figures);
    else if (prometheus) rs_figures_prometheus(ccn_client(r), &ccn_take_look(r->pool, UINT32_MAX)->figures);
    else ccn_page(r, ccn_take_look(r->pool, UINT32_MAX));
    return OK;
}

int ccn_status_lines(request_rec *r, int flags) {
    const struct ccn_look *l;
    const struct rs_stats *all;

    if (!ccn_config()->used || !P.view.sh || shm_has_left(&P.view)) return OK;
    l = ccn_take_look(r->pool, UINT32_MAX);
    all = &l->figures.all;
    if (flags & AP_STATUS_SHORT) {
        ap_rprintf(r,
                   "CcnThreads: %u\nCcnOutstanding: %u\nCcnQueued: %u\nCcnInterests: " U64 "\nCcnSegments: " U64 "\n",
                   all->window, all->outstanding, all->queued, whole(atomic_load(&P.area->interests)),
                   whole(atomic_load(&P.area->segments)));
        return OK;
    }
    ap_rprintf(r,
               "<hr />\n<h1>Named data</h1>\n<dl><dt>%u of %u pages being made, %u waiting; " U64 " Interests, " U64
               " segments sent</dt></dl>\n",
               all->outstanding, all->window, all->queued, whole(atomic_load(&P.area->interests)),
               whole(atomic_load(&P.area->segments)));
    return OK;
}
