/* SPDX-License-Identifier: BSD-2-Clause */
#include "console_serve.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/base_error.h"
#include "console_page.h"
#include "console_request.h"
#include "console_told.h"

enum { IDLE_S = 60 /* a connection that asks nothing for so long, or has not taken its answer, is closed */ };

struct client {
    int fd; /* -1: none */
    size_t n, sent, length;
    char *answer; /* malloc'ed while it goes out */
    bool stays;
    time_t since; /* of its last whole request, or that it came: bytes of half a one count for nothing */
    char head[CONSOLE_HEAD];
};

struct serving {
    const struct console_served *s;
    const char *listens;
    char name[256];
    struct client client[CONSOLE_CLIENTS];
};

static struct timespec serve_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static void client_close(struct client *c) {
    close(c->fd);
    free(c->answer);
    *c = (struct client){ .fd = -1 };
}

static void serve_to_file(void *to, const char *text, size_t bytes) { fwrite(text, 1, bytes, to); }

static const char *serve_reason(int status) {
    return status == 200   ? "OK"
           : status == 400 ? "Bad Request"
           : status == 403 ? "Forbidden"
           : status == 404 ? "Not Found"
           : status == 405 ? "Method Not Allowed"
           : status == 414 ? "URI Too Long"
           : status == 431 ? "Request Header Fields Too Large"
           : status == 503 ? "Service Unavailable"
                           : "Misdirected Request";
}

/* The answer's body into memory: its status. */
static int serve_body(struct serving *v, const struct console_request *r, FILE *out) {
    bool all = !strcmp(r->what, "console-all");

    if (r->refused) return r->refused;
    if (!console_request_is_ours(r, v->listens)) return 421;
    if (!*r->what || !strcmp(r->what, "console")) {
        fwrite(console_page, 1, console_page_bytes, out);
    } else if (console_foreign(r->site, r->origin, v->s->from)) {
        return 403;
    } else if (all || !strcmp(r->what, "console-now")) {
        v->s->tell(v->s->of, (struct base_sink){ serve_to_file, out }, all);
        console_tell_end((struct base_sink){ serve_to_file, out }, v->name, v->s->others);
    } else if (!strcmp(r->what, "/metrics")) {
        if (!v->s->metrics(v->s->of, (struct base_sink){ serve_to_file, out })) return 503;
    } else {
        return 404;
    }
    return 200;
}

static void serve_head(struct serving *v, const struct console_request *r, int status, size_t bytes, FILE *out) {
    bool page = !*r->what || !strcmp(r->what, "console");
    char policy[CONSOLE_POLICY];

    fprintf(out,
            "HTTP/1.1 %d %s\r\nContent-Length: %zu\r\nContent-Type: %s\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\n",
            status, serve_reason(status), bytes,
            status != 200                  ? "text/plain"
            : page                         ? "text/html; charset=utf-8"
            : !strcmp(r->what, "/metrics") ? BASE_PROMETHEUS_TYPE
                                           : "application/json");
    if (page && status == 200) {
        console_policy(policy, v->s->others);
        fprintf(out, "Content-Security-Policy: %s\r\n", policy);
    } else if (v->s->from) {
        fputs("Vary: Origin\r\n", out);
        if (console_allows(r->origin, v->s->from)) fprintf(out, "Access-Control-Allow-Origin: %s\r\n", r->origin);
    }
    if (status == 405) fputs("Allow: GET\r\n", out);
    fprintf(out, "%s\r\n", r->stays ? "" : "Connection: close\r\n");
}

/* To a head of so many bytes, 0: one that has no end; false: no memory. */
static bool serve_answer(struct serving *v, struct client *c, size_t head) {
    struct console_request r;
    char *body = NULL;
    size_t bytes = 0;
    int status;
    FILE *out = open_memstream(&body, &bytes);

    if (!out) return false;
    if (head) console_request_read(c->head, head, &r);
    else r = (struct console_request){ .refused = 431 };
    status = serve_body(v, &r, out);
    if (fclose(out)) {
        free(body);
        return false;
    }
    if (status != 200) bytes = 0;
    /* One at a time: who asks again before he has his answer keeps the others waiting. */
    r.stays = r.stays && c->n == head;
    c->stays = r.stays;
    c->since = serve_now().tv_sec;
    c->sent = 0;
    out = open_memstream(&c->answer, &c->length);
    if (out) {
        serve_head(v, &r, status, bytes, out);
        fwrite(body, 1, bytes, out);
    }
    free(body);
    c->n = 0;
    return out && !fclose(out);
}

/* As much as goes; false: it is over. */
static bool client_writes(struct client *c) {
    while (c->sent < c->length) {
        ssize_t w = send(c->fd, c->answer + c->sent, c->length - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w < 0) return errno == EAGAIN;
        c->sent += (size_t)w;
    }
    free(c->answer);
    c->answer = NULL;
    return c->stays;
}

/* false: it is over. */
static bool client_reads(struct serving *v, struct client *c) {
    ssize_t got = recv(c->fd, c->head + c->n, sizeof c->head - c->n, MSG_DONTWAIT);
    size_t head;

    if (got <= 0) return got < 0 && errno == EAGAIN;
    c->n += (size_t)got;
    head = console_request_whole(c->head, c->n);
    if (!head && c->n < sizeof c->head) return true;
    return serve_answer(v, c, head) && client_writes(c);
}

static void serve_accept(struct serving *v, int listener, time_t now) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *oldest = v->client;

    if (fd < 0) return;
    for (struct client *c = v->client; c < v->client + CONSOLE_CLIENTS; c++)
        if (c->fd < 0 || (oldest->fd >= 0 && c->since < oldest->since)) oldest = c;
    if (oldest->fd >= 0) client_close(oldest); /* whoever asked nothing for the longest */
    oldest->fd = fd;
    oldest->since = now;
}

static bool is_every_address(const struct sockaddr *a) {
    return a->sa_family == AF_INET
               ? ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr == INADDR_ANY
               : IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int serve_listen(const char *listens, char **error) {
    const char *colon = strrchr(listens, ':');
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_socktype = SOCK_STREAM },
                    *a;
    char host[64];
    size_t n = colon ? (size_t)(colon - listens) : 0;
    int s = -1, yes = 1;

    if (n >= 2 && *listens == '[' && listens[n - 1] == ']') n -= 2, listens++;
    if (colon && n && n < sizeof host) {
        memcpy(host, listens, n);
        host[n] = 0;
        if (!getaddrinfo(host, colon + 1, &hints, &a)) {
            if (is_every_address(a->ai_addr)) {
                freeaddrinfo(a);
                base_fail(error, "%s: write the address by which browsers ask, since no other is answered", listens);
                return -1;
            }
            s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            if (s >= 0) setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            if (s >= 0 && (bind(s, a->ai_addr, a->ai_addrlen) || listen(s, CONSOLE_CLIENTS))) {
                base_fail(error, "%s: %s", listens, strerror(errno));
                close(s);
                s = -1;
            }
            freeaddrinfo(a);
            return s;
        }
    }
    base_fail(error, "%s: no address and port; write one like 127.0.0.1:9118 or [::1]:9118", listens);
    return -1;
}

static void serve_round(struct serving *v, struct pollfd *fds, int listener, time_t now) {
    for (int i = 0; i < CONSOLE_CLIENTS; i++) {
        struct client *c = &v->client[i];
        bool goes_on = true;

        if (c->fd < 0) continue;
        if (c->answer && fds[i].revents) goes_on = fds[i].revents & POLLOUT && client_writes(c);
        else if (fds[i].revents) goes_on = client_reads(v, c);
        else if (now - c->since > IDLE_S) goes_on = false;
        if (!goes_on) client_close(c);
    }
    if (fds[CONSOLE_CLIENTS].revents) serve_accept(v, listener, now);
}

static bool serve_knows(const char *others, const char *from, char **error) {
    char policy[CONSOLE_POLICY];

    if (console_policy(policy, others) && console_policy(policy, from)) return true;
    base_fail(error,
              "addresses of other consoles are at most %d with spaces between, without a password; write one like "
              "http://www2.example.org/qos-status",
              CONSOLE_OTHERS);
    return false;
}

int console_serve(const char *listens, const struct console_served *s, int ends, char **error) {
    struct pollfd fds[CONSOLE_CLIENTS + 2];
    struct serving *v = calloc(1, sizeof *v);
    int listener = serve_knows(s->others, s->from, error) ? serve_listen(listens, error) : -1;
    time_t last = 0;

    if (!v || listener < 0) {
        if (listener >= 0) close(listener);
        free(v);
        return v ? -1 : base_fail(error, "no memory");
    }
    v->s = s;
    v->listens = listens;
    if (gethostname(v->name, sizeof v->name - 1)) *v->name = 0;
    for (int i = 0; i < CONSOLE_CLIENTS; i++) v->client[i].fd = -1;
    do {
        struct timespec now = serve_now();

        if (now.tv_sec != last) s->second(s->of);
        last = now.tv_sec;
        for (int i = 0; i < CONSOLE_CLIENTS; i++)
            fds[i] = (struct pollfd){ .fd = v->client[i].fd, .events = v->client[i].answer ? POLLOUT : POLLIN };
        fds[CONSOLE_CLIENTS] = (struct pollfd){ .fd = listener, .events = POLLIN };
        fds[CONSOLE_CLIENTS + 1] = (struct pollfd){ .fd = ends, .events = POLLIN };
        poll(fds, CONSOLE_CLIENTS + 2, 1000 - (int)(serve_now().tv_nsec / 1000000));
        serve_round(v, fds, listener, serve_now().tv_sec);
    } while (!fds[CONSOLE_CLIENTS + 1].revents);
    for (int i = 0; i < CONSOLE_CLIENTS; i++)
        if (v->client[i].fd >= 0) client_close(&v->client[i]);
    close(listener);
    free(v);
    return 0;
}
