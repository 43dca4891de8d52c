/* SPDX-License-Identifier: BSD-2-Clause */
#include "eeod_known.h"

#include <stdatomic.h>

#include <apr_file_io.h>
#include <apr_general.h>
#include <apr_siphash.h>

enum { PLACES = 1024 };

static unsigned char secret[APR_SIPHASH_KSIZE];
static _Atomic uint64_t known[PLACES];

void eeod_known_child_init(void) { apr_generate_random_bytes(secret, sizeof secret); }

/* What tells a file from another, and these marks from others: they stay where they are as long as this process lives. */
struct identity { uint64_t device, inode, size, written, changed, marks; };

int eeod_known_unmarked(apr_bucket *b, const struct eeod_marks *m, struct eeod_known *id) {
    const apr_bucket_file *file = b->data;
    apr_finfo_t info;

    id->key = 0;
    /* Of the file that is open: the one of that name may have been replaced since httpd looked, which a client that is slow with a body can wait for. */
    if (apr_file_info_get(&info, APR_FINFO_DEV | APR_FINFO_INODE | APR_FINFO_SIZE | APR_FINFO_MTIME | APR_FINFO_CTIME, file->fd) != APR_SUCCESS) return 0;
    if (b->start != 0 || (apr_off_t)b->length != info.size) return 0;
    struct identity i = { info.device, info.inode, (uint64_t)info.size, (uint64_t)info.mtime, (uint64_t)info.ctime, (uintptr_t)m };
    id->key = apr_siphash24(&i, sizeof i, secret) | 1;
    id->changed = info.ctime;
    return atomic_load_explicit(&known[(id->key >> 1) % PLACES], memory_order_relaxed) == id->key;
}

void eeod_known_remember(const struct eeod_known *id, apr_time_t now) {
    if (!id->key || id->changed > now - 2 * APR_USEC_PER_SEC) return;
    atomic_store_explicit(&known[(id->key >> 1) % PLACES], id->key, memory_order_relaxed);
}
