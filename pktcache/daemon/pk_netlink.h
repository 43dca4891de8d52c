/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pk_netlink.h - what the kernel is told, and asked, about devices and routes (rtnetlink), one question at a time.
 *
 * Each opens a socket of its own, so that no answer to another question can come there; none waits for more than a
 * second.  Nothing allocates.
 */
#ifndef FAIRGATE_PK_NETLINK_H
#define FAIRGATE_PK_NETLINK_H

#include <stddef.h>
#include <stdint.h>

#include <linux/rtnetlink.h>

/* Room for a message of that kind and its attributes. */
struct pk_netlink {
    struct nlmsghdr head;
    char            more[256];
};

/* Begins it; where the message stands, of n bytes that are 0. */
void          *pk_netlink_begin(struct pk_netlink *m, uint16_t type, uint16_t flags, size_t n);
/* Adds an attribute; *rta_len may be set anew when others have been put into it. */
struct rtattr *pk_netlink_add(struct pk_netlink *m, uint16_t type, const void *value, size_t n);

/* 0 when it is done, or an errno. */
int            pk_netlink_tell(struct pk_netlink *m);
/* Each message of the answer is handed to `take`, up to an error of the kernel's.  0, or an errno: nothing came. */
int            pk_netlink_ask(const struct pk_netlink *m, void (*take)(void *context, const struct nlmsghdr *h),
                              void *context);
/* A socket that never blocks and hears of changes (RTMGRP_*); -1 and errno. */
int            pk_netlink_watch(uint32_t groups);

#endif
