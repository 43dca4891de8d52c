/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_lane.h"

#include "pktcache/pk_child.h"
#include "pktcache/pk_memory.h"
#include "pktcache/pk_parent.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>

enum {
    LANE_MAGIC = 0x504b4c41,
    DATAGRAMS = 32,
    PIECES = 64,           /* that are read at a time */
    TURNS = 8,             /* of reading the socket, before the device has its turn */
    A_TURN = 512,          /* datagrams; after so many the clock is read and a beat given */
    SOCKET_ROOM = 8 << 20, /* bytes of its buffers */
    SHOW_EVERY = 100000,   /* microseconds */
    SENTENCES = 10,
    SENTENCES_IN = 10000000 /* at most so many, in so many microseconds */
};

/* Beside a datagram: its DSCP and ECN. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head; /* its alignment */
};

struct pk_lane {
    unsigned magic;
    struct pk_common *common;
    unsigned number;
    int tun, socket, epoll;
    pk_session_t *session;
    pk_side_t *side;
    pthread_t thread;
    bool started;
    atomic_bool ends, broken; /* asked to; the device is gone */
    uint64_t now, shown;
    struct sockaddr_storage there; /* the peer's socket, if that is known */
    bool known;
    const struct sockaddr_storage *asker; /* who has sent what is being handled; NULL: nothing is */
    uint64_t news;                        /* of the session, as far as they were followed */
    socklen_t there_n;
    unsigned renewed, secrets; /* as far as this lane knows */
    unsigned stalls;           /* of all, as far as this lane knows */
    uint64_t said_until;       /* sentences count until then */
    unsigned said;
    pthread_mutex_t lock; /* seen */
    struct pk_seen seen;
    struct mmsghdr message[DATAGRAMS];
    struct sockaddr_storage from[DATAGRAMS];
    struct iovec part[DATAGRAMS];
    union control control[DATAGRAMS];
    uint8_t datagram[DATAGRAMS][PK_DATAGRAM_MAX];
    uint8_t piece[PK_PIECE_MAX];
};

static uint64_t lane_clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void packet_out(void *context, const struct iovec *part, int parts) {
    pk_lane_t *l = context;
    if (writev(l->tun, part, parts) < 0) { /* the device is down: lost, as on a network */
    }
}

static bool same_endpoint(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family) return false;
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *x = (const struct sockaddr_in *)a, *y = (const struct sockaddr_in *)b;
        return x->sin_port == y->sin_port && x->sin_addr.s_addr == y->sin_addr.s_addr;
    }
    const struct sockaddr_in6 *x = (const struct sockaddr_in6 *)a, *y = (const struct sockaddr_in6 *)b;
    return x->sin6_port == y->sin6_port && !memcmp(&x->sin6_addr, &y->sin6_addr, sizeof x->sin6_addr);
}

static void lane_say(void *context, enum base_log_priority p, const char *sentence);

static void lane_now_at(pk_lane_t *l, const struct sockaddr_storage *there) {
    l->there = *there;
    l->known = true;
}

/* Who of any address is the other end: who has said what is news.  Before anything is said about that to anybody. */
static void lane_follow(pk_lane_t *l) {
    struct pk_common *m = l->common;
    char text[PK_ENDPOINT_TEXT], sentence[32 + sizeof text];
    bool news = pk_session_news(l->session) != l->news;

    l->news = pk_session_news(l->session);
    if (!news || !l->asker || m->c->peer_is != PK_PEER_ANY || (l->known && same_endpoint(l->asker, &l->there))) return;
    lane_now_at(l, l->asker);
    pthread_mutex_lock(&m->lock);
    pk_lead_tell(m->shared, &l->there);
    pthread_mutex_unlock(&m->lock);
    pk_endpoint_write(&l->there, text);
    snprintf(sentence, sizeof sentence, "the other end is at %s", text);
    lane_say(l, BASE_LOG_NOTICE, sentence);
}

/* A WELCOME is for who has said HELLO, whoever that is: it may have been replayed. */
static void datagram_out(void *context, const void *bytes, size_t n, uint8_t tos) {
    pk_lane_t *l = context;
    union control control;
    struct iovec part = { (void *)bytes, n };
    struct msghdr m = { .msg_namelen = l->there_n, .msg_iov = &part, .msg_iovlen = 1 };
    const int value = tos;

    lane_follow(l);
    bool answer = l->asker && *(const uint8_t *)bytes == PK_WELCOME;
    if (!answer && !l->known) return;
    m.msg_name = answer ? (void *)l->asker : &l->there;
    if (tos) {
        bool four = l->there.ss_family == AF_INET;
        m.msg_control = control.bytes;
        m.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&m);
        head->cmsg_level = four ? IPPROTO_IP : IPPROTO_IPV6;
        head->cmsg_type = four ? IP_TOS : IPV6_TCLASS;
        head->cmsg_len = CMSG_LEN(sizeof value);
        memcpy(CMSG_DATA(head), &value, sizeof value);
    }
    if (sendmsg(l->socket, &m, MSG_NOSIGNAL) < 0) {
        /* lost, as on a network: the child says what arrives */
    }
}

/* Whoever can make us say something could fill a disk. */
static void lane_say(void *context, enum base_log_priority p, const char *sentence) {
    pk_lane_t *l = context;
    if (l->now >= l->said_until) {
        if (l->said > SENTENCES)
            base_log(BASE_LOG_WARNING, "queue %u: %u sentences were left out", l->number, l->said - SENTENCES);
        l->said = 0;
        l->said_until = l->now + SENTENCES_IN;
    }
    if (l->said++ >= SENTENCES) return;
    if (l->common->c->queues > 1) base_log(p, "queue %u: %s", l->number, sentence);
    else base_log(p, "%s", sentence);
}

static void lane_bypass(void *context, const struct pk_tuple *t, enum pk_bypass how) {
    pk_lane_t *l = context;
    pk_bypass_tell(pk_hook_bypass(l->common->hook), t, how);
}

/* What went by us is of no lane: the first one has it. */
static void lane_count_bypassed(const pk_lane_t *l, struct pk_counters *n) {
    uint64_t tls;

    if (l->number || l->common->role != PK_PARENT) return;
    n->bypassed_bytes = pk_bypass_bytes(pk_hook_bypass(l->common->hook), &tls);
    n->tls_bytes += tls;
    n->unfollowed_bytes += n->bypassed_bytes;
    n->native_bytes += n->bypassed_bytes;
    n->bytes_in += n->bypassed_bytes;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Whether it has the peer's address and port, unless that may have any: what has not is not worth a MAC. */
static bool is_from_peer(const pk_lane_t *l, const struct sockaddr_storage *a) {
    return l->common->c->peer_is == PK_PEER_ANY || (l->known && same_endpoint(a, &l->there));
}

/* As the kernel says of a datagram that came; 0 if it does not. */
static uint8_t lane_tos(struct msghdr *m) {
    const struct cmsghdr *head = CMSG_FIRSTHDR(m);
    int value = 0;

    if (!head) return 0;
    /* IPv4's is a byte, IPv6's an int. */
    if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_TOS) return *CMSG_DATA(head);
    if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_TCLASS)
        memcpy(&value, CMSG_DATA(head), sizeof value);
    return (uint8_t)value;
}

static void handle_datagram(pk_lane_t *l, unsigned i) {
    l->asker = l->from + i;
    pk_side_datagram(l->side, l->datagram[i], l->message[i].msg_len, lane_tos(&l->message[i].msg_hdr), l->now);
    lane_follow(l);
    l->asker = NULL;
}

/* How many came. */
static int read_socket(pk_lane_t *l) {
    int n = DATAGRAMS, all = 0;

    for (int turns = 0; n == DATAGRAMS && turns < TURNS; turns++) {
        for (int i = 0; i < DATAGRAMS; i++) {
            l->part[i].iov_len = PK_DATAGRAM_MAX;
            l->message[i].msg_hdr.msg_namelen = sizeof l->from[i];
            l->message[i].msg_hdr.msg_controllen = sizeof l->control[i].bytes;
        }
        n = recvmmsg(l->socket, l->message, DATAGRAMS, MSG_DONTWAIT, NULL);
        for (int i = 0; i < n; i++)
            if (!(l->message[i].msg_hdr.msg_flags & MSG_TRUNC) && is_from_peer(l, l->from + i))
                handle_datagram(l, (unsigned)i);
        all += n > 0 ? n : 0;
    }
    return all;
}

static void read_device(pk_lane_t *l) {
    for (int i = 0, datagrams = 0; i < PIECES && datagrams < A_TURN; i++) {
        ssize_t n = read(l->tun, l->piece, sizeof l->piece);
        if (n < 0 && errno == EBADFD) atomic_store(&l->broken, true);
        if (n <= 0) return;
        if (l->side->ops->datagrams_first) datagrams += read_socket(l);
        pk_side_packet(l->side, l->piece, (size_t)n, l->now);
    }
}

static void lane_show(pk_lane_t *l) {
    pk_flows_t *flows = l->side->flows;

    l->shown = l->now;
    pthread_mutex_lock(&l->lock);
    struct pk_seen *s = &l->seen;
    s->counters = l->side->counters;
    lane_count_bypassed(l, &s->counters);
    s->why = pk_side_why(l->side);
    s->theirs = pk_session_theirs(l->session);
    s->known = l->known;
    s->there = l->there;
    s->flows = pk_flows_used(flows);
    s->listed = 0;
    for (const struct pk_flow *f = NULL; s->listed < PK_SEEN_FLOWS && (f = pk_flows_next(flows, f));)
        s->flow[s->listed++] = *f;
    pthread_mutex_unlock(&l->lock);
}

static void wait_for_something(pk_lane_t *l) {
    uint64_t due = pk_side_due(l->side), wait = due <= l->now ? 0 : due - l->now;
    struct epoll_event events[2];

    if (wait > PK_BEAT_MOST) wait = PK_BEAT_MOST;
    struct timespec t = { .tv_sec = (time_t)(wait / 1000000), .tv_nsec = (long)(wait % 1000000 * 1000) };
    epoll_pwait2(l->epoll, events, 2, &t, NULL);
    l->now = lane_clock_now();
}

static void set_port(struct sockaddr_storage *a, unsigned number) {
    in_port_t *port =
        a->ss_family == AF_INET ? &((struct sockaddr_in *)a)->sin_port : &((struct sockaddr_in6 *)a)->sin6_port;
    *port = htons((uint16_t)(ntohs(*port) + number));
}

/* There may be other secrets now, or the name of the peer may have another address. */
static void lane_renew(pk_lane_t *l) {
    struct pk_common *m = l->common;
    struct sockaddr_storage there;

    if (atomic_load(&m->renewed) == l->renewed) return;
    pthread_mutex_lock(&m->lock);
    if (m->secrets_renewed != l->secrets) pk_session_secrets(l->session, &m->secrets);
    l->secrets = m->secrets_renewed;
    l->renewed = atomic_load(&m->renewed);
    there = m->there;
    pthread_mutex_unlock(&m->lock);
    if (there.ss_family == AF_UNSPEC) return;
    set_port(&there, l->number);
    lane_now_at(l, &there);
}

/* If this thread or another one is late, packets pass. */
static void lane_keep_lease(pk_lane_t *l) {
    struct pk_common *m = l->common;
    bool late = pk_hook_renew(m->hook, l->number, l->now);
    unsigned stalls = late ? atomic_fetch_add(&m->stalls, 1) + 1 : atomic_load(&m->stalls);

    if (late) lane_say(l, BASE_LOG_WARNING, "the daemon did not go on for a while; packets took their plain way");
    if (stalls != l->stalls || pk_hook_over(m->hook, (unsigned)m->c->queues, l->now)) pk_side_passed(l->side, l->now);
    l->stalls = stalls;
}

static void *lane_loop(void *context) {
    pk_lane_t *l = context;

    while (!atomic_load_explicit(&l->ends, memory_order_relaxed) &&
           !atomic_load_explicit(&l->broken, memory_order_relaxed)) {
        wait_for_something(l);
        lane_keep_lease(l);
        read_socket(l);
        read_device(l);
        pk_side_tick(l->side, l->now);
        if (l->now - l->shown < SHOW_EVERY) continue;
        lane_renew(l);
        pk_side_aside(l->side, atomic_load(&l->common->shared->aside), l->now);
        lane_show(l);
    }
    return NULL;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static int lane_fail(char **error, const char *word, const char *value, int why) {
    if (asprintf(error, "%s%s: %s", word, value, strerror(why)) < 0) *error = NULL;
    return -1;
}

/*
 * 0, or -1 and *error.
 *
 * Anybody can make an ICMP message, so none is believed.  The socket is not connected: on one that is, each message
 * that nobody listens there makes a send fail (ECONNREFUSED).  What ICMP says of the path's MTU does not count, either
 * (IP_PMTUDISC_PROBE): probes of full size tell what the path carries (pk_liveness.h).  Datagrams that are too large
 * for the device are not cut, since fragments can be forged one by one.
 */
static int open_socket(pk_lane_t *l, char **error) {
    struct sockaddr_storage here = l->common->c->here;
    bool four = here.ss_family == AF_INET;
    socklen_t n = four ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int room = SOCKET_ROOM, probe = four ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE, tell = 1;

    l->there = l->common->c->there;
    l->known = l->common->c->peer_is == PK_PEER_ADDRESS;
    l->there_n = n;
    set_port(&here, l->number);
    set_port(&l->there, l->number);
    l->socket = socket(here.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (l->socket < 0) return lane_fail(error, "no socket can be made", "", errno);
    setsockopt(l->socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    setsockopt(l->socket, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    if (setsockopt(l->socket, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &probe,
                   sizeof probe))
        return lane_fail(error, "what ICMP says of the path can't be left aside", "", errno);
    if (setsockopt(l->socket, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_RECVTOS : IPV6_RECVTCLASS, &tell,
                   sizeof tell))
        return lane_fail(error, "the kernel does not tell DSCP and ECN", "", errno);
    return bind(l->socket, (struct sockaddr *)&here, n) ? lane_fail(error, "local ", l->common->c->local, errno) : 0;
}

static int lane_watch(pk_lane_t *l, char **error) {
    struct epoll_event e = { .events = EPOLLIN };
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (l->epoll >= 0 && !epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->socket, &e) &&
        !epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->tun, &e))
        return 0;
    return lane_fail(error, "sockets can't be waited for", "", errno);
}

static pk_side_t *make_side(const struct pk_common *m, pk_session_t *session, const struct pk_out *out) {
    if (m->role == PK_PARENT) return pk_parent_make(m->c, m->store, session, out);
    return pk_child_make(m->c, &m->key, m->store, session, &m->ready, out);
}

pk_lane_t *pk_lane_make(struct pk_common *common, unsigned number, int tun, char **error) {
    pk_lane_t *l = pk_memory(sizeof *l);
    struct pk_out out = { l, packet_out, datagram_out, lane_say, lane_bypass };

    *error = NULL;
    if (!l) return NULL;
    l->magic = LANE_MAGIC;
    l->common = common;
    l->number = number;
    l->tun = tun;
    l->socket = l->epoll = -1;
    pthread_mutex_init(&l->lock, NULL);
    for (int i = 0; i < DATAGRAMS; i++) {
        l->part[i].iov_base = l->datagram[i];
        l->message[i].msg_hdr.msg_name = l->from + i;
        l->message[i].msg_hdr.msg_iov = l->part + i;
        l->message[i].msg_hdr.msg_iovlen = 1;
        l->message[i].msg_hdr.msg_control = l->control[i].bytes;
    }
    l->session = pk_session_make(common->secrets.item, common->role, number, (unsigned)common->c->queues,
                                 (unsigned)common->c->fingerprint);
    if (l->session) pk_session_secrets(l->session, &common->secrets);
    if (l->session) l->side = make_side(common, l->session, &out);
    if (!l->side || open_socket(l, error) || lane_watch(l, error)) pk_lane_stop(&l);
    else lane_show(l); /* who asks before its first turn hears that there is no session */
    return l;
}

int pk_lane_start(pk_lane_t *l) {
    int why;
    assert(l->magic == LANE_MAGIC);
    l->now = lane_clock_now();
    pk_hook_renew(l->common->hook, l->number, l->now);
    why = pthread_create(&l->thread, NULL, lane_loop, l);
    l->started = !why;
    return why;
}

void pk_lane_move(struct pk_common *m, const struct sockaddr_storage *there) {
    pthread_mutex_lock(&m->lock);
    m->there = *there;
    pk_lead_tell(m->shared, there);
    atomic_fetch_add(&m->renewed, 1);
    pthread_mutex_unlock(&m->lock);
}

void pk_lane_see(pk_lane_t *l, struct pk_seen *seen) {
    pthread_mutex_lock(&l->lock);
    *seen = l->seen;
    pthread_mutex_unlock(&l->lock);
}

bool pk_lane_broken(pk_lane_t *l) { return atomic_load(&l->broken); }

void pk_lane_stop(pk_lane_t **lane) {
    pk_lane_t *l = *lane;
    *lane = NULL;
    if (!l) return;
    assert(l->magic == LANE_MAGIC);
    atomic_store(&l->ends, true);
    if (l->started) pthread_join(l->thread, NULL);
    pk_side_free(&l->side);
    pk_session_free(&l->session);
    if (l->socket >= 0) close(l->socket);
    if (l->epoll >= 0) close(l->epoll);
    pthread_mutex_destroy(&l->lock);
    l->magic = 0;
    free(l);
}
