/* SPDX-License-Identifier: BSD-2-Clause */
#include "pk_netlink.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/time.h>

/* A part of a dump is at most that long (NLMSG_GOODSIZE, and what the kernel makes of it). */
union answer {
    struct nlmsghdr head;
    char bytes[32768];
};

void *pk_netlink_begin(struct pk_netlink *m, uint16_t type, uint16_t flags, size_t n) {
    assert(NLMSG_SPACE(n) <= sizeof *m);
    memset(m, 0, sizeof *m);
    m->head.nlmsg_len = (uint32_t)NLMSG_SPACE(n);
    m->head.nlmsg_type = type;
    m->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    return NLMSG_DATA(&m->head);
}

struct rtattr *pk_netlink_add(struct pk_netlink *m, uint16_t type, const void *value, size_t n) {
    struct rtattr *a = (struct rtattr *)((char *)m + m->head.nlmsg_len);

    assert(m->head.nlmsg_len + RTA_SPACE(n) <= sizeof *m);
    a->rta_type = type;
    a->rta_len = (uint16_t)RTA_LENGTH(n);
    if (n) memcpy(RTA_DATA(a), value, n);
    m->head.nlmsg_len += (uint32_t)RTA_ALIGN(a->rta_len);
    return a;
}

/* A socket to which it was sent; -1 and errno. */
static int netlink_send(const struct pk_netlink *m) {
    struct timeval slow = { .tv_sec = 1 };
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), why;

    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &slow, sizeof slow);
    if (send(s, m, m->head.nlmsg_len, 0) >= 0) return s;
    why = errno;
    close(s);
    errno = why;
    return -1;
}

int pk_netlink_tell(struct pk_netlink *m) {
    union answer u;
    const struct nlmsgerr *e = NLMSG_DATA(&u.head);
    int s, why = 0;
    ssize_t n;

    m->head.nlmsg_flags |= NLM_F_ACK;
    if ((s = netlink_send(m)) < 0) return errno;
    if ((n = recv(s, &u, sizeof u, 0)) < 0) why = errno;
    else why = (size_t)n < NLMSG_LENGTH(sizeof *e) || u.head.nlmsg_type != NLMSG_ERROR ? EPROTO : -e->error;
    close(s);
    return why;
}

int pk_netlink_ask(const struct pk_netlink *m, void (*take)(void *context, const struct nlmsghdr *h), void *context) {
    union answer u;
    bool more = true;
    int s = netlink_send(m), why = 0;
    ssize_t n;

    if (s < 0) return errno;
    while (more) {
        more = false;
        if ((n = recv(s, &u, sizeof u, 0)) < 0) why = errno;
        for (struct nlmsghdr *h = &u.head; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
                more = false;
                break;
            }
            take(context, h);
            more = h->nlmsg_flags & NLM_F_MULTI;
        }
    }
    close(s);
    return why;
}

int pk_netlink_watch(uint32_t groups) {
    struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = groups };
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE), why;

    if (s < 0 || !bind(s, (struct sockaddr *)&all, sizeof all)) return s;
    why = errno;
    close(s);
    errno = why;
    return -1;
}
