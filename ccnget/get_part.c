/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base_error.h"
#include "base/base_number.h"

#define PART_HEAD "fairgate-ccnget 1\n"
enum { PART_MAX = 4 * NDN_PACKET_MAX };

/* NULL: no memory. */
static char *part_path(const char *file, const char *suffix) {
    char *path;
    return asprintf(&path, "%s.ccnget%s", file, suffix) < 0 ? NULL : path;
}

/* The value of the line with which *at begins, which is cut off; NULL: it is another. */
static char *part_line(char **at, const char *word) {
    size_t n = strlen(word);
    char *value = *at + n + 1, *end;

    if (strncmp(*at, word, n) || (*at)[n] != ' ' || !(end = strchr(value, '\n'))) return NULL;
    *end = 0;
    *at = end + 1;
    return value;
}

static bool part_parse(char *text, struct get_part *p) {
    struct ndn_out out = ndn_out_into(p->object, sizeof p->object);
    char *object, *segments, *bytes;
    struct ndn_name name;

    if (strncmp(text, PART_HEAD, strlen(PART_HEAD))) return false;
    text += strlen(PART_HEAD);
    object = part_line(&text, "object");
    segments = object ? part_line(&text, "segments") : NULL;
    bytes = segments ? part_line(&text, "bytes") : NULL;
    if (!bytes || *text || ndn_name_parse(object, &out, &name, NULL) || !name.n) return false;
    p->n = name.bytes.n;
    return !base_number("", segments, "", 1, UINT64_MAX - 1, &p->segments, NULL) &&
           !base_number("", bytes, "", 0, INT64_MAX, &p->bytes, NULL);
}

void get_part_read(const char *file, struct get_part *p) {
    char *path = part_path(file, ""), *text = malloc(PART_MAX + 1);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t n = fd < 0 || !text ? -1 : read(fd, text, PART_MAX);
    struct stat st;

    memset(p, 0, sizeof *p);
    if (n > 0) {
        text[n] = 0;
        if (!part_parse(text, p) || stat(file, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < p->bytes)
            p->n = 0;
    }
    if (fd >= 0) close(fd);
    free(text);
    free(path);
}

static int part_fill(int fd, const struct get_part *p, const char *path, char **error) {
    struct ndn_name name;
    size_t room = PART_MAX;
    char *text = malloc(room);
    int rv = -1, n;

    if (!text || !ndn_name_read((struct ndn_span){ p->object, p->n }, &name)) {
        free(text);
        return base_fail(error, "out of memory");
    }
    n = snprintf(text, room, PART_HEAD "object ");
    n += (int)ndn_name_print(&name, text + n, room - (size_t)n);
    if ((size_t)n < room - 100) {
        n += snprintf(text + n, room - (size_t)n, "\nsegments %" PRIu64 "\nbytes %" PRIu64 "\n", p->segments, p->bytes);
        rv = write(fd, text, (size_t)n) == n && !fsync(fd) ? 0 : base_fail(error, "%s: %s", path, strerror(errno));
    } else {
        base_fail(error, "%s: the page's name is too long for it", path);
    }
    free(text);
    return rv;
}

int get_part_write(const char *file, const struct get_part *p, char **error) {
    char *path = part_path(file, ""), *fresh = part_path(file, ".new");
    int fd, rv;

    if (!path || !fresh) {
        rv = base_fail(error, "out of memory");
    } else {
        unlink(fresh);
        fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        rv = fd < 0 ? base_fail(error, "%s: %s", fresh, strerror(errno)) : part_fill(fd, p, fresh, error);
        if (fd >= 0 && close(fd) && !rv) rv = base_fail(error, "%s: %s", fresh, strerror(errno));
        if (!rv && rename(fresh, path)) rv = base_fail(error, "%s: %s", path, strerror(errno));
        if (fd >= 0 && rv) unlink(fresh);
    }
    free(path);
    free(fresh);
    return rv;
}

void get_part_remove(const char *file) {
    char *path = part_path(file, "");

    if (path) unlink(path);
    free(path);
}
