/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mod_pages - an httpd module of the lab: pages with marks out of a number, handed on as awkwardly as handlers can, and
 * the ways in which httpd without mod_eeod may try to make segment boundaries.  Not installed.
 *
 *     SetHandler lab-page        ?blocks=12&cacheable=400-6000&unique=50-1500&seed=S&visitor=V    a page of so many
 *                                pairs of blocks: what is cacheable depends on S (lower case), what is unique on S and
 *                                V (upper case); &piece=N: handed on so many bytes at a time, without a length;
 *                                &period=P: all of it is another one every P seconds; &image=1: it is an image that
 *                                everybody may keep, without marks (blocks=0).  A page says `Eeod: marks`,
 *                as an application does that sets them; they have the
 *                                key that the request's `Eeod-Key` tells, if there is one.
 *     SetHandler lab-memory      the file of that name, from memory: what a program costs that has its page at hand.
 *                                The file is read once.
 *     SetHandler lab-random      ?seed=S    a page of any kind: no marks or many, nested, stray, cut off; in pieces of
 *                                any size and kind of bucket, in one brigade or many, with flushes, with or without a
 *                                length.  The page depends on S only.  X-Page and X-Stripped tell CRC-32 and length of
 *                                it with and without its marks.  If the request has a key, it says `Eeod: marks`, its
 *                                marks have that key, or none, or another one, and what it becomes is told of;
 *                                &steady=1: nothing of the key is in that.
 *     SetOutputFilter LAB_FLUSH  a flush at each mark (httpd sets TCP_NODELAY on every connection)
 *     SetOutputFilter LAB_NAGLE  the same without TCP_NODELAY
 *     SetOutputFilter LAB_CORK   TCP_CORK between marks, and a flush at each
 */
#include <httpd.h>
#include <http_config.h>
#include <http_core.h>
#include <http_protocol.h>
#include <http_request.h>
#include <util_filter.h>

#include <apr_portable.h>
#include <apr_strings.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <zlib.h>

#include "tests/unit/test_marks.h"

static const char OPEN[] = "<!--EEOD-->", CLOSE[] = "<!--/EEOD-->";

/* splitmix64 */
static apr_uint64_t draw(apr_uint64_t *s) {
    apr_uint64_t z = *s += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static apr_size_t between(apr_uint64_t *s, apr_size_t least, apr_size_t most) {
    return least + draw(s) % (most - least + 1);
}
static int percent(apr_uint64_t *s, unsigned p) { return draw(s) % 100 < p; }

struct text {
    char *bytes;
    apr_size_t used, size;
};

static void put(struct text *t, const char *bytes, apr_size_t n) {
    if (n > t->size - t->used) n = t->size - t->used;
    memcpy(t->bytes + t->used, bytes, n);
    t->used += n;
}

static void put_letters(struct text *t, apr_uint64_t *s, char first, apr_size_t n) {
    for (; n && t->used < t->size; n--) t->bytes[t->used++] = (char)(first + draw(s) % 26);
}

/* ---- a page ------------------------------------------------------------------------------------------------------ */

static const char *argument(request_rec *r, const char *name) {
    const char *a = r->args;
    apr_size_t n = strlen(name);

    while (a && *a) {
        if (!strncmp(a, name, n) && a[n] == '=') return a + n + 1;
        a = strchr(a, '&');
        if (a) a++;
    }
    return NULL;
}

static apr_uint64_t number(request_rec *r, const char *name, apr_uint64_t otherwise) {
    const char *a = argument(r, name);
    return a ? strtoull(a, NULL, 10) : otherwise;
}

static void range_of(request_rec *r, const char *name, apr_size_t *least, apr_size_t *most) {
    char *end;
    const char *a = argument(r, name);

    if (!a) return;
    *least = *most = strtoul(a, &end, 10);
    if (*end == '-') *most = strtoul(end + 1, NULL, 10);
    if (*most < *least) *most = *least;
}

/*
 * In pieces of so many bytes, each a brigade; the end comes with the last one, so that a page of one piece has a
 * length.
 */
static int hand_on(request_rec *r, const char *bytes, apr_size_t n, apr_size_t piece) {
    apr_bucket_alloc_t *a = r->connection->bucket_alloc;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, a);
    apr_status_t rv = APR_SUCCESS;

    if (!piece) piece = 1;
    for (apr_size_t at = 0; at < n && rv == APR_SUCCESS; at += piece) {
        if (piece > n - at) piece = n - at;
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(bytes + at, piece, r->pool, a));
        if (at + piece == n) APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(a));
        rv = ap_pass_brigade(r->output_filters, bb);
        apr_brigade_cleanup(bb);
    }
    return rv == APR_SUCCESS ? OK : AP_FILTER_ERROR;
}

static int page(request_rec *r) {
    apr_size_t blocks = number(r, "blocks", 12), c_least = 400, c_most = 6000, u_least = 50, u_most = 1500;
    apr_uint64_t of_page = number(r, "seed", 1), of_visitor = number(r, "visitor", 1);
    apr_uint64_t period = number(r, "period", 0);
    const char *open = OPEN, *close = CLOSE, *key = apr_table_get(r->headers_in, "Eeod-Key");
    struct text t = { 0 };

    if (period) of_page += (apr_uint64_t)apr_time_sec(apr_time_now()) / period * 7919;
    of_visitor += of_page * 1000003;
    if (blocks > 10000) return HTTP_BAD_REQUEST;
    if (key) {
        open = apr_pstrcat(r->pool, "<!--EEOD ", key, "-->", NULL);
        close = apr_pstrcat(r->pool, "<!--/EEOD ", key, "-->", NULL);
    }
    range_of(r, "cacheable", &c_least, &c_most);
    range_of(r, "unique", &u_least, &u_most);
    t.size = (blocks + 1) * (c_most + u_most + strlen(open) + strlen(close));
    if (t.size > 64 << 20) return HTTP_BAD_REQUEST;
    t.bytes = apr_palloc(r->pool, t.size);
    for (apr_size_t i = 0; i < blocks; i++) {
        put_letters(&t, &of_page, 'a', between(&of_page, c_least, c_most));
        put(&t, open, strlen(open));
        put_letters(&t, &of_visitor, 'A', between(&of_visitor, u_least, u_most));
        put(&t, close, strlen(close));
    }
    put_letters(&t, &of_page, 'a', between(&of_page, c_least, c_most));
    ap_set_content_type(r, argument(r, "image") ? "image/png" : "text/html");
    apr_table_setn(r->headers_out, "Cache-Control", argument(r, "image") ? "public, max-age=5" : "no-cache");
    if (!argument(r, "image")) apr_table_setn(r->headers_out, "Eeod", "marks");
    return hand_on(r, t.bytes, t.used, number(r, "piece", t.used));
}

/* ---- a page at hand ---------------------------------------------------------------------------------------------- */

struct held {
    char *name;
    apr_size_t length;
    char bytes[];
};

static int memory(request_rec *r) {
    static _Atomic(const struct held *) held[16];
    const struct held *h = NULL;
    struct held *made;
    apr_file_t *f;
    apr_size_t n = (apr_size_t)r->finfo.size;

    if (r->finfo.filetype != APR_REG) return HTTP_NOT_FOUND;
    for (int i = 0; i < 16 && (h = atomic_load(&held[i])); i++)
        if (!strcmp(h->name, r->filename)) break;
    if (!h) {
        made = malloc(sizeof *made + n);
        made->name = strdup(r->filename);
        if (apr_file_open(&f, r->filename, APR_READ, 0, r->pool) != APR_SUCCESS ||
            apr_file_read_full(f, made->bytes, n, &made->length) != APR_SUCCESS)
            return HTTP_INTERNAL_SERVER_ERROR;
        h = made;
        for (int i = 0; i < 16; i++) {
            const struct held *none = NULL;
            if (atomic_compare_exchange_strong(&held[i], &none, h)) break;
        }
    }
    ap_set_content_type(r, "text/html");
    return hand_on(r, h->bytes, h->length, h->length);
}

/* ---- a page of any kind ------------------------------------------------------------------------------------------ */

static apr_size_t any_length(apr_uint64_t *s) {
    switch (draw(s) % 8) {
    case 0: return 0;
    case 1:
    case 2: return between(s, 1, 30);
    case 3:
    case 4: return between(s, 100, 300);
    case 5:
    case 6: return between(s, 1000, 5000);
    default: return percent(s, 10) ? between(s, 1, 100000) : between(s, 1, 10000);
    }
}

struct keys {
    const char *right, *other; /* NULL: marks have none */
};

/* A mark, or `part` of its bytes: with the key, with none, with another one. */
static void put_mark(struct text *t, apr_uint64_t *s, const char *usual, struct keys keys, apr_size_t part) {
    char mark[64];
    const char *key = keys.right && (part < 64 || percent(s, 10)) ? keys.other : keys.right;

    snprintf(mark, sizeof mark, "%s", usual);
    if (key && percent(s, 70)) {
        snprintf(mark, sizeof mark, "%.*s %s-->", (int)strlen(usual) - 3, usual, key);
    }
    put(t, mark, part < strlen(mark) ? part : strlen(mark));
}

static void any_page(apr_uint64_t *s, struct text *t, struct keys key) {
    apr_size_t parts = between(s, 0, 24), whole = key.right ? 64 : sizeof CLOSE;
    unsigned marks = percent(s, 20) ? 0 : 80;

    for (; parts; parts--) {
        put_letters(t, s, 'a', any_length(s));
        if (!percent(s, marks)) continue;
        switch (draw(s) % 12) {
        case 0: put_mark(t, s, OPEN, key, draw(s) % (key.right ? 28 : sizeof OPEN)); break; /* a beginning of one */
        case 1: put_mark(t, s, CLOSE, key, draw(s) % (key.right ? 29 : sizeof CLOSE)); break;
        case 2: put_mark(t, s, CLOSE, key, whole); break;
        case 3: put_mark(t, s, OPEN, key, whole); break;
        default:
            put_mark(t, s, OPEN, key, whole);
            put_letters(t, s, 'A', any_length(s));
            put_mark(t, s, CLOSE, key, whole);
        }
    }
}

/* What mod_eeod makes of a page whose application was given the key, in the slow way. */
static apr_size_t rewrite(const char *from, apr_size_t n, const char *key, char *to) {
    static const char *const marks[] = { OPEN, CLOSE };
    apr_size_t out = 0;

    for (apr_size_t at = 0; at < n;) {
        apr_size_t step = 0;
        for (int i = 0; i < 2 && !step; i++) {
            char with[64];
            apr_size_t m = strlen(marks[i]),
                       k = (apr_size_t)snprintf(with, sizeof with, "%.*s %s-->", (int)m - 3, marks[i], key);
            if (n - at >= m && !memcmp(from + at, marks[i], m)) step = m;
            if (n - at >= k && !memcmp(from + at, with, k)) step = k;
            if (!step) continue;
            memcpy(to + out, marks[i], m);
            if (step == m) to[out + m - 4] = 'd';
            out += m;
        }
        if (!step) to[out++] = from[at];
        at += step ? step : 1;
    }
    return out;
}

/* The marks taken out, in the slow way: those that do nothing are text. */
static apr_size_t strip(apr_pool_t *p, const char *from, apr_size_t n, char *to) {
    static const struct eeod_marks marks = { .text = { EEOD_USUAL_OPEN, EEOD_USUAL_CLOSE },
                                             .length = { sizeof OPEN - 1, sizeof CLOSE - 1 } };
    char *kind = apr_palloc(p, n + 1);
    apr_size_t out = 0;

    slow_pairs(&marks, (const unsigned char *)from, n, kind);
    for (apr_size_t at = 0; at < n;) {
        if (kind[at] == 'O' || kind[at] == 'o') at += sizeof OPEN - 1;
        else if (kind[at] == 'C' || kind[at] == 'c') at += sizeof CLOSE - 1;
        else to[out++] = from[at++];
    }
    return out;
}

static void tell(request_rec *r, const char *header, const char *bytes, apr_size_t n) {
    apr_table_setn(r->headers_out, header,
                   apr_psprintf(r->pool, "%08lx-%" APR_SIZE_T_FMT, crc32(0, (const Bytef *)bytes, (uInt)n), n));
}

/* A bucket of somebody's own type, which can't be split or set aside. */
static apr_status_t stiff_read(apr_bucket *b, const char **data, apr_size_t *len, apr_read_type_e block) {
    (void)block;
    *data = b->data;
    *len = b->length;
    return APR_SUCCESS;
}

static const apr_bucket_type_t stiff_type = { "STIFF",
                                              5,
                                              APR_BUCKET_DATA,
                                              apr_bucket_destroy_noop,
                                              stiff_read,
                                              apr_bucket_setaside_noop,
                                              apr_bucket_split_notimpl,
                                              apr_bucket_copy_notimpl };

static apr_bucket *stiff(char *bytes, apr_size_t n, apr_bucket_alloc_t *list) {
    apr_bucket *b = apr_bucket_alloc(sizeof *b, list);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = list;
    b->type = &stiff_type;
    b->data = bytes;
    b->length = n;
    b->start = 0;
    return b;
}

/* These bytes as a bucket of some kind.  `lent` is memory that changes as soon as the brigade has been passed on. */
static apr_bucket *any_bucket(request_rec *r, apr_uint64_t *s, const char *bytes, apr_size_t n, struct text *lent) {
    apr_bucket_alloc_t *a = r->connection->bucket_alloc;
    apr_file_t *f = NULL;
    char name[] = "/tmp/lab-pages-XXXXXX";

    switch (draw(s) % 8) {
    case 0: return apr_bucket_heap_create(bytes, n, NULL, a);
    /* httpd itself may have to split what it could not send, and loses bytes of those; small ones it never does. */
    case 1:
        return n > 2000 || !number(r, "stiff", 0) ? apr_bucket_heap_create(bytes, n, NULL, a)
                                                  : stiff((char *)bytes, n, a);
    case 2: return apr_bucket_pool_create(bytes, n, r->pool, a);
    case 3: return apr_bucket_immortal_create("", 0, a);
    case 4:
        if (percent(s, 95) || apr_file_mktemp(&f, name, 0, r->pool) != APR_SUCCESS) break;
        apr_file_write_full(f, bytes, n, NULL);
        return apr_bucket_file_create(f, 0, n, r->pool, a);
    default: break;
    }
    if (n > lent->size - lent->used) return apr_bucket_heap_create(bytes, n, NULL, a);
    memcpy(lent->bytes + lent->used, bytes, n);
    lent->used += n;
    return apr_bucket_transient_create(lent->bytes + lent->used - n, n, a);
}

static int random_page(request_rec *r) {
    apr_uint64_t seed = number(r, "seed", 1), of_pieces = seed * 2654435761u;
    apr_uint64_t *s = &of_pieces;
    struct text t = { .size = 1 << 18 }, lent = { .size = 1 << 15 };
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_size_t at = 0, largest;
    apr_size_t n_becomes;
    unsigned passes, flushes;
    const char *key = apr_table_get(r->headers_in, "Eeod-Key");
    struct keys keys = { NULL, NULL };
    char *stripped, *becomes;
    apr_status_t rv = APR_SUCCESS;

    t.bytes = apr_palloc(r->pool, t.size);
    lent.bytes = apr_palloc(r->pool, lent.size);
    if (key) {
        /* A beginning of a mark is the more awkward the more of it is right. */
        char *other = apr_pstrdup(r->pool, number(r, "steady", 0) ? "0123456789abcdef" : key);
        if (!number(r, "steady", 0)) other[15] ^= 1;
        keys = (struct keys){ key, other };
    }
    any_page(&seed, &t, keys);
    becomes = t.bytes;
    n_becomes = t.used;
    if (key) {
        becomes = apr_palloc(r->pool, t.used + 1);
        n_becomes = rewrite(t.bytes, t.used, key, becomes);
        apr_table_setn(r->headers_out, "Eeod", "marks");
    }
    stripped = apr_palloc(r->pool, t.used + 1);
    tell(r, "X-Page", becomes, n_becomes);
    tell(r, "X-Stripped", stripped, strip(r->pool, becomes, n_becomes, stripped));
    ap_set_content_type(r, "text/html; charset=utf-8");
    if (percent(s, 30)) ap_set_content_length(r, (apr_off_t)t.used);
    passes = percent(s, 40) ? 0 : (unsigned)between(s, 1, 60);
    flushes = percent(s, 60) ? 0 : (unsigned)between(s, 1, 50);
    largest = percent(s, 20) ? between(s, 1, 20) : percent(s, 50) ? between(s, 1, 2000) : between(s, 1, 200000);
    if (largest < t.used / 500) largest = t.used / 500;
    while (at < t.used && rv == APR_SUCCESS) {
        apr_size_t n = between(s, 1, largest);
        if (n > t.used - at) n = t.used - at;
        apr_bucket *b = any_bucket(r, s, t.bytes + at, n, &lent);
        at += b->length ? n : 0; /* an empty one in between */
        APR_BRIGADE_INSERT_TAIL(bb, b);
        if (percent(s, flushes)) APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(r->connection->bucket_alloc));
        if (!percent(s, passes)) continue;
        rv = ap_pass_brigade(r->output_filters, bb);
        apr_brigade_cleanup(bb);
        memset(lent.bytes, '!', lent.used);
        lent.used = 0;
    }
    if (rv == APR_SUCCESS) {
        if (percent(s, 70)) APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(r->connection->bucket_alloc));
        rv = ap_pass_brigade(r->output_filters, bb);
    }
    return rv == APR_SUCCESS ? OK : AP_FILTER_ERROR;
}

static int handler(request_rec *r) {
    if (!r->handler) return DECLINED;
    if (!strcmp(r->handler, "lab-page")) return page(r);
    if (!strcmp(r->handler, "lab-memory")) return memory(r);
    if (!strcmp(r->handler, "lab-random")) return random_page(r);
    return DECLINED;
}

/* ---- what is done without mod_eeod ------------------------------------------------------------------------------- */

static void set(conn_rec *c, int option, int on) {
    int fd = -1;
    apr_os_sock_get(&fd, ap_get_conn_socket(c));
    setsockopt(fd, IPPROTO_TCP, option, &on, sizeof on);
}

/* Pages of lab-page come whole in one brigade. */
static apr_status_t pieces(ap_filter_t *f, apr_bucket_brigade *bb, int cork) {
    apr_bucket_alloc_t *a = f->c->bucket_alloc;
    apr_bucket_brigade *one;
    char *bytes, *end, *p;
    apr_size_t n;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb) || !APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb))) return ap_pass_brigade(f->next, bb);
    apr_brigade_pflatten(bb, &bytes, &n, f->r->pool);
    apr_brigade_cleanup(bb);
    ap_set_content_length(f->r, (apr_off_t)n);
    one = apr_brigade_create(f->r->pool, a);
    for (end = bytes + n; bytes < end; bytes = p) {
        /* The beginning of the next block: the first place behind this one's where a mark begins. */
        for (p = bytes + 1; p < end && strncmp(p, OPEN, sizeof OPEN - 1) && strncmp(p, CLOSE, sizeof CLOSE - 1); p++)
            continue;
        APR_BRIGADE_INSERT_TAIL(one, apr_bucket_pool_create(bytes, (apr_size_t)(p - bytes), f->r->pool, a));
        APR_BRIGADE_INSERT_TAIL(one, p < end ? apr_bucket_flush_create(a) : apr_bucket_eos_create(a));
        if (cork) set(f->c, TCP_CORK, 1);
        rv = ap_pass_brigade(f->next, one);
        if (cork) set(f->c, TCP_CORK, 0);
        if (rv != APR_SUCCESS) return rv;
        apr_brigade_cleanup(one);
    }
    return APR_SUCCESS;
}

static apr_status_t flush_filter(ap_filter_t *f, apr_bucket_brigade *bb) { return pieces(f, bb, 0); }
static apr_status_t cork_filter(ap_filter_t *f, apr_bucket_brigade *bb) { return pieces(f, bb, 1); }

static apr_status_t nagle_filter(ap_filter_t *f, apr_bucket_brigade *bb) {
    set(f->c, TCP_NODELAY, 0);
    return pieces(f, bb, 0);
}

static void register_hooks(apr_pool_t *p) {
    (void)p;
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_register_output_filter("LAB_FLUSH", flush_filter, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter("LAB_NAGLE", nagle_filter, NULL, AP_FTYPE_CONTENT_SET);
    ap_register_output_filter("LAB_CORK", cork_filter, NULL, AP_FTYPE_CONTENT_SET);
}

module AP_MODULE_DECLARE_DATA lab_pages_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks, AP_MODULE_FLAG_NONE
};
