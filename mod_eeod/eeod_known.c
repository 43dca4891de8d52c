/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_known.h"

#include <stdatomic.h>
#include <string.h>

#include <apr_file_io.h>
#include <apr_general.h>
#include <apr_siphash.h>

enum { PLACES = 1024 };

static unsigned char known_secret[APR_SIPHASH_KSIZE];
static _Atomic uint64_t known[PLACES];

void eeod_known_child_init(void) { apr_generate_random_bytes(known_secret, sizeof known_secret); }

/*
 * What tells a file from another, and these marks from others: they stay where they are as long as this process lives.
 */
struct identity {
    uint64_t device, inode, size, written, changed, marks;
};

enum { IDENTITY = APR_FINFO_DEV | APR_FINFO_INODE | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_CTIME };

static uint64_t key_of(const apr_finfo_t *f, const struct eeod_marks *m) {
    struct identity i = {
        f->device, f->inode, (uint64_t)f->size, (uint64_t)f->mtime, (uint64_t)f->ctime, (uintptr_t)m
    };
    return apr_siphash24(&i, sizeof i, known_secret) | 1;
}

static int has(uint64_t key) { return atomic_load_explicit(&known[(key >> 1) % PLACES], memory_order_relaxed) == key; }

static int whole(const apr_bucket *b, const apr_finfo_t *f) { return b->start == 0 && (apr_off_t)b->length == f->size; }

/*
 * What httpd found out when it looked the file up, to save a system call: if it was opened for this request, by that
 * name, and nothing that a client can draw out, a body, came between.
 */
static int known_by_name(request_rec *r, const apr_bucket *b, const struct eeod_marks *m) {
    apr_file_t *fd = ((const apr_bucket_file *)b->data)->fd;
    const char *name;

    return (r->finfo.valid & IDENTITY) == IDENTITY && whole(b, &r->finfo) && has(key_of(&r->finfo, m)) &&
           apr_file_pool_get(fd) == r->pool && apr_file_name_get(&name, fd) == APR_SUCCESS && name && r->filename &&
           !strcmp(name, r->filename) && !apr_table_get(r->headers_in, "Content-Length") &&
           !apr_table_get(r->headers_in, "Transfer-Encoding");
}

bool eeod_known_unmarked(request_rec *r, const apr_bucket *b, const struct eeod_marks *m, struct eeod_known *id) {
    apr_finfo_t info;

    id->key = 0;
    if (known_by_name(r, b, m)) return 1;
    if (apr_file_info_get(&info, IDENTITY, ((const apr_bucket_file *)b->data)->fd) != APR_SUCCESS || !whole(b, &info))
        return 0;
    id->key = key_of(&info, m);
    id->changed = info.ctime;
    return has(id->key);
}

void eeod_known_remember(const struct eeod_known *id, apr_time_t now) {
    if (!id->key || id->changed > now - 2 * APR_USEC_PER_SEC) return;
    atomic_store_explicit(&known[(id->key >> 1) % PLACES], id->key, memory_order_relaxed);
}
