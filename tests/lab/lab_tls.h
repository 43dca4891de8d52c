/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab_tls.h - TLS between the lab's programs: a server that signs its own certificate, clients who believe anybody.
 *
 * A context belongs to who made it and lives as long as the process; running out of memory while one is made ends the
 * program.  No session is resumed, and none is offered: every connection has the same bytes.
 */
#ifndef FAIRGATE_LAB_TLS_H
#define FAIRGATE_LAB_TLS_H

#include <openssl/ssl.h>
#include <stddef.h>
#include <sys/types.h>

#define LAB_TLS_RECORD 16384    /* the most that one record holds */

SSL_CTX *lab_tls_server(void);
SSL_CTX *lab_tls_client(void);

/* A connection's end of it over this socket, which stays the caller's.  NULL without memory. */
SSL *lab_tls_accept(SSL_CTX *context, int fd);

/*
 * A client's end.  It writes to the socket, and reads what was put into SSL_get_rbio() (BIO_write), so that the caller
 * knows of every byte when it comes and not when its record is whole.  NULL without memory.
 */
SSL *lab_tls_connect(SSL_CTX *context, int fd);

/*
 * As recv() and send() of a socket that does not block: bytes, 0 at the end, or -1 and errno.  The handshake is made on
 * the way.  What was to be written and was not (EAGAIN) is to be tried again with the same bytes.
 */
ssize_t lab_tls_read(SSL *tls, void *to, size_t most);
ssize_t lab_tls_write(SSL *tls, const void *from, size_t length);

#endif
