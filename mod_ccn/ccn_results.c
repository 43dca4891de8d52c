/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <apr_time.h>
#include <http_log.h>
#include <http_main.h>
#include <unixd.h>

#include "base/base_hash.h"
#include "ccn_services.h"
#include "service/service_name.h"

APLOG_USE_MODULE(ccn);

#define MAGIC    UINT64_C(0x34746c7573657266) /* "fresult4" */
#define NAME_HEX 32u
#define ASIDE_S  60 /* a file that was not renamed by then is somebody's who died */
#define BODY_MAX (UINT64_C(1) << 30)
#define BLOCK    4096u /* what a file has on a disk, however short it is */

struct results_head {
    uint64_t magic, sum, key_n, type_n, encoding_n, body_n, at_us, fresh_us, until_us, status;
};

static int directory = -1;
static uint64_t most_bytes;
static _Atomic uint64_t written; /* since the last sweep */
static _Atomic uint64_t held;

/* ---- one result -------------------------------------------------------------------------------------------------- */

struct ccn_result *ccn_result_new(struct ccn_made *made) {
    struct ccn_result *r = calloc(1, sizeof *r);

    if (!r) {
        free(made->body);
        made->body = NULL;
        return NULL;
    }
    atomic_store(&r->holders, 1);
    r->made = *made;
    made->body = NULL;
    atomic_fetch_add(&held, r->made.n);
    r->at_us = (uint64_t)apr_time_now();
    return r;
}

void ccn_result_hold(struct ccn_result *r) { atomic_fetch_add(&r->holders, 1); }

void ccn_result_release(struct ccn_result **r) {
    if (!*r) return;
    if (atomic_fetch_sub(&(*r)->holders, 1) == 1) {
        atomic_fetch_sub(&held, (*r)->made.n);
        free((*r)->made.body);
        free(*r);
    }
    *r = NULL;
}

bool ccn_results_take(uint64_t n) {
    if (atomic_fetch_add(&held, n) + n <= ccn_config()->pages) return true;
    atomic_fetch_sub(&held, n);
    return false;
}

void ccn_results_give(uint64_t n) { atomic_fetch_sub(&held, n); }

uint64_t ccn_results_held(void) { return atomic_load(&held); }

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* A file of ours, by its name: a result, or one that is being written. */
static bool is_results_name(const char *name) {
    if (*name != '.') return strspn(name, "0123456789abcdef") == NAME_HEX && !name[NAME_HEX];
    name += 1 + strspn(name + 1, "0123456789");
    return name[-1] != '.' && *name == '-' && name[1] && !name[1 + strspn(name + 1, "0123456789")];
}

/* Nothing of anybody else's is in it. */
static bool holds_results_alone(int fd) {
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own < 0 ? NULL : fdopendir(own);
    bool alone = d != NULL;

    for (struct dirent *e; alone && (e = readdir(d)) != NULL;)
        alone = is_results_name(e->d_name) || !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    if (d) closedir(d);
    else if (own >= 0) close(own);
    return alone;
}

/* NULL: it is ours from now on; or a sentence. */
static const char *results_take(int fd) {
    uid_t user = geteuid() ? geteuid() : ap_unixd_config.user_id;
    struct stat st;

    if (fstat(fd, &st)) return "it can't be looked at";
    if (st.st_uid == user)
        return st.st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it: only httpd's User may (chmod 700)" : NULL;
    /* A directory that others have filled is not taken over: only one that we have just made, or that is root's. */
    if (geteuid() || st.st_uid) return "it must belong to httpd's User, or to root";
    if (!holds_results_alone(fd)) return "there is something else in it: it must be empty, or not be there";
    if (fchown(fd, ap_unixd_config.user_id, ap_unixd_config.group_id) || fchmod(fd, 0700))
        return "it can't be given to httpd's User";
    return NULL;
}

int ccn_results_open(const char *path, server_rec *s) {
    const char *wrong;
    int fd;

    if (mkdir(path, 0700) && errno != EEXIST) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s, "CcnResults %s: it can't be made", path);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, errno, s, "CcnResults %s: it is no directory of ours",
                     path);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    wrong = results_take(fd);
    close(fd);
    if (!wrong) return OK;
    ap_log_error(APLOG_MARK, APLOG_STARTUP | APLOG_ERR, 0, s, "CcnResults %s: %s", path, wrong);
    return HTTP_INTERNAL_SERVER_ERROR;
}

void ccn_results_child_init(const char *path, uint64_t most) {
    directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    most_bytes = most;
}

static uint64_t results_hash(const uint64_t key[2], const void *bytes, size_t n) {
    struct base_hash h;

    base_hash_begin(&h, key);
    base_hash_add(&h, bytes, n);
    return base_hash_end(h);
}

/* What other lines of the configuration made is none of these results. */
void ccn_results_hash(const char *key, uint64_t out[2]) {
    uint64_t mine[2] = { ccn_process.hash_key[0] ^ ccn_services_lines(), ccn_process.hash_key[1] };
    uint64_t other[2] = { ~mine[0], mine[1] };

    out[0] = results_hash(mine, key, strlen(key));
    out[1] = results_hash(other, key, strlen(key));
}

static void results_name(const char *key, char name[NAME_HEX + 1]) {
    uint64_t hash[2];

    ccn_results_hash(key, hash);
    snprintf(name, NAME_HEX + 1, "%016" PRIx64 "%016" PRIx64, hash[0], hash[1]);
}

/* A code that only processes with the segment's secret can make (SipHash). */
static uint64_t results_sum(const struct results_head *h, const uint8_t *rest, size_t n) {
    const uint64_t secret[2] = { ccn_process.hash_key[0] ^ ccn_services_lines(), ~ccn_process.hash_key[1] };
    struct results_head plain = *h;
    struct base_hash sum;

    plain.sum = 0;
    base_hash_begin(&sum, secret);
    base_hash_add(&sum, &plain, sizeof plain);
    base_hash_add(&sum, rest, n);
    return base_hash_end(sum);
}

static bool write_all(int fd, const void *bytes, size_t n) {
    for (const char *p = bytes; n;) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        p += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* Calls are answered all the same, but each runs, so whoever looks after the server should know; once a minute. */
static void results_tell(int wrong) {
    static _Atomic int64_t told;
    int64_t now = (int64_t)apr_time_sec(apr_time_now()), before = atomic_load(&told);

    if (now - before >= 60 && atomic_compare_exchange_strong(&told, &before, now))
        ap_log_error(APLOG_MARK, APLOG_WARNING, wrong, ap_server_conf,
                     "ccn: a result could not be written to the directory of CcnResults, and is not kept");
}

/* `most`: what this process may have written since the last sweep. */
static bool results_write(const char *key, const struct ccn_result *r, uint64_t until_us, uint64_t most) {
    static _Atomic unsigned numbers;
    struct results_head h = { .magic = MAGIC,
                              .key_n = strlen(key),
                              .type_n = strlen(r->made.media_type),
                              .encoding_n = strlen(r->made.encoding),
                              .body_n = r->made.n,
                              .at_us = r->at_us,
                              .fresh_us = r->fresh_us,
                              .until_us = until_us,
                              .status = (uint64_t)r->made.status };
    size_t n = (size_t)(h.key_n + h.type_n + h.encoding_n + h.body_n);
    char name[NAME_HEX + 1], aside[64];
    uint8_t *rest;
    bool whole = false;
    int fd, wrong = 0;

    /* What is one caller's is written nowhere. */
    if (directory < 0 || r->made.is_private || sizeof h + n > most_bytes / 8 || atomic_load(&written) > most)
        return false;
    atomic_fetch_add(&written, (sizeof h + n + BLOCK - 1) / BLOCK * BLOCK);
    rest = malloc(n + 1);
    if (!rest) return false;
    memcpy(rest, key, h.key_n);
    memcpy(rest + h.key_n, r->made.media_type, h.type_n);
    memcpy(rest + h.key_n + h.type_n, r->made.encoding, h.encoding_n);
    if (h.body_n) memcpy(rest + h.key_n + h.type_n + h.encoding_n, r->made.body, h.body_n);
    h.sum = results_sum(&h, rest, n);
    results_name(key, name);
    snprintf(aside, sizeof aside, ".%d-%u", (int)getpid(), atomic_fetch_add(&numbers, 1));
    fd = openat(directory, aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        whole = write_all(fd, &h, sizeof h) && write_all(fd, rest, n);
        wrong = whole ? 0 : errno;
        if (close(fd) && whole) wrong = errno, whole = false;
        if (whole && renameat(directory, aside, directory, name)) wrong = errno, whole = false;
        if (!whole) unlinkat(directory, aside, 0);
    } else wrong = errno;
    if (!whole) results_tell(wrong);
    free(rest);
    return whole;
}

void ccn_results_put(const char *key, const struct ccn_result *r, uint64_t until_us) {
    results_write(key, r, until_us, most_bytes / 4);
}

bool ccn_results_put_promised(const char *key, const struct ccn_result *r, uint64_t until_us) {
    char name[NAME_HEX + 1];

    if (results_write(key, r, until_us, most_bytes / 2)) return true;
    results_name(key, name);
    if (directory >= 0) unlinkat(directory, name, 0);
    return false;
}

static bool read_all(int fd, void *bytes, size_t n) {
    for (char *p = bytes; n;) {
        ssize_t got = read(fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* What its head says is what the file has, and room for it is there. */
static bool head_holds(const struct results_head *h, off_t size, size_t key_n) {
    return h->magic == MAGIC && h->key_n == key_n && h->type_n < NDN_MEDIA_TYPE_MAX &&
           h->encoding_n <= NDN_ENCODING_MAX && h->body_n <= BODY_MAX && h->status >= 200 && h->status < 600 &&
           (uint64_t)size == sizeof *h + h->key_n + h->type_n + h->encoding_n + h->body_n;
}

static struct ccn_result *result_of(const struct results_head *h, const uint8_t *rest) {
    struct ccn_made m = { .status = (int)h->status, .whole = true, .n = (size_t)h->body_n, .room = (size_t)h->body_n };
    struct ccn_result *r;

    memcpy(m.media_type, rest + h->key_n, h->type_n);
    memcpy(m.encoding, rest + h->key_n + h->type_n, h->encoding_n);
    m.body = malloc(m.n + 1);
    if (!m.body) return NULL;
    if (m.n) memcpy(m.body, rest + h->key_n + h->type_n + h->encoding_n, m.n);
    r = ccn_result_new(&m);
    if (!r) return NULL;
    r->at_us = h->at_us;
    r->fresh_us = h->fresh_us;
    r->is_problem = h->status >= 400;
    r->from_cache = true;
    return r;
}

struct ccn_result *ccn_results_get(const char *key) {
    struct ccn_result *r = NULL;
    struct results_head h;
    char name[NAME_HEX + 1];
    uint8_t *rest = NULL;
    struct stat st;
    size_t n;
    int fd;

    if (directory < 0) return NULL;
    results_name(key, name);
    fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= most_bytes / 8 &&
        read_all(fd, &h, sizeof h) && head_holds(&h, st.st_size, strlen(key)) &&
        h.until_us > (uint64_t)apr_time_now()) {
        n = (size_t)(st.st_size - (off_t)sizeof h);
        rest = malloc(n + 1);
        if (rest && read_all(fd, rest, n) && !memcmp(rest, key, h.key_n) && results_sum(&h, rest, n) == h.sum)
            r = result_of(&h, rest);
        if (r) futimens(fd, NULL); /* it was used: the sweep looks at that */
    }
    free(rest);
    close(fd);
    return r;
}

bool ccn_results_look(const char *key, uint64_t *at_us, uint64_t *fresh_us) {
    struct results_head h;
    char name[NAME_HEX + 1];
    struct stat st;
    bool is_kept;
    int fd;

    if (directory < 0) return false;
    results_name(key, name);
    fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    is_kept = !fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= most_bytes / 8 &&
              read_all(fd, &h, sizeof h) && head_holds(&h, st.st_size, strlen(key)) &&
              h.until_us > (uint64_t)apr_time_now();
    if (is_kept) futimens(fd, NULL); /* as in ccn_results_get */
    close(fd);
    if (!is_kept) return false;
    *at_us = h.at_us;
    *fresh_us = h.fresh_us;
    return true;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

struct swept {
    char name[NAME_HEX + 1];
    time_t used;
    uint64_t bytes;
};

static int by_use(const void *a, const void *b) {
    const struct swept *p = a, *q = b;
    return p->used < q->used ? -1 : p->used > q->used;
}

static bool is_over(int fd, time_t now) {
    struct results_head h;
    return !read_all(fd, &h, sizeof h) || h.magic != MAGIC || h.until_us / 1000000 < (uint64_t)now;
}

/* One file: it goes if it is over; else it is one of those that are kept. */
static void sweep_one(const char *name, time_t now, struct swept **all, size_t *n, size_t *room, uint64_t *bytes) {
    int fd = is_results_name(name) ? openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
    bool aside = *name == '.', gone;
    struct stat st;

    if (fd < 0 || fstat(fd, &st)) {
        if (fd >= 0) close(fd);
        return;
    }
    gone = aside ? now - st.st_mtime > ASIDE_S : is_over(fd, now);
    close(fd);
    if (gone) unlinkat(directory, name, 0);
    if (gone || aside) return;
    if (*n == *room) {
        size_t more = *room ? *room * 2 : 1024;
        struct swept *larger = realloc(*all, more * sizeof *larger);
        if (!larger) return;
        *all = larger;
        *room = more;
    }
    strcpy((*all)[*n].name, name);
    (*all)[*n].used = st.st_mtime;
    (*all)[(*n)++].bytes = (uint64_t)st.st_blocks * 512;
    *bytes += (uint64_t)st.st_blocks * 512;
}

void ccn_results_sweep(void) {
    struct swept *all = NULL;
    size_t n = 0, room = 0;
    uint64_t bytes = 0;
    time_t now = time(NULL);
    int fd;
    DIR *d;

    if (directory < 0) return;
    atomic_store(&written, 0);
    fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) || !(d = fdopendir(fd))) { /* another process is at it */
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) sweep_one(e->d_name, now, &all, &n, &room, &bytes);
    if (bytes > most_bytes && n) {
        qsort(all, n, sizeof *all, by_use);
        for (size_t i = 0; i < n && bytes > most_bytes / 8 * 7; i++) {
            unlinkat(directory, all[i].name, 0);
            bytes -= all[i].bytes < bytes ? all[i].bytes : bytes;
        }
    }
    closedir(d);
    free(all);
}
