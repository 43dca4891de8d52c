/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_bucket.h"

static apr_status_t nothing_to_read(apr_bucket *b, const char **data, apr_size_t *len, apr_read_type_e block) {
    (void)b;
    (void)block;
    *data = NULL;
    *len = 0;
    return APR_SUCCESS;
}

static const apr_bucket_type_t boundary_type = { "EEOD",
                                                 5,
                                                 APR_BUCKET_METADATA,
                                                 apr_bucket_destroy_noop,
                                                 nothing_to_read,
                                                 apr_bucket_setaside_noop,
                                                 apr_bucket_split_notimpl,
                                                 apr_bucket_simple_copy };

/* The kind stands where a bucket of data has its offset: a copy keeps it, and nothing is allocated. */
apr_bucket *eeod_boundary_create(enum eeod_block kind, apr_bucket_alloc_t *list) {
    apr_bucket *b = apr_bucket_alloc(sizeof *b, list);

    APR_BUCKET_INIT(b);
    b->free = apr_bucket_free;
    b->list = list;
    b->type = &boundary_type;
    b->length = 0;
    b->start = kind;
    b->data = NULL;
    return b;
}

enum eeod_block eeod_boundary_kind(const apr_bucket *b) {
    return b->type == &boundary_type ? (enum eeod_block)b->start : EEOD_NOTHING;
}

void eeod_read_by_portions(apr_bucket *file) {
    apr_bucket_file_enable_mmap(file, 0);
    apr_bucket_file_set_buf_size(file, EEOD_PORTION);
}

apr_bucket *eeod_split(apr_bucket *b, apr_size_t at) {
    const char *data;
    apr_size_t len;
    apr_bucket *copy;

    if (apr_bucket_split(b, at) == APR_SUCCESS || apr_bucket_read(b, &data, &len, APR_BLOCK_READ) != APR_SUCCESS)
        return b;
    copy = apr_bucket_heap_create(data, len, NULL, b->list);
    APR_BUCKET_INSERT_AFTER(b, copy);
    apr_bucket_delete(b);
    apr_bucket_split(copy, at);
    return copy;
}
