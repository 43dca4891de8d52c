/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ndn_echo.c - fairgate-ndn-echo: the least that a producer of named data can be: pages in segments that were made and
 * signed before anybody asked, each sent as it is, behind the PIT token of its Interest.
 *
 *     fairgate-ndn-echo HOST:PORT SEGMENTS BYTES NAME ...
 *
 * Each NAME is a page of so many segments of so many bytes, in one version for good.  What a forwarder can carry at
 * most is measured with it.  Says "ready" when it listens.
 */
#include "ndn/ndn_lp.h"
#include "ndn/ndn_packet.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FACES_MAX 64
#define IN_ROOM   (256u * 1024)
#define OUT_ROOM  (1024u * 1024)

struct echo_page {
    struct ndn_name name;
    uint8_t bytes[1024];
    struct ndn_span *packets;
};

struct echo_face {
    size_t have, out, sent;
    uint8_t in[IN_ROOM], outgoing[OUT_ROOM];
};

static struct echo_page *pages;
static int page_count;
static uint64_t segments;

static void __attribute__((noreturn)) echo_die(const char *what, const char *why) {
    fprintf(stderr, "fairgate-ndn-echo: %s: %s\n", what, why);
    exit(1);
}

static void *echo_need(void *p) {
    if (!p) echo_die("memory", "there is none");
    return p;
}

static void echo_make(struct echo_page *p, const char *text, size_t bytes) {
    uint8_t object[1100], *content = echo_need(malloc(bytes ? bytes : 1));
    struct ndn_out page = ndn_out_into(p->bytes, sizeof p->bytes), o = ndn_out_into(object, sizeof object);
    char *error = NULL;

    if (ndn_name_parse(text, &page, &p->name, &error)) echo_die(text, error);
    ndn_put(&o, p->name.bytes.at, p->name.bytes.n);
    ndn_put_component_number(&o, NDN_VERSION_COMPONENT, 1);
    p->packets = echo_need(malloc(segments * sizeof p->packets[0]));
    for (uint64_t i = 0; i < segments; i++) {
        struct ndn_data_form f = { .name = { object, o.n },
                                   .segment = i,
                                   .last = segments - 1,
                                   .window = NDN_NO_NUMBER,
                                   .status = NDN_NO_NUMBER,
                                   .content = { content, bytes },
                                   .key = ndn_key_none() };
        size_t room = ndn_data_room(&f);
        uint8_t *at = echo_need(malloc(room));
        memset(content, (int)('a' + i % 26), bytes);
        p->packets[i] = (struct ndn_span){ at, ndn_data_write(&f, at, room) };
        if (!p->packets[i].n) echo_die(text, "a segment does not fit into a packet");
    }
    free(content);
}

/* False: there is no room for an answer now. */
static bool echo_answer(struct echo_face *f, struct ndn_span packet) {
    struct ndn_interest i;
    struct ndn_lp lp;
    uint64_t segment;

    if (OUT_ROOM - f->out < NDN_PACKET_MAX + NDN_LP_HEAD_MAX) return false;
    if (ndn_lp_read(packet, &lp) || lp.nack || !lp.fragment.n || ndn_interest_read(lp.fragment, &i)) return true;
    segment = ndn_segment_of(&i.name);
    if (segment == NDN_NO_NUMBER) segment = 0;
    for (int p = 0; p < page_count; p++) {
        struct ndn_span data = segment < segments ? pages[p].packets[segment] : (struct ndn_span){ NULL, 0 };
        if (!data.n || !ndn_name_begins(&i.name, &pages[p].name)) continue;
        f->out += ndn_lp_head(lp.pit_token, 0, data.n, f->outgoing + f->out);
        memcpy(f->outgoing + f->out, data.at, data.n);
        f->out += data.n;
        break;
    }
    return true;
}

/* What came is answered as far as there is room for it.  False: what follows is no packet. */
static bool echo_packets(struct echo_face *f) {
    size_t at = 0;
    int n;

    while ((n = ndn_framed(f->in + at, f->have - at)) > 0 && (size_t)n <= f->have - at &&
           echo_answer(f, (struct ndn_span){ f->in + at, (size_t)n }))
        at += (size_t)n;
    memmove(f->in, f->in + at, f->have - at);
    f->have -= at;
    return n >= 0;
}

/* False: the connection is over. */
static bool echo_send(struct echo_face *f, int fd) {
    while (f->sent < f->out) {
        ssize_t n = send(fd, f->outgoing + f->sent, f->out - f->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno == EAGAIN;
        f->sent += (size_t)n;
    }
    f->sent = f->out = 0;
    return true;
}

static bool echo_serve(struct echo_face *f, int fd, bool readable) {
    size_t before;

    if (readable && f->have < IN_ROOM) {
        ssize_t n = recv(fd, f->in + f->have, IN_ROOM - f->have, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (n > 0) f->have += (size_t)n;
    }
    do {
        before = f->have;
        if (!echo_packets(f) || !echo_send(f, fd)) return false;
    } while (!f->out && f->have < before); /* there is room again for what found none */
    return true;
}

static int echo_listen(const char *text) {
    const char *colon = strrchr(text, ':');
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
    char *host = colon ? strndup(text, (size_t)(colon - text)) : NULL;
    int fd, one = 1;

    if (!host || getaddrinfo(host, colon + 1, &hints, &found)) echo_die(text, "is not HOST:PORT");
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 16)) echo_die(text, strerror(errno));
    freeaddrinfo(found);
    free(host);
    return fd;
}

static void echo_run(int listening) {
    static struct echo_face *faces[FACES_MAX];
    struct pollfd fds[FACES_MAX + 1] = { { .fd = listening, .events = POLLIN } };
    int n = 0, one = 1;

    for (;;) {
        if (poll(fds, (nfds_t)n + 1, -1) < 0 && errno != EINTR) echo_die("poll", strerror(errno));
        for (int i = 0; i < n; i++) {
            struct pollfd *p = &fds[i + 1];
            if (p->revents && !echo_serve(faces[i], p->fd, p->revents & ~POLLOUT)) {
                close(p->fd);
                free(faces[i]);
                faces[i] = faces[--n];
                *p = fds[n + 1];
                i--;
                continue;
            }
            p->revents = 0;
            /* What came and found no room waits for it; nothing more is read meanwhile. */
            p->events = (short)(faces[i]->out ? POLLOUT : POLLIN);
        }
        if (fds[0].revents && n < FACES_MAX) {
            int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
            if (fd < 0) continue;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            faces[n] = echo_need(calloc(1, sizeof *faces[n]));
            fds[++n] = (struct pollfd){ .fd = fd, .events = POLLIN };
        }
    }
}

int main(int argc, char **argv) {
    size_t bytes;
    int fd;

    if (argc < 5) echo_die("usage", "fairgate-ndn-echo HOST:PORT SEGMENTS BYTES NAME ...");
    segments = strtoull(argv[2], NULL, 10);
    bytes = (size_t)strtoull(argv[3], NULL, 10);
    if (segments < 1 || segments > 1000000 || bytes > NDN_PACKET_MAX) echo_die(argv[2], "so many segments can't be");
    page_count = argc - 4;
    pages = echo_need(calloc((size_t)page_count, sizeof pages[0]));
    for (int i = 0; i < page_count; i++) echo_make(&pages[i], argv[4 + i], bytes);
    signal(SIGPIPE, SIG_IGN);
    fd = echo_listen(argv[1]);
    puts("ready");
    fflush(stdout);
    echo_run(fd);
    return 0;
}
