/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_consume.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <http_log.h>
#include <http_main.h>

#include "base/base_error.h"
#include "ccn_dial.h"
#include "ndn/ndn_page.h"

APLOG_USE_MODULE(ccn);

#define P         ccn_process
#define CONSUME_S 30u
#define WINDOW    256u
#define TRIES     5u
#define WAIT_US   UINT64_C(4000000) /* until a first segment counts as lost: another server may be making it */
#define TICK_MS   200
#define IN_ROOM   (64u * NDN_PACKET_MAX)
#define WAITING   1024u

/* Something that is wanted. */
struct wanted {
    struct wanted *next;
    size_t most;
    ccn_call_done *done;
    void *of;
    uint64_t until;
    uint32_t whose;
    struct ndn_page_ask ask;
    struct ndn_page *page; /* while it is under way */
    struct ccn_made made;
    bool too_large, no_room;
    uint8_t name[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wanted *queue, **queue_end = &queue; /* under `lock`, like: */
static unsigned nqueue;
static bool started;
static _Atomic bool stopping; /* set under `lock`, and looked at in the thread without it */
static int wake = -1;
static pthread_t thread;

static const struct ccn_forwarder *forwarder; /* the first; NULL: there is none */
static const struct ndn_key *trusted;

/* ---- what a page says; all of this in the thread ----------------------------------------------------------------- */

/* Whoever publishes it says so, and it becomes a line of a header: nothing in it ends one. */
static void take_span(char *to, size_t room, struct ndn_span from) {
    size_t n = from.n < room ? from.n : 0;

    for (size_t i = 0; i < n; i++)
        if (from.at[i] < 0x20 || from.at[i] == 0x7f) n = 0;
    if (n) memcpy(to, from.at, n);
    to[n] = '\0';
}

static bool on_head(void *to, const struct ndn_page_head *h) {
    struct ccn_made *m = &((struct wanted *)to)->made;

    m->status = h->status == NDN_NO_NUMBER ? HTTP_NOT_FOUND : h->status < 1000 ? (int)h->status : HTTP_BAD_GATEWAY;
    take_span(m->media_type, sizeof m->media_type, h->media_type);
    take_span(m->encoding, sizeof m->encoding, h->encoding);
    return true;
}

static bool on_content(void *to, struct ndn_span bytes) {
    struct wanted *w = to;
    struct ccn_made *m = &w->made;

    if (bytes.n > w->most - m->n) {
        w->too_large = true;
        return false;
    }
    if (bytes.n > m->room - m->n) {
        size_t room = m->room ? m->room * 2 : 16384;
        uint8_t *more;
        while (room < m->n + bytes.n) room *= 2;
        w->no_room = !ccn_results_take(room - m->room);
        if (w->no_room) return false;
        more = realloc(m->body, room);
        if (!more) {
            ccn_results_give(room - m->room);
            return false;
        }
        m->body = more;
        m->room = room;
    }
    if (bytes.n) memcpy(m->body + m->n, bytes.at, bytes.n);
    m->n += bytes.n;
    return true;
}

static void consume_tell(struct wanted *w, const char *why) {
    struct service_problem problem = { 0 };
    struct ccn_result *r;

    ccn_results_give(w->made.room);
    if (w->no_room) {
        service_fail(&problem, SERVICE_BUSY, "as much content waits as may (CcnPages): try again later");
    } else if (w->too_large) {
        service_fail(&problem, SERVICE_TOO_MUCH, "it has more than %zu bytes", w->most);
    } else if (why) {
        service_fail(&problem, SERVICE_NOT_THERE, "%s", why);
    } else if (w->made.status != HTTP_OK) {
        service_fail(&problem, SERVICE_NOT_THERE, "its status is %d", w->made.status);
        if (!strcmp(w->made.media_type, SERVICE_PROBLEM_TYPE)) {
            char *error = NULL;
            problem.within = service_json_read((const char *)w->made.body, w->made.n, &error);
            free(error);
        }
    }
    if (problem.kind) {
        free(w->made.body);
        r = ccn_result_problem(&problem);
    } else {
        r = ccn_result_new(&w->made);
    }
    w->done(w->of, r);
    ndn_page_free(&w->page);
    free(w);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

struct consumer {
    struct wanted *under_way[CCN_CONSUMES];
    unsigned n;
    int fd;
    size_t in;
    uint8_t in_bytes[IN_ROOM];
};

/* A caller whose names nobody answers leaves room for others. */
static bool has_share(const struct consumer *c, uint32_t whose) {
    unsigned n = 0;

    for (unsigned i = 0; i < c->n; i++) n += c->under_way[i]->whose == whose;
    return n < CCN_CONSUMES / 4;
}

/* The next one that may be under way, taken off the queue; NULL: none may. */
static struct wanted *wanted_next(const struct consumer *c) {
    struct wanted **at = &queue, *w;

    pthread_mutex_lock(&lock);
    while (*at && !has_share(c, (*at)->whose)) at = &(*at)->next;
    w = *at;
    if (w) {
        *at = w->next;
        if (!*at && queue_end == &w->next) queue_end = at;
        nqueue--;
    }
    pthread_mutex_unlock(&lock);
    return w;
}

static void take_wanted(struct consumer *c) {
    while (c->n < CCN_CONSUMES) {
        const struct ndn_page_calls calls = { NULL, on_head, on_content };
        struct ndn_page_calls own = calls;
        char *error = NULL;
        struct wanted *w;

        w = wanted_next(c);
        if (!w) return;
        own.to = w;
        w->page = ndn_page_new(&w->ask, &own, shm_now(), &error);
        if (w->page) c->under_way[c->n++] = w;
        else consume_tell(w, error ? error : "there is no memory to fetch it");
        free(error);
    }
}

static void consume_disconnect(struct consumer *c) {
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
    c->in = 0;
}

/* What can't be sent is as good as lost: it is asked for again. */
static void send_interests(struct consumer *c, uint64_t now, uint64_t *again) {
    uint8_t packet[NDN_PACKET_MAX];

    for (unsigned i = 0; i < c->n; i++) {
        uint64_t next;
        size_t n;
        while ((n = ndn_page_next(c->under_way[i]->page, now, packet, &next)) > 0)
            if (send(c->fd, packet, n, MSG_NOSIGNAL) != (ssize_t)n) {
                consume_disconnect(c);
                return;
            }
        if (next < *again) *again = next;
    }
}

static void consume_take_packets(struct consumer *c) {
    uint64_t now = shm_now();
    size_t at = 0;

    for (;;) {
        int n = ndn_framed(c->in_bytes + at, c->in - at);
        if (n < 0) {
            consume_disconnect(c);
            return;
        }
        if (!n || (size_t)n > c->in - at) break;
        /* Whose it is the pages know by its name. */
        for (unsigned i = 0; i < c->n; i++)
            ndn_page_packet(c->under_way[i]->page, now, (struct ndn_span){ c->in_bytes + at, (size_t)n });
        at += (size_t)n;
    }
    memmove(c->in_bytes, c->in_bytes + at, c->in - at);
    c->in -= at;
}

static void consume_read(struct consumer *c) {
    ssize_t n = recv(c->fd, c->in_bytes + c->in, IN_ROOM - c->in, MSG_DONTWAIT);

    if (n > 0) {
        c->in += (size_t)n;
        consume_take_packets(c);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        consume_disconnect(c);
    }
}

static void end_those_over(struct consumer *c, uint64_t now) {
    for (unsigned i = 0; i < c->n;) {
        struct wanted *w = c->under_way[i];
        enum ndn_page_state state = ndn_page_state(w->page);

        if (state == NDN_PAGE_GOING && now < w->until) {
            i++;
            continue;
        }
        c->under_way[i] = c->under_way[--c->n];
        consume_tell(w, state == NDN_PAGE_WHOLE     ? NULL
                        : state == NDN_PAGE_GOING   ? "it did not come in time"
                        : state == NDN_PAGE_GONE    ? "it is not there any more"
                        : state == NDN_PAGE_STOPPED ? "there is no memory for it"
                                                    : ndn_page_why(w->page));
    }
}

static void consume_connect(struct consumer *c) {
    c->fd = ccn_dial_connect(forwarder);
    if (c->fd >= 0) return;
    for (unsigned i = 0; i < c->n; i++) consume_tell(c->under_way[i], "the forwarder can't be reached");
    c->n = 0;
}

static void *consume(void *of) {
    struct consumer *c = of;
    eventfd_t ignored;

    while (!stopping) {
        uint64_t now = shm_now(), again = now + TICK_MS * 1000;
        struct pollfd fds[2] = { { .fd = wake, .events = POLLIN } };

        take_wanted(c);
        if (c->n && c->fd < 0) consume_connect(c);
        if (c->n) send_interests(c, now, &again);
        end_those_over(c, now);
        fds[1] = (struct pollfd){ .fd = c->fd, .events = POLLIN };
        now = shm_now();
        poll(fds, 2, !c->n ? -1 : again > now ? (int)((again - now) / 1000) + 1 : 0);
        if (fds[0].revents) eventfd_read(wake, &ignored);
        if (c->fd >= 0 && fds[1].revents) consume_read(c);
    }
    for (unsigned i = 0; i < c->n; i++) consume_tell(c->under_way[i], "this server ends");
    consume_disconnect(c);
    free(c);
    return NULL;
}

/* ---- from any thread --------------------------------------------------------------------------------------------- */

/* Under `lock`. */
static bool consume_start(void) {
    struct consumer *c;
    sigset_t all, before;

    if (started) return true;
    c = calloc(1, sizeof *c);
    if (wake < 0) wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!c || wake < 0) {
        free(c);
        return false;
    }
    c->fd = -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = !pthread_create(&thread, NULL, consume, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) free(c);
    return started;
}

void ccn_consume(const struct ccn_caller *who, const struct ndn_name *name, size_t most, ccn_call_done *done,
                 void *of) {
    struct wanted *w = calloc(1, sizeof *w + name->bytes.n);
    const char *why = !forwarder ? "nothing here has that name, and no forwarder is named that may know a way to it"
                                 : "as much is fetched as may be: try again later";
    bool taken = false;

    if (!w) {
        done(of, NULL);
        return;
    }
    memcpy(w->name, name->bytes.at, name->bytes.n);
    w->whose = who->whose;
    w->most = most;
    w->done = done;
    w->of = of;
    w->until = shm_now() + CONSUME_S * UINT64_C(1000000);
    w->ask = (struct ndn_page_ask){ .name = { { w->name, name->bytes.n }, name->n },
                                    .fresh = true,
                                    .lifetime_ms = NDN_LIFETIME_USUAL_MS,
                                    .verify = trusted,
                                    .fetch = { NDN_WINDOW_HINT, WINDOW, TRIES, WAIT_US } };
    pthread_mutex_lock(&lock);
    if (forwarder && !stopping && nqueue < WAITING && consume_start()) {
        *queue_end = w;
        queue_end = &w->next;
        nqueue++;
        taken = true;
    }
    pthread_mutex_unlock(&lock);
    if (taken) eventfd_write(wake, 1);
    else consume_tell(w, why);
}

static apr_status_t stop_consuming(void *unused) {
    bool join;

    (void)unused;
    pthread_mutex_lock(&lock);
    stopping = true;
    join = started;
    pthread_mutex_unlock(&lock);
    if (!join) return APR_SUCCESS;
    eventfd_write(wake, 1);
    pthread_join(thread, NULL);
    while (queue) {
        struct wanted *w = queue;
        queue = w->next;
        consume_tell(w, "this server ends");
    }
    return APR_SUCCESS;
}

void ccn_consume_child_init(apr_pool_t *pchild, server_rec *s) {
    for (; s && !forwarder; s = s->next) {
        const struct ccn_host *h = ccn_host_of(s);
        if (h->on != 1 || !h->forwarders->nelts) continue;
        forwarder = &APR_ARRAY_IDX(h->forwarders, 0, struct ccn_forwarder);
        if (h->trusted->nelts) trusted = APR_ARRAY_IDX(h->trusted, 0, const struct ndn_key *);
    }
    apr_pool_pre_cleanup_register(pchild, NULL, stop_consuming);
}
