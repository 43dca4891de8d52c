/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_key.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <apr_general.h>
#include <apr_lib.h>
#include <apr_siphash.h>
#include <apr_strings.h>
#include <http_connection.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <util_filter.h>

#include "eeod_body.h"
#include "eeod_bucket.h"
#include "eeod_config.h"
#include "eeod_keyed.h"
#include "eeod_page.h"
#include "eeod_stats.h"

APLOG_USE_MODULE(eeod);

#define HEADER "Eeod-Key"

enum { KEY_MAGIC = 0x45454b31 }; /* "EEK1" */

/* What is kept beside a request. */
struct beside {
    char key[EEOD_KEY_DIGITS + 1]; /* of the one that came in; else empty */
    bool done;
};

/* A response whose marks are looked at. */
struct response {
    unsigned magic;
    ap_filter_t *f;
    struct eeod_keyed keyed;
    apr_bucket_brigade *in;  /* fed, not yet taken */
    apr_bucket_brigade *out; /* taken, not yet passed on */
    apr_size_t portion;      /* bytes in out */
    bool whole;              /* all of it is passed on at a time */
    bool over;               /* all of it has been seen */
};

static unsigned char key_secret[APR_SIPHASH_KSIZE];
static bool has_secret;
static _Atomic uint64_t requests;
static ap_filter_rec_t *key_rec;

void eeod_key_child_init(server_rec *s) {
    apr_status_t rv;

    if (!eeod_config_used()) return;
    rv = apr_generate_random_bytes(key_secret, sizeof key_secret);
    has_secret = rv == APR_SUCCESS;
    if (!has_secret)
        ap_log_error(APLOG_MARK, APLOG_ERR, rv, s,
                     "eeod: no randomness for the keys of marks: with EeodKey no page of this process is vouched for");
}

/* ---- the key of a request ---------------------------------------------------------------------------------------- */

static struct beside *beside_of(const request_rec *r) { return ap_get_module_config(r->request_config, &eeod_module); }

static struct beside *make_beside(request_rec *r) {
    struct beside *b = beside_of(r);

    if (b) return b;
    b = apr_pcalloc(r->pool, sizeof *b);
    ap_set_module_config(r->request_config, &eeod_module, b);
    return b;
}

/* The request that came in. */
static request_rec *first_of(request_rec *r) {
    while (r->main || r->prev) r = r->main ? r->main : r->prev;
    return r;
}

/* NULL: there is none. */
static const char *request_key(request_rec *r) {
    struct beside *b;
    uint64_t number;

    if (!has_secret) return NULL;
    b = make_beside(first_of(r));
    if (!*b->key) {
        number = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
        apr_snprintf(b->key, sizeof b->key, "%016" APR_UINT64_T_HEX_FMT,
                     apr_siphash24(&number, sizeof number, key_secret));
    }
    return b->key;
}

/* Programs get `-` in a header's name as `_`, and some of them other characters, too. */
static int is_header(const char *name) {
    return !ap_cstr_casecmpn(name, "Eeod", 4) && name[4] && !apr_isalnum(name[4]) && !ap_cstr_casecmp(name + 5, "Key");
}

int eeod_key_came(request_rec *r) {
    const apr_array_header_t *all = apr_table_elts(r->headers_in);

    if (!eeod_config_used()) return DECLINED;
    /* From the end, since each that is taken out moves those behind it. */
    for (int i = all->nelts; i--;) {
        const char *name = APR_ARRAY_IDX(all, i, apr_table_entry_t).key;
        if (!name || !is_header(name)) continue;
        apr_table_unset(r->headers_in, name);
        i = i < all->nelts ? i : all->nelts;
    }
    return DECLINED;
}

/* A part of a page is told the key of the page, wherever itself is from. */
int eeod_key_tell(request_rec *r) {
    const request_rec *page = r;
    const char *key;

    if (!eeod_config_used()) return DECLINED;
    while (page->main) page = page->main;
    if ((eeod_config_of(r).keyed || eeod_config_of(page).keyed) && (key = request_key(r)))
        apr_table_setn(r->headers_in, HEADER, key);
    /* A part's headers may be those of its page. */
    else if (page == r) apr_table_unset(r->headers_in, HEADER);
    return DECLINED;
}

bool eeod_key_done(const request_rec *r) {
    const struct beside *b = beside_of(r);
    return b && b->done;
}

/* ---- the marks of its response ----------------------------------------------------------------------------------- */

static void key_take(void *context, enum eeod_keyed_step step, size_t n) {
    struct response *p = context;

    eeod_body_move(p->in, n, step == EEOD_KEYED_PASS ? p->out : NULL);
    if (step == EEOD_KEYED_SPOIL)
        APR_BRIGADE_INSERT_TAIL(p->out, apr_bucket_immortal_create(EEOD_KEYED_LETTER, n, p->out->bucket_alloc));
    if (step != EEOD_KEYED_DROP) p->portion += n;
}

/* At the first brigade.  NULL: the response goes on as it is. */
static struct response *key_begin(ap_filter_t *f, apr_bucket_brigade *bb) {
    request_rec *r = f->r;
    struct eeod_dir conf = eeod_config_of(r);
    apr_bucket *file = eeod_body_file(bb);
    const char *key;
    struct response *p;
    bool whole;

    if (!conf.keyed || !eeod_config_type(&conf, r->content_type) || !eeod_body_asks(r, conf.marks)) return NULL;
    /* An answer that has no body is to say of it what one that has says. */
    if (eeod_body_empty(bb) && (r->header_only || r->status == HTTP_NOT_MODIFIED)) eeod_body_changes(r);
    /* What can't be read is not vouched for. */
    if (eeod_body_empty(bb) || eeod_body_encoded(r) || r->status == HTTP_PARTIAL_CONTENT || !(key = request_key(r)))
        return NULL;
    whole = eeod_body_here(bb);
    if (file ? !eeod_body_file_has_marks(f, &eeod_keyed_beginnings, file)
             : whole && eeod_body_scan(&eeod_keyed_beginnings, bb, true) == 0)
        return NULL;
    eeod_body_changes(r);
    make_beside(r)->done = true;
    p = apr_pcalloc(r->pool, sizeof *p);
    p->magic = KEY_MAGIC;
    p->f = f;
    p->whole = whole;
    p->in = apr_brigade_create(r->pool, f->c->bucket_alloc);
    p->out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    eeod_keyed_begin(&p->keyed, key, key_take, p);
    return p;
}

static apr_status_t key_pass(struct response *p) {
    apr_status_t rv = APR_SUCCESS;

    if (!APR_BRIGADE_EMPTY(p->out)) rv = ap_pass_brigade(p->f->next, p->out);
    apr_brigade_cleanup(p->out);
    p->portion = 0;
    return rv;
}

/* No more bytes come.  Of an application that sets marks as it did before there were keys the log tells, once. */
static void key_end(struct response *p) {
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (p->over) return;
    p->over = true;
    eeod_keyed_end(&p->keyed);
    eeod_count(EEOD_keyed_marks, p->keyed.ours);
    eeod_count(EEOD_spoiled_marks, p->keyed.spoiled);
    if (p->keyed.spoiled && !p->keyed.ours && !atomic_flag_test_and_set(&said))
        ap_log_rerror(
            APLOG_MARK, APLOG_NOTICE, 0, p->f->r,
            "eeod: the marks of %s do not count, for none has the key that its application is told (" HEADER
            "): write it into them, or say EeodKey Off if visitors can't write marks (said once in a process)",
            p->f->r->uri);
}

/* A bucket of data, at the head of a brigade. */
static apr_status_t key_data(struct response *p, apr_bucket *b) {
    const char *bytes;
    apr_size_t len;
    apr_status_t rv = APR_EAGAIN;

    if (b->length == (apr_size_t)-1) {
        rv = eeod_body_read(&b, &bytes, &len, APR_NONBLOCK_READ);
        if (APR_STATUS_IS_EAGAIN(rv)) {
            APR_BRIGADE_INSERT_TAIL(p->out, apr_bucket_flush_create(p->f->c->bucket_alloc));
            rv = key_pass(p);
            if (rv != APR_SUCCESS) return rv;
            rv = APR_EAGAIN;
        }
    }
    if (APR_STATUS_IS_EAGAIN(rv)) rv = eeod_body_read(&b, &bytes, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) return rv;
    APR_BUCKET_REMOVE(b);
    APR_BRIGADE_INSERT_TAIL(p->in, b);
    eeod_keyed_feed(&p->keyed, bytes, len);
    return APR_SUCCESS;
}

/* What may begin a mark outlives this call, in memory of its own: it is a few bytes of what may be much. */
static apr_status_t key_keep(struct response *p) {
    char held[EEOD_KEYED_HELD];
    apr_size_t n = sizeof held;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(p->in)) return APR_SUCCESS;
    rv = apr_brigade_flatten(p->in, held, &n);
    if (rv != APR_SUCCESS) return rv;
    ap_assert(n == p->keyed.held);
    apr_brigade_cleanup(p->in);
    if (n) APR_BRIGADE_INSERT_TAIL(p->in, apr_bucket_heap_create(held, n, NULL, p->f->c->bucket_alloc));
    return APR_SUCCESS;
}

/* Of a page that is here as a whole nothing comes behind a flush. */
static int key_ends(const struct response *p, const apr_bucket *b) {
    return APR_BUCKET_IS_EOS(b) || AP_BUCKET_IS_ERROR(b) || AP_BUCKET_IS_EOC(b) || (p->whole && APR_BUCKET_IS_FLUSH(b));
}

static apr_status_t key_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    struct response *p = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    if (APR_BRIGADE_EMPTY(bb)) return APR_SUCCESS;
    if (!p && !(p = f->ctx = key_begin(f, bb))) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    ap_assert(p->magic == KEY_MAGIC);
    while (!APR_BRIGADE_EMPTY(bb) && rv == APR_SUCCESS) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        bool flush = APR_BUCKET_IS_FLUSH(b);
        if (!APR_BUCKET_IS_METADATA(b) && !p->over) {
            rv = key_data(p, b);
        } else {
            if (key_ends(p, b)) key_end(p);
            APR_BUCKET_REMOVE(b);
            APR_BRIGADE_INSERT_TAIL(p->out, b);
        }
        /* A page that is here as a whole is to be so behind this filter; of another one a portion is held. */
        if (rv == APR_SUCCESS && !p->whole && (flush || p->portion >= EEOD_PORTION)) rv = key_pass(p);
    }
    apr_brigade_cleanup(bb);
    if (rv == APR_SUCCESS) rv = key_pass(p);
    if (rv == APR_SUCCESS) rv = key_keep(p);
    return rv;
}

/* ---- hooks ------------------------------------------------------------------------------------------------------- */

void eeod_key_register(void) { key_rec = ap_register_output_filter("EEOD_KEY", key_filter, NULL, EEOD_PLACE); }

void eeod_key_insert(request_rec *r) {
    if (eeod_config_of(r).keyed) ap_add_output_filter_handle(key_rec, NULL, r, r->connection);
}
