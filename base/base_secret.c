/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_error.h"

static int secret_read_all(struct base_secret *s, int fd, char **error) {
    struct stat st;
    ssize_t n = 0;

    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) return base_fail(error, "is no regular file");
    s->others = st.st_mode & 077;
    while (s->n < sizeof s->text && (n = read(fd, s->text + s->n, sizeof s->text - s->n)) > 0) s->n += (size_t)n;
    if (n < 0) return base_fail(error, "%s", strerror(errno));
    if (s->n > BASE_SECRET_MOST) return base_fail(error, "is larger than %d bytes; a key is not", BASE_SECRET_MOST);
    return 0;
}

int base_secret_read(struct base_secret *s, const char *path, char **error) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a FIFO would be waited for */
    int rv;

    s->n = 0;
    s->others = true;
    if (fd < 0) return base_fail(error, "%s", strerror(errno));
    rv = secret_read_all(s, fd, error);
    close(fd);
    return rv;
}

int base_secret_ours(const struct base_secret *s, char **error) {
    return s->others ? base_fail(error, "holds a secret that others may read or change; chmod 600 it") : 0;
}

void base_secret_wipe(struct base_secret *s) { explicit_bzero(s, sizeof *s); }

int base_secret_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
