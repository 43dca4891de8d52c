/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_classify.h"

#include <apr_network_io.h>
#include <apr_strings.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>

#include "pages/pages_url.h"
#include "policy/policy_url.h"
#include "qos_crawler.h"
#include "qos_paper.h"
#include "qos_transparent.h"

APLOG_USE_MODULE(qos_drr);

bool qos_classify_wanted(const request_rec *r) {
    const char *handler = r->handler;

    if (!handler || (*handler != 'q' && *handler != 's')) return true;
    return strcmp(handler, "qos-status") && strcmp(handler, "server-status");
}

static struct policy_text classify_text(const char *s) { return (struct policy_text){ s, s ? strlen(s) : 0 }; }

static uint32_t class_named(const struct qos_server *conf, const char *name) {
    for (uint32_t i = 0; i < conf->nclasses; i++)
        if (!strcasecmp(conf->classes[i].name, name)) return i;
    return POLICY_NONE;
}

/* Once in each child: the name may come from the request. */
static void tell_unknown(request_rec *r, const char *name) {
    static _Atomic bool told;

    if (atomic_exchange(&told, true)) return;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "qos: qos-class names the class %.64s, and there is none of that name: the rules decide instead",
                  ap_escape_logitem(r->pool, name));
}

static void address(const apr_sockaddr_t *a, const void **addr, unsigned *len, uint16_t *port) {
    if (!a || (a->family != APR_INET && a->family != APR_INET6)) return;
    *addr = a->ipaddr_ptr;
    *len = (unsigned)a->ipaddr_len;
    *port = a->port;
}

/* As the client wrote it, also behind the site of a whole URL: by now httpd has decoded parsed_uri.path. */
const char *qos_classify_target(const request_rec *r) {
    const char *site;

    if (!r->parsed_uri.hostname) return r->unparsed_uri;
    site = strstr(r->unparsed_uri, "://");
    return site ? site + 3 + strcspn(site + 3, "/?#") : "";
}

int qos_classify_slashes(const request_rec *r) {
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    return core && core->allow_encoded_slashes && core->decode_encoded_slashes;
}

/*
 * In its one spelling, so that no other one leads around a rule; in `usual`, or in the request's pool if that is too
 * small.
 */
static struct policy_text url_of(request_rec *r, char *usual, size_t room) {
    struct policy_url u = {
        .host = classify_text(r->hostname),
        .port = r->parsed_uri.port_str ? r->parsed_uri.port : 0,
        .slashes = qos_classify_slashes(r),
    };

    if (r->method_number != M_CONNECT) {
        u.scheme = classify_text(ap_http_scheme(r));
        u.target = classify_text(qos_classify_target(r));
    }
    if (policy_url_room(&u) > room) usual = apr_palloc(r->pool, room = policy_url_room(&u));
    return policy_url_text(&u, usual, room);
}

static struct policy_visitor classify_visitor(const struct qos_person *who) {
    return (struct policy_visitor){ who->visitor.known, classify_text(who->visitor.class), who->age };
}

static uint32_t match(const struct qos_server *conf, struct qos_request *q) {
    const policy_t *p = conf->policy;
    request_rec *r = q->r;
    struct policy_request pr = { .src_addr = NULL };
    struct policy_answer a;
    char usual[2048];

    address(r->useragent_addr, &pr.src_addr, &pr.src_addr_len, &pr.src_port);
    address(qos_transparent_meant(r->connection), &pr.dst_addr, &pr.dst_addr_len, &pr.dst_port);
    if (policy_uses(p, POLICY_USER_AGENT)) pr.user_agent = classify_text(apr_table_get(r->headers_in, "User-Agent"));
    if (policy_uses(p, POLICY_COOKIE)) pr.cookie = classify_text(apr_table_get(r->headers_in, "Cookie"));
    if (policy_uses(p, POLICY_PROT_TYPE))
        pr.prot_type = classify_text(r->connection->master ? ap_get_protocol(r->connection) : ap_http_scheme(r));
    if (policy_uses(p, POLICY_DST_DN)) pr.dst_dn = classify_text(r->hostname);
    /* A name only if somebody resolved it, both ways (HostnameLookups Double): no look-up in a request's path. */
    if (policy_uses(p, POLICY_SRC_DN) && r->connection->double_reverse > 0)
        pr.src_dn = classify_text(r->connection->remote_host);
    if (policy_uses(p, POLICY_SSL_ID)) pr.ssl_id = classify_text(apr_table_get(r->subprocess_env, "SSL_SESSION_ID"));
    if (policy_uses(p, POLICY_VISITOR)) pr.visitor = classify_visitor(&q->person);
    if (*q->crawler) pr.crawler = classify_text(q->crawler);
    if (policy_uses(p, POLICY_URL)) pr.url = url_of(r, usual, sizeof usual);
    a = policy_match_request(p, &pr);
    q->rule = a.rule;
    q->anybody = a.rule == POLICY_NONE;
    return a.position == POLICY_NONE ? conf->default_class : a.position;
}

/*
 * What fits the client's coding comes before what does not tell codings apart; in each, what answers taught before what
 * the prober found.
 */
static uint64_t classify_mean_of(const struct qos_sizes *z, uint64_t key, enum pages_coding coding) {
    uint64_t coded = pages_key_coded(key, coding), bytes = pages_learnt_mean(z->learnt, z->pages, coded);

    if (!bytes) bytes = pages_known_mean(&z->area->known, &z->file, coded);
    if (bytes || coded == key) return bytes;
    bytes = pages_learnt_mean(z->learnt, z->pages, key);
    return bytes ? bytes : pages_known_mean(&z->area->known, &z->file, key);
}

/* Other gateways may know it: by the next time. */
static void want(const struct qos_request *q, uint64_t key) {
    struct pages_ring *wanted = &qos_process.sizes.area->share.wanted;

    if (!qos_config()->share || q->r->method_number != M_GET) return;
    pages_ring_put(wanted, key);
    if (q->coding != PAGES_IDENTITY) pages_ring_put(wanted, pages_key_coded(key, q->coding));
}

/* A decimal number at **at, which moves behind it.  0 if there is none, or too large a one. */
static int classify_number(const char **at, uint64_t *n) {
    const char *begin = *at;

    for (*n = 0; **at >= '0' && **at <= '9' && *n < UINT64_MAX / 100; ++*at) *n = *n * 10 + (uint64_t)(**at - '0');
    return *at > begin && (**at < '0' || **at > '9');
}

/* Of a page of `whole` bytes the part that Range asks for; `whole` for a Range that no server honours. */
static uint64_t ranges(const char *field, uint64_t whole) {
    uint64_t sum = 0;

    if (strncasecmp(field, "bytes=", 6)) return whole;
    for (const char *at = field + 6;; at++) {
        uint64_t from = 0, to;
        int last;

        while (*at == ' ' || *at == '\t') at++;
        last = *at == '-';
        if (!last && !classify_number(&at, &from)) return whole;
        if (*at++ != '-') return whole;
        if (last) {
            if (!classify_number(&at, &to)) return whole;
            sum += to < whole ? to : whole;
        } else {
            if (*at < '0' || *at > '9') to = UINT64_MAX;
            else if (!classify_number(&at, &to) || to < from) return whole;
            if (to >= whole) to = whole - 1;
            if (from <= to) sum += to - from + 1;
        }
        sum += QOS_HEADER_DEFAULT;
        while (*at == ' ' || *at == '\t') at++;
        if (sum >= whole || (*at && *at != ',')) return whole;
        if (!*at) return sum;
    }
}

/*
 * What a request asks for of the page: nothing but a header, parts, or the page if it has changed.  What comes beyond
 * is charged as it comes: so a server that sends the whole page all the same, or a client that lies, gets nothing for
 * nothing.
 */
static uint64_t classify_asked(const request_rec *r, uint64_t whole) {
    const char *field;

    if (r->header_only) return QOS_HEADER_DEFAULT;
    if (r->method_number != M_GET) return whole;
    if (apr_table_get(r->headers_in, "If-None-Match") || apr_table_get(r->headers_in, "If-Modified-Since"))
        return QOS_HEADER_DEFAULT;
    field = apr_table_get(r->headers_in, "Range");
    return field ? ranges(field, whole) : whole;
}

/*
 * How long the server will take, as for bytes; 0: nobody knows.  The prober knows that of GET.  Of directories gateways
 * tell each other nothing.
 */
static uint64_t expected_time(struct qos_request *q) {
    const struct qos_sizes *z = &qos_process.sizes;
    const uint64_t keys[] = { q->keys.url, q->keys.pattern, q->keys.dir };
    uint64_t us = 0;

    for (unsigned i = 0; i < sizeof keys / sizeof *keys && !us; i++) {
        uint64_t key = pages_key_timed(keys[i], q->r->method_number);

        if (!keys[i]) continue;
        q->by_directory = keys[i] == q->keys.dir;
        us = pages_learnt_mean(z->learnt, z->pages, key);
        if (!us && !q->r->header_only) us = pages_known_mean(&z->area->known, &z->file, key);
        if (!us && keys[i] != q->keys.dir && qos_config()->share) pages_ring_put(&z->area->share.wanted_times, key);
    }
    atomic_fetch_add_explicit(us ? &z->area->found.time : &z->area->found.no_time, 1, memory_order_relaxed);
    return us;
}

static uint64_t class_bytes(const struct qos_request *q) {
    const _Atomic uint64_t *mean = &qos_process.view.classes[qos_config()->number[q->class]].mean;
    uint64_t bytes = atomic_load_explicit(mean, memory_order_relaxed);
    return bytes ? bytes : QOS_MEAN_DEFAULT;
}

/* The page itself, else those with its path and parameters, else its directory, else its class. */
static uint64_t expected_bytes(const struct qos_request *q) {
    const struct qos_sizes *z = &qos_process.sizes;
    struct qos_found *found = &z->area->found;
    _Atomic uint64_t *in = &found->page;
    uint64_t bytes;

    bytes = classify_mean_of(z, q->keys.url, q->coding);
    if (!bytes) want(q, q->keys.url);
    if (!bytes && q->keys.pattern) {
        in = &found->pattern;
        bytes = classify_mean_of(z, q->keys.pattern, q->coding);
        if (!bytes) want(q, q->keys.pattern);
    }
    if (!bytes) {
        bytes = classify_mean_of(z, q->keys.dir, q->coding);
        in = bytes ? &found->directory : &found->class;
    }
    atomic_fetch_add_explicit(in, 1, memory_order_relaxed);
    return classify_asked(q->r, bytes ? bytes : class_bytes(q));
}

/* By what the client wrote, before anything was rewritten: that is what makes pages different. */
static void find_keys(struct qos_request *q) {
    request_rec *r = q->r;
    const char *written = qos_classify_target(r);
    size_t n = strlen(written), room = PAGES_URL_ROOM(n);
    char usual[1024], *spelt = room <= sizeof usual ? usual : apr_palloc(r->pool, room);

    n = pages_url_spell(written, n, spelt, room);
    pages_keys(qos_process.sizes.hash_key, r->hostname, spelt, n, &q->keys);
    q->coding = pages_coding_of(apr_table_get(r->headers_in, "Accept-Encoding"));
}

void qos_classify(struct qos_request *q) {
    const struct qos_server *conf = qos_config();
    request_rec *r = q->r;
    const char *named = apr_table_get(r->subprocess_env, "qos-class");

    qos_crawler_of(r, q->crawler);
    q->class = named ? class_named(conf, named) : POLICY_NONE;
    q->rule = POLICY_NONE;
    if (named && q->class == POLICY_NONE) tell_unknown(r, named);
    if (q->class == POLICY_NONE) q->class = match(conf, q);
    qos_keys_of(q);
    if (q->observed && !qos_paper_is_close(r)) {
        q->bytes = class_bytes(q);
        q->estimate = qos_cost_expected(&qos_process.costs, q->outlet, 0, q->bytes);
        return;
    }
    find_keys(q);
    q->bytes = expected_bytes(q);
    q->expected_us = conf->charge == QOS_CHARGE_BYTES ? 0 : expected_time(q);
    q->estimate = qos_cost_expected(&qos_process.costs, q->outlet, q->expected_us, q->bytes);
}
