/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/base_secret.h - a small file that may hold a secret, read once and wiped.
 *
 * TRUST.  Who may write the file chooses the secret; who may read it knows it.  So whoever takes it for a secret asks
 * that nobody but its owner may do either (base_secret_ours).  Its text is nobody's yet: it is judged by its reader.
 */
#ifndef FAIRGATE_BASE_SECRET_H
#define FAIRGATE_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

enum { BASE_SECRET_MOST = 16384 };

struct base_secret {
    char   text[BASE_SECRET_MOST + 1];
    size_t n;
    bool   others;      /* others than its owner may read or change it */
};

/*
 * A regular file of BASE_SECRET_MOST bytes at most; nothing that could be waited for is.  0, or -1 and *error
 * (base_error.h), without the place.  base_secret_wipe in either case.
 */
int  base_secret_read(struct base_secret *s, const char *path, char **error);
/* 0 if only its owner may read and change it, or -1 and *error. */
int  base_secret_ours(const struct base_secret *s, char **error);
void base_secret_wipe(struct base_secret *s);
/* What a hexadecimal digit in either case stands for, or -1. */
int  base_secret_digit(char c);

#endif
