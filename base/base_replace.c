/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_replace.h"

#include "base_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What stands at its name (what a killed writer left, a FIFO, a link to somebody's file) is a name and goes. */
static int replace_new(const char *path) {
    int fd =
        unlink(path) && errno != ENOENT ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || !fchmod(fd, 0644)) return fd;
    close(fd);
    unlink(path);
    return -1;
}

static void replace_forget(struct base_replace *f) {
    free(f->path);
    free(f->path_new);
    memset(f, 0, sizeof *f);
}

int base_replace_begin(struct base_replace *f, const char *path, char **error) {
    int fd = -1;

    f->stream = NULL;
    f->path = strdup(path);
    if (asprintf(&f->path_new, "%s.new", path) < 0) f->path_new = NULL;
    if (f->path && f->path_new) fd = replace_new(f->path_new);
    if (fd >= 0) f->stream = fdopen(fd, "w");
    if (f->stream) return 0;
    base_fail(error, "%s: %s", f->path_new ? f->path_new : path, strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink(f->path_new);
    }
    replace_forget(f);
    return -1;
}

void base_replace_abort(struct base_replace *f) {
    if (!f->path_new) return;
    if (f->stream) fclose(f->stream);
    unlink(f->path_new);
    replace_forget(f);
}

/* The directory's entry too is on the disk when this returns. */
static int replace_sync(const char *path) {
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, rc = fd < 0 ? -1 : fsync(fd);

    if (fd >= 0) close(fd);
    free(dir);
    return rc && errno != EINVAL ? -1 : 0; /* some file systems have nothing to sync there */
}

int base_replace_commit(struct base_replace *f, char **error) {
    FILE *stream = f->stream;
    const char *at = f->path_new;
    int ok = !fflush(stream) && !ferror(stream) && !fsync(fileno(stream));

    f->stream = NULL;
    /* A full disk may only be told of when the file is closed. */
    if (ok) ok = !fclose(stream);
    else {
        int why = errno;
        fclose(stream);
        errno = why;
    }
    if (ok) {
        at = f->path;
        ok = !rename(f->path_new, f->path) && !replace_sync(f->path);
    }
    if (!ok) {
        base_fail(error, "%s: %s", at, strerror(errno));
        base_replace_abort(f);
        return -1;
    }
    replace_forget(f);
    return 0;
}
