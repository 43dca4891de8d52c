/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_tls.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

#define DAYS 2

static void *need(void *p, const char *what) {
    if (!p) {
        fprintf(stderr, "lab_tls: %s: ", what);
        ERR_print_errors_fp(stderr);
        fputc('\n', stderr);
        exit(1);
    }
    return p;
}

static SSL_CTX *context(const SSL_METHOD *method) {
    SSL_CTX *made = need(SSL_CTX_new(method), "a context");
    SSL_CTX_set_mode(made,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_quiet_shutdown(made, 1);
    return made;
}

SSL_CTX *lab_tls_server(void) {
    SSL_CTX *made = context(TLS_server_method());
    EVP_PKEY *key = need(EVP_EC_gen("P-256"), "a key");
    X509 *cert = need(X509_new(), "a certificate");
    X509_NAME *name = X509_get_subject_name(cert);
    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -86400);
    X509_gmtime_adj(X509_getm_notAfter(cert), DAYS * 86400L);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"fairgate-lab", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_set_pubkey(cert, key);
    if (!X509_sign(cert, key, EVP_sha256()) || SSL_CTX_use_certificate(made, cert) != 1 ||
        SSL_CTX_use_PrivateKey(made, key) != 1)
        need(NULL, "a certificate of its own");
    SSL_CTX_set_num_tickets(made, 0);
    X509_free(cert);
    EVP_PKEY_free(key);
    return made;
}

SSL_CTX *lab_tls_client(void) {
    SSL_CTX *made = context(TLS_client_method());
    SSL_CTX_set_verify(made, SSL_VERIFY_NONE, NULL);
    return made;
}

SSL *lab_tls_accept(SSL_CTX *of, int fd) {
    SSL *tls = SSL_new(of);
    if (tls && SSL_set_fd(tls, fd) == 1) {
        SSL_set_accept_state(tls);
        return tls;
    }
    SSL_free(tls);
    return NULL;
}

SSL *lab_tls_connect(SSL_CTX *of, int fd) {
    SSL *tls = SSL_new(of);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new_socket(fd, BIO_NOCLOSE);
    if (tls && in && out) {
        SSL_set_bio(tls, in, out);
        SSL_set_connect_state(tls);
        return tls;
    }
    BIO_free(in);
    BIO_free(out);
    SSL_free(tls);
    return NULL;
}

/* What came of a call that gave `result` <= 0, as a socket would say it. */
static ssize_t failed(SSL *tls, int result) {
    int why = SSL_get_error(tls, result);
    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

ssize_t lab_tls_read(SSL *tls, void *to, size_t most) {
    int n = SSL_read(tls, to, most < INT_MAX ? (int)most : INT_MAX);
    return n > 0 ? n : failed(tls, n);
}

ssize_t lab_tls_write(SSL *tls, const void *from, size_t length) {
    int n = SSL_write(tls, from, length < INT_MAX ? (int)length : INT_MAX);
    if (n > 0) return n;
    ssize_t r = failed(tls, n);
    if (r == 0) errno = ECONNRESET;
    return -1;
}
