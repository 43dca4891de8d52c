/* SPDX-License-Identifier: BSD-2-Clause */
/* origin.c - fairgate-origin: connections, workers and service times.  origin.h is the manual. */
#include "origin.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS     256
#define TRICKLE_US 100000

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void watch(struct origin *o, struct origin_conn *c, uint32_t interest) {
    if (c->interest == interest) return;
    struct epoll_event e = { .events = interest, .data.ptr = c };
    epoll_ctl(o->epoll, EPOLL_CTL_MOD, c->fd, &e);
    c->interest = interest;
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static void answer(struct origin *o, struct origin_conn *c);
static void read_request(struct origin *o, struct origin_conn *c);

static uint64_t service_time(struct origin *o, const struct origin_conn *c) {
    double us = (double)o->delay_us;
    if (o->alternate_s > 0 && (uint64_t)((double)(o->now - o->started) / (o->alternate_s * 1e6)) % 2 == 0)
        us = (double)o->fast_us;
    if (c->delay_us >= 0) us = (double)c->delay_us;
    if (o->knee && o->current > o->knee) us *= 1 + o->slope * (o->current - o->knee);
    o->rng = o->rng * 6364136223846793005ull + 1442695040888963407ull;
    us *= 1 + o->spread * ((double)(o->rng >> 33) / (double)(1u << 30) - 1);
    return us > 0 ? (uint64_t)us : 0;
}

static void work(struct origin *o, struct origin_conn *c) {
    c->state = ORIGIN_SERVING;
    uint64_t us = service_time(o, c);
    if (us) lab_timer_set(&o->timers, &c->timer, o->now + us);
    else answer(o, c);
}

static void list_remove(struct origin_list *q, struct origin_conn *c) {
    *(c->before ? &c->before->next : &q->first) = c->next;
    *(c->next ? &c->next->before : &q->last) = c->before;
    c->next = c->before = NULL;
}

static void list_append(struct origin_list *q, struct origin_conn *c) {
    c->next = NULL;
    c->before = q->last;
    *(q->last ? &q->last->next : &q->first) = c;
    q->last = c;
}

static void serve(struct origin *o, struct origin_conn *c) {
    c->worker = true;
    o->serving++;
    if (o->serving > o->max_serving) o->max_serving = o->serving;
    if (c->never) {
        c->state = ORIGIN_HELD;
    } else if (c->gated && !o->open) {
        c->state = ORIGIN_GATED;
        list_append(&o->gate, c);
    } else {
        work(o, c);
    }
}

static void pass_gate(struct origin *o) {
    while (o->open && o->gate.first) {
        struct origin_conn *c = o->gate.first;
        list_remove(&o->gate, c);
        work(o, c);
    }
}

static void serve_queue(struct origin *o) {
    while (o->queue.first && (!o->workers || o->serving < o->workers)) {
        struct origin_conn *c = o->queue.first;
        list_remove(&o->queue, c);
        serve(o, c);
    }
}

/* The request of c is over, answered or not. */
static void release(struct origin *o, struct origin_conn *c) {
    if (c->worker) o->serving--;
    if (c->counted) o->current--;
    c->worker = c->counted = false;
}

static void leave(struct origin *o, struct origin_conn *c) {
    if (c->left) return;
    if (c->state == ORIGIN_QUEUED) list_remove(&o->queue, c);
    if (c->state == ORIGIN_GATED) list_remove(&o->gate, c);
    if (c->counted) o->aborted++;
    release(o, c);
    lab_timer_clear(&o->timers, &c->timer);
    SSL_free(c->tls);
    c->tls = NULL;
    close(c->fd);
    o->connections--;
    c->left = true;
    c->next_left = o->left;
    o->left = c;
}

/* ---- requests and answers ---------------------------------------------------------------------------------------- */

/* Something has come that no event will tell of. */
static bool unread(const struct origin_conn *c) { return c->tls && SSL_pending(c->tls) > 0; }

static void answered(struct origin *o, struct origin_conn *c) {
    if (c->end == ORIGIN_END_STALL) {
        c->state = ORIGIN_HELD;
        watch(o, c, EPOLLRDHUP);
        return;
    }
    if (c->counted) o->answered++;
    release(o, c);
    if (c->end == ORIGIN_END_RESET) {
        struct linger now = { .l_onoff = 1, .l_linger = 0 };
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    if (c->end != ORIGIN_END_FINE || !c->keep_alive) {
        leave(o, c);
        return;
    }
    c->state = ORIGIN_READING;
    lab_request_begin(&c->request);
    watch(o, c, EPOLLIN | EPOLLRDHUP);
    /* A pipelined request is here already: no event will tell of it. */
    if (c->in_at < c->in_length || unread(c)) lab_timer_set(&o->timers, &c->timer, o->now);
}

/* More of what trickles goes out in a moment. */
static void rest(struct origin *o, struct origin_conn *c) {
    c->state = ORIGIN_SERVING;
    c->budget = c->trickle;
    watch(o, c, EPOLLRDHUP);
    lab_timer_set(&o->timers, &c->timer, o->now + TRICKLE_US);
}

static void answer(struct origin *o, struct origin_conn *c) {
    c->state = ORIGIN_WRITING;
    int r = origin_answer_send(o, c);
    if (r < 0) leave(o, c);
    else if (r == 0) watch(o, c, EPOLLOUT | EPOLLRDHUP);
    else if (r == 2) rest(o, c);
    else answered(o, c);
}

static void take_request(struct origin *o, struct origin_conn *c) {
    bool immediate;
    watch(o, c, EPOLLRDHUP);
    origin_answer_prepare(o, c, &immediate);
    if (immediate) {
        answer(o, c);
        return;
    }
    o->requests++;
    c->counted = true;
    if (++o->current > o->max) o->max = o->current;
    c->state = ORIGIN_QUEUED;
    list_append(&o->queue, c);
}

/* Uses what is in the buffer: a whole request, and the next one when that is answered at once. */
static void read_request(struct origin *o, struct origin_conn *c) {
    while (c->state == ORIGIN_READING && !c->left && c->in_at < c->in_length) {
        size_t used;
        enum lab_http r = lab_request_feed(&c->request, c->in + c->in_at, c->in_length - c->in_at, &used);
        c->in_at += (uint32_t)used;
        if (r == LAB_HTTP_BAD) {
            leave(o, c);
        } else if (r == LAB_HTTP_DONE) {
            take_request(o, c);
            serve_queue(o);
        } else if (c->request.expect_continue && lab_request_in_body(&c->request)) {
            static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
            size_t n = sizeof text - 1;
            c->request.expect_continue = false;
            if ((c->tls ? lab_tls_write(c->tls, text, n) : send(c->fd, text, n, MSG_NOSIGNAL)) < 0) leave(o, c);
        }
    }
}

static void receive(struct origin *o, struct origin_conn *c) {
    do {
        ssize_t n = c->tls ? lab_tls_read(c->tls, c->in, sizeof c->in) : recv(c->fd, c->in, sizeof c->in, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            leave(o, c);
            return;
        }
        c->in_at = 0;
        c->in_length = (uint32_t)n;
        read_request(o, c);
    } while (!c->left && c->state == ORIGIN_READING && unread(c));
}

/* What came before the answer to the last request was out. */
static void go_on(struct origin *o, struct origin_conn *c) {
    read_request(o, c);
    if (!c->left && c->state == ORIGIN_READING && unread(c)) receive(o, c);
}

static void ready(struct origin *o, struct origin_conn *c, uint32_t events) {
    assert(c->magic == ORIGIN_CONN_MAGIC);
    if (c->left) return;
    if (c->state == ORIGIN_READING && (events & EPOLLIN)) receive(o, c);
    else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) leave(o, c);
    else if (c->state == ORIGIN_WRITING && (events & EPOLLOUT)) answer(o, c);
}

static void welcome(struct origin *o, int listener) {
    for (int i = 0; i < EVENTS; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        struct origin_conn *c = calloc(1, sizeof *c);
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = c };
        if (c && listener == o->tls_listener) c->tls = lab_tls_accept(o->tls, fd);
        if (!c || (listener == o->tls_listener && !c->tls) || epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
            if (c) SSL_free(c->tls);
            free(c);
            close(fd);
            return;
        }
        c->magic = ORIGIN_CONN_MAGIC;
        c->fd = fd;
        c->interest = e.events;
        lab_request_begin(&c->request);
        o->connections++;
    }
}

static void turn(struct origin *o) {
    struct epoll_event events[EVENTS];
    uint64_t wake = lab_timers_next(&o->timers);
    o->now = lab_now();
    int wait = wake == LAB_NEVER ? 1000 : wake <= o->now ? 0 : (int)((wake - o->now + 999) / 1000);
    int n = epoll_wait(o->epoll, events, EVENTS, wait < 1000 ? wait : 1000);
    o->now = lab_now();
    for (int i = 0; i < n; i++) {
        void *of = events[i].data.ptr;
        if (of == &o->listener || of == &o->tls_listener) welcome(o, *(int *)of);
        else ready(o, of, events[i].events);
    }
    for (struct lab_timer *t; (t = lab_timers_due(&o->timers, o->now));) {
        struct origin_conn *c = LAB_OWNER(t, struct origin_conn, timer);
        if (c->state == ORIGIN_SERVING) answer(o, c);
        else go_on(o, c);
    }
    pass_gate(o);
    serve_queue(o);
    while (o->left) {
        struct origin_conn *c = o->left;
        o->left = c->next_left;
        c->magic = 0;
        free(c);
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static void help(void) {
    puts("fairgate-origin [options] --port PORT\n"
         "A backend for tests.  URLs: "
         "/size/N[?chunked&close&delay=MS&status=N&retry=S&etag&truncate&reset&never&stall&gate&trickle=N"
         "&assets=N&each=MS],\n"
         "/open, /shut, /stat[?reset]; see origin.h\n\n"
         "  --address A      to listen on (127.0.0.1)\n"
         "  --port P         0 = any; the address is printed on standard output when it listens\n"
         "  --tls-port P     for TLS, with a certificate of its own making\n"
         "  --workers N      requests served at the same time (0 = no limit)\n"
         "  --delay-ms MS    service time (0)\n"
         "  --alternate S    change between the fast and this service time every S seconds, fast first\n"
         "  --fast-ms MS     the fast one (0)\n"
         "  --spread P       service times vary by +-P percent (0)\n"
         "  --knee K         with more than K requests present the service time grows ...\n"
         "  --slope X        ... by this fraction for each one more (0.05)");
    exit(0);
}

static double number(const char *name, const char *text, double most) {
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0) || v > most) {
        fprintf(stderr, "fairgate-origin: %s: \"%s\" is not a number from 0 to %.0f\n", name, text, most);
        exit(2);
    }
    return v;
}

/* Its port, in *door what to listen with. */
static int listen_on(struct origin *o, int *door, const char *address, int port) {
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    socklen_t size = sizeof a;
    int one = 1;
    *door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(*door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = door };
    if (inet_pton(AF_INET, address, &a.sin_addr) != 1 || bind(*door, (struct sockaddr *)&a, sizeof a) < 0 ||
        listen(*door, 4096) < 0 || getsockname(*door, (struct sockaddr *)&a, &size) < 0 ||
        epoll_ctl(o->epoll, EPOLL_CTL_ADD, *door, &e) < 0) {
        fprintf(stderr, "fairgate-origin: listening on %s port %d: %s\n", address, port, strerror(errno));
        exit(1);
    }
    return ntohs(a.sin_port);
}

int main(int argc, char **argv) {
    static struct origin o = { .magic = ORIGIN_MAGIC, .slope = 0.05, .rng = 1, .listener = -1, .tls_listener = -1 };
    static const struct option options[] = {
        { "address", required_argument, NULL, 'a' },  { "port", required_argument, NULL, 'p' },
        { "tls-port", required_argument, NULL, 't' }, { "workers", required_argument, NULL, 'w' },
        { "delay-ms", required_argument, NULL, 'd' }, { "alternate", required_argument, NULL, 'A' },
        { "fast-ms", required_argument, NULL, 'f' },  { "spread", required_argument, NULL, 's' },
        { "knee", required_argument, NULL, 'k' },     { "slope", required_argument, NULL, 'x' },
        { "help", no_argument, NULL, 'h' },           { 0 },
    };
    const char *address = "127.0.0.1";
    int port = 0, tls_port = -1;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) >= 0;) {
        switch (c) {
        case 'a': address = optarg; break;
        case 'p': port = (int)number("--port", optarg, 65535); break;
        case 't': tls_port = (int)number("--tls-port", optarg, 65535); break;
        case 'w': o.workers = (uint32_t)number("--workers", optarg, 1e6); break;
        case 'd': o.delay_us = (uint64_t)(number("--delay-ms", optarg, 86400000) * 1000); break;
        case 'A': o.alternate_s = number("--alternate", optarg, 86400); break;
        case 'f': o.fast_us = (uint64_t)(number("--fast-ms", optarg, 86400000) * 1000); break;
        case 's': o.spread = number("--spread", optarg, 100) / 100; break;
        case 'k': o.knee = (uint32_t)number("--knee", optarg, 1e6); break;
        case 'x': o.slope = number("--slope", optarg, 1000); break;
        case 'h': help(); break;
        default: return 2;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "fairgate-origin: \"%s\" is more than was asked for; --help lists what there is\n",
                argv[optind]);
        return 2;
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    lab_timers_init(&o.timers);
    o.epoll = epoll_create1(EPOLL_CLOEXEC);
    port = listen_on(&o, &o.listener, address, port);
    if (tls_port >= 0) {
        o.tls = lab_tls_server();
        listen_on(&o, &o.tls_listener, address, tls_port);
    }
    printf("%s:%d\n", address, port);
    fflush(stdout);
    o.started = o.now = lab_now();
    while (!stopped) turn(&o);
    return 0;
}
