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

#include "eeod_bucket.h"
#include "eeod_config.h"
#include "eeod_known.h"
#include "eeod_net.h"
#include "eeod_stats.h"

APLOG_USE_MODULE(eeod);

enum {
    AT_ONCE = 1 << 18, /* bytes: a file up to this size may be in memory as a whole */
    PIECES = 64        /* a handler that writes byte by byte is not to make a long list */
};

/* Our place: the last of those that see content; see eeod_page.h. */
#define PLACE (AP_FTYPE_PROTOCOL - 1)

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

#define WORD "Eeod"

struct asking {
    const struct eeod_marks *marks;
    int yes, no;
};

static int asks(void *context, const char *name, const char *value) {
    struct asking *a = context;

    (void)name;
    if (!ap_cstr_casecmp(value, "marks") || (*a->marks->says && !strcmp(value, a->marks->says))) a->yes = 1;
    else a->no = 1;
    return 1;
}

/*
 * Takes the word out of the response, whosever it is: a page's application, a server behind us, a cache.  Whether it
 * asks for these marks; marks: NULL, none are looked for.
 */
static int take_word(request_rec *r, const struct eeod_marks *marks) {
    /* the latter has what CGI and FastCGI programs say */
    apr_table_t *const tables[] = { r->headers_out, r->err_headers_out };
    struct asking a = { .marks = marks };

    for (int i = 0; i < 2; i++) {
        if (!apr_table_get(tables[i], WORD)) continue;
        if (marks) apr_table_do(asks, &a, tables[i], WORD, NULL);
        apr_table_unset(tables[i], WORD);
    }
    return a.yes && !a.no;
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
    apr_table_setn(r->headers_out, WORD, p->conf.marks->says);
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

/* The first n bytes of p->in go to p->out, or away. */
static void move(struct page *p, apr_size_t n, int drop) {
    while (n) {
        apr_bucket *b = APR_BRIGADE_FIRST(p->in);
        if (b->length > n) b = eeod_split(b, n);
        n -= b->length;
        APR_BUCKET_REMOVE(b);
        if (drop) apr_bucket_destroy(b);
        else page_add(p, b);
    }
}

static apr_size_t least_of(apr_size_t a, apr_size_t b) { return a < b ? a : b; }

static void pass_bytes(struct page *p, apr_size_t n) {
    while (n) {
        apr_size_t part = p->mark ? least_of(n, p->mark) : p->room ? least_of(n, p->room) : n;
        move(p, part, 0);
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
    case EEOD_DROP: move(p, n, 1); break;
    case EEOD_CUT:
        if (p->boundaries) page_add(p, eeod_boundary_create(EEOD_UNIQUE, p->f->c->bucket_alloc));
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
    const char *e = r->content_encoding ? r->content_encoding : apr_table_get(r->headers_out, "Content-Encoding");

    if (e && ap_cstr_casecmp(e, "identity"))
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
    if (file && file->length > AT_ONCE)
        return page_aside(r, EEOD_aside_other, "a range of it was asked for, and it is a large file");
    return 0;
}

/* ---- whether there are marks at all ------------------------------------------------------------------------------ */

/* A scan that stops at the first mark.  1: there is one; 0: there is none; -1: it can't be read. */
static int page_scan(const struct eeod_marks *m, apr_bucket_brigade *bb, int keep) {
    struct eeod_scan s;
    const char *data;
    apr_size_t len;
    ptrdiff_t at;

    eeod_scan_begin(&s, m);
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb), *next; b != APR_BRIGADE_SENTINEL(bb); b = next) {
        if (!APR_BUCKET_IS_METADATA(b)) {
            if (APR_BUCKET_IS_FILE(b)) eeod_read_by_portions(b);
            if (apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS) return -1;
            if (eeod_scan_next(&s, data, len, &at)) return 1;
        }
        next = APR_BUCKET_NEXT(b);
        if (!keep) apr_bucket_delete(b);
    }
    return 0;
}

/* The one file of which this brigade consists, besides its end; or NULL. */
static apr_bucket *only_file(apr_bucket_brigade *bb) {
    apr_bucket *b = APR_BRIGADE_FIRST(bb), *last = APR_BRIGADE_LAST(bb);
    return !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_FILE(b) && APR_BUCKET_NEXT(b) == last && APR_BUCKET_IS_EOS(last)
               ? b
               : NULL;
}

static int file_has_marks(ap_filter_t *f, const struct eeod_marks *m, apr_bucket *file) {
    struct eeod_known id;
    apr_bucket_brigade *copy;
    apr_bucket *b;
    int found;

    if (eeod_known_unmarked(f->r, file, m, &id)) return 0;
    if (apr_bucket_copy(file, &b) != APR_SUCCESS) return 1;
    copy = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(copy, b);
    found = page_scan(m, copy, 0);
    apr_brigade_destroy(copy);
    if (found == 0) eeod_known_remember(&id, f->r->request_time);
    return found != 0;
}

/*
 * The response is here as a whole, is in memory or small enough for that, and is to be sent as a whole: httpd will find
 * out its length.
 */
static int all_here(apr_bucket_brigade *bb) {
    apr_bucket *last = APR_BRIGADE_LAST(bb);
    apr_size_t in_files = 0;

    if (APR_BRIGADE_EMPTY(bb) || !APR_BUCKET_IS_EOS(last)) return 0;
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != last; b = APR_BUCKET_NEXT(b)) {
        if (b->length == (apr_size_t)-1 || (APR_BUCKET_IS_FLUSH(b) && APR_BUCKET_NEXT(b) != last)) return 0;
        if (APR_BUCKET_IS_FILE(b)) in_files += b->length;
    }
    return in_files <= AT_ONCE;
}

static int only_end(apr_bucket_brigade *bb) {
    return !APR_BRIGADE_EMPTY(bb) && APR_BRIGADE_FIRST(bb) == APR_BRIGADE_LAST(bb) &&
           APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(bb));
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

/*
 * Without its marks the page has another length, and other bytes: a strong tag, by which parts of it are put together,
 * must not name both.
 */
static void bytes_change(request_rec *r) {
    const char *tag = apr_table_get(r->headers_out, "ETag");

    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Content-MD5");
    if (tag && *tag == '"') apr_table_setn(r->headers_out, "ETag", apr_pstrcat(r->pool, "W/", tag, NULL));
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
    int asked = take_word(r, pages ? conf.marks : NULL);
    apr_bucket *file = only_file(bb);
    struct page *p;

    if (!pages && !conf.files) return NULL;
    if (only_end(bb)) {
        if (r->header_only && pages && conf.strip) bytes_change(r);
        return NULL;
    }
    if (unreadable(r)) return NULL;
    boundaries = !unreachable(r);
    if (!conf.strip && (!boundaries || r->header_only || picked(r, file))) return NULL;
    whole = all_here(bb);
    if (pages && (file ? !file_has_marks(f, conf.marks, file) : whole && page_scan(conf.marks, bb, 1) == 0)) {
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
    if (p->boundaries) p->boundaries = begin_segments(f);
    if (!p->boundaries && !p->conf.strip) return NULL;
    if (p->conf.strip) bytes_change(r);
    p->chunks = p->boundaries && !p->whole && !apr_table_get(r->headers_out, "Content-Length");
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

    if (APR_BUCKET_IS_FILE(b)) eeod_read_by_portions(b);
    if (b->length == (apr_size_t)-1) {
        rv = apr_bucket_read(b, &bytes, &len, APR_NONBLOCK_READ);
        if (APR_STATUS_IS_EAGAIN(rv)) page_flush(p, apr_bucket_flush_create(p->f->c->bucket_alloc));
    }
    if (APR_STATUS_IS_EAGAIN(rv)) rv = apr_bucket_read(b, &bytes, &len, APR_BLOCK_READ);
    if (rv != APR_SUCCESS) return rv;
    if (b->type->split == apr_bucket_split_notimpl) {
        /* While its end is searched its beginning may have been sent: only what can be split is still there then. */
        apr_bucket *copy = apr_bucket_heap_create(bytes, len, NULL, b->list);
        APR_BUCKET_INSERT_AFTER(b, copy);
        apr_bucket_delete(b);
        b = copy;
        rv = apr_bucket_read(b, &bytes, &len, APR_BLOCK_READ);
        if (rv != APR_SUCCESS) return rv;
    }
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
    take_word(f->r, NULL);
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void eeod_page_register(void) {
    page_rec = ap_register_output_filter("EEOD", page_filter, NULL, PLACE);
    word_rec = ap_register_output_filter("EEOD_WORD", word_filter, NULL, PLACE);
}

void eeod_page_insert(request_rec *r) {
    /* A part of a page that a subrequest makes passes the page's own filter. */
    if (r->main) return;
    /*
     * These are handed on by an internal redirect, as to the page of an error: what the former page asked for, this one
     * did not.
     */
    if (r->prev) apr_table_unset(r->err_headers_out, WORD);
    if (eeod_config_on(r)) ap_add_output_filter_handle(page_rec, NULL, r, r->connection);
    else eeod_page_insert_error(r);
}

void eeod_page_insert_error(request_rec *r) {
    if (!r->main && eeod_config_used()) ap_add_output_filter_handle(word_rec, NULL, r, r->connection);
}

const char *eeod_page_order(apr_pool_t *pool) {
    static const char *const encoders[] = { "DEFLATE", "BROTLI_COMPRESS", "ZSTD_COMPRESS" };

    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        const ap_filter_rec_t *rec = ap_get_output_filter_handle(encoders[i]);
        if (rec && rec->ftype >= PLACE)
            return apr_psprintf(
                pool, "filter %s comes behind the one that looks for marks: what it encodes would be taken for pages",
                encoders[i]);
    }
    return NULL;
}
