/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_status.h"

#include <math.h>

#include <apr_lib.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_protocol.h>
#include <mod_status.h>

#include "core/rs_figures.h"
#include "httpd/httpd_console.h"
#include "qos_console.h"
#include "qos_crawler.h"
#include "qos_observed.h"
#include "qos_request.h"

#define P   qos_process
#define U64 "%" APR_UINT64_T_FMT

/* What one look shows. */
struct look {
    struct rs_figures figures;
    struct rs_figures_class *classes;
    struct rs_outlet_stats outlets[QOS_OUTLETS];
    uint32_t held, blocked, children, pages, stalled_s;
    uint64_t gone, known, bytes;
    double slot_s, bots_age;
    bool table_refused;
    const struct qos_paper_look *observed; /* NULL: nothing is */
    uint64_t by_list, by_name, claims;
    uint32_t networks;
};

/* What only this host has, in the look's own memory. */
static void take_own(struct look *l, const struct base_figure *all, size_t n, apr_pool_t *p) {
    l->figures.own = apr_pmemdup(p, all, n * sizeof *all);
    l->figures.nown = n;
    l->figures.own_prefix = "fairgate_qos_";
}

/* Other children can write there, and pages are read by browsers: only what policy.h lets into a name. */
static void clean_name(char *name) {
    for (; *name; name++)
        if (!apr_isalnum(*name) && !strchr("-_.", *name)) *name = '?';
}

/* With the lock.  Two of them never have the same name: one that has gone keeps its place while it serves somebody. */
static void take_outlets_locked(struct look *l) {
    struct rs_figures *f = &l->figures;
    uint32_t n = 0;

    for (uint32_t i = 0; i < P.view.size.outlets && i < QOS_OUTLETS; i++) {
        struct rs_outlet_stats *o = &l->outlets[n];
        if (!rs_outlet_stats(P.view.engine, i, o)) continue;
        o->stalled_s = qos_stall_seconds(i);
        if (o->stalled_s > l->stalled_s) l->stalled_s = o->stalled_s;
        n += !i || !o->retired || o->queued || o->outstanding || o->parked;
    }
    f->outlets = l->outlets;
    f->noutlets = n > 1 ? n : 0;
}

static double atomic_of(_Atomic uint64_t *n) { return (double)atomic_load(n); }

static void status_crawlers(struct look *l) {
    struct qos_crawlers *c = &P.sizes.area->crawlers;
    int64_t made = qos_crawler_table(&l->networks), now = (int64_t)apr_time_sec(apr_time_now());

    l->by_list = atomic_load(&c->by_list);
    l->by_name = atomic_load(&c->by_name);
    l->claims = atomic_load(&c->claims);
    l->bots_age = made && now > made ? (double)(now - made) : 0;
}

/* Of at most so many classes. */
static struct look *status_take(apr_pool_t *p, uint32_t most) {
    struct look *l = apr_pcalloc(p, sizeof *l);
    struct rs_figures *f = &l->figures;
    const struct shm_view *v = &P.view;
    const struct qos_sizes *z = &P.sizes;
    const struct qos_server *conf = qos_config();

    shm_reclaim(v);
    shm_lock(v);
    rs_stats(v->engine, &f->all);
    take_outlets_locked(l);
    if (f->all.classes > v->size.classes) f->all.classes = v->size.classes;
    for (uint32_t i = 0; i < v->size.owners; i++) {
        l->children += v->owners[i].pid != 0;
        l->held += v->owners[i].held;
    }
    shm_unlock(v);
    l->blocked = f->all.queued > l->held ? f->all.queued - l->held : 0;
    f->at = RS_AT_HTTPD;
    f->on = true;
    f->whys_by_class =
        1u << RS_WHY_CLASS_FULL | 1u << RS_WHY_SHARE_FULL | 1u << RS_WHY_QUEUE_FULL | 1u << RS_WHY_STANDING;
    f->nclasses = f->all.classes < most ? f->all.classes : most;
    f->classes = l->classes = apr_pcalloc(p, (f->nclasses + 1) * sizeof *l->classes);
    /* Class by class, so that 10,000 of them do not keep the lock. */
    for (uint32_t i = 0; i < f->nclasses; i++) {
        struct rs_figures_class *c = l->classes + i;

        shm_lock(v);
        rs_class_stats(v->engine, i, &c->s);
        shm_unlock(v);
        clean_name(c->s.settings.name);
        c->descriptors = c->wait_s = NAN;
        c->slot_s = (double)atomic_load(&v->classes[i].slot_us) / 1e6;
        /* What the engine counts is cost. */
        c->s.counts.bytes = atomic_load(&v->classes[i].bytes);
        c->s.mean = atomic_load(&v->classes[i].mean);
        l->slot_s += c->slot_s;
        c->refused[RS_WHY_CLASS_FULL] = c->s.counts.refused_class;
        c->refused[RS_WHY_SHARE_FULL] = c->s.counts.refused_share;
        c->refused[RS_WHY_QUEUE_FULL] = c->s.counts.refused_total;
        c->refused[RS_WHY_STANDING] = c->s.counts.refused_standing;
    }
    for (uint32_t i = 0; i < conf->nclasses; i++)
        if (conf->number[i] < f->nclasses) l->classes[conf->number[i]].wait_s = conf->wait_s[i];
    f->refused[RS_WHY_CLASS_FULL] = f->all.counts.refused_class;
    f->refused[RS_WHY_SHARE_FULL] = f->all.counts.refused_share;
    f->refused[RS_WHY_QUEUE_FULL] = f->all.counts.refused_total;
    f->refused[RS_WHY_NO_THREAD] = atomic_load(&v->sh->no_thread);
    f->refused[RS_WHY_NO_DESCRIPTOR] = atomic_load(&v->sh->no_descriptor);
    f->refused[RS_WHY_TOO_LONG] = atomic_load(&v->sh->timed_out);
    f->refused[RS_WHY_STANDING] = f->all.counts.refused_standing;
    l->bytes = rs_figures_bytes(f);
    l->pages = pages_learnt_used(z->learnt, z->pages);
    l->known = atomic_load(&z->area->known.urls);
    l->gone = atomic_load(&v->sh->gone);
    l->table_refused = atomic_load(&z->area->known.refused) != 0;
    status_crawlers(l);
    const struct base_figure own[] = {
        { "held", "held", "Requests that wait without a thread.", NULL, l->held, BASE_GAUGE },
        { "blocked", "blocked", "Requests that wait in their thread.", NULL, l->blocked, BASE_GAUGE },
        { "children", "children", "Processes that share the window.", NULL, l->children, BASE_GAUGE },
        { "pages", "pages", "Page sizes learnt from answers.", NULL, l->pages, BASE_GAUGE },
        { "known_urls", "known_urls", "URLs whose sizes came from the prober's table.", NULL, (double)l->known,
          BASE_GAUGE },
        { "page_table_refused", "page_table_refused", "1 if the prober's table could not be read when it last changed.",
          NULL, l->table_refused, BASE_TRUTH },
        { "share_stored_total", "share_stored", "Page sizes and times told to other gateways.", NULL,
          atomic_of(&z->area->share.stored), BASE_COUNTER },
        { "share_found_total", "share_found", "Page sizes and times learnt from other gateways.", NULL,
          atomic_of(&z->area->share.found), BASE_COUNTER },
        { "share_failed_total", "share_failed", "Times the shared cache gave no answer.", NULL,
          atomic_of(&z->area->share.failed), BASE_COUNTER },
        { "share_rejected_total", "share_rejected", "Values in the shared cache that no gateway with our secret wrote.",
          NULL, atomic_of(&z->area->share.rejected), BASE_COUNTER },
        { "visitors_verified_total", "visitors_verified", "Requests with a cookie that a gateway with our keys wrote.",
          NULL, atomic_of(&z->area->visitors.verified), BASE_COUNTER },
        { "visitors_forged_total", "visitors_forged", "Requests with a cookie that none wrote.", NULL,
          atomic_of(&z->area->visitors.forged), BASE_COUNTER },
        { "visitors_elsewhere_total", "visitors_elsewhere",
          "Requests with a cookie without a class that is not of their network.", NULL,
          atomic_of(&z->area->visitors.elsewhere), BASE_COUNTER },
        { "visitors_expired_total", "visitors_expired", "Requests with a cookie that was one's, once.", NULL,
          atomic_of(&z->area->visitors.expired), BASE_COUNTER },
        { "visitors_given_total", "visitors_given", "Cookies given.", NULL, atomic_of(&z->area->visitors.given),
          BASE_COUNTER },
        { "exempt_total", "exempt", "Requests that were exempt, and passed.", NULL, atomic_of(&z->area->exempt.passed),
          BASE_COUNTER },
        { "exempt_beyond_total", "exempt_beyond",
          "Requests that would have been exempt, but as many were at the server already as may.", NULL,
          atomic_of(&z->area->exempt.beyond), BASE_COUNTER },
        { "inner_by_connection_total", "inner_by_connection",
          "Requests that a request at this server has caused, by a connection of this server's own.", NULL,
          atomic_of(&z->area->inner.by_connection), BASE_COUNTER },
        { "inner_by_token_total", "inner_by_token", "The same, by the token in their field.", NULL,
          atomic_of(&z->area->inner.by_token), BASE_COUNTER },
        { "inner_by_address_total", "inner_by_address", "The same, by their address (QosSelf).", NULL,
          atomic_of(&z->area->inner.by_address), BASE_COUNTER },
        { "loops_total", "loops", "Requests answered 508: a proxy had sent them back here too often.", NULL,
          atomic_of(&z->area->inner.loops), BASE_COUNTER },
        { "stalled_seconds", "stalled_s",
          "Seconds for which requests have waited and none was released, of the window that is stalled for longest.",
          NULL, l->stalled_s, BASE_GAUGE },
        { "stalls_total", "stalls", "Windows in which requests waited and none was released.", NULL,
          atomic_of(&z->area->stalls.total), BASE_COUNTER },
        { "signed_verified_total", "signed_verified", "Signed requests whose signature was verified, and is right.",
          NULL, atomic_of(&z->area->signatures.verified), BASE_COUNTER },
        { "signed_cached_total", "signed_cached", "Signed requests whose signature had been verified before.", NULL,
          atomic_of(&z->area->signatures.cached), BASE_COUNTER },
        { "signed_wrong_total", "signed_wrong", "Signed requests whose signature is wrong, or covers too little.", NULL,
          atomic_of(&z->area->signatures.wrong), BASE_COUNTER },
        { "signed_expired_total", "signed_expired", "Signed requests whose signature is too old, or of a time to come.",
          NULL, atomic_of(&z->area->signatures.expired), BASE_COUNTER },
        { "signed_replayed_total", "signed_replayed", "Signed requests with another request's signature.", NULL,
          atomic_of(&z->area->signatures.replayed), BASE_COUNTER },
        { "signed_unknown_total", "signed_unknown", "Signed requests of agents or keys that are not known.", NULL,
          atomic_of(&z->area->signatures.unknown), BASE_COUNTER },
        { "signed_unjudged_total", "signed_unjudged",
          "Signed requests that were not verified, since too many before were wrong.", NULL,
          atomic_of(&z->area->signatures.unjudged), BASE_COUNTER },
        { "key_directories_fetched_total", "key_directories_fetched", "Key directories of signing crawlers fetched.",
          NULL, atomic_of(&z->area->signatures.fetched), BASE_COUNTER },
        { "key_directories_failed_total", "key_directories_failed",
          "Times a key directory could not be fetched, or was none.", NULL, atomic_of(&z->area->signatures.failed),
          BASE_COUNTER },
        { "crawler_by_list_total", "crawler_by_list", "Requests of crawlers by their published addresses.", NULL,
          (double)l->by_list, BASE_COUNTER },
        { "crawler_by_name_total", "crawler_by_name", "Requests of crawlers by their names in DNS.", NULL,
          (double)l->by_name, BASE_COUNTER },
        { "crawler_claims_total", "crawler_claims",
          "Requests that claimed to be a crawler's, and were not known to be.", NULL, (double)l->claims, BASE_COUNTER },
        { "crawler_lookups_total", "crawler_lookups", "Addresses whose names were looked up.", NULL,
          atomic_of(&z->area->crawlers.seen.asked), BASE_COUNTER },
        { "crawler_lookups_waiting", "crawler_lookups_waiting", "Addresses whose names are still to be looked up.",
          NULL, crawlers_seen_waiting(&z->area->crawlers.seen), BASE_GAUGE },
        { "crawler_lookups_dropped_total", "crawler_lookups_dropped",
          "Claims that were not looked up, since too many waited.", NULL, atomic_of(&z->area->crawlers.seen.dropped),
          BASE_COUNTER },
        { "bots_networks", "bots_networks", "Networks of crawlers that are known.", NULL, l->networks, BASE_GAUGE },
        { "bots_table_age_seconds", "bots_table_age_s",
          "Since fairgate-bots wrote the table that is in force; 0: none.", NULL, l->bots_age, BASE_GAUGE },
        { "bots_table_refused", "bots_table_refused",
          "1 if the table of crawlers could not be read when it last changed.", NULL, atomic_load(&P.crawlers.refused),
          BASE_TRUTH },
        { "size_page_total", "size_page", "Requests whose page's own size was known.", NULL,
          atomic_of(&z->area->found.page), BASE_COUNTER },
        { "size_pattern_total", "size_pattern", "Requests of whose page that of others of its pattern was.", NULL,
          atomic_of(&z->area->found.pattern), BASE_COUNTER },
        { "size_directory_total", "size_directory", "Requests of whose page that of its directory was.", NULL,
          atomic_of(&z->area->found.directory), BASE_COUNTER },
        { "size_class_total", "size_class", "Requests of whose page nothing was: it counts as its class's mean.", NULL,
          atomic_of(&z->area->found.class), BASE_COUNTER },
        { "time_known_total", "time_known", "Requests of which it was known how long the server takes.", NULL,
          atomic_of(&z->area->found.time), BASE_COUNTER },
        { "time_unknown_total", "time_unknown", "Requests of which it was not, and time counts.", NULL,
          atomic_of(&z->area->found.no_time), BASE_COUNTER },
        { "gone_total", "gone", "Requests whose client left while they waited.", NULL, (double)l->gone, BASE_COUNTER },
        { "parked_time_total", "parked_time", "Requests that gave their slot back since they had it for so long.", NULL,
          atomic_of(&v->sh->parked_long), BASE_COUNTER },
        { "parked_size_total", "parked_size", "Requests that gave their slot back since they brought so much.", NULL,
          atomic_of(&v->sh->parked_large), BASE_COUNTER },
        { "lost_children_total", "lost_children", "Children that died with requests.", NULL,
          atomic_of(&v->sh->lost_owners), BASE_COUNTER },
        { "uptime_seconds", "uptime_s", "Since the window was made.", NULL,
          (double)(shm_now() - atomic_load(&v->sh->started_us)) / 1e6, BASE_GAUGE },
    };
    take_own(l, own, sizeof own / sizeof *own, p);
    l->observed = qos_paper_look(p);
    if (l->observed) {
        f->more = qos_observed_json;
        f->of = l->observed;
    }
    f->state = conf->holds ? "on" : "observe";
    return l;
}

/* A class of the dry run in place of the engine's, which has scheduled nothing. */
static void dry_run_class(struct rs_figures_class *c, const struct rs_paper_class *from) {
    const struct rs_counts *n = &from->on_paper.counts;

    c->s.queued = from->on_paper.queued;
    c->s.outstanding = from->on_paper.outstanding;
    c->s.wait_max = from->on_paper.wait_max;
    c->s.counts = *n;
    c->s.counts.bytes = from->paper_bytes;
    c->slot_s = (double)from->paper_us / 1e6;
    c->refused[RS_WHY_CLASS_FULL] = n->refused_class;
    c->refused[RS_WHY_SHARE_FULL] = n->refused_share;
    c->refused[RS_WHY_QUEUE_FULL] = n->refused_total;
    c->refused[RS_WHY_STANDING] = n->refused_standing;
}

static void status_dry_run(struct look *l) {
    const struct rs_paper_look *paper = &l->observed->paper;
    struct rs_figures *f = &l->figures;

    f->all.window = paper->all.window;
    f->all.queued = paper->all.queued;
    f->all.outstanding = paper->all.outstanding;
    f->all.parked = 0;
    f->all.counts.released = 0;
    for (uint32_t i = 0; i < paper->all.classes; i++) {
        uint32_t at = qos_config()->number[i];

        f->all.counts.released += paper->classes[i].on_paper.counts.released;
        if (at < f->nclasses) dry_run_class(l->classes + at, paper->classes + i);
    }
}

const struct rs_figures *qos_status_figures(apr_pool_t *p, uint32_t most, const struct qos_paper_look **dry_run) {
    struct look *l = status_take(p, most);

    *dry_run = qos_config()->holds ? NULL : l->observed;
    if (*dry_run) status_dry_run(l);
    return &l->figures;
}

static double share(const struct look *l, const struct rs_figures_class *c) { return rs_figures_share(c, l->bytes); }
static double slot_share(const struct look *l, const struct rs_figures_class *c) {
    return l->slot_s > 0 ? c->slot_s / l->slot_s : 0;
}
/* Of what classes are charged (QosCharge). */
static double charged_share(const struct look *l, const struct rs_figures_class *c) {
    double bytes = share(l, c), time = slot_share(l, c);

    return qos_config()->charge == QOS_CHARGE_BYTES  ? bytes
           : qos_config()->charge == QOS_CHARGE_TIME ? time
           : bytes > time                            ? bytes
                                                     : time;
}
static apr_uint64_t u(uint64_t n) { return n; } /* as its format wants it */

static void status_to_client(void *to, const char *text, size_t bytes) { ap_rwrite(text, (int)bytes, to); }
struct base_sink qos_status_client(request_rec *r) {
    return (struct base_sink){ status_to_client, r };
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

static void status_signed(request_rec *r) {
    struct qos_signed_area *a = &P.sizes.area->signatures;

    ap_rprintf(r,
               "<p>Signed: " U64 " requests with a right signature, " U64 " with one that was known; " U64
               " wrong, " U64 " expired, " U64 " replayed, " U64 " of unknown agents or keys, " U64
               " not verified. Key directories: " U64 " fetched, " U64 " failures.</p>\n",
               u(atomic_load(&a->verified)), u(atomic_load(&a->cached)), u(atomic_load(&a->wrong)),
               u(atomic_load(&a->expired)), u(atomic_load(&a->replayed)), u(atomic_load(&a->unknown)),
               u(atomic_load(&a->unjudged)), u(atomic_load(&a->fetched)), u(atomic_load(&a->failed)));
}

static void page_outlets(request_rec *r, const struct look *l) {
    ap_rputs("</tbody></table>\n<p></p><table><thead><tr><th>window of</th><th>slots</th><th>at the "
             "server</th><th>waiting</th><th>slots given back</th><th>refused</th></tr></thead><tbody>\n",
             r);
    for (uint32_t i = 0; i < l->figures.noutlets; i++) {
        const struct rs_outlet_stats *o = &l->outlets[i];

        ap_rprintf(r, "<tr%s><td>%s</td><td>%u%s</td><td>%u</td><td>%u</td><td>%u</td><td>" U64 "</td></tr>\n",
                   o->retired ? " class=\"retired\"" : "", ap_escape_html(r->pool, rs_figures_outlet(o)), o->window,
                   o->settings.gate == RS_GATE_AUTO ? " (auto)" : "", o->outstanding, o->queued, o->parked,
                   u(o->refused));
    }
}

static void page(request_rec *r, const struct look *l) {
    static const char *const charged[] = { "bytes", "time", "the larger of both" };
    const struct rs_stats *all = &l->figures.all;
    const uint64_t *why = l->figures.refused;
    struct qos_visitor_counts *seen = &P.sizes.area->visitors;

    ap_set_content_type(r, "text/html; charset=utf-8");
    ap_rputs(page_head, r);
    ap_rprintf(r,
               "<h1>Fairgate: who gets the server</h1>\n<p>%u of %u slots in use, %u waiting (%u without a thread, %u "
               "blocking one), "
               "%u slow to take their answer. " U64 " answers since start, " U64 " refused (" U64 " class full, " U64
               " its places full, " U64 " queue full, " U64 " no thread to wait in, " U64 " no descriptor), " U64
               " waited too long, " U64 " too long in a queue that stood, " U64 " left while waiting. "
               "%u page sizes learnt, " U64
               " URLs known from the prober%s. Scheduler %s, window %s, %u children.</p>\n",
               all->outstanding, all->window, all->queued, l->held, l->blocked, all->parked,
               u(all->counts.done + all->counts.aborted), u(rs_figures_refused(why)), u(why[RS_WHY_CLASS_FULL]),
               u(why[RS_WHY_SHARE_FULL]), u(why[RS_WHY_QUEUE_FULL]), u(why[RS_WHY_NO_THREAD]),
               u(why[RS_WHY_NO_DESCRIPTOR]), u(why[RS_WHY_TOO_LONG]), u(why[RS_WHY_STANDING]), u(l->gone), l->pages,
               u(l->known), l->table_refused ? " (its last table was refused: see the error log)" : "",
               rs_sched_name((int)all->settings.sched), rs_gate_name((int)all->settings.gate), l->children);
    if (qos_config()->bots)
        ap_rprintf(r,
                   "<p>Crawlers: " U64 " requests by published addresses, " U64 " by their names, " U64
                   " claims that nothing confirms. %u networks are known, from %.1f h ago%s.</p>\n",
                   u(l->by_list), u(l->by_name), u(l->claims), l->networks, l->bots_age / 3600,
                   atomic_load(&P.crawlers.refused) ? " (the last table was refused: see the error log)" : "");
    ap_rprintf(r,
               "<table><thead><tr><th>class</th><th>weight</th><th>share of %s</th><th>of bytes</th><th>of slots' "
               "time</th><th>at the server</th><th>waiting</th><th>responses</th>"
               "<th>refused</th><th>mean response</th><th>mean wait</th><th>longest wait</th></tr></thead><tbody>\n",
               charged[qos_config()->charge]);
    for (uint32_t i = 0; i < l->figures.nclasses; i++) {
        const struct rs_class_stats *c = &l->classes[i].s;
        const struct rs_counts *n = &c->counts;
        double part = charged_share(l, &l->classes[i]);

        ap_rprintf(r,
                   "<tr%s><td>%s</td><td>%u</td><td><span class=\"bar\" style=\"width:%.1fem\"></span>%.1f "
                   "%%</td><td>%.1f %%</td><td>%.1f %%</td><td>%u</td><td>%u</td>"
                   "<td>" U64 "</td><td>" U64 "</td><td>%.1f kB</td><td>%.1f ms</td><td>%.0f ms</td></tr>\n",
                   c->retired ? " class=\"retired\"" : "", c->settings.name, c->settings.weight, part * 8, part * 100,
                   share(l, &l->classes[i]) * 100, slot_share(l, &l->classes[i]) * 100, c->outstanding, c->queued,
                   u(n->done + n->aborted), u(rs_figures_refused(l->classes[i].refused) + n->refused_standing),
                   (double)c->mean / 1000.0, rs_figures_mean_ms(n->wait_us, n->released), (double)c->wait_max / 1000.0);
    }
    if (l->figures.noutlets) page_outlets(r, l);
    ap_rputs("</tbody></table>\n", r);
    if (l->stalled_s)
        ap_rprintf(r,
                   "<p><strong>A window is stalled:</strong> for %u s requests have waited, and none was released. See "
                   "the error log.</p>\n",
                   l->stalled_s);
    if (qos_config()->people)
        ap_rprintf(r,
                   "<p>Known by a cookie: " U64 " requests; " U64 " showed a forged one, " U64
                   " one of another network, " U64 " one that is over. " U64 " cookies given.</p>\n",
                   u(atomic_load(&seen->verified)), u(atomic_load(&seen->forged)), u(atomic_load(&seen->elsewhere)),
                   u(atomic_load(&seen->expired)), u(atomic_load(&seen->given)));
    if (l->observed) qos_observed_page(r, l->observed);
    if (qos_config()->signers) status_signed(r);
    ap_rputs("<p>Live in the <a href=\"?console\">console</a>; also as <a href=\"?json\">JSON</a> and for <a "
             "href=\"?prometheus\">Prometheus</a>.</p>\n</body></html>\n",
             r);
}

/* There is nothing to show: said in the form that was asked for, whose header is written. */
static int status_nothing(request_rec *r, const char *state, const char *sentence) {
    if (httpd_console_word(r, "json")) {
        rs_figures_none_json(qos_status_client(r), RS_AT_HTTPD, state, sentence);
    } else if (httpd_console_word(r, "prometheus")) {
        rs_figures_none_prometheus(qos_status_client(r), RS_AT_HTTPD, state);
    } else {
        ap_set_content_type(r, "text/plain; charset=utf-8");
        ap_rprintf(r, "%s\n", sentence);
    }
    return OK;
}

int qos_status_handler(request_rec *r) {
    const struct look *l;
    int rv = httpd_status_begins(r, "qos-status");

    if (rv != OK) return rv;
    rv = httpd_console_figures(r);
    if (rv != OK && rv != DECLINED) return rv;
    /* A child for which there was no row can tell as well as any other. */
    if (!qos_config()->used || !P.view.sh)
        return status_nothing(r, "off", "QosEngine is off everywhere in this server: nothing is scheduled.");
    /* What this child has by itself is nobody's status; the next one has it. */
    if (shm_has_left(&P.view)) return HTTP_SERVICE_UNAVAILABLE;
    rv = qos_console_answer(r);
    if (rv != DECLINED) return rv;
    l = status_take(r->pool, UINT32_MAX);
    if (httpd_console_word(r, "json")) {
        rs_figures_json(qos_status_client(r), &l->figures);
    } else if (httpd_console_word(r, "prometheus")) {
        rs_figures_prometheus(qos_status_client(r), &l->figures);
        if (l->observed) qos_observed_prometheus(qos_status_client(r), l->observed);
    } else {
        page(r, l);
    }
    return OK;
}

int qos_status_lines(request_rec *r, int flags) {
    const struct look *l;
    const struct rs_stats *all;

    if (!qos_config()->used || !P.view.sh || shm_has_left(&P.view)) return OK;
    l = status_take(r->pool, UINT32_MAX);
    all = &l->figures.all;
    if (flags & AP_STATUS_SHORT) {
        ap_rprintf(r, "QosWindow: %u\nQosOutstanding: %u\nQosQueued: %u\nQosParked: %u\n", all->window,
                   all->outstanding, all->queued, all->parked);
        for (uint32_t i = 0; i < l->figures.nclasses; i++) {
            const struct rs_class_stats *c = &l->classes[i].s;
            ap_rprintf(r, "QosClass-%s: weight=%u share=%.4f queued=%u outstanding=%u\n", c->settings.name,
                       c->settings.weight, share(l, &l->classes[i]), c->queued, c->outstanding);
        }
        for (uint32_t i = 0; i < l->figures.noutlets; i++) {
            const struct rs_outlet_stats *o = &l->outlets[i];
            ap_rprintf(r, "QosOutlet-%u: window=%u queued=%u outstanding=%u parked=%u name=%s\n", i, o->window,
                       o->queued, o->outstanding, o->parked, ap_escape_logitem(r->pool, rs_figures_outlet(o)));
        }
        return OK;
    }
    ap_rprintf(r,
               "<hr />\n<h1>Request scheduling</h1>\n<dl><dt>%u of %u slots in use, %u waiting, %u slow to take their "
               "answer</dt>\n",
               all->outstanding, all->window, all->queued, all->parked);
    for (uint32_t i = 0; i < l->figures.nclasses; i++) {
        const struct rs_class_stats *c = &l->classes[i].s;
        ap_rprintf(r, "<dt>%s (weight %u): %.1f %% of bytes, %u at the server, %u waiting</dt>\n", c->settings.name,
                   c->settings.weight, share(l, &l->classes[i]) * 100, c->outstanding, c->queued);
    }
    ap_rputs("</dl>\n", r);
    return OK;
}
