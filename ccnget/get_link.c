/* SPDX-License-Identifier: BSD-2-Clause */
#include "get_link.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base_error.h"
#include "base/base_number.h"

enum { LINK_ROOM = 1 << 16 };

struct get_link {
    int fd;
    size_t in_from, in_to, out_from, out_to;
    uint8_t in[LINK_ROOM], out[LINK_ROOM];
};

/* ---- where to -------------------------------------------------------------------------------------------------- */

static const char *link_behind(const char *text, const char *scheme) {
    size_t n = strlen(scheme);
    return strncmp(text, scheme, n) ? NULL : text + n;
}

static int link_read_host(const char *at, const char *text, struct get_uri *u, char **error) {
    const char *end = *at == '[' ? strchr(at, ']') : at + strcspn(at, ":/"), *port = "6363";
    uint64_t number;

    if (*at == '[' && end) at++;
    if (!end || end == at || (size_t)(end - at) >= sizeof u->host) goto wrong;
    memcpy(u->host, at, (size_t)(end - at));
    u->host[end - at] = 0;
    if (*end == ']') end++;
    if (*end == ':') port = end + 1;
    else if (*end && strcmp(end, "/")) goto wrong;
    if (base_number("port", port, "", 1, 65535, &number, error)) goto wrong;
    snprintf(u->port, sizeof u->port, "%u", (unsigned)number);
    return 0;
wrong:
    return base_fail(error, "%s: must be tcp://HOST or tcp://HOST:PORT, or unix:/PATH", text);
}

int get_uri_read(const char *text, struct get_uri *u, char **error) {
    static const struct {
        const char *scheme;
        int family;
    } schemes[] = { { "tcp://", AF_UNSPEC }, { "tcp4://", AF_INET }, { "tcp6://", AF_INET6 } };
    const char *at;

    memset(u, 0, sizeof *u);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if ((at = link_behind(text, schemes[i].scheme))) {
            u->family = schemes[i].family;
            return link_read_host(at, text, u, error);
        }
    at = link_behind(text, "unix://");
    if (!at) at = link_behind(text, "unix:");
    if (!at || *at != '/') return base_fail(error, "%s: must be tcp://HOST or tcp://HOST:PORT, or unix:/PATH", text);
    if (strlen(at) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return base_fail(error, "%s: a path of a socket must be shorter", text);
    u->family = AF_UNIX;
    strcpy(u->host, at);
    return 0;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* A socket that is connected, or -1 and errno. */
static int link_connect(int family, const struct sockaddr *to, socklen_t n) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why = 0, one = 1;
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    socklen_t size = sizeof why;

    if (fd < 0) return -1;
    if (connect(fd, to, n)) {
        why = errno;
        if (why == EINPROGRESS) {
            int ready = poll(&p, 1, GET_CONNECT_SECONDS * 1000);
            why = ready > 0 ? 0 : ready ? errno : ETIMEDOUT;
            if (!why) getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
        }
    }
    if (why) {
        close(fd);
        errno = why;
        return -1;
    }
    /* Interests are small, and each is waited for. */
    if (family != AF_UNIX) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static int link_connect_unix(const struct get_uri *u) {
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    strcpy(to.sun_path, u->host);
    return link_connect(AF_UNIX, (const struct sockaddr *)&to, sizeof to);
}

static int link_connect_host(const struct get_uri *u, char **error) {
    struct addrinfo hints = { .ai_family = u->family, .ai_socktype = SOCK_STREAM }, *all;
    int wrong = getaddrinfo(u->host, u->port, &hints, &all), fd = -1, why;

    if (wrong) return base_fail(error, "%s: %s", u->host, gai_strerror(wrong));
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next)
        fd = link_connect(a->ai_family, a->ai_addr, a->ai_addrlen);
    why = errno;
    freeaddrinfo(all);
    return fd < 0 ? base_fail(error, "%s port %s: %s", u->host, u->port, strerror(why)) : fd;
}

struct get_link *get_link_open(const struct get_uri *u, char **error) {
    struct get_link *l;
    int fd = u->family == AF_UNIX ? link_connect_unix(u) : link_connect_host(u, error);

    if (fd < 0) {
        if (u->family == AF_UNIX) base_fail(error, "%s: %s", u->host, strerror(errno));
        return NULL;
    }
    l = malloc(sizeof *l);
    if (!l) {
        close(fd);
        base_fail(error, "out of memory");
        return NULL;
    }
    l->fd = fd;
    l->in_from = l->in_to = l->out_from = l->out_to = 0;
    return l;
}

void get_link_close(struct get_link **l) {
    if (*l) close((*l)->fd);
    free(*l);
    *l = NULL;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* What is in the room goes to its beginning where less than a packet fits behind it. */
static void link_move(uint8_t *room, size_t *from, size_t *to) {
    if (*from == *to) *from = *to = 0;
    if (LINK_ROOM - *to >= NDN_PACKET_MAX) return;
    memmove(room, room + *from, *to - *from);
    *to -= *from;
    *from = 0;
}

enum get_link_came get_link_packet(struct get_link *l, struct ndn_span *packet) {
    for (;;) {
        size_t n = l->in_to - l->in_from;
        int length = ndn_framed(l->in + l->in_from, n);
        ssize_t came;

        if (length < 0) return GET_LINK_GARBAGE;
        if (length && (size_t)length <= n) {
            *packet = (struct ndn_span){ l->in + l->in_from, (size_t)length };
            l->in_from += (size_t)length;
            return GET_LINK_PACKET;
        }
        link_move(l->in, &l->in_from, &l->in_to);
        came = recv(l->fd, l->in + l->in_to, LINK_ROOM - l->in_to, 0);
        if (came < 0 && (errno == EAGAIN || errno == EINTR)) return GET_LINK_NOTHING;
        if (came <= 0) return GET_LINK_CLOSED;
        l->in_to += (size_t)came;
    }
}

bool get_link_has_room(const struct get_link *l) { return LINK_ROOM - (l->out_to - l->out_from) >= NDN_PACKET_MAX; }

void get_link_put(struct get_link *l, const uint8_t *packet, size_t n) {
    assert(get_link_has_room(l) && n <= NDN_PACKET_MAX);
    link_move(l->out, &l->out_from, &l->out_to);
    memcpy(l->out + l->out_to, packet, n);
    l->out_to += n;
}

bool get_link_flush(struct get_link *l) {
    while (l->out_from < l->out_to) {
        ssize_t went = send(l->fd, l->out + l->out_from, l->out_to - l->out_from, MSG_NOSIGNAL);
        if (went < 0) return errno == EAGAIN || errno == EINTR;
        l->out_from += (size_t)went;
    }
    return true;
}

void get_link_wait(const struct get_link *l, int milliseconds) {
    struct pollfd p = { .fd = l->fd, .events = (short)(POLLIN | (l->out_from < l->out_to ? POLLOUT : 0)) };
    poll(&p, 1, milliseconds);
}
