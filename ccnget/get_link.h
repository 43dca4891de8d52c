/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get_link.h - the connection to a forwarder, or straight to a producer: packets back to back over TCP or a unix
 * socket.
 *
 *     tcp://HOST[:PORT], tcp4://, tcp6://     6363 if it says no port; an IPv6 address stands in brackets
 *     unix:///PATH, unix:/PATH
 *
 * What comes is bounded: one packet, of NDN_PACKET_MAX bytes at most, has to fit into the room for it.
 */
#ifndef FAIRGATE_GET_LINK_H
#define FAIRGATE_GET_LINK_H

#include "ndn/ndn_tlv.h"

enum { GET_CONNECT_SECONDS = 10 };

struct get_uri {
    int  family;                    /* AF_UNIX; AF_INET, AF_INET6, or AF_UNSPEC for either */
    char host[256], port[6];        /* host: the path, of a unix socket */
};

/* 0, or -1 and *error (base_error.h). */
int get_uri_read(const char *text, struct get_uri *u, char **error);

struct get_link;

/* Connects, and waits for it. NULL and *error. */
struct get_link *get_link_open(const struct get_uri *u, char **error);
void             get_link_close(struct get_link **l);

/*
 * GET_LINK_NOTHING: no whole packet is there yet; CLOSED: the other side closed it, or it broke; GARBAGE: what comes is
 * no packet, and nothing behind it can be trusted.  *packet holds until the next call.
 */
enum get_link_came { GET_LINK_PACKET, GET_LINK_NOTHING, GET_LINK_CLOSED, GET_LINK_GARBAGE };
enum get_link_came get_link_packet(struct get_link *l, struct ndn_span *packet);

bool get_link_has_room(const struct get_link *l);       /* for one more packet */
void get_link_put(struct get_link *l, const uint8_t *packet, size_t n);     /* has_room was true */
bool get_link_flush(struct get_link *l);                /* sends what goes at once; false: it broke */
/* Until something can be read, or written where something waits for that, or so long. */
void get_link_wait(const struct get_link *l, int milliseconds);

#endif
