/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_secret.h - what the two of a pair have in common and nobody else knows: 32 random bytes in a file, 64 hexadecimal
 * digits and a line's end.
 *
 * All keys come from it by HKDF-SHA-256 (RFC 5869) with a label of their own: that of the fingerprints for ever, so
 * that what is stored stays good over restarts; those of datagrams anew in each session (pk_session.h).
 */
#ifndef FAIRGATE_PK_SECRET_H
#define FAIRGATE_PK_SECRET_H

#include <stddef.h>
#include <stdint.h>

#define PK_SECRET 32u               /* bytes */

struct pk_secret { uint8_t bytes[PK_SECRET]; };

/*
 * Writes a new one to a file that is not there yet, for its owner only.  0, or -1 and *error, a sentence the caller
 * frees.
 */
int  pk_secret_new(const char *path, char **error);
/* The same results.  A file that others may read is refused. */
int  pk_secret_read(struct pk_secret *s, const char *path, char **error);
void pk_secret_forget(struct pk_secret *s);

/* out: n bytes derived for `label`; salt may be NULL. */
void pk_secret_derive(const struct pk_secret *s, const char *label, const void *salt, size_t salt_bytes, void *out,
                      size_t n);
/* The same of the secret and what two have agreed on, PK_SECRET bytes. */
void pk_secret_derive_with(const struct pk_secret *s, const void *agreed, const char *label, const void *salt,
                           size_t salt_bytes, void *out, size_t n);

#endif
