/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_error.h"

enum { CLEANED = 1024 };

static int output_fail(const struct get_output *o, char **error) {
    return base_fail(error, "%s: %s", o->file ? o->file : "standard output", strerror(errno));
}

void get_output_init(struct get_output *o, const char *file) {
    *o = (struct get_output){ .file = file,
                              .fd = file ? -1 : STDOUT_FILENO,
                              .terminal = !file && isatty(STDOUT_FILENO) };
}

int get_output_begin(struct get_output *o, uint64_t keep, char **error) {
    struct stat st;

    if (o->fd < 0) o->fd = open(o->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (o->fd < 0 || fstat(o->fd, &st)) return output_fail(o, error);
    o->n = 0;
    o->bytes = keep;
    /* Only a file of its own is cut off: standard output may be a file to which others write, too. */
    if (!o->file || !S_ISREG(st.st_mode)) return 0;
    if (ftruncate(o->fd, (off_t)keep) || lseek(o->fd, (off_t)keep, SEEK_SET) < 0) return output_fail(o, error);
    return 0;
}

static int output_write(struct get_output *o, const char *at, size_t n, char **error) {
    if (n && !o->file) o->went = true;
    while (n) {
        ssize_t went = write(o->fd, at, n);
        if (went < 0 && errno == EINTR) continue;
        if (went < 0) return output_fail(o, error);
        at += went;
        n -= (size_t)went;
    }
    return 0;
}

static int output_keep(struct get_output *o, const void *bytes, size_t n, char **error) {
    if (n > sizeof o->room - o->n && get_output_flush(o, false, error)) return -1;
    if (n > sizeof o->room) return output_write(o, bytes, n, error);
    if (n) memcpy(o->room + o->n, bytes, n);
    o->n += n;
    return 0;
}

int get_output_put(struct get_output *o, const void *bytes, size_t n, char **error) {
    const char *at = bytes;
    char cleaned[BASE_CLEAN_GROWS * CLEANED + BASE_CLEAN_MORE];
    int rv = 0;

    o->bytes += n;
    if (!o->terminal) return output_keep(o, bytes, n, error);
    for (size_t step; n && !rv; at += step, n -= step) {
        step = n < CLEANED ? n : CLEANED;
        rv = output_keep(o, cleaned, base_clean(&o->clean, at, step, cleaned), error);
    }
    return rv;
}

int get_output_flush(struct get_output *o, bool to_disk, char **error) {
    size_t n = o->n;

    o->n = 0;
    if (output_write(o, o->room, n, error)) return -1;
    return to_disk && fdatasync(o->fd) ? output_fail(o, error) : 0;
}

int get_output_end(struct get_output *o, char **error) {
    char held[BASE_CLEAN_MORE];
    int rv;

    if (o->fd < 0) return 0;
    rv = output_keep(o, held, base_clean_end(&o->clean, held), error);
    if (!rv) rv = get_output_flush(o, false, error);
    if (o->file && close(o->fd) && !rv) rv = output_fail(o, error);
    o->fd = -1;
    return rv;
}
