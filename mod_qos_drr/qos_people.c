/* SPDX-License-Identifier: BSD-2-Clause */
#include "qos_people.h"

#include <errno.h>
#include <stdlib.h>

#include <apr_date.h>
#include <apr_strings.h>
#include <http_log.h>
#include <http_protocol.h>
#include <mod_cache.h>

#include <openssl/rand.h>

#include "base/base_error.h"
#include "base/base_hash.h"
#include "base/base_number.h"
#include "base/base_secret.h"
#include "httpd/httpd_policy.h"
#include "qos_request.h"

APLOG_USE_MODULE(qos_drr);

#define FIELD      "Fairgate-Class"
#define NOBODY     "-"
#define HEAD_END   "\r\n\r\n"
#define USUAL_NAME "fairgate"
#define USUAL_LIFE (7u * 86400u)
#define KEPT_KEYS  "fairgate-qos-visitors-1" /* the number counts the shapes of struct qos_visitor_keys */
#define SENT       "fairgate-qos-cookie"     /* of a request's pool: the Cookie field as it came */

#define P qos_process

struct qos_people {
    struct qos_visitor_form form;
    bool secure; /* also where this server does not see TLS */
};

static ap_filter_rec_t *hear_rec, *give_rec;

/* ---- configuration ----------------------------------------------------------------------------------------------- */

/* Those that were right last, for as long as the parent lives. */
static struct qos_visitor_keys *people_kept(apr_pool_t *process) {
    void *kept = NULL;

    apr_pool_userdata_get(&kept, KEPT_KEYS, process);
    if (!kept) {
        kept = apr_pcalloc(process, sizeof(struct qos_visitor_keys));
        apr_pool_userdata_set(kept, KEPT_KEYS, NULL, process);
    }
    return kept;
}

static const char *people_read_keys(struct qos_people *k, cmd_parms *cmd, const char *path) {
    struct qos_visitor_keys *kept = people_kept(cmd->server->process->pool);
    struct base_secret f;
    const char *wrong;
    char *error = NULL;
    int rv = base_secret_read(&f, path, &error);
    bool missing = rv && errno == ENOENT;

    if (!rv) rv = base_secret_ours(&f, &error);
    if (!rv) rv = qos_visitor_keys_read(&k->form.keys, f.text, f.n, &error);
    base_secret_wipe(&f);
    if (!rv) {
        *kept = k->form.keys;
        return NULL;
    }
    base_place(&error, path, 0);
    wrong = httpd_take_error(cmd->pool, "QosVisitors: ", &error);
    if (missing) wrong = apr_psprintf(cmd->pool, "%s; make it: (umask 077; openssl rand -hex 32 > %s)", wrong, path);
    if (!kept->n) return wrong;
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, cmd->server, "%s", wrong);
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, cmd->server, "QosVisitors: the keys of before stay in force");
    k->form.keys = *kept;
    return NULL;
}

static const char *people_read_option(struct qos_people *k, const char *word, apr_pool_t *pconf) {
    char *error = NULL;
    uint64_t s;

    if (!strcasecmp(word, "secure")) {
        k->secure = true;
    } else if (!strncasecmp(word, "cookie=", 7)) {
        if (!qos_visitor_name_right(word + 7))
            return apr_psprintf(pconf, "QosVisitors %s: a cookie's name has 1 to %u letters, digits, - _ and .", word,
                                QOS_VISITOR_NAME_MAX - 1);
        apr_cpystrn(k->form.name, word + 7, sizeof k->form.name);
    } else if (!strncasecmp(word, "age=", 4)) {
        if (base_number("QosVisitors age", word + 4, "seconds", QOS_VISITOR_LIFE_MIN, QOS_VISITOR_LIFE_MAX, &s, &error))
            return httpd_take_error(pconf, "", &error);
        k->form.life_s = (uint32_t)s;
    } else {
        return apr_psprintf(pconf, "QosVisitors: %s is not one of cookie=NAME, age=SECONDS, secure", word);
    }
    return NULL;
}

const char *qos_people_create(cmd_parms *cmd, int argc, char *const argv[], struct qos_people **out) {
    apr_pool_t *pconf = cmd->pool;
    struct qos_people *k = apr_pcalloc(pconf, sizeof *k);
    const char *path = argc ? ap_server_root_relative(pconf, argv[0]) : NULL, *wrong;

    if (!path) return "QosVisitors: needs a file of keys, as `openssl rand -hex 32` writes one";
    k->form.life_s = USUAL_LIFE;
    apr_cpystrn(k->form.name, USUAL_NAME, sizeof k->form.name);
    wrong = people_read_keys(k, cmd, path);
    for (int i = 1; i < argc && !wrong; i++) wrong = people_read_option(k, argv[i], pconf);
    /* A browser takes such a name only so. */
    if (!wrong && !strncasecmp(k->form.name, "__", 2) && !k->secure)
        wrong = apr_psprintf(pconf, "QosVisitors cookie=%s: such a name needs `secure`", k->form.name);
    if (!wrong) *out = k;
    return wrong;
}

/* ---- a request comes --------------------------------------------------------------------------------------------- */

static uint64_t people_now(void) { return (uint64_t)apr_time_sec(apr_time_now()); }

void qos_people_arrive(request_rec *r) { apr_table_unset(r->headers_in, FIELD); }

/* What stands behind gets no cookie of ours: caches there take whoever has one for somebody of his own. */
static void people_take_cookie(const struct qos_people *k, request_rec *r, struct policy_text field) {
    char *rest = apr_palloc(r->pool, 2 * field.n + 1);

    if (qos_visitor_without(&k->form, field, rest)) apr_table_setn(r->headers_in, "Cookie", rest);
    else apr_table_unset(r->headers_in, "Cookie");
}

static struct qos_visitor_place people_place(const request_rec *r) {
    const apr_sockaddr_t *a = r->useragent_addr;
    bool known = a && (a->family == APR_INET || a->family == APR_INET6);

    return qos_visitor_place(r->hostname, known ? a->ipaddr_ptr : NULL, known ? (unsigned)a->ipaddr_len : 0);
}

void qos_people_pass(request_rec *r) {
    const struct qos_people *k = qos_config()->people;
    const char *field = k && qos_config()->holds ? apr_table_get(r->headers_in, "Cookie") : NULL;
    struct policy_text text = { field, field ? strlen(field) : 0 };

    if (!field || !qos_visitor_has(&k->form, text)) return;
    /* A request that is redirected has the pool of the one before. */
    apr_pool_userdata_setn(field, SENT, NULL, r->pool);
    people_take_cookie(k, r, text);
}

/* Of two texts, each of which may be NULL. */
static uint64_t people_hash(const char *one, const char *other) {
    struct base_hash h;

    base_hash_begin(&h, P.sizes.hash_key);
    if (one) base_hash_add(&h, one, strlen(one) + 1);
    if (other) base_hash_add(&h, other, strlen(other));
    return base_hash_end(h);
}

/*
 * A browser loads a refused page again by itself, but no asset.  The client's word narrows what a page's cookie admits,
 * and widens nothing.
 */
static bool people_navigates(const request_rec *r) {
    const char *mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode"), *accept;

    if (mode) return !strcasecmp(mode, "navigate");
    accept = apr_table_get(r->headers_in, "Accept");
    return accept && ap_strcasestr(accept, "text/html");
}

/* In seconds.  If a page has just been served, its assets have the age of a returning visitor. */
static uint32_t people_age(const request_rec *r, const struct qos_visitor *v) {
    uint32_t least = policy_least_age(qos_config()->policy);
    uint64_t now = people_now();

    if (!qos_page_young(v, least, now)) return qos_visitor_age(v, now);
    if (people_navigates(r) || !qos_page_takes(&P.sizes.area->pages, people_hash(v->id, NULL))) return 0;
    return least;
}

void qos_people_meet(struct qos_request *q) {
    const struct qos_people *k = qos_config()->people;
    struct qos_visitor_counts *counts = &P.sizes.area->visitors;
    struct qos_person *who = &q->person;
    struct policy_text text = { NULL, 0 };
    struct qos_visitor_place at;
    void *sent = NULL;

    if (!k) return;
    apr_pool_userdata_get(&sent, SENT, q->r->pool);
    text.p = sent ? sent : apr_table_get(q->r->headers_in, "Cookie");
    if (!text.p) return;
    text.n = strlen(text.p);
    at = people_place(q->r);
    switch (qos_visitor_find(&k->form, &at, people_now(), text, &who->visitor)) {
    case QOS_VISITOR_NONE: return;
    case QOS_VISITOR_FORGED: atomic_fetch_add_explicit(&counts->forged, 1, memory_order_relaxed); break;
    case QOS_VISITOR_ELSEWHERE: atomic_fetch_add_explicit(&counts->elsewhere, 1, memory_order_relaxed); break;
    case QOS_VISITOR_EXPIRED: atomic_fetch_add_explicit(&counts->expired, 1, memory_order_relaxed); break;
    case QOS_VISITOR_KNOWN:
        atomic_fetch_add_explicit(&counts->verified, 1, memory_order_relaxed);
        apr_table_setn(q->r->subprocess_env, "qos-visitor", who->visitor.id);
        who->age = people_age(q->r, &who->visitor);
        break;
    }
    who->shows = true;
    who->claims = who->visitor.known ? *who->visitor.class : qos_visitor_says_class(&k->form, text);
    if (!q->observed && !sent) people_take_cookie(k, q->r, text);
}

/* ---- what caches may do with an answer --------------------------------------------------------------------------- */

/* Of headers that a CGI program wrote, or httpd itself, either table may have them. */
static const char *people_field(request_rec *r, const char *name) {
    const char *a = apr_table_getm(r->pool, r->headers_out, name),
               *b = apr_table_getm(r->pool, r->err_headers_out, name);
    return a && b ? apr_pstrcat(r->pool, a, ", ", b, NULL) : a ? a : b;
}

static bool people_says(request_rec *r, const char *control, const char *word) {
    return control && ap_find_token(r->pool, control, word);
}

/* It says of itself that caches may give it to all. */
static bool people_for_all(request_rec *r, const char *control) {
    return people_says(r, control, "public") || people_says(r, control, "s-maxage") ||
           people_field(r, "Surrogate-Control") || people_field(r, "CDN-Cache-Control");
}

/* Caches may well keep it for others: it says so, or for how long it is fresh. */
static bool people_is_kept(request_rec *r, const char *control) {
    const char *expires, *age;

    if (people_for_all(r, control)) return true;
    if (people_says(r, control, "private") || people_says(r, control, "no-store") ||
        people_says(r, control, "no-cache"))
        return false;
    age = control ? ap_strcasestr(control, "max-age=") : NULL;
    if (age) return atoi(age + strlen("max-age=")) > 0;
    expires = people_field(r, "Expires");
    return expires && apr_date_parse_http(expires) > r->request_time;
}

/* What has a cookie is for one. */
static void people_make_private(request_rec *r, const char *control) {
    if (!people_says(r, control, "private") && !people_says(r, control, "no-store"))
        apr_table_mergen(r->headers_out, "Cache-Control", "private");
}

/* Nor is a refusal for all, whatever its page says of itself. */
static void people_keep_refusal(request_rec *r) {
    static const char *const fields[] = { "Cache-Control", "Surrogate-Control", "CDN-Cache-Control" };

    for (unsigned i = people_is_kept(r, people_field(r, *fields)) ? 0 : 1; i < sizeof fields / sizeof *fields; i++) {
        apr_table_unset(r->headers_out, fields[i]);
        apr_table_unset(r->err_headers_out, fields[i]);
    }
    people_make_private(r, people_field(r, *fields));
}

/* ---- the application's word -------------------------------------------------------------------------------------- */

/* What it says, and that it has said so stays here.  NULL: nothing, or nothing that can be believed. */
static const char *people_take_word(request_rec *r) {
    const char *a, *b;

    /* Almost always, and for much less than to look for all of them. */
    if (!apr_table_get(r->headers_out, FIELD) && !apr_table_get(r->err_headers_out, FIELD)) return NULL;
    a = apr_table_getm(r->pool, r->headers_out, FIELD);
    b = apr_table_getm(r->pool, r->err_headers_out, FIELD);
    apr_table_unset(r->headers_out, FIELD);
    apr_table_unset(r->err_headers_out, FIELD);
    if (a && b && strcmp(a, b)) a = apr_pstrcat(r->pool, a, ", ", b, NULL);
    if (!a) a = b;
    if (!strcmp(a, NOBODY) || policy_visitor_word((struct policy_text){ a, strlen(a) })) return a;
    ap_log_rerror(APLOG_MARK, APLOG_WARNING, 0, r,
                  "qos: the application says " FIELD ": %s, which is no word: it must be 1 to %d of a-z 0-9 _ and -, "
                  "said once",
                  base_quote(a, strlen(a)).s, POLICY_WORD_MAX - 1);
    return NULL;
}

/* It was said once that a host is not ours: clients write what they like. */
static _Atomic bool people_misnamed;

static bool people_needs(const struct qos_person *who, const char *class) {
    return !who->visitor.known || strcmp(who->visitor.class, class) || qos_visitor_old(&who->visitor, people_now());
}

static void people_hear(request_rec *r) {
    const char *word = people_take_word(r), *control;
    struct qos_request *q = qos_request_of(r);

    if (!word || !q || !qos_config()->people) return;
    if (!strcmp(word, NOBODY)) {
        /* Of whom nothing was said there is nothing to end. */
        if (q->person.claims) q->person.word = QOS_PEOPLE_END;
        return;
    }
    if (!people_needs(&q->person, word)) return;
    control = people_field(r, "Cache-Control");
    if (people_for_all(r, control)) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                      "qos: the application says " FIELD ": %s in an answer that caches may give to all: not believed",
                      word);
        return;
    }
    /* Else its cookie would hold at another virtual host, whose application has not said it. */
    if (!qos_request_names_us(r)) {
        int level = atomic_exchange(&people_misnamed, true) ? APLOG_INFO : APLOG_WARNING;

        ap_log_rerror(APLOG_MARK, level, 0, r,
                      "qos: the application says " FIELD ": %s, but no ServerName or ServerAlias here is the host that "
                      "was asked for: not believed",
                      word);
        return;
    }
    people_make_private(r, control);
    q->person.word = QOS_PEOPLE_GIVE;
    apr_cpystrn(q->person.class, word, sizeof q->person.class);
}

/* ---- the cookie -------------------------------------------------------------------------------------------------- */

static void people_set_cookie(request_rec *r, const struct qos_people *k, const char *value, uint32_t life_s) {
    bool secure = k->secure || !strcmp(ap_http_scheme(r), "https");

    apr_table_addn(r->err_headers_out, "Set-Cookie",
                   apr_psprintf(r->pool, "%s=%s; Max-Age=%u; Path=/; HttpOnly; SameSite=Lax%s", k->form.name, value,
                                life_s, secure ? "; Secure" : ""));
}

static bool people_new_id(struct qos_visitor *v) {
    unsigned char id[QOS_VISITOR_ID];

    if (RAND_bytes(id, sizeof id) != 1) return false;
    for (unsigned i = 0; i < sizeof id; i++) apr_snprintf(v->id + 2 * i, 3, "%02x", id[i]);
    return true;
}

/*
 * He stays who he was as long as his class does: with another one he is somebody else, whom nobody knows who had his
 * cookie before.  For how long he is known stays in any case.
 */
static void people_give(request_rec *r, const struct qos_people *k, const struct qos_person *who, const char *class) {
    const struct qos_visitor_place at = people_place(r);
    struct qos_visitor v = who->visitor;
    char value[QOS_VISITOR_ROOM];
    uint64_t now = people_now(), first;

    if (!v.known || strcmp(v.class, class)) {
        if (!people_new_id(&v)) return;
        apr_cpystrn(v.class, class, sizeof v.class);
    }
    first = who->refused ? now : qos_page_first(policy_least_age(qos_config()->policy), now);
    if (!v.known || v.first > first) v.first = first;
    v.issued = now;
    v.expires = now + k->form.life_s;
    if (!qos_visitor_write(&k->form, &at, &v, value)) return;
    people_set_cookie(r, k, value, k->form.life_s);
    atomic_fetch_add_explicit(&P.sizes.area->visitors.given, 1, memory_order_relaxed);
}

static bool people_is_html(const char *type) {
    return type && !strncasecmp(type, "text/html", 9) && (!type[9] || strchr("; \t", type[9]));
}

/* A page that nobody keeps for others, or that the browser itself has kept. */
static bool people_is_page(request_rec *r) {
    bool html =
        r->status == HTTP_OK ? people_is_html(r->content_type) : r->status == HTTP_NOT_MODIFIED && people_navigates(r);

    if (!html || r->method_number != M_GET || r->header_only) return false;
    return !apr_table_get(r->subprocess_env, AP_CACHE_HIT_ENV) && !people_is_kept(r, people_field(r, "Cache-Control"));
}

/*
 * The visitor has no cookie, or an old one.  Or a page is served, and the visitor's cookie is of a refusal and too
 * young for the page's assets.
 */
static bool people_needs_cookie(const struct qos_person *who) {
    const struct qos_visitor *v = &who->visitor;
    uint32_t least = policy_least_age(qos_config()->policy);
    uint64_t now = people_now();

    if (!v->known || qos_visitor_old(v, now)) return true;
    return !who->refused && qos_page_first(least, now) < v->first;
}

/* A page or a refusal, for a visitor without a class of the application's. */
static bool people_is_due(request_rec *r, const struct qos_request *q) {
    const struct qos_visitor *v = &q->person.visitor;

    if (!policy_asks_age(qos_config()->policy)) return false;
    if ((v->known && *v->class) || !people_needs_cookie(&q->person)) return false;
    return q->person.refused || people_is_page(r);
}

uint32_t qos_people_refused(struct qos_request *q) {
    const struct qos_server *conf = qos_config();
    struct qos_person *who = &q->person;
    uint32_t least;
    uint64_t whose;

    if (!conf->people) return 0;
    who->refused = true;
    least = policy_least_age(conf->policy);
    if (!least || !q->anybody) return 0;
    if (who->visitor.known) return who->age < least ? least - who->age : 0;
    /* By address and browser: many may have one address. */
    whose = people_hash(q->r->useragent_ip, apr_table_get(q->r->headers_in, "User-Agent"));
    return !who->shows && qos_told_once(&P.sizes.area->told, whose, people_now(), least) ? least : 0;
}

static void people_answer(request_rec *r) {
    const struct qos_people *k = qos_config()->people;
    struct qos_request *q = qos_request_of(r);
    struct qos_person *who = q ? &q->person : NULL;

    /* Of an answer out of mod_cache: whoever was told so is not who asks. */
    apr_table_unset(r->headers_out, FIELD);
    apr_table_unset(r->err_headers_out, FIELD);
    if (!who || !k || who->answered) return;
    who->answered = true;
    if (who->refused && policy_asks_age(qos_config()->policy)) people_keep_refusal(r);
    if (who->word == QOS_PEOPLE_GIVE) {
        people_give(r, k, who, who->class);
    } else if (who->word == QOS_PEOPLE_END) {
        people_set_cookie(r, k, "", 0);
    } else if (people_is_due(r, q)) {
        people_make_private(r, people_field(r, "Cache-Control"));
        people_give(r, k, who, "");
    }
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static apr_status_t hear_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    people_hear(f->r);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

static apr_status_t give_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    people_answer(f->r);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

/* The head in one bucket, however many it was written to.  NULL: its end is not there. */
static apr_bucket *people_head(apr_bucket_brigade *bb) {
    apr_bucket *b = APR_BRIGADE_FIRST(bb), *at, *whole;
    const char *text;
    char *head = NULL;
    apr_size_t n, sum = 0;

    while (b != APR_BRIGADE_SENTINEL(bb) && (APR_BUCKET_IS_METADATA(b) || !b->length)) b = APR_BUCKET_NEXT(b);
    for (at = b; at != APR_BRIGADE_SENTINEL(bb) && !APR_BUCKET_IS_METADATA(at); at = APR_BUCKET_NEXT(at)) {
        if (apr_bucket_read(at, &text, &n, APR_BLOCK_READ) != APR_SUCCESS) break;
        if (at == b && memmem(text, n, HEAD_END, sizeof HEAD_END - 1)) return b;
        head = ap_realloc(head, sum + n + 1);
        memcpy(head + sum, text, n);
        sum += n;
        if (!memmem(head, sum, HEAD_END, sizeof HEAD_END - 1)) continue;
        whole = apr_bucket_heap_create(head, sum, free, bb->bucket_alloc);
        APR_BUCKET_INSERT_AFTER(at, whole);
        for (; b != whole; b = at) {
            at = APR_BUCKET_NEXT(b);
            apr_bucket_delete(b);
        }
        return whole;
    }
    free(head);
    return NULL;
}

bool qos_people_hush(apr_bucket_brigade *bb, apr_size_t *gone) {
    static const char begins[] = "\r\n" FIELD ":";
    apr_bucket *b = people_head(bb);

    *gone = 0;
    if (!b) return false;
    for (;;) {
        const char *text, *end;
        apr_bucket *line;
        apr_size_t n, at = 0;

        if (apr_bucket_read(b, &text, &n, APR_BLOCK_READ) != APR_SUCCESS) return true;
        /* Behind its head stands something else. */
        end = memmem(text, n, HEAD_END, sizeof HEAD_END - 1);
        if (end) n = (apr_size_t)(end + 2 - text);
        while (at + sizeof begins <= n && strncasecmp(text + at, begins, sizeof begins - 1)) at++;
        end = at + sizeof begins <= n ? memmem(text + at + 2, n - at - 2, "\r\n", 2) : NULL;
        if (!end) return true;
        n = (apr_size_t)(end - text) - at;
        if (at) {
            apr_bucket_split(b, at);
            b = APR_BUCKET_NEXT(b);
        }
        apr_bucket_split(b, n);
        line = b;
        b = APR_BUCKET_NEXT(b);
        apr_bucket_delete(line);
        *gone += n;
    }
}

void qos_people_insert_filter(request_rec *r) {
    const struct qos_dir *dir = ap_get_module_config(r->per_dir_config, &qos_drr_module);
    const struct qos_request *q = qos_request_of(r);

    if (r->main || (dir->on != QOS_ENGINE_ON && (!q || q->observed))) return;
    ap_add_output_filter_handle(hear_rec, NULL, r, r->connection);
    ap_add_output_filter_handle(give_rec, NULL, r, r->connection);
}

void qos_people_register(void) {
    /* Behind mod_headers, which has this type too and inserts before us, and before mod_cache, which is of the next. */
    hear_rec = ap_register_output_filter("QOS_HEAR", hear_filter, NULL, AP_FTYPE_CONTENT_SET);
    /* Behind mod_cache, before the head is written. */
    give_rec = ap_register_output_filter("QOS_GIVE", give_filter, NULL, AP_FTYPE_PROTOCOL - 1);
}
