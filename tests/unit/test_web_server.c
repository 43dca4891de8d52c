/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test_web.h"

/* -1 when the client is gone. */
static int tell(int fd, const char *format, ...) {
    char text[70000];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return send(fd, text, (size_t)n, MSG_NOSIGNAL) == n ? 0 : -1;
}

static void tell_bytes(int fd, size_t n) {
    char block[10000];

    memset(block, 'x', sizeof block);
    while (n) {
        size_t some = n < sizeof block ? n : sizeof block;
        if (send(fd, block, some, MSG_NOSIGNAL) != (ssize_t)some) return;
        n -= some;
    }
}

/* Says `drip` now and again until the client goes. */
static void until_gone(int fd, const char *drip) {
    struct pollfd p = { .fd = fd, .events = POLLIN };

    while (!poll(&p, 1, 20) && (!*drip || !tell(fd, "%s", drip))) continue;
}

static bool is(const char *path, const char *word) { return !strcmp(path, word); }

static void server_answers(struct server *s, int fd, const char *path) {
    static const char ok[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n";

    if (is(path, "/whole"))
        tell(fd,
             "%sContent-Type: text/plain; charset=utf-8\r\nCache-Control: max-age=60\r\nAge: 10\r\n"
             "Set-Cookie: a=b\r\nContent-Length: 5\r\n\r\nhello",
             ok);
    else if (is(path, "/tag")) {
        /* It has changed, unless it is asked for by what is said here. */
        if (strstr(s->request, "If-None-Match: \"v1\"\r\n"))
            tell(fd, "HTTP/1.1 304 Same\r\nConnection: close\r\nETag: \"v1\"\r\n\r\n");
        else
            tell(fd, "%sLast-Modified: Tue, 24 Nov 2026 00:00:00 GMT\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nhello",
                 ok);
    } else if (is(path, "/date"))
        tell(fd, "%sLast-Modified: Tue, 24 Nov 2026 00:00:00 GMT\r\nContent-Length: 5\r\n\r\nhello", ok);
    else if (is(path, "/bad-tag")) tell(fd, "%sETag: \"a\x01\"\r\nContent-Length: 5\r\n\r\nhello", ok);
    else if (is(path, "/unsaid")) tell(fd, "%s\r\nhello", ok);
    else if (is(path, "/empty")) tell(fd, "%sContent-Length: 0\r\n\r\n", ok);
    else if (is(path, "/missing")) tell(fd, "HTTP/1.1 404 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno");
    else if (is(path, "/large")) {
        tell(fd, "%sContent-Length: %d\r\n\r\n", ok, SERVER_LARGE);
        tell_bytes(fd, SERVER_LARGE);
    } else if (is(path, "/endless")) {
        tell(fd, "%s\r\n", ok);
        tell_bytes(fd, SIZE_MAX);
    } else if (is(path, "/endless-chunks")) {
        tell(fd, "%sTransfer-Encoding: chunked\r\n\r\n", ok);
        while (!tell(fd, "3e8\r\n%01000d\r\n", 0)) continue;
    } else if (is(path, "/endless-header")) {
        tell(fd, "%s", ok);
        while (!tell(fd, "X-Y: %01000d\r\n", 0)) continue;
    } else if (is(path, "/endless-interim")) {
        while (!tell(fd, "HTTP/1.1 102 Wait\r\nX-Y: %01000d\r\n\r\n", 0)) continue;
    } else if (is(path, "/drip")) {
        tell(fd, "%s\r\n", ok);
        until_gone(fd, "x");
    } else if (is(path, "/mute")) until_gone(fd, "");
    else if (is(path, "/cut")) tell(fd, "%sContent-Length: 100\r\n\r\nhello", ok);
    else if (is(path, "/packed")) tell(fd, "%sContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", ok);
    else if (is(path, "/folded"))
        tell(fd,
             "%sContent-Type:\r\n text/plain\r\nCache-Control: max-age=60,\r\n\tno-store\r\nX-A: b\r\n"
             "Content-Length: 5\r\n\r\nhello",
             ok);
    else if (is(path, "/folded-age"))
        tell(fd, "%sCache-Control: public,\r\n max-age=60\r\nAge:\r\n 10\r\nContent-Length: 5\r\n\r\nhello", ok);
    else if (is(path, "/folded-packing"))
        tell(fd, "%sContent-Encoding:\r\n  gzip\r\nContent-Length: 5\r\n\r\nhello", ok);
    else if (is(path, "/folded-redirect"))
        tell(fd, "HTTP/1.1 302 On\r\nLocation:\r\n /whole\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else if (is(path, "/trailer"))
        tell(fd,
             "%sContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
             "Content-Type: text/html\r\nCache-Control: max-age=60\r\nLocation: /missing\r\n\r\n",
             ok);
    else if (is(path, "/interim"))
        tell(fd,
             "HTTP/1.1 103 Early\r\nCache-Control: max-age=60\r\nContent-Type: a/b\r\nContent-Encoding: gzip\r\n\r\n"
             "%sContent-Length: 5\r\n\r\nhello",
             ok);
    else if (is(path, "/bad-type")) tell(fd, "%sContent-Type: a\x01/b\r\nContent-Length: 0\r\n\r\n", ok);
    else if (is(path, "/no-location")) tell(fd, "HTTP/1.1 302 Where\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else if (is(path, "/garbage")) tell(fd, "hello\x01\xff\r\n\r\n");
    else if (is(path, "/loop")) tell(fd, "HTTP/1.1 302 On\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n");
    else if (is(path, "/redirect"))
        tell(fd, "HTTP/1.1 302 On\r\nLocation: %s\r\nCache-Control: max-age=20\r\nConnection: close\r\n\r\nbody",
             s->lead);
    else if (is(path, "/redirect-late")) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        poll(&p, 1, SERVER_LATE_MS);
        tell(fd, "HTTP/1.1 302 On\r\nLocation: %s\r\nConnection: close\r\n\r\n", s->lead);
    } else if (is(path, "/moved"))
        tell(fd, "HTTP/1.1 301 On\r\nLocation: /whole\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else if (is(path, "/found"))
        tell(fd, "HTTP/1.1 302 On\r\nLocation: whole\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    else tell(fd, "HTTP/1.1 400 What\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}

static void http_talk(struct server *s, int fd) {
    char request[4096], path[4096];
    size_t n = 0;
    ssize_t got;

    while ((got = recv(fd, request + n, sizeof request - 1 - n, 0)) > 0) {
        n += (size_t)got;
        request[n] = 0;
        if (!strstr(request, "\r\n\r\n")) continue;
        pthread_mutex_lock(&s->lock);
        memcpy(s->request, request, n + 1);
        pthread_mutex_unlock(&s->lock);
        __atomic_add_fetch(&s->asked, 1, __ATOMIC_RELEASE);
        if (sscanf(request, "GET %4095s", path) == 1) server_answers(s, fd, path);
        return;
    }
}

/* ---- ftp --------------------------------------------------------------------------------------------------------- */

static int listen_on(const char *address, uint16_t *port) {
    struct sockaddr_in a = { .sin_family = AF_INET };
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(inet_pton(AF_INET, address, &a.sin_addr), 1);
    ck_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&a, n) && !listen(fd, 256));
    ck_assert(!getsockname(fd, (struct sockaddr *)&a, &n));
    *port = ntohs(a.sin_port);
    return fd;
}

static void ftp_line(struct server *s, int fd, int *data, const char *line) {
    uint16_t port;

    if (!strncmp(line, "USER", 4)) tell(fd, "331 who\r\n");
    else if (!strncmp(line, "PASS", 4)) tell(fd, "230 you\r\n");
    else if (!strncmp(line, "PWD", 3)) tell(fd, "257 \"/\"\r\n");
    else if (!strncmp(line, "TYPE", 4)) tell(fd, "200 so\r\n");
    else if (!strncmp(line, "EPSV", 4) && s->lead) tell(fd, "500 no\r\n");
    else if (!strncmp(line, "PASV", 4) && s->lead) tell(fd, "227 There (%s)\r\n", s->lead);
    else if (!strncmp(line, "EPSV", 4)) {
        if (*data >= 0) close(*data);
        *data = listen_on("127.0.0.1", &port);
        tell(fd, "229 There (|||%u|)\r\n", port);
    } else if (!strncmp(line, "SIZE large", 10)) tell(fd, "213 %d\r\n", SERVER_LARGE);
    else if (!strncmp(line, "RETR stuck", 10)) until_gone(fd, "");
    else if (!strncmp(line, "RETR", 4) && *data >= 0) {
        int to = accept(*data, NULL, NULL);
        tell(fd, "150 comes\r\n");
        if (!strncmp(line + 5, "endless", 7)) tell_bytes(to, SIZE_MAX);
        else tell(to, "hello");
        close(to);
        if (!strncmp(line + 5, "mute", 4)) until_gone(fd, "");
        else tell(fd, "226 whole\r\n");
        if (!strncmp(line + 5, "stay", 4))
            for (char c; recv(fd, &c, 1, 0) > 0;) continue;
    } else if (!strncmp(line, "QUIT", 4)) tell(fd, "221 bye\r\n");
    else tell(fd, "500 what\r\n");
}

static void ftp_talk(struct server *s, int fd) {
    char text[4096], *end;
    int data = -1;
    size_t n = 0;
    ssize_t got;

    tell(fd, "220 hello\r\n");
    while (n < sizeof text - 1 && (got = recv(fd, text + n, sizeof text - 1 - n, 0)) > 0) {
        n += (size_t)got;
        text[n] = 0;
        while ((end = strstr(text, "\r\n")) != NULL) {
            *end = 0;
            __atomic_add_fetch(&s->asked, 1, __ATOMIC_RELEASE);
            ftp_line(s, fd, &data, text);
            n -= (size_t)(end + 2 - text);
            memmove(text, end + 2, n + 1);
        }
    }
    if (data >= 0) close(data);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

struct talk {
    struct server *server;
    int fd;
};

static void *server_talks(void *of) {
    struct talk *t = of;

    (t->server->ftp ? ftp_talk : http_talk)(t->server, t->fd);
    /* What is unread would make the end a reset, which overtakes what was said. */
    shutdown(t->fd, SHUT_WR);
    for (char rest[4096]; recv(t->fd, rest, sizeof rest, 0) > 0;) continue;
    close(t->fd);
    free(t);
    return NULL;
}

static void *server_accepts(void *of) {
    struct server *s = of;
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct talk *t = malloc(sizeof *t);
        if (!t || s->n == SERVER_CONNECTIONS) abort();
        *t = (struct talk){ s, fd };
        if (pthread_create(&s->each[s->n], NULL, server_talks, t)) abort();
        __atomic_add_fetch(&s->n, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

void server_start(struct server *s, const char *address, bool ftp) {
    memset(s, 0, sizeof *s);
    s->ftp = ftp;
    s->listener = listen_on(address, &s->port);
    pthread_mutex_init(&s->lock, NULL);
    ck_assert_int_eq(pthread_create(&s->thread, NULL, server_accepts, s), 0);
}

void server_stop(struct server *s) {
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->n; i++) pthread_join(s->each[i], NULL);
    close(s->listener);
    pthread_mutex_destroy(&s->lock);
}

unsigned server_asked(struct server *s) { return __atomic_load_n(&s->asked, __ATOMIC_ACQUIRE); }
unsigned server_connections(struct server *s) { return __atomic_load_n(&s->n, __ATOMIC_ACQUIRE); }
