/* SPDX-License-Identifier: BSD-2-Clause */
#include "ccn_face.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <apr_strings.h>
#include <http_log.h>

#include "ccn_address.h"
#include "ccn_cut.h"
#include "ccn_out.h"
#include "ccn_services.h"
#include "ccn_threads.h"
#include "ccn_work.h"

APLOG_USE_MODULE(ccn);

#define IN_ROOM  (64u * 1024)
#define OUT_ROOM (256u * 1024)
#define USUAL    4096u /* bytes of a packet; what stands before it is as long for all from 256 bytes on */
#define TICK_MS  200
#define FIRST_US UINT64_C(30000000) /* until a stranger's first Interest: a connection costs a thread */
#define STALL_US UINT64_C(30000000) /* who takes nothing for so long has gone */
#define JOINS    4096u              /* Interests that wait for others' pages */
#define PROBE_S  30                 /* of silence, until the kernel asks whether the other side is there */
#define PROBES_S 10                 /* between two that have no answer, */
#define PROBES   3                  /* of which so many are sent */
#define GONE_MS  60000u             /* what was sent and is not acknowledged for so long never will be */
#define END_US   UINT64_C(5000000)  /* when this process is to end, pages in work are waited for so long */

#define P ccn_process

struct ccn_face {
    _Atomic unsigned holders;
    int fd, wake;
    apr_pool_t *pool; /* of `as` */
    struct ccn_seen_as as;
    const struct ccn_host *host;
    const struct ccn_map *maps;
    unsigned nmaps;
    uint32_t number;
    struct ccn_seat *seat; /* NULL: it needs none */
    bool heard, ending;    /* a packet came; no new Interests are taken */
    bool broken, behind;   /* behind: replies are left that found no room */

    pthread_mutex_t lock;
    struct ccn_reply *replies, **replies_end;
    bool closed;

    struct ccn_out *waiting; /* what is to go out when there is room */
    ccn_face_data *data;     /* of a face that we opened, as tick */
    ccn_face_tick *tick;
    void *data_of;

    size_t in, out, sent; /* bytes that came; to go out; of these, gone */
    uint64_t moved;       /* when the socket took something last, or nothing was there for it */
    uint8_t in_bytes[IN_ROOM], out_bytes[OUT_ROOM];
};

static void face_free(struct ccn_face *f) {
    ccn_out_free(&f->waiting);
    if (f->wake >= 0) close(f->wake);
    if (f->pool) apr_pool_destroy(f->pool);
    free(f);
}

/* A page may be made when the connection is long over: what it is made as is the face's own. */
static bool copy_seen_as(struct ccn_face *f, const struct ccn_seen_as *as) {
    if (apr_pool_create_unmanaged_ex(&f->pool, NULL, NULL) != APR_SUCCESS) {
        f->pool = NULL;
        return false;
    }
    f->as.server = as->server;
    f->as.client_ip = apr_pstrdup(f->pool, as->client_ip);
    f->as.local_ip = apr_pstrdup(f->pool, as->local_ip);
    if (apr_sockaddr_info_copy(&f->as.client, as->client, f->pool) != APR_SUCCESS ||
        apr_sockaddr_info_copy(&f->as.local, as->local, f->pool) != APR_SUCCESS)
        return false;
    /*
     * Behind a forwarder of this machine are the clients of a whole network: what is for this machine is not for them.
     */
    if (strncmp(f->as.client_ip, "127.", 4) && strcmp(f->as.client_ip, "::1") &&
        strcmp(f->as.client_ip, f->as.local_ip))
        return true;
    f->as.client_ip = "0.0.0.0";
    return apr_sockaddr_info_get(&f->as.client, "0.0.0.0", APR_INET, 0, 0, f->pool) == APR_SUCCESS;
}

struct ccn_face *ccn_face_new(int fd, const struct ccn_seen_as *as) {
    struct ccn_face *f = calloc(1, sizeof *f);

    if (!f) return NULL;
    f->waiting = ccn_out_new(ccn_config()->scheduler);
    f->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!f->waiting || f->wake < 0 || !copy_seen_as(f, as)) {
        face_free(f);
        return NULL;
    }
    f->holders = 1;
    f->fd = fd;
    f->host = ccn_host_of(as->server);
    f->maps = (const struct ccn_map *)(void *)f->host->maps->elts;
    f->nmaps = (unsigned)f->host->maps->nelts;
    f->number = (uint32_t)ccn_address(P.hash_key, as->client->ipaddr_ptr, (size_t)as->client->ipaddr_len);
    f->replies_end = &f->replies;
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

void ccn_face_hold(struct ccn_face *f) { atomic_fetch_add(&f->holders, 1); }

void ccn_face_release(struct ccn_face *f) {
    if (atomic_fetch_sub(&f->holders, 1) != 1) return;
    while (f->replies) {
        struct ccn_reply *next = f->replies->next;
        free(f->replies);
        f->replies = next;
    }
    pthread_mutex_destroy(&f->lock);
    face_free(f);
}

const struct ccn_seen_as *ccn_face_seen_as(const struct ccn_face *f) { return &f->as; }

uint32_t ccn_face_number(const struct ccn_face *f) { return f->number; }

void ccn_face_sit(struct ccn_face *f, struct ccn_seat *seat) {
    f->seat = seat;
    f->number = (uint32_t)atomic_load(&seat->address);
}

void ccn_face_listen(struct ccn_face *f, ccn_face_data *data, ccn_face_tick *tick, void *of) {
    f->data = data;
    f->tick = tick;
    f->data_of = of;
}

bool ccn_face_closed(struct ccn_face *f) {
    bool closed;

    pthread_mutex_lock(&f->lock);
    closed = f->closed;
    pthread_mutex_unlock(&f->lock);
    return closed;
}

/* ---- replies ----------------------------------------------------------------------------------------------------- */

struct ccn_reply *ccn_reply_bytes(const struct ccn_token *t, const void *bytes, size_t n) {
    struct ccn_reply *r = calloc(1, sizeof *r + n);

    if (!r) return NULL;
    r->token = *t;
    r->first = true;
    r->n = n;
    if (n) memcpy(r->bytes, bytes, n);
    return r;
}

struct ccn_reply *ccn_reply_kept(const struct ccn_token *t, const struct ccn_store_id *id, uint32_t segment,
                                 uint32_t left, bool first) {
    struct ccn_reply *r = ccn_reply_bytes(t, NULL, 0);

    if (!r) return NULL;
    r->first = first;
    r->id = *id;
    r->segment = segment;
    r->left = left;
    return r;
}

void ccn_face_reply(struct ccn_face *f, struct ccn_reply *reply) {
    bool wake = false;

    if (!reply) return;
    pthread_mutex_lock(&f->lock);
    if (!f->closed) {
        wake = !f->replies;
        *f->replies_end = reply;
        f->replies_end = &reply->next;
        reply = NULL;
    }
    pthread_mutex_unlock(&f->lock);
    free(reply);
    if (wake) eventfd_write(f->wake, 1);
}

/* ---- going out --------------------------------------------------------------------------------------------------- */

static bool has_room(const struct ccn_face *f) { return OUT_ROOM - f->out >= NDN_PACKET_MAX + NDN_LP_HEAD_MAX; }

/* Where a packet is to be written, so that it has its place already unless it is a small one. */
static uint8_t *place_of(struct ccn_face *f, const struct ccn_token *t) {
    uint8_t head[NDN_LP_HEAD_MAX];
    return f->out_bytes + f->out + ndn_lp_head((struct ndn_span){ t->bytes, t->n }, 0, USUAL, head);
}

/* What was written there gets what belongs before it. */
static void put_packet(struct ccn_face *f, const struct ccn_token *t, size_t n) {
    uint8_t head[NDN_LP_HEAD_MAX], *at = f->out_bytes + f->out, *stands = place_of(f, t);
    size_t h = ndn_lp_head((struct ndn_span){ t->bytes, t->n }, 0, n, head);

    if (at + h != stands) memmove(at + h, stands, n);
    memcpy(at, head, h);
    f->out += h + n;
}

static void put_kept(struct ccn_face *f, const struct ccn_token *t, const struct ccn_store_id *id, uint64_t segment) {
    uint32_t left;
    size_t n;
    enum ccn_got got =
        ccn_store_get(&P.store, shm_now_coarse(), id, segment, place_of(f, t), NDN_PACKET_MAX, &n, &left);

    if (got != CCN_GOT) {
        ccn_count(&P.area->gone);
        return;
    }
    ccn_count(&P.area->segments);
    put_packet(f, t, n);
}

static void put_reply(struct ccn_face *f, const struct ccn_reply *r) {
    if (!r->n) {
        put_kept(f, &r->token, &r->id, r->segment);
    } else if (r->n <= NDN_PACKET_MAX) {
        memcpy(place_of(f, &r->token), r->bytes, r->n);
        put_packet(f, &r->token, r->n);
    }
}

/* What waits goes into the room that there is. */
static void fill_out(struct ccn_face *f) {
    struct ccn_reply *r;

    while (has_room(f) && (r = ccn_out_next(f->waiting, shm_now_coarse())) != NULL) {
        put_reply(f, r);
        free(r);
    }
}

static void out_or_wait(struct ccn_face *f, struct ccn_reply *r) {
    if (!r) return;
    if (has_room(f) && ccn_out_empty(f->waiting)) {
        put_reply(f, r);
        free(r);
    } else {
        ccn_out_add(f->waiting, shm_now_coarse(), r);
    }
}

static void take_replies(struct ccn_face *f) {
    struct ccn_reply *all, *next;
    eventfd_t n;

    eventfd_read(f->wake, &n);
    pthread_mutex_lock(&f->lock);
    all = f->replies;
    f->replies = NULL;
    f->replies_end = &f->replies;
    pthread_mutex_unlock(&f->lock);
    for (; all && !ccn_out_full(f->waiting); all = next) {
        next = all->next;
        out_or_wait(f, all);
    }
    f->behind = all != NULL;
    if (!all) return;
    for (next = all; next->next; next = next->next) continue;
    pthread_mutex_lock(&f->lock);
    next->next = f->replies;
    if (!f->replies) f->replies_end = &next->next;
    f->replies = all;
    pthread_mutex_unlock(&f->lock);
}

static void send_out(struct ccn_face *f) {
    while (f->sent < f->out) {
        ssize_t n = send(f->fd, f->out_bytes + f->sent, f->out - f->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK) f->broken = true;
            break;
        }
        f->sent += (size_t)n;
        f->moved = shm_now_coarse();
        atomic_fetch_add_explicit(&P.area->bytes, (uint64_t)n, memory_order_relaxed);
    }
    if (f->sent == f->out) f->sent = f->out = 0;
    else if (f->sent > OUT_ROOM / 2) {
        memmove(f->out_bytes, f->out_bytes + f->sent, f->out - f->sent);
        f->out -= f->sent;
        f->sent = 0;
    }
}

/* ---- coming in --------------------------------------------------------------------------------------------------- */

/* It said what is of some use: whoever sends other things is as good as silent. */
static void face_heard(struct ccn_face *f) {
    f->heard = true;
    if (f->seat) ccn_seat_heard(f->seat, shm_now_coarse());
}

static void take_token(struct ccn_token *t, struct ndn_span from) {
    t->n = (uint8_t)from.n;
    if (from.n) memcpy(t->bytes, from.at, from.n);
}

static void refuse(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_token *t, int status,
                   const char *why) {
    uint8_t bytes[NDN_PACKET_MAX];
    size_t n = ccn_cut_refusal(&i->name, !i->can_be_prefix, status, why, ccn_key_of(f->host), bytes, sizeof bytes);

    if (n) out_or_wait(f, ccn_reply_bytes(t, bytes, n));
}

/*
 * Each page that waits holds the face, and so does each Interest that waits for one.  The queue bounds the pages
 * (ccn_room.h), JOINS the Interests that joined others' pages.
 */
static bool is_owed_too_much(struct ccn_face *f) {
    const struct ccn_site *c = ccn_config();
    return atomic_load(&f->holders) > 2 * (unsigned)(c->queue + c->threads) + JOINS;
}

static void want_segment(struct ccn_face *f, const struct ndn_interest *i, const struct ccn_wanted *w,
                         const struct ccn_token *t) {
    struct ccn_store_id id = (w->is_result ? ccn_cut_shared_id : ccn_cut_id)(&f->as, w->object.bytes);
    uint32_t left;

    if (ccn_config()->scheduler != CCN_FIFO && has_room(f) && ccn_out_empty(f->waiting)) {
        size_t n;
        enum ccn_got got =
            ccn_store_get(&P.store, shm_now_coarse(), &id, w->segment, place_of(f, t), NDN_PACKET_MAX, &n, &left);
        if (got == CCN_GOT) {
            ccn_count(&P.area->segments);
            put_packet(f, t, n);
            return;
        }
        if (got == CCN_NO_SEGMENT) return; /* some ask one ahead: nothing is there, and nothing is said */
    } else {
        enum ccn_got got = ccn_store_look(&P.store, &id, w->segment, &left);
        if (got == CCN_NO_SEGMENT) return;
        if (got == CCN_GOT && ccn_config()->scheduler == CCN_FIFO) {
            ccn_work_segment(f, i, &id, (uint32_t)w->segment, t);
            return;
        }
        if (got == CCN_GOT) {
            struct ccn_reply *r = ccn_reply_kept(t, &id, (uint32_t)w->segment, left, false);
            if (r) r->age = ccn_cut_age(w->version);
            out_or_wait(f, r);
            return;
        }
    }
    if (w->is_result) {
        if (!is_owed_too_much(f)) ccn_work_result_segment(f, i, w, t);
        return;
    }
    ccn_count(&P.area->gone);
    refuse(f, i, t, HTTP_GONE, CCN_GONE);
}

static bool names_a_packet(const struct ndn_name *name) {
    struct ndn_element c;
    return ndn_name_at(name, name->n - 1, &c) && c.type == NDN_DIGEST_COMPONENT;
}

static void take_interest(struct ccn_face *f, struct ndn_span packet, struct ndn_span token) {
    struct ndn_interest i;
    struct ccn_wanted w;
    struct ccn_token t;
    const char *wrong = ndn_interest_read(packet, &i);

    if (wrong) {
        ccn_count(&P.area->malformed);
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, f->as.server, "ccn: an Interest from %s is passed over: %s",
                     f->as.client_ip, wrong);
        return;
    }
    ccn_count(&P.area->interests);
    take_token(&t, token);
    wrong = ccn_map_read(f->maps, f->nmaps, &i, &w);
    if (wrong && ccn_services_want(&i, &w)) wrong = NULL;
    if (wrong && names_a_packet(&i.name)) {
        ccn_count(&P.area->strange); /* no Data that we make has that digest */
    } else if (wrong) {
        ccn_count(&P.area->strange);
        refuse(f, &i, &t, HTTP_NOT_FOUND, wrong);
    } else if (w.kind == CCN_SEGMENT) {
        want_segment(f, &i, &w, &t);
    } else if (is_owed_too_much(f)) {
        refuse(f, &i, &t, HTTP_SERVICE_UNAVAILABLE, "As many wait here as may: try again later.\n");
    } else {
        ccn_work_page(f, &i, &w, &t);
    }
    if (!wrong) face_heard(f);
}

static void take_packet(struct ccn_face *f, struct ndn_span packet) {
    struct ndn_lp lp;
    const char *wrong = ndn_lp_read(packet, &lp);

    if (wrong) {
        ccn_count(&P.area->malformed);
        ap_log_error(APLOG_MARK, APLOG_DEBUG, 0, f->as.server, "ccn: a packet from %s is passed over: %s",
                     f->as.client_ip, wrong);
        return;
    }
    if (!lp.fragment.n || lp.nack) return;
    if (lp.fragment.at[0] == NDN_INTEREST) {
        take_interest(f, lp.fragment, lp.pit_token);
    } else if (f->data) {
        struct ndn_data d;
        if (ndn_data_read(lp.fragment, &d)) return;
        face_heard(f);
        f->data(f->data_of, &d);
    }
}

static bool may_take(struct ccn_face *f) { return !f->ending && (has_room(f) || !ccn_out_full(f->waiting)); }

/* Packets that came whole; what is left stays for what follows. */
static void take_packets(struct ccn_face *f) {
    size_t at = 0;

    while (!f->broken && may_take(f)) {
        int n = ndn_framed(f->in_bytes + at, f->in - at);
        if (n < 0) {
            ap_log_error(APLOG_MARK, APLOG_INFO, 0, f->as.server,
                         "ccn: %s sends what is no NDN packet: the connection is closed", f->as.client_ip);
            f->broken = true;
        }
        if (n <= 0 || (size_t)n > f->in - at) break;
        take_packet(f, (struct ndn_span){ f->in_bytes + at, (size_t)n });
        at += (size_t)n;
        if (!has_room(f)) send_out(f);
    }
    memmove(f->in_bytes, f->in_bytes + at, f->in - at);
    f->in -= at;
}

static void read_in(struct ccn_face *f) {
    ssize_t n = recv(f->fd, f->in_bytes + f->in, IN_ROOM - f->in, MSG_DONTWAIT);

    if (n > 0) f->in += (size_t)n;
    else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) f->broken = true;
}

/* Nothing is owed to the other side: no page is being made for it, and nothing is to go out. */
static bool all_gone(struct ccn_face *f) {
    return atomic_load(&f->holders) == 1 && !f->out && ccn_out_empty(f->waiting) && !f->replies;
}

/* Others want its seat, and it has said nothing for long.  Who waits for an answer is not silent. */
static bool sits_in_vain(struct ccn_face *f) {
    if (!ccn_seat_is_asked(f->seat)) {
        if (!all_gone(f)) ccn_seat_heard(f->seat, shm_now_coarse());
        return false;
    }
    ccn_count(&P.area->turned_away);
    ap_log_error(APLOG_MARK, APLOG_INFO, 0, f->as.server,
                 "ccn: the connection from %s was silent longest and makes room for another", f->as.client_ip);
    return true;
}

/* Of a unix socket nothing of this is to be set: its other side can't vanish. */
static void set_up_socket(int fd) {
    int buffer = (int)OUT_ROOM, on = 1, idle = PROBE_S, between = PROBES_S, probes = PROBES;
    unsigned gone = GONE_MS;

    /* What the kernel has is in an order that nobody can change any more. */
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &buffer, sizeof buffer);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone, sizeof gone);
}

void ccn_face_run(struct ccn_face *f, bool (*over)(void)) {
    const struct timespec tick = { .tv_nsec = TICK_MS * 1000000 };
    sigset_t before;
    uint64_t end = 0, begun = shm_now();

    set_up_socket(f->fd);
    f->moved = shm_now_coarse();
    ccn_threads_hold_signals(&before);
    atomic_fetch_add(&P.area->faces, 1);
    while (!f->broken) {
        bool may_read = f->in < IN_ROOM && may_take(f);
        struct pollfd fds[2] = { { .fd = f->fd, .events = (short)((may_read ? POLLIN : 0) | (f->out ? POLLOUT : 0)) },
                                 { .fd = f->wake, .events = POLLIN } };

        if (!end && over()) end = shm_now() + END_US;
        f->ending = end != 0;
        if (!f->heard && !f->data && shm_now() > begun + FIRST_US) break;
        if (f->tick) f->tick(f->data_of);
        if (f->seat && sits_in_vain(f)) break;
        if (end && (all_gone(f) || shm_now() > end)) break;
        if (ppoll(fds, 2, &tick, &before) < 0 && errno != EINTR) break;
        if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL) && !(fds[0].revents & POLLIN)) break;
        if (fds[1].revents || f->behind) take_replies(f);
        if (fds[0].revents & POLLIN) read_in(f);
        take_packets(f);
        do {
            fill_out(f);
            send_out(f);
        } while (!f->broken && !f->out && !ccn_out_empty(f->waiting));
        if (!f->out) f->moved = shm_now_coarse();
        else if (shm_now_coarse() - f->moved > STALL_US) break;
    }
    atomic_fetch_sub(&P.area->faces, 1);
    pthread_mutex_lock(&f->lock);
    f->closed = true;
    pthread_mutex_unlock(&f->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
