/* SPDX-License-Identifier: BSD-2-Clause */
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int lock_table(const char *table, const char *who, struct report *r) {
    char *path;
    int fd = -1, why;

    if (asprintf(&path, "%s.lock", table) < 0) return -1;
    /* For its owner only: who can open it can keep others away. */
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
        free(path);
        return fd;
    }
    why = errno;
    if (why == EWOULDBLOCK) report_line(r, BASE_LOG_WARNING, "%s: another %s writes this table now", path, who);
    else report_line(r, BASE_LOG_ERROR, "%s: %s", path, strerror(why));
    if (fd >= 0) close(fd);
    free(path);
    errno = why;
    return -1;
}
