/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_body.h"

#include <string.h>

#include <apr_strings.h>
#include <http_protocol.h>

#include "eeod_bucket.h"
#include "eeod_known.h"

struct asking {
    const struct eeod_marks *marks;
    bool yes, no;
};

static int asks(void *context, const char *name, const char *value) {
    struct asking *a = context;

    (void)name;
    if (!ap_cstr_casecmp(value, "marks") || (*a->marks->says && !strcmp(value, a->marks->says))) a->yes = true;
    else a->no = true;
    return 1;
}

bool eeod_body_asks(const request_rec *r, const struct eeod_marks *marks) {
    struct asking a = { .marks = marks };

    apr_table_do(asks, &a, r->headers_out, EEOD_WORD, NULL);
    /* what CGI and FastCGI programs say */
    apr_table_do(asks, &a, r->err_headers_out, EEOD_WORD, NULL);
    return a.yes && !a.no;
}

bool eeod_body_encoded(const request_rec *r) {
    const char *e = r->content_encoding;

    if (!e) e = apr_table_get(r->headers_out, "Content-Encoding");
    /* what CGI and FastCGI programs say */
    if (!e) e = apr_table_get(r->err_headers_out, "Content-Encoding");
    return e && ap_cstr_casecmp(e, "identity");
}

void eeod_body_changes(request_rec *r) {
    const char *tag = apr_table_get(r->headers_out, "ETag");

    apr_table_unset(r->headers_out, "Content-Length");
    apr_table_unset(r->headers_out, "Content-MD5");
    apr_table_unset(r->err_headers_out, "Content-MD5");
    if (tag && *tag == '"') apr_table_setn(r->headers_out, "ETag", apr_pstrcat(r->pool, "W/", tag, NULL));
}

apr_bucket *eeod_body_file(apr_bucket_brigade *bb) {
    apr_bucket *b = APR_BRIGADE_FIRST(bb), *last = APR_BRIGADE_LAST(bb);
    return !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_FILE(b) && APR_BUCKET_NEXT(b) == last && APR_BUCKET_IS_EOS(last)
               ? b
               : NULL;
}

bool eeod_body_here(apr_bucket_brigade *bb) {
    apr_bucket *last = APR_BRIGADE_LAST(bb);
    apr_size_t in_files = 0;

    if (APR_BRIGADE_EMPTY(bb) || !APR_BUCKET_IS_EOS(last)) return false;
    for (apr_bucket *b = APR_BRIGADE_FIRST(bb); b != last; b = APR_BUCKET_NEXT(b)) {
        if (b->length == (apr_size_t)-1 || (APR_BUCKET_IS_FLUSH(b) && APR_BUCKET_NEXT(b) != last)) return false;
        if (APR_BUCKET_IS_FILE(b)) in_files += b->length;
    }
    return in_files <= EEOD_AT_ONCE;
}

bool eeod_body_empty(apr_bucket_brigade *bb) {
    return !APR_BRIGADE_EMPTY(bb) && APR_BRIGADE_FIRST(bb) == APR_BRIGADE_LAST(bb) &&
           APR_BUCKET_IS_EOS(APR_BRIGADE_FIRST(bb));
}

int eeod_body_scan(const struct eeod_marks *m, apr_bucket_brigade *bb, bool keep) {
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

bool eeod_body_file_has_marks(ap_filter_t *f, const struct eeod_marks *m, apr_bucket *file) {
    struct eeod_known id;
    apr_bucket_brigade *copy;
    apr_bucket *b;
    int found;

    if (eeod_known_unmarked(f->r, file, m, &id)) return false;
    if (apr_bucket_copy(file, &b) != APR_SUCCESS) return true;
    copy = apr_brigade_create(f->r->pool, f->c->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(copy, b);
    found = eeod_body_scan(m, copy, false);
    apr_brigade_destroy(copy);
    if (found == 0) eeod_known_remember(&id, f->r->request_time);
    return found != 0;
}

apr_status_t eeod_body_read(apr_bucket **b, const char **bytes, apr_size_t *len, apr_read_type_e mode) {
    apr_bucket *copy;
    apr_status_t rv;

    if (APR_BUCKET_IS_FILE(*b)) eeod_read_by_portions(*b);
    rv = apr_bucket_read(*b, bytes, len, mode);
    if (rv != APR_SUCCESS || (*b)->type->split != apr_bucket_split_notimpl) return rv;
    copy = apr_bucket_heap_create(*bytes, *len, NULL, (*b)->list);
    APR_BUCKET_INSERT_AFTER(*b, copy);
    apr_bucket_delete(*b);
    *b = copy;
    return apr_bucket_read(copy, bytes, len, mode);
}

void eeod_body_move(apr_bucket_brigade *from, apr_size_t n, apr_bucket_brigade *to) {
    while (n) {
        apr_bucket *b = APR_BRIGADE_FIRST(from);
        if (b->length > n) b = eeod_split(b, n);
        n -= b->length;
        APR_BUCKET_REMOVE(b);
        if (to) APR_BRIGADE_INSERT_TAIL(to, b);
        else apr_bucket_destroy(b);
    }
}
