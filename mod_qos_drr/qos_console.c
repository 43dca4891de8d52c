/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_console.h"

#include <arpa/inet.h>
#include <string.h>

#include <apr_strings.h>
#include <http_protocol.h>

#include "base/base_hash.h"
#include "httpd/httpd_console.h"
#include "pages/pages_url.h"
#include "policy/policy_exempt.h"
#include "policy/policy_url.h"
#include "qos_classify.h"
#include "qos_paper.h"
#include "qos_status.h"

#define P qos_process

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const _Atomic uint32_t *waits_of(const void *of, uint32_t i) {
    const struct shm_view *v = of;
    return i < v->size.classes ? v->classes[i].waits : NULL;
}

/* By the engine's numbers of classes. */
struct dry_run_waits {
    uint32_t n;
    _Atomic uint32_t (*of)[RS_WAITS];
};

static const _Atomic uint32_t *waits_of_dry_run(const void *of, uint32_t i) {
    const struct dry_run_waits *w = of;
    return i < w->n ? w->of[i] : NULL;
}

static const struct dry_run_waits *dry_run_waits(const struct qos_paper_look *look, uint32_t classes, apr_pool_t *p) {
    struct dry_run_waits *w = apr_pcalloc(p, sizeof *w);

    w->n = classes;
    w->of = apr_pcalloc(p, (classes + 1) * sizeof *w->of);
    for (uint32_t i = 0; i < look->paper.all.classes; i++) {
        uint32_t at = qos_config()->number[i];

        for (uint32_t b = 0; at < w->n && b < RS_WAITS; b++)
            atomic_init(&w->of[at][b], look->paper.classes[i].waits[b]);
    }
    return w;
}

static void console_sample(struct qos_console *c, apr_pool_t *p) {
    const struct qos_paper_look *dry_run;
    const struct rs_figures *f = qos_status_figures(p, CONSOLE_CLASSES, &dry_run);
    struct console_column *columns = apr_palloc(p, CONSOLE_COLUMNS * sizeof *columns);
    struct qos_found *found = &P.sizes.area->found;
    uint32_t n;

    if (dry_run)
        n = console_classes_columns(&c->waits, f, waits_of_dry_run, dry_run_waits(dry_run, f->nclasses, p), columns);
    else n = console_classes_columns(&c->waits, f, waits_of, &P.view, columns);
    n = console_classes_own(columns, n, "size_page", true, (double)atomic_load(&found->page));
    n = console_classes_own(columns, n, "size_pattern", true, (double)atomic_load(&found->pattern));
    n = console_classes_own(columns, n, "size_directory", true, (double)atomic_load(&found->directory));
    n = console_classes_own(columns, n, "size_class", true, (double)atomic_load(&found->class));
    n = console_classes_own(columns, n, "time_known", true, (double)atomic_load(&found->time));
    n = console_classes_own(columns, n, "time_unknown", true, (double)atomic_load(&found->no_time));
    console_ring_add(&c->ring, shm_now(), columns, n);
}

void qos_console_second(apr_pool_t *p) {
    struct qos_console *c = &P.sizes.area->console;

    if (!console_ring_due(&c->ring, shm_now())) return;
    console_sample(c, p);
    console_top_fade(&c->top, shm_now());
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

enum { CONSOLE_NAMES = 64, NAME_LONGEST = 20 };

/*
 * "?s=&page=" of a query: the names of its parameters, whose values may be private.  "*" stands for a name that may be
 * a value: without "=", long, of digits, or with letters that names seldom have.
 */
static size_t console_names(const char *target, char names[CONSOLE_NAMES]) {
    const char *at = strchr(target, '?');
    size_t used = 0;

    while (at && used + NAME_LONGEST + 3 < CONSOLE_NAMES) {
        size_t n = strspn(++at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-[]");
        bool shown = n && n <= NAME_LONGEST && at[n] == '=' && strspn(at, "0123456789") < n;

        names[used] = used ? '&' : '?';
        used++;
        memcpy(names + used, shown ? at : "*", shown ? n + 1 : 1);
        used += shown ? n + 1 : 1;
        at = strchr(at, '&');
    }
    return used;
}

void qos_console_had(const struct qos_request *q) {
    const request_rec *r = q->r;
    const char *target = qos_classify_target(r), *host = r->hostname ? r->hostname : "";
    char url[CONSOLE_URL], names[CONSOLE_NAMES];
    struct base_hash hash;
    /* Behind a semicolon sites keep what others keep in a cookie (";jsessionid="). */
    size_t n = strlen(host), path = strcspn(target, "?;"), query = console_names(target, names);

    if (!q->slot_us && !q->sent) return;
    base_hash_begin(&hash, P.sizes.hash_key);
    base_hash_add(&hash, host, n);
    base_hash_add(&hash, target, path);
    base_hash_add(&hash, names, query);
    if (n > sizeof url / 2) n = sizeof url / 2;
    memcpy(url, host, n);
    if (path > sizeof url - n) path = sizeof url - n;
    memcpy(url + n, target, path);
    n += path;
    if (query > sizeof url - n) query = sizeof url - n;
    memcpy(url + n, names, query);
    console_top_add(&P.sizes.area->console.top, shm_now(), base_hash_end(hash), url, n + query, q->class, q->slot_us,
                    q->sent);
}

/* ---- which class a request gets ---------------------------------------------------------------------------------- */

static struct policy_text console_parameter(request_rec *r, const char *name) {
    const char *value = httpd_console_parameter(r, name);
    return (struct policy_text){ value, value ? strlen(value) : 0 };
}

static bool console_exempt(request_rec *r, const struct policy_request *pr, struct policy_text path) {
    const struct qos_exempt *e = &qos_config()->exempt;
    struct policy_request only = *pr;
    size_t room = PAGES_URL_ROOM(path.n);
    char *spelt = apr_palloc(r->pool, room);

    only.url = (struct policy_text){ path.p ? spelt : NULL, path.p ? pages_url_spell(path.p, path.n, spelt, room) : 0 };
    return (e->said && policy_exempt_takes(e->said, "GET", &only)) ||
           (e->in_policy && policy_exempt_takes(e->in_policy, "GET", &only));
}

static int console_explain(request_rec *r) {
    const struct qos_server *conf = qos_config();
    struct policy_request pr = { .user_agent = console_parameter(r, "user_agent"),
                                 .cookie = console_parameter(r, "cookie"),
                                 .crawler = console_parameter(r, "crawler") };
    struct policy_text url = console_parameter(r, "url"), src = console_parameter(r, "src");
    struct policy_url parts = { .port = 0 };
    struct base_json j = base_json_into(qos_status_client(r));
    struct policy_answer a;
    unsigned char address[16];
    char text[256];
    int rv = httpd_console_head(r, HTTPD_CONSOLE_JSON);

    if (rv != OK) return rv;
    if (url.p) {
        parts = policy_url_parse(url);
        /* A path alone is one of this site. */
        if (!parts.scheme.p && parts.target.p && parts.target.p[0] == '/') {
            parts.scheme = (struct policy_text){ ap_http_scheme(r), strlen(ap_http_scheme(r)) };
            if (r->hostname) parts.host = (struct policy_text){ r->hostname, strlen(r->hostname) };
        }
        size_t room = policy_url_room(&parts);
        pr.url = policy_url_text(&parts, apr_palloc(r->pool, room), room);
        pr.dst_dn = parts.host;
        pr.prot_type = parts.scheme;
    }
    base_json_object(&j, NULL);
    if (src.p) {
        pr.src_addr = address;
        pr.src_addr_len = inet_pton(AF_INET, src.p, address) == 1    ? 4
                          : inet_pton(AF_INET6, src.p, address) == 1 ? 16
                                                                     : 0;
    }
    if (src.p && !pr.src_addr_len) {
        base_json_text(&j, "error", "That is no IP address; write one like 192.0.2.1 or 2001:db8::1.");
    } else if (console_exempt(r, &pr, parts.target)) {
        base_json_truth(&j, "exempt", true);
    } else {
        a = policy_match_request(conf->policy, &pr);
        if (a.position == POLICY_NONE) a.position = conf->default_class;
        base_json_text(&j, "class", conf->classes[a.position].name);
        if (a.rule != POLICY_NONE) policy_rule_text(conf->policy, a.rule, text, sizeof text);
        base_json_text(&j, "rule", a.rule == POLICY_NONE ? NULL : text);
        base_json_text(&j, "note", "What SetEnvIf or another module says of it (qos-class) would go before.");
    }
    base_json_end_object(&j);
    base_json_done(&j);
    return OK;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void console_now(struct base_sink sink, const void *figures) { rs_figures_json(sink, figures); }

static const char *console_class(const void *figures, uint32_t class) {
    (void)figures;
    return class < qos_config()->nclasses ? qos_config()->classes[class].name : NULL;
}

static void console_look(request_rec *r, struct console_told *t) {
    static const char *const charges[] = { "bytes", "time", "both" };
    const struct qos_paper_look *dry_run;
    const struct rs_figures *f = qos_status_figures(r->pool, CONSOLE_CLASSES_TOLD, &dry_run);

    t->house = "mod_qos_drr";
    t->charge = charges[qos_config()->charge];
    t->explains = true;
    t->classes = f->all.classes;
    t->now = console_now;
    t->of = f;
    t->top = &P.sizes.area->console.top;
    t->class_name = console_class;
    t->now_us = shm_now();
}

int qos_console_answer(request_rec *r) {
    struct qos_console *c = &P.sizes.area->console;
    enum httpd_console asked = httpd_console_asked(r);

    switch (asked) {
    case HTTPD_CONSOLE_NOT: return DECLINED;
    case HTTPD_CONSOLE_PAGE: return httpd_console_page(r);
    case HTTPD_CONSOLE_EXPLAIN: return console_explain(r);
    case HTTPD_CONSOLE_NOW:
    case HTTPD_CONSOLE_ALL: break;
    }
    qos_console_second(r->pool);
    return httpd_console_tell(r, &c->ring, console_look, asked);
}
