/* SPDX-License-Identifier: BSD-2-Clause */
#include "crawlers_kept.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PATH_ROOM  ((size_t)PATH_MAX)
#define BYTES_MOST ((size_t)16 << 20)

int crawlers_kept_make(void) { return memfd_create("fairgate-bots", MFD_CLOEXEC); }

void crawlers_kept_forget(int fd) {
    if (fd >= 0 && ftruncate(fd, 0)) return; /* it can't be helped */
}

static bool kept_write(int fd, const char *bytes, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t done = pwrite(fd, bytes + at, n - at, (off_t)at);
        if (done <= 0) return false;
        at += (size_t)done;
    }
    return !ftruncate(fd, (off_t)n);
}

void crawlers_kept_put(int fd, const char *path, const struct crawlers_table *t) {
    char *bytes = NULL, head[PATH_ROOM];
    size_t n = 0;
    FILE *out;

    if (fd < 0 || strlen(path) >= sizeof head) return;
    memset(head, 0, sizeof head);
    memcpy(head, path, strlen(path));
    out = open_memstream(&bytes, &n);
    if (!out) return;
    fwrite(head, 1, sizeof head, out);
    crawlers_table_write_stream(t, out);
    if (fclose(out) || !kept_write(fd, bytes, n)) crawlers_kept_forget(fd);
    free(bytes);
}

struct crawlers_table *crawlers_kept_get(int fd, const char *path) {
    char *bytes = fd >= 0 ? malloc(BYTES_MOST) : NULL;
    struct crawlers_table *t = NULL;
    ssize_t got = 0;
    size_t n = 0;
    FILE *in;

    do {
        got = bytes ? pread(fd, bytes + n, BYTES_MOST - n, (off_t)n) : 0;
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    if (n > PATH_ROOM && memchr(bytes, 0, PATH_ROOM) && !strcmp(bytes, path)) {
        in = fmemopen(bytes + PATH_ROOM, n - PATH_ROOM, "r");
        if (in) t = crawlers_table_read_stream(in, path, NULL);
    }
    free(bytes);
    return t;
}
