/* SPDX-License-Identifier: BSD-2-Clause */
#include "base_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

static const char *log_name;
static bool to_journal;

static bool is_journal(const char *stream) {
    uintmax_t device, inode;
    struct stat s;
    char end;

    return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX "%c", &device, &inode, &end) == 2 &&
           !fstat(STDERR_FILENO, &s) && s.st_dev == device && s.st_ino == inode;
}

void base_log_begin(const char *name) {
    log_name = name;
    to_journal = is_journal(getenv("JOURNAL_STREAM"));
}

bool base_log_is_journal(void) { return to_journal; }

void base_log(enum base_log_priority p, const char *format, ...) {
    char line[BASE_LOG_MAX];
    size_t n = (size_t)(to_journal ? snprintf(line, sizeof line, "<%d>", p)
                                   : snprintf(line, sizeof line, "%.100s: ", log_name ? log_name : ""));
    va_list ap;

    va_start(ap, format);
    vsnprintf(line + n, sizeof line - n, format, ap);
    va_end(ap);
    for (; line[n]; n++)
        if (to_journal && ((unsigned char)line[n] < ' ' || line[n] == 127)) line[n] = '?';
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0) { /* nobody is there to be told */
    }
}
