/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_lead.h"

#include "pk_netlink.h"
#include "pk_tun.h"
#include "pktcache/pk_why.h"

#include "base/base_error.h"
#include "base/base_log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { LEAD_MAGIC = 0x504b4c45 };

enum {
    MOVES = 16 /* of the other end that are followed at once, and then one in each MOVE_EVERY */
};

enum { IP6GRE = 823, RAWIP = 519 }; /* kinds of devices that libc's header does not have (linux/if_arp.h) */

enum { /* microseconds */
       LOOK_SOON = 100000,
       LOOK_EVERY = 1000000,
       MOVE_EVERY = 5000000,
       SAY_EVERY = 60000000 /* the same sentence */
};

struct pk_lead {
    unsigned magic;
    const struct pk_config *c;
    pk_hook_t *hook;
    struct pk_shared *shared;
    int watch;
    struct pk_place place;
    unsigned tun;                  /* our device */
    struct sockaddr_storage there; /* where the other end is; moved: as it was told last */
    unsigned moved;
    unsigned moves; /* that are left, as of moves_at */
    uint64_t moves_at;
    bool restless; /* there were more, which was said */
    bool known;
    bool changed, taken; /* since it was looked: some device; some filter was taken away */
    uint64_t looked_at, said_at, clash_said_at;
    char said[256];
};

static uint64_t lead_clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Takes the sentence. */
static void lead_say(pk_lead_t *l, enum base_log_priority p, char *sentence, uint64_t now) {
    if (sentence && (strncmp(l->said, sentence, sizeof l->said - 1) || now >= l->said_at + SAY_EVERY)) {
        base_log(p, "%s", sentence);
        snprintf(l->said, sizeof l->said, "%s", sentence);
        l->said_at = now;
    }
    free(sentence);
}

/* ---- which device ------------------------------------------------------------------------------------------------ */

static const void *address_of(const struct sockaddr_storage *a, size_t *n) {
    bool four = a->ss_family == AF_INET;
    *n = four ? 4 : 16;
    return four ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
                : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;
}

static void route_add(struct pk_netlink *m, uint16_t type, const struct sockaddr_storage *address) {
    size_t n;
    const void *bytes = address_of(address, &n);
    pk_netlink_add(m, type, bytes, n);
}

static bool is_any(const struct sockaddr_storage *address) {
    static const uint8_t any[16];
    size_t n;
    const void *bytes = address_of(address, &n);
    return !memcmp(bytes, any, n);
}

struct route_found {
    uint32_t device; /* 0: none */
    int why;         /* then */
};

static void take_route(void *context, const struct nlmsghdr *h) {
    struct route_found *f = context;
    const struct rtmsg *route = NLMSG_DATA(h);
    int left = (int)NLMSG_PAYLOAD(h, sizeof *route);

    if (h->nlmsg_type != RTM_NEWROUTE || left < 0) return;
    f->why = EADDRNOTAVAIL;
    if (route->rtm_type != RTN_UNICAST) return;
    for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, left); a = RTA_NEXT(a, left))
        if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) >= sizeof f->device)
            memcpy(&f->device, RTA_DATA(a), sizeof f->device);
}

/* The device by which routing sends to the other end; 0 and *why, an errno: by none, or it is this machine. */
static unsigned routed(const struct pk_config *c, const struct sockaddr_storage *there, int *why) {
    struct route_found found = { 0, ENETUNREACH };
    struct pk_netlink m;
    struct rtmsg *route = pk_netlink_begin(&m, RTM_GETROUTE, 0, sizeof *route);
    size_t bytes;

    address_of(there, &bytes);
    route->rtm_family = (unsigned char)there->ss_family;
    route->rtm_dst_len = (unsigned char)(8 * bytes);
    route_add(&m, RTA_DST, there);
    if (!is_any(&c->here) && c->here.ss_family == there->ss_family) {
        route->rtm_src_len = (unsigned char)(8 * bytes);
        route_add(&m, RTA_SRC, &c->here);
    }
    *why = pk_netlink_ask(&m, take_route, &found);
    if (!*why) *why = found.why;
    return found.device;
}

/* Devices of which the kernel knows that their packets have no header of their own; PPP's it takes off and puts on. */
static bool has_no_ethernet(unsigned kind) {
    static const unsigned short kinds[] = { ARPHRD_NONE, ARPHRD_PPP,   ARPHRD_TUNNEL, ARPHRD_TUNNEL6,
                                            ARPHRD_SIT,  ARPHRD_IPGRE, IP6GRE,        RAWIP };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] == kind) return true;
    return false;
}

/* What there is to know of it.  false and *error: it can't be used now. */
static bool look_at(unsigned device, struct pk_place *place, char **error) {
    struct ifreq r = { .ifr_flags = 0 };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up, known;

    *place = (struct pk_place){ .device = device };
    if (s < 0 || !if_indextoname(device, r.ifr_name)) {
        if (s >= 0) close(s);
        base_fail(error, "the device that leads to the other end is gone");
        return false;
    }
    up = !ioctl(s, SIOCGIFFLAGS, &r) && r.ifr_flags & IFF_UP;
    known = !ioctl(s, SIOCGIFHWADDR, &r);
    close(s);
    if (!up || !known) {
        base_fail(error, "%s, which leads to the other end, is down", r.ifr_name);
        return false;
    }
    if (r.ifr_hwaddr.sa_family == ARPHRD_ETHER) {
        place->bytes = sizeof place->address;
        memcpy(place->address, r.ifr_hwaddr.sa_data, sizeof place->address);
    } else if (!has_no_ethernet(r.ifr_hwaddr.sa_family)) {
        base_fail(error, "%s, which leads to the other end, is of a kind whose packets can't be taken and put back",
                  r.ifr_name);
        return false;
    }
    /* A tunnel of GRE may have many far ends, of which the next hop names one. */
    place->bare = !place->bytes && r.ifr_hwaddr.sa_family != ARPHRD_IPGRE && r.ifr_hwaddr.sa_family != IP6GRE;
    return true;
}

static bool find(const pk_lead_t *l, struct pk_place *place, char **error) {
    const struct pk_config *c = l->c;
    char text[INET6_ADDRSTRLEN] = "";
    int why = 0;
    size_t n;
    bool said = strcmp(c->link, PK_LINK_USUAL) != 0;
    unsigned device = said ? if_nametoindex(c->link) : l->known ? routed(c, &l->there, &why) : 0;

    if (device && device == l->tun) { /* what is put there would take the place of what guards it */
        base_fail(error, "%s is our own device, which leads to nobody", c->device);
        return false;
    }
    if (device) return look_at(device, place, error);
    if (said) base_fail(error, "link %s: there is no such device now", c->link);
    else if (!l->known) base_fail(error, "peer %s: where that is is not known yet; packets go as they are", c->peer);
    else if (inet_ntop(l->there.ss_family, address_of(&l->there, &n), text, sizeof text))
        base_fail(error, "no device leads to %s: %s", c->peer_is == PK_PEER_ADDRESS ? c->peer : text, strerror(why));
    return false;
}

/* ---- where the other end is -------------------------------------------------------------------------------------- */

void pk_lead_tell(struct pk_shared *shared, const struct sockaddr_storage *there) {
    uint8_t bytes[16] = { [10] = 0xff, [11] = 0xff };
    uint64_t words[2];
    size_t n;
    const void *address = address_of(there, &n);

    memcpy(bytes + 16 - n, address, n);
    memcpy(words, bytes, sizeof words);
    atomic_fetch_add(&shared->moved, 1);
    for (int i = 0; i < 2; i++) atomic_store(shared->address + i, words[i]);
    atomic_fetch_add(&shared->moved, 1);
}

/*
 * Whether the other end may be somewhere else once more.  Each time packets may be taken from another device, and a
 * sentence be said; who tells may not be itself any more, or there are two who have the secret.
 */
static bool may_move(pk_lead_t *l, uint64_t now) {
    uint64_t more = (now - l->moves_at) / MOVE_EVERY;

    l->moves = more < MOVES - l->moves ? l->moves + (unsigned)more : MOVES;
    l->moves_at = l->moves == MOVES ? now : l->moves_at + more * MOVE_EVERY;
    if (l->moves) {
        l->moves--;
        l->restless &= l->moves < MOVES / 2;
        return true;
    }
    if (!l->restless)
        base_log(BASE_LOG_WARNING, "the other end is said to be elsewhere too often; that is believed once in %d s now",
                 MOVE_EVERY / 1000000);
    l->restless = true;
    return false;
}

/* Takes what was told; what is being written now it takes the next time. */
static void hear_where(pk_lead_t *l, uint64_t now) {
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    unsigned moved = atomic_load(&l->shared->moved);
    uint8_t bytes[16];
    uint64_t words[2];

    if (l->c->peer_is == PK_PEER_ADDRESS || moved == l->moved || moved & 1) return;
    for (int i = 0; i < 2; i++) words[i] = atomic_load(l->shared->address + i);
    if (atomic_load(&l->shared->moved) != moved) return;
    memcpy(bytes, words, sizeof bytes);
    bool four = !memcmp(bytes, prefix, sizeof prefix);
    if (four != (l->c->there.ss_family == AF_INET) || !may_move(l, now)) return;
    l->moved = moved;
    l->known = l->changed = true;
    l->there = (struct sockaddr_storage){ .ss_family = four ? AF_INET : AF_INET6 };
    if (l->there.ss_family == AF_INET) memcpy(&((struct sockaddr_in *)&l->there)->sin_addr, bytes + 12, 4);
    else memcpy(&((struct sockaddr_in6 *)&l->there)->sin6_addr, bytes, 16);
}

/* ---- leading ----------------------------------------------------------------------------------------------------- */

static void hear(pk_lead_t *l) {
    union {
        struct nlmsghdr head;
        char bytes[8192];
    } u;
    ssize_t n;

    while ((n = recv(l->watch, &u, sizeof u, 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
        l->changed = true;
        l->taken |= n < 0; /* there was too much to be told */
        for (struct nlmsghdr *h = &u.head; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            const struct tcmsg *of = NLMSG_DATA(h);
            if ((h->nlmsg_type != RTM_DELTFILTER && h->nlmsg_type != RTM_DELQDISC) ||
                h->nlmsg_len < NLMSG_LENGTH(sizeof *of))
                continue;
            if (h->nlmsg_type == RTM_DELTFILTER && !pk_hook_has(l->hook, of->tcm_handle)) continue;
            l->taken |= (unsigned)of->tcm_ifindex == l->place.device || (unsigned)of->tcm_ifindex == l->tun;
        }
    }
}

static bool same_place(const struct pk_place *a, const struct pk_place *b) {
    return a->device == b->device && a->bytes == b->bytes && !memcmp(a->address, b->address, a->bytes);
}

/* The hooks are where they belong.  PK_WHY_NOTHING, or why not, which is said. */
static enum pk_why hook_up(pk_lead_t *l, uint64_t now) {
    char name[IF_NAMESIZE], *error = NULL;
    struct pk_place place;
    int why;

    if (!pk_tun_is_up(l->c->device)) return PK_WHY_DOWN;
    if (!find(l, &place, &error)) {
        lead_say(l, BASE_LOG_WARNING, error, now);
        return PK_WHY_LINK;
    }
    if (same_place(&place, &l->place) && !l->taken) return PK_WHY_NOTHING;
    why = pk_hook_place(l->hook, &place);
    if (!if_indextoname(place.device, name)) snprintf(name, sizeof name, "%u", place.device);
    if (!why) {
        if (place.device != l->place.device) base_fail(&error, "packets are taken from %s", name);
        else if (l->taken)
            base_fail(&error, "somebody may have taken our filters from %s; they are put there again", name);
    } else {
        base_fail(&error,
                  "%s takes no filters: %s; if it has an `ingress` queueing discipline, clsact takes its place: "
                  "`tc qdisc del dev %s ingress; tc qdisc add dev %s clsact`",
                  name, strerror(why), name, name);
    }
    lead_say(l, why || l->taken ? BASE_LOG_WARNING : BASE_LOG_NOTICE, error, now);
    l->place = why ? (struct pk_place){ .device = 0 } : place;
    l->taken = false;
    return why ? PK_WHY_LINK : PK_WHY_NOTHING;
}

/* Two daemons want the same packets: neither has them. */
static void see_clashes(pk_lead_t *l, uint64_t now) {
    char link[IF_NAMESIZE], device[IF_NAMESIZE] = "", *sentence = NULL;
    unsigned other;
    uint32_t n = pk_hook_clashes(l->hook, &other);

    if (!n) return;
    atomic_fetch_add(&l->shared->clashes, n);
    if (!if_indextoname(l->place.device, link)) snprintf(link, sizeof link, "the link");
    if (other) if_indextoname(other, device);
    base_fail(
        &sentence,
        "packets at %s that `servers`, `clients` and `ports` of another daemon%s%s have, too, go as they are: give "
        "each client to one daemon",
        link, *device ? ", that of " : "", device);
    if (now >= l->clash_said_at + SAY_EVERY || !l->clash_said_at) {
        base_log(BASE_LOG_WARNING, "%s", sentence);
        l->clash_said_at = now;
    }
    free(sentence);
}

void pk_lead_look(pk_lead_t *l) {
    uint64_t now = lead_clock_now();
    enum pk_why why;

    assert(l->magic == LEAD_MAGIC);
    hear(l);
    hear_where(l, now);
    if (now < l->looked_at + (l->changed ? LOOK_SOON : LOOK_EVERY)) return;
    l->looked_at = now;
    l->changed = false;
    why = hook_up(l, now);
    pk_hook_lead(l->hook, !why);
    atomic_store(&l->shared->aside, (unsigned)why);
    see_clashes(l, now);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

pk_lead_t *pk_lead_start(const struct pk_config *c, pk_hook_t *hook, struct pk_shared *shared, char **error) {
    pk_lead_t *l = calloc(1, sizeof *l);

    *error = NULL;
    if (!l) return NULL;
    l->magic = LEAD_MAGIC;
    l->c = c;
    l->hook = hook;
    l->shared = shared;
    l->there = c->there;
    l->known = c->peer_is == PK_PEER_ADDRESS;
    l->moves = MOVES;
    l->moves_at = lead_clock_now();
    l->tun = if_nametoindex(c->device);
    if ((l->watch = pk_netlink_watch(RTMGRP_LINK | RTMGRP_TC)) < 0) {
        base_fail(error, "devices can't be watched: %s", strerror(errno));
        pk_lead_stop(&l);
        return NULL;
    }
    pk_lead_look(l);
    return l;
}

int pk_lead_fd(const pk_lead_t *l) { return l->watch; }

void pk_lead_stop(pk_lead_t **lead) {
    pk_lead_t *l = *lead;
    *lead = NULL;
    if (!l) return;
    assert(l->magic == LEAD_MAGIC);
    pk_hook_lead(l->hook, false);
    if (l->watch >= 0) close(l->watch);
    l->magic = 0;
    free(l);
}
