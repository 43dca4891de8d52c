/* SPDX-License-Identifier: BSD-2-Clause */
#include "web_own.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

struct route_question {
    struct nlmsghdr h;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t address[16];
};

union route_answer {
    struct nlmsghdr h;
    uint8_t bytes[2048];
};

/* Sends the question and reads the kernel's answer, which is there when send returns.  False: there is none. */
static bool route_ask(const struct route_question *q, union route_answer *a) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    ssize_t n = -1;

    if (fd < 0) return false;
    if (send(fd, q, q->h.nlmsg_len, 0) == (ssize_t)q->h.nlmsg_len) n = recv(fd, a, sizeof *a, MSG_DONTWAIT);
    close(fd);
    return n >= (ssize_t)sizeof a->h && NLMSG_OK(&a->h, (size_t)n);
}

/* Of an IPv4 or IPv6 address of n bytes. */
static bool kernel_owns(int family, const uint8_t *address, size_t n) {
    struct route_question q = {
        .h = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST },
        .route = { .rtm_family = (unsigned char)family, .rtm_dst_len = (unsigned char)(8 * n) },
        .attribute = { .rta_type = RTA_DST, .rta_len = (unsigned short)RTA_LENGTH(n) },
    };
    union route_answer a;
    int type;

    q.h.nlmsg_len = (uint32_t)(offsetof(struct route_question, address) + n);
    memcpy(q.address, address, n);
    if (!route_ask(&q, &a)) return true;
    if (a.h.nlmsg_type == NLMSG_ERROR && a.h.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        int error = -((const struct nlmsgerr *)NLMSG_DATA(&a.h))->error;
        return error != ENETUNREACH && error != EHOSTUNREACH;
    }
    if (a.h.nlmsg_type != RTM_NEWROUTE || a.h.nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) return true;
    type = ((const struct rtmsg *)NLMSG_DATA(&a.h))->rtm_type;
    return type != RTN_UNICAST && type != RTN_UNREACHABLE;
}

/* The IPv4 address inside an IPv6 address; NULL: it has none. */
static const uint8_t *inner_address(const uint8_t *a) {
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, nat64[12] = { 0x00, 0x64, 0xff, 0x9b };

    if (!memcmp(a, mapped, 12) || !memcmp(a, nat64, 12)) return a + 12;
    return a[0] == 0x20 && a[1] == 0x02 ? a + 2 : NULL;
}

bool web_address_is_own(const struct sockaddr *address) {
    const uint8_t *a, *inner;

    if (address->sa_family == AF_INET)
        return kernel_owns(AF_INET, (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr, 4);
    if (address->sa_family != AF_INET6) return true;
    a = (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
    inner = inner_address(a);
    if (inner && kernel_owns(AF_INET, inner, 4)) return true;
    return !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)a) && kernel_owns(AF_INET6, a, 16);
}
