/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_secret.h - what the two of a pair have in common and nobody else knows: 32 random bytes in a file, 64 hexadecimal
 * digits and a line's end.  A second line is the former one, which is good as well: so the two can get a new one, one
 * after the other, and stay at work.
 *
 * Keys come from it by HKDF-SHA-256 (RFC 5869) with labels of their own, those of datagrams anew in each session
 * (pk_session.h).
 */
#ifndef FAIRGATE_PK_SECRET_H
#define FAIRGATE_PK_SECRET_H

#include <stddef.h>
#include <stdint.h>

#define PK_SECRET 32u               /* bytes */

struct pk_secret { uint8_t bytes[PK_SECRET]; };

#define PK_SECRETS 2u
struct pk_secrets { struct pk_secret item[PK_SECRETS]; unsigned n; };       /* the newest first */

/*
 * Writes a new one to a file that is not there yet, for its owner only.  0, or -1 and *error, a sentence the caller
 * frees.
 */
int  pk_secret_new(const char *path, char **error);
/*
 * Puts a new one before that of a file, whose former one goes.  The file is replaced at one stroke, and stays its
 * owner's.  The same results.
 */
int  pk_secret_rotate(const char *path, char **error);
/* The same results.  A file that others may read is refused. */
int  pk_secret_read(struct pk_secrets *s, const char *path, char **error);
/* The two halves of that: a descriptor, or -1; and reading from one, which is closed.  path: for the sentence. */
int  pk_secret_open(const char *path, char **error);
int  pk_secret_take(struct pk_secrets *s, int fd, const char *path, char **error);
void pk_secret_forget(struct pk_secrets *s);

/* out: n bytes derived for `label`; salt may be NULL. */
void pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes, void *out,
                      size_t n);
/* The same of the secret and what two have agreed on, PK_SECRET bytes. */
void pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                           size_t salt_bytes, void *out, size_t n);

#endif
