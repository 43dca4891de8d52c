/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *base_file_open(const char *path, const char **why) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    FILE *f = NULL;

    if (fd < 0 || fstat(fd, &st)) {
        *why = strerror(errno);
    } else if (!S_ISREG(st.st_mode)) {
        *why = "is not a regular file";
    } else {
        f = fdopen(fd, "r");
        if (!f) *why = strerror(errno);
    }
    if (!f && fd >= 0) close(fd);
    return f;
}
