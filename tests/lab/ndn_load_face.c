/* SPDX-License-Identifier: BSD-2-Clause */
/* ndn_load_face.c - a connection: packets as they come and go (ndn_load.h). */
#include "ndn_load.h"

#include "ndn/ndn_lp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define FACE_READS_A_TURN 4 /* a face with much to say lets the others have their turn */
#define FACE_OUT          8192u
#define CONNECT_MS        20000

static void __attribute__((noreturn)) face_refused(const struct nload *l, int error) {
    fprintf(stderr, "fairgate-ndn-load: %s: %s\n", l->address_text, strerror(error));
    exit(1);
}

static void face_begin(struct nload *l, struct nload_face *f) {
    int one = 1;

    f->fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (f->fd < 0 || (connect(f->fd, (struct sockaddr *)&l->address, l->address_n) < 0 && errno != EINPROGRESS))
        face_refused(l, errno);
    setsockopt(f->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    f->in = nload_need(malloc(NLOAD_IN));
    f->room = FACE_OUT;
    f->out = nload_need(malloc(f->room));
}

/* Waits until it is connected. */
static void face_connected(const struct nload *l, const struct nload_face *f) {
    struct pollfd p = { .fd = f->fd, .events = POLLOUT };
    socklen_t n = sizeof(int);
    int error = 0;

    if (poll(&p, 1, CONNECT_MS) == 0) face_refused(l, ETIMEDOUT);
    if (getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error) face_refused(l, error ? error : errno);
}

void nload_faces_open(struct nload *l) {
    l->faces = nload_need(calloc(l->face_count, sizeof l->faces[0]));
    for (uint32_t i = 0; i < l->face_count; i++) {
        l->faces[i].number = i;
        face_begin(l, &l->faces[i]);
    }
    for (uint32_t i = 0; i < l->face_count; i++) {
        struct nload_face *f = &l->faces[i];
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = f };

        face_connected(l, f);
        f->interest = EPOLLIN;
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, f->fd, &e) < 0) face_refused(l, errno);
    }
}

static void face_break(struct nload *l, struct nload_face *f) {
    if (f->fd < 0) return;
    close(f->fd);
    f->fd = -1;
    f->to_send = f->sent = 0;
    for (uint32_t i = 0; i < l->client_count; i++) {
        struct nload_client *c = &l->clients[i];
        if (c->face == f && (c->state == NLOAD_FIRST || c->state == NLOAD_OTHERS)) nload_client_fail(l, c, NLOAD_FACE);
    }
}

/* ---- going out --------------------------------------------------------------------------------------------------- */

uint8_t *nload_face_room(struct nload_face *f, size_t n) {
    if (f->room - f->to_send < n) {
        while (f->room - f->to_send < n) f->room *= 2;
        f->out = nload_need(realloc(f->out, f->room));
    }
    return f->out + f->to_send;
}

void nload_face_put(struct nload *l, struct nload_face *f, size_t n) {
    f->to_send += n;
    if (f->dirty) return;
    f->dirty = true;
    f->next_dirty = l->dirty;
    l->dirty = f;
}

static void face_watch(struct nload *l, struct nload_face *f, uint32_t interest) {
    if (f->interest == interest) return;
    struct epoll_event e = { .events = interest, .data.ptr = f };
    if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, f->fd, &e) == 0) f->interest = interest;
}

static void face_send(struct nload *l, struct nload_face *f) {
    while (f->fd >= 0 && f->sent < f->to_send) {
        ssize_t n = send(f->fd, f->out + f->sent, f->to_send - f->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n < 0) {
            face_break(l, f);
            return;
        }
        f->sent += (size_t)n;
    }
    if (f->fd < 0) return;
    memmove(f->out, f->out + f->sent, f->to_send - f->sent);
    f->to_send -= f->sent;
    f->sent = 0;
    face_watch(l, f, f->to_send ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void nload_face_flush(struct nload *l) {
    while (l->dirty) {
        struct nload_face *f = l->dirty;
        l->dirty = f->next_dirty;
        f->dirty = false;
        face_send(l, f);
    }
}

/* ---- coming in --------------------------------------------------------------------------------------------------- */

static void face_packet(struct nload *l, struct nload_face *f, struct ndn_span packet) {
    struct ndn_lp lp;
    struct ndn_interest i;
    struct ndn_data d;

    if (ndn_lp_read(packet, &lp)) {
        l->counts.strays++;
    } else if (lp.nack) {
        if (!ndn_interest_read(lp.fragment, &i)) nload_client_nack(l, f, &i, lp.nack_reason);
    } else if (lp.fragment.n && lp.fragment.at[0] == NDN_DATA && !ndn_data_read(lp.fragment, &d)) {
        nload_client_data(l, f, &d, lp.congestion_mark != 0);
    } else if (lp.fragment.n) {
        l->counts.strays++;
    }
}

/* Packets that came whole; what is left stays for what follows.  False: what follows can't be trusted. */
static bool face_packets(struct nload *l, struct nload_face *f) {
    size_t at = 0;
    int n;

    while ((n = ndn_framed(f->in + at, f->have - at)) > 0 && (size_t)n <= f->have - at) {
        face_packet(l, f, (struct ndn_span){ f->in + at, (size_t)n });
        at += (size_t)n;
    }
    memmove(f->in, f->in + at, f->have - at);
    f->have -= at;
    return n >= 0;
}

void nload_face_ready(struct nload *l, struct nload_face *f, uint32_t events) {
    if (events & EPOLLOUT) face_send(l, f);
    if (!(events & ~(uint32_t)EPOLLOUT)) return;
    for (int i = 0; i < FACE_READS_A_TURN && f->fd >= 0; i++) {
        size_t asked = NLOAD_IN - f->have;
        ssize_t n = recv(f->fd, f->in + f->have, asked, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
        if (n > 0) f->have += (size_t)n;
        if (n <= 0 || !face_packets(l, f)) face_break(l, f);
        else face_send(l, f);
        if ((size_t)n < asked) return;
    }
}
