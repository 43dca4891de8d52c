/* SPDX-License-Identifier: BSD-2-Clause */
/* load_client.c - one client's life: see the states in load.h. */
#include "load.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define BACKOFF_FIRST 10000 /* us after the first error in a row; doubles */
#define BACKOFF_MOST  1000000
#define READS_A_TURN  8      /* a client with a fast, long response lets the others have their turn */
#define PACE_TURN     100000 /* us: a slow reader reads in steps of about this length */

static void next(struct load *l, struct load_client *c);
static void want(struct load *l, struct load_client *c);

static uint64_t random_next(uint64_t *s) {
    uint64_t z = (*s += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static void watch(struct load *l, struct load_client *c, uint32_t interest) {
    if (c->interest == interest) return;
    struct epoll_event e = { .events = interest, .data.ptr = c };
    int failed = epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &e);
    assert(!failed);
    (void)failed;
    c->interest = interest;
}

static void hang_up(struct load_client *c) {
    SSL_free(c->tls);
    c->tls = NULL;
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->reused = false;
    c->paused = false;
    c->interest = 0;
}

static void rest(struct load *l, struct load_client *c, uint64_t until) {
    c->state = LOAD_RESTING;
    lab_timer_set(&l->timers, &c->timer, until);
}

/* Open loop: it has no request until one arrives. */
static void idle(struct load_client *c) {
    c->state = LOAD_RESTING;
    c->next_free = c->class->free;
    c->class->free = c;
}

static void over(struct load *l, struct load_client *c) {
    hang_up(c);
    c->state = LOAD_OVER;
    l->working--;
}

static void fail(struct load *l, struct load_client *c, enum load_error kind) {
    hang_up(c);
    lab_timer_clear(&l->timers, &c->timer);
    lab_timer_clear(&l->aborts, &c->abort);
    /* A request that the server dropped with its idle connection goes once more. */
    if ((kind == LOAD_ERR_RESET || kind == LOAD_ERR_CUT) && !c->reply.begun && c->may_move) {
        c->class->now.stale++;
        c->may_move = false;
        c->state = LOAD_RESTING;
        want(l, c);
        return;
    }
    c->class->now.errors[kind]++;
    if (c->class->arrivals > 0) {
        idle(c);
        return;
    }
    if (c->class->per_client && ++c->done >= c->class->per_client) {
        over(l, c);
        return;
    }
    uint64_t wait = (uint64_t)BACKOFF_FIRST << (c->failures < 7 ? c->failures : 7);
    c->failures++;
    rest(l, c, l->now + (wait < BACKOFF_MOST ? wait : BACKOFF_MOST));
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* Of a body that goes slowly, a step; all that stands before it at once. */
static size_t may_send(const struct load_client *c) {
    const struct load_class *k = c->class;
    size_t left = c->request->length - c->sent, step = k->send * PACE_TURN / 1000000;
    if (!k->send) return left;
    if (left > k->body) return left - k->body;
    if (!step) step = 1;
    return left < step ? left : step;
}

static void send_on(struct load *l, struct load_client *c) {
    const char *bytes = c->request->tag_at ? c->own : c->request->bytes;
    while (c->sent < c->request->length) {
        size_t most = may_send(c);
        bool paced = c->class->send && c->request->length - c->sent <= c->class->body;
        ssize_t n =
            c->tls ? lab_tls_write(c->tls, bytes + c->sent, most) : send(c->fd, bytes + c->sent, most, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            watch(l, c, EPOLLIN | EPOLLOUT);
            return;
        }
        if (n < 0) {
            fail(l, c, LOAD_ERR_RESET);
            return;
        }
        c->sent += (size_t)n;
        if (paced && c->sent < c->request->length) {
            watch(l, c, EPOLLIN);
            lab_timer_set(&l->timers, &c->timer, l->now + (uint64_t)n * 1000000 / c->class->send);
            return;
        }
    }
    c->state = LOAD_READING;
    watch(l, c, EPOLLIN);
}

/* Writes the running number into the client's own copy of its request. */
static void number(struct load *l, struct load_client *c) {
    const struct load_request *r = c->request;
    char *copy = realloc(c->own, r->length);
    if (!copy) {
        perror("a request");
        exit(1);
    }
    c->own = copy;
    memcpy(copy, r->bytes, r->length);
    uint64_t n = l->serial++;
    for (int i = LOAD_TAG_WIDTH - 1; i >= 0; i--) {
        copy[r->tag_at + (size_t)i] = (char)('0' + n % 10);
        n /= 10;
    }
}

static void send_first(struct load *l, struct load_client *c) {
    c->state = LOAD_SENDING;
    c->sent = 0;
    c->may_move = c->reused;
    lab_reply_begin(&c->reply, strcmp(c->class->method, "HEAD") == 0);
    if (c->class->abort_us && !c->abort.place) lab_timer_set(&l->aborts, &c->abort, l->now + c->class->abort_us);
    send_on(l, c);
}

/* TLS's beginning, as far as it gets with what has come. */
static void shake(struct load *l, struct load_client *c) {
    int done = SSL_do_handshake(c->tls);
    if (done == 1) {
        send_first(l, c);
        return;
    }
    int why = SSL_get_error(c->tls, done);
    if (why == SSL_ERROR_WANT_READ) watch(l, c, EPOLLIN);
    else if (why == SSL_ERROR_WANT_WRITE) watch(l, c, EPOLLIN | EPOLLOUT);
    else fail(l, c, LOAD_ERR_BAD);
}

/* The way to the server is open. */
static void secure(struct load *l, struct load_client *c) {
    if (!c->request->tls) {
        send_first(l, c);
        return;
    }
    c->state = LOAD_SHAKING;
    c->tls = lab_tls_connect(l->tls, c->fd);
    if (!c->tls) {
        fputs("fairgate-load: out of memory\n", stderr);
        exit(1);
    }
    shake(l, c);
}

static void connected(struct load *l, struct load_client *c) {
    if (!c->request->ask) {
        secure(l, c);
        return;
    }
    size_t length = strlen(c->request->ask);
    c->state = LOAD_ASKING;
    c->sent = 0;
    lab_reply_begin(&c->reply, true);
    if (c->class->abort_us) lab_timer_set(&l->aborts, &c->abort, l->now + c->class->abort_us);
    watch(l, c, EPOLLIN);
    /* A connection that is new takes as much as this at once. */
    if (send(c->fd, c->request->ask, length, MSG_NOSIGNAL) != (ssize_t)length) fail(l, c, LOAD_ERR_RESET);
}

/* Of a network all addresses once, in an order that leaps about, before any comes again. */
static struct sockaddr_storage source_of(struct load_class *k) {
    struct sockaddr_storage source = k->source;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&source;
    uint32_t rest = k->source_bits ? UINT32_MAX >> k->source_bits : 0;

    if (rest)
        v4->sin_addr.s_addr = htonl((ntohl(v4->sin_addr.s_addr) & ~rest) | (k->source_turn++ * 2654435769u & rest));
    return source;
}

static bool open_socket(struct load_client *c) {
    int one = 1;
    c->fd = socket(c->request->to->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) return false;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (c->class->rcvbuf) {
        int size = (int)c->class->rcvbuf;
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    if (c->class->source_set) {
        setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        socklen_t n = c->class->source.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        struct sockaddr_storage source = source_of(c->class);
        if (bind(c->fd, (struct sockaddr *)&source, n) < 0) return false;
    }
    return true;
}

static void open_connection(struct load *l, struct load_client *c) {
    c->class->now.connects++;
    c->reply.begun = c->may_move = false;
    c->state = LOAD_CONNECTING;
    if (!open_socket(c)) {
        fail(l, c, LOAD_ERR_CONNECT);
        return;
    }
    int done = connect(c->fd, (const struct sockaddr *)&c->request->to->address, c->request->to->length);
    if (done < 0 && errno != EINPROGRESS) {
        fail(l, c, LOAD_ERR_CONNECT);
        return;
    }
    c->interest = done < 0 ? EPOLLOUT : EPOLLIN;
    struct epoll_event e = { .events = c->interest, .data.ptr = c };
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &e) < 0) fail(l, c, LOAD_ERR_CONNECT);
    else if (done == 0) connected(l, c);
}

/* The client wants its page: over the connection it has, or a new one. */
static void want(struct load *l, struct load_client *c) {
    if (c->fd < 0) {
        open_connection(l, c);
    } else {
        watch(l, c, EPOLLIN);
        send_first(l, c);
    }
}

/* The next one of the class's deck, which is shuffled as it is dealt. */
static const struct load_request *deal(struct load_class *k) {
    if (k->dealt == k->request_count) k->dealt = 0;
    uint32_t *at = &k->order[k->dealt], *from = at + random_next(&k->rng) % (k->request_count - k->dealt), card = *from;
    *from = *at;
    *at = card;
    k->dealt++;
    return &k->requests[card];
}

/* The connection that served one may serve the other. */
static bool same_way(const struct load_request *a, const struct load_request *b) {
    if (a->to != b->to || a->tls != b->tls || !a->ask != !b->ask) return false;
    return !a->ask || strcmp(a->ask, b->ask) == 0;
}

static void next(struct load *l, struct load_client *c) {
    struct load_class *k = c->class;
    if (k->until_s > 0 && l->now >= l->started + (uint64_t)(k->until_s * 1e6)) {
        over(l, c);
        return;
    }
    const struct load_request *before = c->request;
    c->request = k->deck ? deal(k) : &k->requests[k->request_count > 1 ? random_next(&c->rng) % k->request_count : 0];
    if (c->fd >= 0 && !same_way(before, c->request)) hang_up(c);
    if (c->request->tag_at) number(l, c);
    c->begun_at = l->now;
    want(l, c);
}

uint64_t load_client_gap(struct load_class *k) {
    double u = ((double)(random_next(&k->rng) >> 11) + 1) / 9007199254740993.0;
    return (uint64_t)(-log(u) / k->arrivals * 1e6);
}

void load_client_arrive(struct load *l, struct lab_timer *t) {
    struct load_class *k = LAB_OWNER(t, struct load_class, arrival);
    struct load_client *c = k->free;
    lab_timer_set(&l->arrivals, &k->arrival, t->when + load_client_gap(k));
    if (!c) {
        k->now.missed++;
        return;
    }
    k->free = c->next_free;
    next(l, c);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void complete(struct load *l, struct load_client *c) {
    struct load_class *k = c->class;
    lab_timer_clear(&l->aborts, &c->abort);
    lab_timer_clear(&l->timers, &c->timer);
    k->now.requests++;
    k->now.status[c->reply.status]++;
    if ((c->reply.status >= 400) == k->refusals) lab_hist_add(&k->now.latency, l->now - c->begun_at);
    c->failures = 0;
    c->reused = true;
    if (!c->reply.keep_alive || k->close || c->sent < c->request->length) hang_up(c);
    if (k->per_client && ++c->done >= k->per_client) {
        over(l, c);
        return;
    }
    if (k->arrivals > 0) {
        if (c->fd >= 0) watch(l, c, EPOLLIN);
        idle(c);
        return;
    }
    uint64_t wait = k->think_us, took = l->now - c->begun_at;
    if (k->every_us > took && k->every_us - took > wait) wait = k->every_us - took;
    if (c->reply.status == 503) {
        uint64_t asked = c->reply.retry_after ? (uint64_t)c->reply.retry_after * 1000000 : k->retry_us;
        wait += asked < k->retry_us ? asked : k->retry_us;
    }
    if (wait) {
        c->paused = false;
        if (c->fd >= 0) watch(l, c, EPOLLIN);
        rest(l, c, l->now + wait);
    } else {
        next(l, c);
    }
}

static void count_bytes(const struct load *l, struct load_class *k, uint64_t n) {
    struct load_class *kin = k->kin;
    uint64_t since = kin->byte_at ? l->now - kin->byte_at : 0;
    if (since > kin->now.gap_most) kin->now.gap_most = since;
    kin->byte_at = l->now;
    k->now.bytes += n;
}

/* Takes n bytes of the answer; those that nobody looks at have no data.  True: the client's turn goes on. */
static bool take(struct load *l, struct load_client *c, const char *data, size_t n) {
    size_t used = n;
    enum lab_http r = data ? lab_reply_feed(&c->reply, data, n, &used) : lab_reply_skip(&c->reply, n);
    if (r == LAB_HTTP_BAD || used < n) {
        fail(l, c, LOAD_ERR_BAD);
        return false;
    }
    if (r == LAB_HTTP_DONE) {
        l->now = lab_now();
        complete(l, c);
        return false;
    }
    return true;
}

/* What the records hold that are whole by now. */
static bool take_records(struct load *l, struct load_client *c, size_t n) {
    if (BIO_write(SSL_get_rbio(c->tls), l->buffer, (int)n) != (int)n) {
        fail(l, c, LOAD_ERR_BAD);
        return false;
    }
    for (;;) {
        ssize_t plain = lab_tls_read(c->tls, l->plain, sizeof l->plain);
        if (plain < 0 && errno == EAGAIN) return true;
        if (plain <= 0) {
            fail(l, c, LOAD_ERR_BAD);
            return false;
        }
        if (!take(l, c, l->plain, (size_t)plain)) return false;
    }
}

/* Reads once, at most limit bytes.  Returns the bytes read, or -1 when this client's turn is over. */
static ssize_t read_once(struct load *l, struct load_client *c, size_t limit) {
    uint64_t opaque = c->tls ? 0 : lab_reply_opaque(&c->reply);
    bool skip = opaque >= LOAD_READ / 4;
    size_t most = skip ? (opaque < (1u << 20) ? (size_t)opaque : 1u << 20) : sizeof l->buffer;
    if (most > limit) most = limit;
    /* Bytes of a body that nobody looks at need not be copied out of the kernel. */
    ssize_t n = recv(c->fd, skip ? NULL : l->buffer, most, skip ? MSG_TRUNC : 0);
    if (n < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) fail(l, c, LOAD_ERR_RESET);
        return -1;
    }
    if (n == 0) {
        if (lab_reply_eof(&c->reply) == LAB_HTTP_BAD) {
            fail(l, c, LOAD_ERR_CUT);
        } else {
            l->now = lab_now();
            complete(l, c);
        }
        return -1;
    }
    count_bytes(l, c->class, (uint64_t)n);
    bool on = c->tls ? take_records(l, c, (size_t)n) : take(l, c, skip ? NULL : l->buffer, (size_t)n);
    return on ? n : -1;
}

static void read_slowly(struct load *l, struct load_client *c) {
    uint64_t step = c->class->rate * PACE_TURN / 1000000;
    size_t limit = step < 1 ? 1 : step > LOAD_READ ? LOAD_READ : (size_t)step;
    ssize_t n = read_once(l, c, limit);
    if (n > 0) {
        c->paused = true;
        watch(l, c, 0);
        lab_timer_set(&l->timers, &c->timer, l->now + (uint64_t)n * 1000000 / c->class->rate);
    }
}

static void read_on(struct load *l, struct load_client *c) {
    if (c->class->rate) {
        read_slowly(l, c);
        return;
    }
    for (int i = 0; i < READS_A_TURN; i++) {
        ssize_t n = read_once(l, c, SIZE_MAX);
        /* A short read has emptied the socket: asking again would only say so. */
        if (n < 0 || n < LOAD_READ / 2) return;
    }
}

/* The proxy's answer to CONNECT: the way is open, or that is what the client gets. */
static void hear(struct load *l, struct load_client *c) {
    size_t used = 0;
    ssize_t n = recv(c->fd, l->buffer, sizeof l->buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        fail(l, c, n ? LOAD_ERR_RESET : LOAD_ERR_CUT);
        return;
    }
    enum lab_http r = lab_reply_feed(&c->reply, l->buffer, (size_t)n, &used);
    bool open = r == LAB_HTTP_DONE && c->reply.status == 200;
    if (r == LAB_HTTP_BAD || (open && used < (size_t)n)) {
        fail(l, c, LOAD_ERR_BAD);
    } else if (open) {
        secure(l, c);
    } else if (r == LAB_HTTP_DONE) {
        c->reply.keep_alive = false;
        complete(l, c);
    }
}

static void hear_tls(struct load *l, struct load_client *c) {
    ssize_t n = recv(c->fd, l->buffer, sizeof l->buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        fail(l, c, n ? LOAD_ERR_RESET : LOAD_ERR_CUT);
        return;
    }
    count_bytes(l, c->class, (uint64_t)n);
    if (BIO_write(SSL_get_rbio(c->tls), l->buffer, (int)n) != (int)n) fail(l, c, LOAD_ERR_BAD);
    else shake(l, c);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void load_client_ready(struct load *l, struct load_client *c, uint32_t events) {
    assert(c->magic == LOAD_CLIENT_MAGIC);
    int error = 0;
    socklen_t size = sizeof error;
    switch (c->state) {
    case LOAD_CONNECTING:
        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error) fail(l, c, LOAD_ERR_CONNECT);
        else connected(l, c);
        return;
    case LOAD_ASKING: hear(l, c); return;
    case LOAD_SHAKING:
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) hear_tls(l, c);
        else shake(l, c);
        return;
    case LOAD_SENDING:
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
            /* An answer before the request is out is either a refusal or a broken connection: read what there is. */
            read_on(l, c);
            if (c->state != LOAD_SENDING || c->fd < 0) return;
        }
        if (events & EPOLLOUT) send_on(l, c);
        return;
    case LOAD_READING:
        /* A paused reader hears of a broken connection only: an orderly end waits behind what it has not read. */
        if (!c->paused) read_on(l, c);
        else if (events & (EPOLLERR | EPOLLHUP)) fail(l, c, LOAD_ERR_RESET);
        return;
    case LOAD_RESTING:
        hang_up(c); /* the server closed an idle connection, or spoke unasked */
        return;
    case LOAD_OVER: return;
    }
}

void load_client_timer(struct load *l, struct lab_timer *t) {
    struct load_client *c = LAB_OWNER(t, struct load_client, timer);
    assert(c->magic == LOAD_CLIENT_MAGIC);
    if (c->state == LOAD_RESTING) {
        next(l, c);
    } else if (c->state == LOAD_SENDING) {
        send_on(l, c);
    } else if (c->state == LOAD_READING && c->paused) {
        c->paused = false;
        watch(l, c, EPOLLIN);
    }
}

void load_client_abort(struct load *l, struct lab_timer *t) {
    struct load_client *c = LAB_OWNER(t, struct load_client, abort);
    assert(c->magic == LOAD_CLIENT_MAGIC);
    hang_up(c);
    lab_timer_clear(&l->timers, &c->timer);
    c->class->now.aborted++;
    if (c->class->arrivals > 0) idle(c);
    else if (c->class->per_client && ++c->done >= c->class->per_client) over(l, c);
    else rest(l, c, l->now + c->class->think_us);
}

void load_client_start(struct load *l, struct load_client *c, uint64_t at) {
    assert(c->magic == LOAD_CLIENT_MAGIC && c->state == LOAD_RESTING);
    if (c->class->arrivals > 0) idle(c);
    else rest(l, c, at);
}

bool load_client_busy(const struct load_client *c) { return c->state != LOAD_RESTING && c->state != LOAD_OVER; }

void load_client_check_timeout(struct load *l, struct load_client *c) {
    if (load_client_busy(c) && l->now > c->begun_at + (uint64_t)(l->timeout * 1e6)) fail(l, c, LOAD_ERR_TIMEOUT);
}
