/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_page.h"

#include <stdatomic.h>
#include <string.h>

#include <apr_strings.h>
#include <http_connection.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <http_ssl.h>
#include <util_filter.h>

#include "eeod_body.h"
#include "eeod_bucket.h"
#include "eeod_config.h"
#include "eeod_key.h"
#include "eeod_net.h"
#include "eeod_stats.h"

APLOG_USE_MODULE(eeod);

enum { PIECES = 64 }; /* a handler that writes byte by byte is not to make a long list */

static ap_filter_rec_t *page_rec, *word_rec;

enum { PAGE_MAGIC = 0x45455031 }; /* "EEP1" */

struct page {
    unsigned magic;
    ap_filter_t *f;
    struct eeod_dir conf;
    struct eeod_blocks blocks;
    apr_bucket_brigade *in;    /* fed, not yet taken */
    apr_bucket_brigade *out;   /* taken, not yet passed on */
    apr_bucket_brigade *alone; /* for a flush that overtakes a chunk */
    int boundaries;            /* 0: the marks are taken out, and that is all */
    int segments;              /* 0: they are seen, and no segment ends there */
    int one_block;             /* no marks are looked for: all is one cacheable block */
    int whole;                 /* all of it is passed on at a time */
    int chunks;                /* the length is not known: what is passed on at a time becomes a chunk */
    int over;                  /* all of it has been seen */
    int passed;                /* something of it was passed on, and with it the header */
    int asked;                 /* its application says that it has marks */
    int marked;                /* an opening mark was seen */
    apr_size_t mark;           /* bytes of an opening mark that are still to come, and are a chunk */
    /* bytes until the present chunk of a cacheable block is full; 0: the block is not cacheable */
    apr_size_t room;
    apr_size_t portion;  /* bytes in out */
    apr_status_t status; /* of passing on */
};

/* ---- the word for packet caches ---------------------------------------------------------------------------------- */

/* Takes the word out of the response, whosever it is: a page's application, a server behind us, a cache. */
static void take_word(request_rec *r) {
    apr_table_unset(r->headers_out, EEOD_WORD);
    apr_table_unset(r->err_headers_out, EEOD_WORD);
}

static int forbids(void *context, const char *name, const char *value) {
    (void)name;
    *(int *)context |= ap_strcasestr(value, "private") || ap_strcasestr(value, "no-store");
    return 1;
}

/* "Keep this for nobody, for one only": that is said of all of it, marks or not. */
static int forbidden(const request_rec *r) {
    int found = 0;

    apr_table_do(forbids, &found, r->headers_out, "Cache-Control", NULL);
    apr_table_do(forbids, &found, r->err_headers_out, "Cache-Control", NULL);
    return found;
}

/*
 * The header is about to go: so that a packet cache knows, when the page begins, that what stands before the first mark
 * is everybody's.
 */
static void page_say(struct page *p) {
    request_rec *r = p->f->r;

    if (!p->asked || !p->marked || p->blocks.pairs.odd || p->conf.strip || !p->boundaries || !*p->conf.marks->says)
        return;
    if (r->header_only || apr_table_get(r->headers_in, "Range") || forbidden(r)) return;
    apr_table_setn(r->headers_out, EEOD_WORD, p->conf.marks->says);
}

/* ---- passing on -------------------------------------------------------------------------------------------------- */

/* Before anything goes on. */
static void first(struct page *p) {
    if (!p->passed) page_say(p);
    p->passed = 1;
}

static apr_status_t page_pass(struct page *p) {
    if (p->status == APR_SUCCESS && !APR_BRIGADE_EMPTY(p->out)) {
        first(p);
        p->status = ap_pass_brigade(p->f->next, p->out);
    }
    apr_brigade_cleanup(p->out);
    p->portion = 0;
    return p->status;
}

static void page_add(struct page *p, apr_bucket *b) { APR_BRIGADE_INSERT_TAIL(p->out, b); }

static apr_size_t least_of(apr_size_t a, apr_size_t b) { return a < b ? a : b; }

static void pass_bytes(struct page *p, apr_size_t n) {
    while (n) {
        apr_size_t part = p->mark ? least_of(n, p->mark) : p->room ? least_of(n, p->room) : n;
        eeod_body_move(p->in, part, p->out);
        p->portion += part;
        n -= part;
        if (p->mark) {
            p->mark -= part;
            if (!p->mark) page_pass(p);
        } else if (p->room) {
            p->room -= part;
            if (p->room) continue;
            page_pass(p);
            p->room = EEOD_CHUNK;
        }
    }
}

static void page_begin_block(struct page *p, enum eeod_block kind) {
    int opens = kind == EEOD_UNIQUE && !p->blocks.pairs.odd, bare = p->conf.strip || (kind == EEOD_UNIQUE && !opens);

    if (!p->boundaries) return;
    p->marked |= opens;
    if (!p->segments) return;
    if (p->chunks) {
        page_pass(p);
        p->room = kind == EEOD_CACHEABLE ? EEOD_CHUNK : 0;
        p->mark = opens && !bare ? p->conf.marks->length[0] : 0;
    }
    page_add(p, eeod_boundary_create(kind, p->f->c->bucket_alloc));
    /* Without a mark the block begins with the header of its first chunk, which must be behind the boundary then. */
    if (p->chunks && bare) page_pass(p);
}

static void page_take(void *context, enum eeod_step step, size_t n) {
    struct page *p = context;

    switch (step) {
    case EEOD_PASS: pass_bytes(p, n); break;
    case EEOD_DROP: eeod_body_move(p->in, n, NULL); break;
    case EEOD_CUT:
        if (p->segments) page_add(p, eeod_boundary_create(EEOD_UNIQUE, p->f->c->bucket_alloc));
        break;
    case EEOD_BEGIN_CACHEABLE: page_begin_block(p, EEOD_CACHEABLE); break;
    case EEOD_BEGIN_UNIQUE: page_begin_block(p, EEOD_UNIQUE); break;
    }
}

/* The bucket goes to p->in, and what is known now goes on from there. */
static void page_feed(struct page *p, apr_bucket *b, const char *data, apr_size_t len) {
    APR_BUCKET_REMOVE(b);
    APR_BRIGADE_INSERT_TAIL(p->in, b);
    if (p->one_block) pass_bytes(p, len);
    else eeod_blocks_feed(&p->blocks, data, len);
    if (!p->whole && p->portion >= EEOD_PORTION && !p->room) page_pass(p);
}

/* No more bytes come. */
static void page_end(struct page *p) {
    if (p->over) return;
    p->over = 1;
    if (!p->one_block) eeod_blocks_end(&p->blocks);
    p->room = p->mark = 0; /* the last chunk is as large as it is */
    if (!p->boundaries) return;
    eeod_count(EEOD_responses, 1);
    eeod_count(EEOD_cacheable_blocks, p->blocks.begun[EEOD_CACHEABLE] + (p->one_block != 0));
    eeod_count(EEOD_files, p->one_block != 0);
    eeod_count(EEOD_unique_blocks, p->blocks.begun[EEOD_UNIQUE]);
    eeod_count(EEOD_joined_blocks, p->blocks.joined);
    eeod_count(EEOD_odd_marks, p->blocks.odd);
}

/* ---- what is left alone ------------------------------------------------------------------------------------------ */

/* Counted each time, said once in a process and reason. */
static int page_aside(request_rec *r, enum eeod_counter why, const char *what) {
    static atomic_flag said[EEOD_NCOUNTERS];

    eeod_count(why, 1);
    if (!atomic_flag_test_and_set(&said[why]))
        ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r, "eeod: no packet boundaries in %s: %s (said once in a process)",
                      r->uri, what);
    return 1;
}

/* Bodies whose bytes are not those of the page, or not all of them. */
static int unreadable(request_rec *r) {
    if (eeod_body_encoded(r))
        return page_aside(
            r, EEOD_aside_encoded,
            "the body is encoded; SetEnv \"no-gzip 1\" and \"no-brotli 1\" keep httpd's own encoders away");
    if (r->status == HTTP_PARTIAL_CONTENT)
        return page_aside(r, EEOD_aside_other, "its handler answers with a part of it");
    return 0;
}

/* Connections whose segments do not hold what passes here. */
static int unreachable(request_rec *r) {
    if (r->connection->master) return page_aside(r, EEOD_aside_http2, "HTTP/2 has frames of its own");
    if (ap_ssl_conn_is_ssl(r->connection))
        return page_aside(r, EEOD_aside_tls,
                          "the connection is encrypted; let what ends TLS stand before the packet cache");
    return 0;
}

/* A boundary would be lost, or bring together what does not belong together, when pieces of the page are picked. */
static int picked(request_rec *r, const apr_bucket *file) {
    const char *range = apr_table_get(r->headers_in, "Range");

    if (!range) return 0;
    if (strchr(range, ',')) return page_aside(r, EEOD_aside_other, "several ranges of it were asked for");
    if (file && file->length > EEOD_AT_ONCE)
        return page_aside(r, EEOD_aside_other, "a range of it was asked for, and it is a large file");
    return 0;
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

/*
 * Whether marks of this response that look like its application's are: with EeodKey only if those that were not have
 * been made none.
 */
static bool vouched(request_rec *r, const struct eeod_dir *conf) {
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!conf->key || eeod_key_done(r)) return true;
    if (!conf->keyed && !atomic_flag_test_and_set(&said))
        ap_log_rerror(APLOG_MARK, APLOG_NOTICE, 0, r,
                      "eeod: %s is not vouched for: only usual marks can have keys; without EeodMarks, or, if visitors "
                      "can't write these, with EeodKey Off it is (said once in a process)",
                      r->uri);
    return false;
}

/* The network end is told that the response comes.  0: it can't take it. */
static int begin_segments(ap_filter_t *f) {
    struct eeod_net *n = eeod_net_of(f->c);

    if (!n) return !page_aside(f->r, EEOD_aside_other, "another module's network filter is in the way");
    eeod_net_begin(n, f->c);
    return 1;
}

/* At the first brigade: what is to become of the response.  NULL: it goes on as it is. */
static struct page *page_begin(ap_filter_t *f, apr_bucket_brigade *bb) {
    request_rec *r = f->r;
    struct eeod_dir conf = eeod_config_of(r);
    int pages = eeod_config_type(&conf, r->content_type), boundaries, whole, one_block = !pages;
    int asked = pages && eeod_body_asks(r, conf.marks) && vouched(r, &conf);
    apr_bucket *file = eeod_body_file(bb);
    struct page *p;

    take_word(r);
    conf.files &= conf.segments;
    if (!pages && !conf.files) return NULL;
    if (eeod_body_empty(bb)) {
        if (r->header_only && pages && conf.strip) eeod_body_changes(r);
        return NULL;
    }
    if (unreadable(r)) return NULL;
    boundaries = !unreachable(r);
    if (!conf.strip && (!boundaries || r->header_only || picked(r, file))) return NULL;
    whole = eeod_body_here(bb);
    if (pages &&
        (file ? !eeod_body_file_has_marks(f, conf.marks, file) : whole && eeod_body_scan(conf.marks, bb, true) == 0)) {
        eeod_count(EEOD_unmarked, 1);
        if (!conf.files) return NULL;
        one_block = 1;
    }
    p = apr_pcalloc(r->pool, sizeof *p);
    p->magic = PAGE_MAGIC;
    p->f = f;
    p->conf = conf;
    p->asked = asked;
    p->boundaries = boundaries;
    p->whole = whole;
    p->one_block = one_block;
    if (p->one_block) p->conf.strip = 0;
    if (p->boundaries && conf.segments) p->boundaries = begin_segments(f);
    if (!p->boundaries && !p->conf.strip) return NULL;
    p->segments = p->boundaries && conf.segments;
    if (p->conf.strip) eeod_body_changes(r);
    p->chunks = p->segments && !p->whole && !apr_table_get(r->headers_out, "Content-Length");
    p->in = apr_brigade_create(r->pool, f->c->bucket_alloc);
    p->out = apr_brigade_create(r->pool, f->c->bucket_alloc);
    p->alone = apr_brigade_create(r->pool, f->c->bucket_alloc);
    eeod_blocks_begin(&p->blocks, p->conf.marks, p->conf.strip, (size_t)p->conf.least, page_take, p);
    if (p->one_block) page_begin_block(p, EEOD_CACHEABLE);
    return p;
}

/* Many small pieces of data behind the metadata of a brigade: one in their place. */
static void page_join(apr_bucket_brigade *bb) {
    apr_bucket *b, *next;
    const char *bytes;
    apr_size_t len, n = 0;
    char *flat;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) n += b->length;
    flat = apr_bucket_alloc(n, bb->bucket_alloc);
    n = 0;
    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = next) {
        next = APR_BUCKET_NEXT(b);
        if (APR_BUCKET_IS_METADATA(b) || apr_bucket_read(b, &bytes, &len, APR_BLOCK_READ) != APR_SUCCESS) continue;
        memcpy(flat + n, bytes, len);
        n += len;
        apr_bucket_delete(b);
    }
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_heap_create(flat, n, apr_bucket_free, bb->bucket_alloc));
}

/*
 * What is fed but not yet taken, and a chunk that is not yet full, outlive this call.  Both have been read, and are a
 * chunk at most, or what waits for the first mark.
 */
static apr_status_t page_keep(struct page *p, apr_bucket_brigade *bb) {
    int pieces = 0;

    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb); b = APR_BUCKET_NEXT(b)) {
        apr_status_t rv = apr_bucket_setaside(b, p->f->r->pool);
        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) return rv;
        pieces++;
    }
    if (pieces > PIECES) page_join(bb);
    return APR_SUCCESS;
}

/* The header waits for the first mark, or as much as may be held: it is to tell of it. */
static int waits(const struct page *p) {
    return p->asked && !p->passed && !p->marked && !p->over && p->portion < EEOD_PORTION;
}

/* A flush: what stands before it goes on, but for a chunk that is not full. */
static void page_flush(struct page *p, apr_bucket *b) {
    if (waits(p)) {
        apr_bucket_destroy(b);
        return;
    }
    if (p->room && p->portion) {
        APR_BRIGADE_INSERT_TAIL(p->alone, b);
        first(p);
        if (p->status == APR_SUCCESS) p->status = ap_pass_brigade(p->f->next, p->alone);
        apr_brigade_cleanup(p->alone);
        return;
    }
    page_add(p, b);
    if (!p->whole) page_pass(p);
}

/* A bucket of data, at the head of bb: reads it, and feeds it. */
static apr_status_t page_data(struct page *p, apr_bucket *b) {
    const char *bytes;
    apr_size_t len;
    apr_status_t rv = APR_EAGAIN;

    if (b->length == (apr_size_t)-1) {
        rv = eeod_body_read(&b, &bytes, &len, APR_NONBLOCK_READ);
        if (APR_STATUS_IS_EAGAIN(rv)) page_flush(p, apr_bucket_flush_create(p->f->c->bucket_alloc));
    }
    if (APR_STATUS_IS_EAGAIN(rv)) rv = eeod_body_read(&b, &bytes, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) return rv;
    page_feed(p, b, bytes, len);
    return APR_SUCCESS;
}

/* Of a page that is here as a whole nothing comes behind a flush. */
static int ends(const struct page *p, const apr_bucket *b) {
    return APR_BUCKET_IS_EOS(b) || AP_BUCKET_IS_ERROR(b) || AP_BUCKET_IS_EOC(b) || (p->whole && APR_BUCKET_IS_FLUSH(b));
}

static apr_status_t page_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    struct page *p = f->ctx;
    apr_status_t rv = APR_SUCCESS;

    if (APR_BRIGADE_EMPTY(bb)) return APR_SUCCESS;
    if (!p && !(p = f->ctx = page_begin(f, bb))) {
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    ap_assert(p->magic == PAGE_MAGIC);
    if (p->one_block && !p->chunks) { /* whatever it consists of, a file for one, it stays so */
        APR_BRIGADE_PREPEND(bb, p->out);
        page_end(p);
        ap_remove_output_filter(f);
        return ap_pass_brigade(f->next, bb);
    }
    while (!APR_BRIGADE_EMPTY(bb) && rv == APR_SUCCESS) {
        apr_bucket *b = APR_BRIGADE_FIRST(bb);
        if (!APR_BUCKET_IS_METADATA(b) && !p->over) {
            rv = page_data(p, b);
        } else {
            APR_BUCKET_REMOVE(b);
            if (ends(p, b)) page_end(p);
            if (APR_BUCKET_IS_FLUSH(b)) page_flush(p, b);
            else page_add(p, b);
        }
        if (rv == APR_SUCCESS) rv = p->status;
    }
    apr_brigade_cleanup(bb);
    if (rv == APR_SUCCESS && !waits(p) && (!p->room || !p->portion)) rv = page_pass(p);
    if (rv == APR_SUCCESS) rv = page_keep(p, p->in);
    if (rv == APR_SUCCESS) rv = page_keep(p, p->out);
    return rv;
}

/* In the place of the other, where that is not: nobody has read here what the word says. */
static apr_status_t word_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    take_word(f->r);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void eeod_page_register(void) {
    page_rec = ap_register_output_filter("EEOD", page_filter, NULL, EEOD_PLACE);
    word_rec = ap_register_output_filter("EEOD_WORD", word_filter, NULL, EEOD_PLACE);
}

void eeod_page_insert(request_rec *r) {
    /* A part of a page that a subrequest makes passes the page's own filter. */
    if (r->main) return;
    /*
     * These are handed on by an internal redirect, as to the page of an error: what the former page asked for, this one
     * did not.
     */
    if (r->prev) apr_table_unset(r->err_headers_out, EEOD_WORD);
    if (!eeod_config_on(r)) {
        eeod_page_insert_error(r);
        return;
    }
    eeod_key_insert(r);
    ap_add_output_filter_handle(page_rec, NULL, r, r->connection);
}

void eeod_page_insert_error(request_rec *r) {
    if (!r->main && eeod_config_used()) ap_add_output_filter_handle(word_rec, NULL, r, r->connection);
}

const char *eeod_page_order(apr_pool_t *pool) {
    static const char *const encoders[] = { "DEFLATE", "BROTLI_COMPRESS", "ZSTD_COMPRESS" };

    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        const ap_filter_rec_t *rec = ap_get_output_filter_handle(encoders[i]);
        if (rec && rec->ftype >= EEOD_PLACE)
            return apr_psprintf(
                pool, "filter %s comes behind the one that looks for marks: what it encodes would be taken for pages",
                encoders[i]);
    }
    return NULL;
}
